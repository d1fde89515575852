//! What a network element reads of an IP packet: its ECN field, and the UDP payload in it; and how it marks one. And
//! the IPv4 packet around a datagram, for an end without a network interface.
//!
//! IPv4 with options, and IPv6 whose next header is UDP. The payload of fragments, of IPv6 after extension headers and
//! of anything that is not UDP is not extracted: only the ECN field of such packets matters here. Checksums are not
//! verified: the receiving host does that.

use crate::Error;
use crate::reader::Reader;
use legato_units::Ecn;
use std::net::SocketAddrV4;

/// The fields read from an IP packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Packet<'a> {
    /// 4 or 6.
    pub version: u8,
    /// The ECN field.
    pub ecn: Ecn,
    /// The datagram in it, if there is a complete one.
    pub udp: Option<Datagram<'a>>,
}

/// A UDP datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Datagram<'a> {
    /// The sender's port.
    pub source_port: u16,
    /// The receiver's port.
    pub destination_port: u16,
    /// The data.
    pub payload: &'a [u8],
}

/// The IPv4 packet of a datagram from `source` to `destination`: no options, not to be fragmented, not ECN-capable.
/// [rfc791] §3.1, [rfc768]. `None`: the payload is too long for one packet.
pub fn udp_packet(source: SocketAddrV4, destination: SocketAddrV4, payload: &[u8]) -> Option<Vec<u8>> {
    let length = u16::try_from(payload.len()).ok()?.checked_add(UDP_HEADER_BYTES)?;
    let total = length.checked_add(IPV4_HEADER_BYTES as u16)?;
    let mut packet = Vec::with_capacity(total.into());
    packet.extend_from_slice(&[0x45, 0]);
    packet.extend_from_slice(&total.to_be_bytes());
    // [rfc6864] §4.1: a packet that is never fragmented needs no identification.
    packet.extend_from_slice(&[0, 0, DONT_FRAGMENT, 0, TTL, UDP, 0, 0]);
    packet.extend_from_slice(&source.ip().octets());
    packet.extend_from_slice(&destination.ip().octets());
    let header = checksum(&packet);
    packet[10..12].copy_from_slice(&header.to_be_bytes());
    packet.extend_from_slice(&source.port().to_be_bytes());
    packet.extend_from_slice(&destination.port().to_be_bytes());
    packet.extend_from_slice(&length.to_be_bytes());
    packet.extend_from_slice(&[0, 0]);
    packet.extend_from_slice(payload);
    // The pseudo-header: both addresses, the protocol and the length.
    let [high, low] = length.to_be_bytes();
    let pseudo = [&packet[12..20], &[0, UDP, high, low], &packet[IPV4_HEADER_BYTES..]].concat();
    // Zero would say that there is none.
    let sum = Some(checksum(&pseudo)).filter(|&sum| sum != 0).unwrap_or(u16::MAX);
    packet[26..28].copy_from_slice(&sum.to_be_bytes());
    Some(packet)
}

/// [rfc1071] §1: the complement of the one's complement sum of all words; an odd byte counts as the high one.
fn checksum(bytes: &[u8]) -> u16 {
    let word = |pair: &[u8]| u32::from(pair[0]) << 8 | u32::from(pair.get(1).copied().unwrap_or(0));
    let sum: u32 = bytes.chunks(2).map(word).sum();
    let folded = (sum & 0xffff) + (sum >> 16);
    !((folded & 0xffff) + (folded >> 16)) as u16
}

const DONT_FRAGMENT: u8 = 0x40;
/// What Linux sends with.
const TTL: u8 = 64;
const UDP: u8 = 17;
const IPV4_HEADER_BYTES: usize = 20;
const UDP_HEADER_BYTES: u16 = 8;

