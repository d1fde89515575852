//! The format of packets on the emulated network.

use legato_media::packetizer::IP_UDP_BYTES;
use legato_units::Ecn;
use legato_wire::ip;
use legato_wire::rtp::{self, ExtensionIds};

/// The format of a packet's bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Framing {
    /// The payload of UDP datagrams, whose headers the system has removed.
    Datagrams,
    /// Whole IP packets.
    IpPackets,
}

impl Framing {
    /// Bytes on the wire, IP and UDP headers included.
    pub fn size_bytes(self, bytes: &[u8]) -> u64 {
        let length = bytes.len() as u64;
        if self == Self::Datagrams { length + u64::from(IP_UDP_BYTES) } else { length }
    }

    /// The payload of UDP; empty if it is something else.
    pub fn payload(self, bytes: &[u8]) -> &[u8] {
        match self {
            Self::Datagrams => bytes,
            Self::IpPackets => {
                ip::Packet::parse(bytes).ok().and_then(|packet| packet.udp).map_or(&[], |udp| udp.payload)
            }
        }
    }

    /// The ECN field, if the system shows it.
    pub fn ecn(self, bytes: &[u8]) -> Ecn {
        match self {
            Self::Datagrams => Ecn::NotEct,
            Self::IpPackets => ip::Packet::parse(bytes).map_or(Ecn::NotEct, |packet| packet.ecn),
        }
    }

    /// Mark the packet as the path did.
    pub fn mark_ce(self, bytes: &mut [u8]) {
        if self == Self::IpPackets {
            ip::mark_ce(bytes);
        }
    }
}

/// The clear header of a media packet; `None`: RTCP, STUN, DTLS or unknown.
pub fn media_header(payload: &[u8]) -> Option<rtp::Header> {
    // RFC 7983 and RFC 5761: with this first byte it is RTP or RTCP, and these payload types would be RTCP's.
    let is_rtp = matches!(payload, [128..=191, second, ..] if !(64..96).contains(&(second & 0x7f)));
    let ids = ExtensionIds { transport_seq: None, absolute_send_time: None };
    is_rtp.then(|| rtp::Packet::parse(payload, &ids).ok()).flatten().map(|packet| packet.header)
}

/// RFC 5761 §4.
pub fn is_rtcp(payload: &[u8]) -> bool {
    matches!(payload, [128..=191, 192..=223, ..])
}

/// RFC 8489 §5: two zero bits, and the magic cookie.
pub fn is_stun(bytes: &[u8]) -> bool {
    matches!(bytes, [0..=3, _, _, _, 0x21, 0x12, 0xa4, 0x42, ..])
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 198.18.0.1:5004 to 198.18.0.2:5004, ECT(1), without checksums.
    fn packet(payload: &[u8]) -> Vec<u8> {
        let mut bytes =
            vec![0x45, 1, 0, 28 + payload.len() as u8, 0, 0, 0x40, 0, 64, 17, 0, 0, 198, 18, 0, 1, 198, 18, 0, 2];
        bytes.extend_from_slice(&[0x13, 0x8c, 0x13, 0x8c, 0, 8 + payload.len() as u8, 0, 0]);
        bytes.extend_from_slice(payload);
        bytes
    }

    #[test]
    fn media_is_recognised_as_a_datagram_and_inside_a_packet() {
        let media = [0x80, 0x66, 0, 1, 0, 0, 0, 9, 0, 0, 0, 5, 1, 2, 3];
        let inside = packet(&media);
        assert_eq!(Framing::IpPackets.payload(&inside), Framing::Datagrams.payload(&media));
        let sizes = (Framing::IpPackets.size_bytes(&inside), Framing::Datagrams.size_bytes(&media));
        assert_eq!(sizes, (28 + 15, 28 + 15));
        let header = media_header(Framing::IpPackets.payload(&inside)).unwrap();
        assert_eq!((header.timestamp, header.ssrc, header.payload_type), (9, 5, 0x66));
    }

    #[test]
    fn non_udp_packets_have_no_known_payload() {
        let mut echo = packet(&[0x80, 0x66, 0, 1, 0, 0, 0, 9, 0, 0, 0, 5]);
        echo[9] = 1;
        for bytes in [&echo[..], &[], &[0xff; 40]] {
            let payload = Framing::IpPackets.payload(bytes);
            assert!(payload.is_empty() && media_header(payload).is_none() && !is_rtcp(payload));
        }
        assert_eq!(Framing::IpPackets.ecn(&[]), Ecn::NotEct);
    }

    #[test]
    fn only_whole_packets_show_and_carry_marks() {
        let mut bytes = packet(&[0x80, 0xc9]);
        assert_eq!((Framing::IpPackets.ecn(&bytes), Framing::Datagrams.ecn(&bytes)), (Ecn::Ect1, Ecn::NotEct));
        Framing::Datagrams.mark_ce(&mut bytes);
        assert_eq!(Framing::IpPackets.ecn(&bytes), Ecn::Ect1);
        Framing::IpPackets.mark_ce(&mut bytes);
        assert_eq!(Framing::IpPackets.ecn(&bytes), Ecn::Ce);
        assert!(is_rtcp(Framing::IpPackets.payload(&bytes)));
    }
}