impl<'a> Packet<'a> {
    /// Reads a packet. Bytes after its end are ignored: links pad.
    pub fn parse(bytes: &'a [u8]) -> Result<Self, Error> {
        match bytes.first().map(|first| first >> 4) {
            None => Err(Error::Truncated { field: "ip.version", needed: 1, available: 0 }),
            Some(4) => parse_v4(bytes),
            Some(6) => parse_v6(bytes),
            Some(other) => Err(Error::Invalid { field: "ip.version", value: other.into() }),
        }
    }
}

/// [rfc791] §3.1: version and header length, type of service, total length, identification, flags and fragment offset,
/// time to live, protocol, checksum, two addresses, options.
fn parse_v4(bytes: &[u8]) -> Result<Packet<'_>, Error> {
    let mut reader = Reader::new(bytes);
    let [first, traffic] = reader.array("ip.header")?;
    let total = usize::from(reader.u16("ip.total_length")?);
    let [_, _, flags, offset] = reader.array("ip.fragment")?;
    let [_, protocol, _, _] = reader.array("ip.protocol")?;
    reader.bytes(8, "ip.addresses")?;
    let header = 4 * usize::from(first & 0x0f);
    if header < IPV4_HEADER_BYTES {
        return Err(Error::Invalid { field: "ip.header_length", value: header as u64 });
    }
    if total < header {
        return Err(Error::Invalid { field: "ip.total_length", value: total as u64 });
    }
    let (packet, available) = (bytes.get(..total), bytes.len());
    let packet = packet.ok_or(Error::Truncated { field: "ip.total_length", needed: total, available })?;
    // More fragments, or not the first.
    let whole = flags & 0x3f == 0 && offset == 0;
    let udp = if whole && protocol == UDP { Some(parse_udp(&packet[header..])?) } else { None };
    Ok(Packet { version: 4, ecn: ecn_of(traffic), udp })
}

/// [rfc8200] §3: version, traffic class and flow label, payload length, next header, hop limit, two addresses.
fn parse_v6(bytes: &[u8]) -> Result<Packet<'_>, Error> {
    let mut reader = Reader::new(bytes);
    let [first, second, _, _] = reader.array("ip.header")?;
    let length = usize::from(reader.u16("ip.payload_length")?);
    let [next, _] = reader.array("ip.next_header")?;
    reader.bytes(32, "ip.addresses")?;
    let payload = reader.bytes(length, "ip.payload")?;
    let udp = if next == UDP { Some(parse_udp(payload)?) } else { None };
    Ok(Packet { version: 6, ecn: ecn_of(first << 4 | second >> 4), udp })
}

/// [rfc768]: two ports, length with the header, checksum.
fn parse_udp(bytes: &[u8]) -> Result<Datagram<'_>, Error> {
    let mut reader = Reader::new(bytes);
    let (source_port, destination_port) = (reader.u16("udp.source_port")?, reader.u16("udp.destination_port")?);
    let length = reader.u16("udp.length")?;
    reader.u16("udp.checksum")?;
    let payload = length.checked_sub(UDP_HEADER_BYTES);
    let payload = payload.ok_or(Error::Invalid { field: "udp.length", value: length.into() })?;
    Ok(Datagram { source_port, destination_port, payload: reader.bytes(payload.into(), "udp.payload")? })
}

/// [rfc3168] §5: the low two bits of the octet that was the type of service.
const fn ecn_of(traffic: u8) -> Ecn {
    match traffic & 0b11 {
        0b00 => Ecn::NotEct,
        0b01 => Ecn::Ect1,
        0b10 => Ecn::Ect0,
        _ => Ecn::Ce,
    }
}

/// Marks a packet that [`Packet::parse`] accepts as having met congestion; any other stays as it is.
pub fn mark_ce(bytes: &mut [u8]) {
    match bytes {
        [first, traffic, ..] if *first >> 4 == 4 => {
            let before = u16::from_be_bytes([*first, *traffic]);
            *traffic |= 0b11;
            let after = u16::from_be_bytes([*first, *traffic]);
            if let Some(checksum) = bytes.get_mut(10..12) {
                let updated = checksum_after([checksum[0], checksum[1]], before, after);
                checksum.copy_from_slice(&updated);
            }
        }
        // IPv6 itself has no checksum.
        [first, second, ..] if *first >> 4 == 6 => *second |= 0b11 << 4,
        _ => {}
    }
}

/// [rfc1624] eq. (3): HC' = ~(~HC + ~m + m'), in one's complement.
fn checksum_after(checksum: [u8; 2], before: u16, after: u16) -> [u8; 2] {
    let sum = u32::from(!u16::from_be_bytes(checksum)) + u32::from(!before) + u32::from(after);
    let folded = (sum & 0xffff) + (sum >> 16);
    let folded = (folded & 0xffff) + (folded >> 16);
    (!(folded as u16)).to_be_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of an IPv4 header; a good one sums to 0xffff.
    fn sum_of(header: &[u8]) -> u16 {
        let sum: u32 = header.chunks(2).map(|pair| u32::from(u16::from_be_bytes([pair[0], pair[1]]))).sum();
        ((sum & 0xffff) + (sum >> 16)) as u16
    }

    /// 10.0.0.1:4000 to 10.0.0.2:5000, ECT(0), `payload`.
    fn v4(payload: &[u8]) -> Vec<u8> {
        let total = 28 + payload.len() as u16;
        let mut bytes = vec![0x45, 0x02];
        bytes.extend_from_slice(&total.to_be_bytes());
        bytes.extend_from_slice(&[0, 7, 0x40, 0, 64, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2]);
        let checksum = !sum_of(&bytes);
        bytes[10..12].copy_from_slice(&checksum.to_be_bytes());
        bytes.extend_from_slice(&[0x0f, 0xa0, 0x13, 0x88]);
        bytes.extend_from_slice(&(8 + payload.len() as u16).to_be_bytes());
        bytes.extend_from_slice(&[0, 0]);
        bytes.extend_from_slice(payload);
        bytes
    }

    /// [rfc791] §3.1, [rfc768]: by hand.
    #[test]
    fn a_datagram_is_found_after_a_header_of_any_length() {
        let datagram = Datagram { source_port: 4_000, destination_port: 5_000, payload: b"media" };
        let whole = Packet { version: 4, ecn: Ecn::Ect0, udp: Some(datagram) };
        let mut bytes = v4(b"media");
        assert_eq!(Packet::parse(&bytes), Ok(whole));
        // After the end of the packet.
        bytes.extend_from_slice(b"padding");
        assert_eq!(Packet::parse(&bytes), Ok(whole));
        // Four bytes of options.
        let mut bytes = v4(b"media");
        bytes[0] = 0x46;
        bytes[3] += 4;
        drop(bytes.splice(20..20, [1, 1, 1, 0]));
        assert_eq!(Packet::parse(&bytes), Ok(whole));
    }

    #[test]
    fn fragments_and_other_protocols_have_no_datagram() {
        let none = Ok(Packet { version: 4, ecn: Ecn::Ect0, udp: None });
        let changed = |at: usize, value: u8| {
            let mut bytes = v4(b"media");
            bytes[at] = value;
            bytes
        };
        for (at, value) in [(6, 0x20), (6, 0x01), (7, 0x01), (9, 1), (9, 6)] {
            assert_eq!(Packet::parse(&changed(at, value)), none, "byte {at}");
        }
    }

    #[test]
    fn wrong_lengths_are_refused() {
        let refused = |at: usize, value: u8| {
            let mut bytes = v4(b"media");
            bytes[at] = value;
            Packet::parse(&bytes).unwrap_err()
        };
        assert_eq!(refused(0, 0x44), Error::Invalid { field: "ip.header_length", value: 16 });
        assert_eq!(refused(0, 0x55), Error::Invalid { field: "ip.version", value: 5 });
        assert_eq!(refused(3, 19), Error::Invalid { field: "ip.total_length", value: 19 });
        assert_eq!(refused(3, 34), Error::Truncated { field: "ip.total_length", needed: 34, available: 33 });
        assert_eq!(refused(25, 7), Error::Invalid { field: "udp.length", value: 7 });
        assert_eq!(refused(25, 14), Error::Truncated { field: "udp.payload", needed: 6, available: 5 });
        assert!((0..33).all(|end| Packet::parse(&v4(b"media")[..end]).is_err()));
    }

    /// [rfc8200] §3, by hand.
    #[test]
    fn ipv6_is_read_if_udp_follows_directly() {
        let mut bytes = vec![0x60, 0x10, 0, 0, 0, 10, 17, 64];
        bytes.extend_from_slice(&[0; 32]);
        bytes.extend_from_slice(&[0, 1, 0, 2, 0, 10, 0, 0, 7, 8]);
        let datagram = Datagram { source_port: 1, destination_port: 2, payload: &[7, 8] };
        assert_eq!(Packet::parse(&bytes), Ok(Packet { version: 6, ecn: Ecn::Ect1, udp: Some(datagram) }));
        mark_ce(&mut bytes);
        assert_eq!(Packet::parse(&bytes).unwrap().ecn, Ecn::Ce);
        bytes[6] = 0; // hop-by-hop options
        assert_eq!(Packet::parse(&bytes).unwrap().udp, None);
    }

    /// [rfc3168] §5: 01 is ECT(1), 10 is ECT(0).
    #[test]
    fn the_ecn_field_is_the_low_two_bits() {
        let read = [0xfc, 0x01, 0x02, 0x03].map(ecn_of);
        assert_eq!(read, [Ecn::NotEct, Ecn::Ect1, Ecn::Ect0, Ecn::Ce]);
    }

    /// [rfc1071] §1, with the numbers of its §3: the sum is 2ddf0, folded ddf2.
    #[test]
    fn a_checksum_is_the_complement_of_the_folded_sum() {
        assert_eq!(checksum(&[0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7]), !0xddf2);
        assert_eq!(checksum(&[0x00, 0x01, 0xf2]), !0xf201);
    }

    /// [rfc6864] §4.1: not fragmented, so without identification.
    #[test]
    fn a_packet_made_is_the_packet_read() {
        let (source, destination) = ("198.18.0.1:40000".parse().unwrap(), "198.18.0.2:5004".parse().unwrap());
        for payload in [&b"media"[..], b"", &[0xff; 1_400]] {
            let bytes = udp_packet(source, destination, payload).unwrap();
            let datagram = Datagram { source_port: 40_000, destination_port: 5_004, payload };
            assert_eq!(Packet::parse(&bytes), Ok(Packet { version: 4, ecn: Ecn::NotEct, udp: Some(datagram) }));
            assert_eq!(bytes[4..8], [0, 0, 0x40, 0]);
            assert_eq!((sum_of(&bytes[..20]), &bytes[12..20]), (0xffff, &[198, 18, 0, 1, 198, 18, 0, 2][..]));
            let covered = [&bytes[12..20], &[0, 17], &bytes[24..26], &bytes[20..]].concat();
            assert_eq!(checksum(&covered), 0);
        }
        assert_eq!(udp_packet(source, destination, &vec![0; 65_508]), None);
    }

    /// [rfc1624] eq. (3), with the numbers of its §4.
    #[test]
    fn a_checksum_follows_one_changed_word() {
        assert_eq!(checksum_after([0xdd, 0x2f], 0x5555, 0x3285), [0, 0]);
    }

    #[test]
    fn a_marked_packet_has_a_good_checksum() {
        let mut bytes = v4(b"media");
        assert_eq!(sum_of(&bytes[..20]), 0xffff);
        mark_ce(&mut bytes);
        assert_eq!(Packet::parse(&bytes).unwrap().ecn, Ecn::Ce);
        assert_eq!(sum_of(&bytes[..20]), 0xffff);
        let mut none: [u8; 1] = [0x45];
        mark_ce(&mut none);
        mark_ce(&mut []);
    }
}
