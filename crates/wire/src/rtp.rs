//! RTP headers (RFC 3550 section 5.1) with one-byte header extensions (RFC 8285 section 4.2): the
//! transport-wide sequence number and the absolute send time. Other extensions, two-byte ones and
//! the CSRC list are skipped.

use crate::Error;
use crate::reader::{Reader, be_u24};
use legato_units::{TimeDelta, Timestamp};

/// The fields of an RTP header.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Header {
    /// The marker bit: last packet of a frame.
    pub marker: bool,
    /// The type of the payload, 0..=127.
    pub payload_type: u8,
    /// The stream's sequence number.
    pub seq: u16,
    /// The media clock.
    pub timestamp: u32,
    /// The stream.
    pub ssrc: u32,
    /// The transport-wide sequence number.
    pub transport_seq: Option<u16>,
    /// When the packet left.
    pub absolute_send_time: Option<AbsoluteSendTime>,
}

/// The extension ids a session agreed on, 1..=14; `None`: not negotiated.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ExtensionIds {
    /// Of the transport-wide sequence number.
    pub transport_seq: Option<u8>,
    /// Of the absolute send time.
    pub absolute_send_time: Option<u8>,
}

/// The absolute send time: 24 bits of 1/2^18 s, wrapping every 64 s.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AbsoluteSendTime(u32);

impl AbsoluteSendTime {
    /// `at`, to the nearest unit.
    pub fn from_timestamp(at: Timestamp) -> Self {
        // 64 s are 2^24 units, so whole multiples can be removed before the product would overflow.
        let ns = at.as_nanos().rem_euclid(64 * NS_PER_S) as u64;
        Self((((ns << 18) + NS_PER_S as u64 / 2) / NS_PER_S as u64) as u32 & 0x00ff_ffff)
    }

    /// From the low 24 bits.
    pub const fn from_bits(bits: u32) -> Self {
        Self(bits & 0x00ff_ffff)
    }

    /// The 24 bits.
    pub const fn bits(self) -> u32 {
        self.0
    }

    /// `self − earlier`, taking the shorter way round the wrap: within ±32 s.
    pub fn since(self, earlier: Self) -> TimeDelta {
        let units = (self.0.wrapping_sub(earlier.0) << 8).cast_signed() >> 8;
        TimeDelta::from_nanos((i64::from(units) * NS_PER_S + (1 << 17)) >> 18)
    }
}

/// An RTP packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Packet<'a> {
    /// Its header.
    pub header: Header,
    /// Its payload, without padding.
    pub payload: &'a [u8],
    /// Bytes of padding after it, the count byte included.
    pub padding: u8,
}

impl<'a> Packet<'a> {
    /// Reads a packet. An extension with an agreed id but not the agreed length is refused.
    pub fn parse(bytes: &'a [u8], ids: &ExtensionIds) -> Result<Self, Error> {
        let mut reader = Reader::new(bytes);
        let [first, second] = reader.array("rtp.header")?;
        if first >> 6 != 2 {
            return Err(Error::Invalid { field: "rtp.version", value: (first >> 6).into() });
        }
        let mut header = Header {
            marker: second & 0x80 != 0,
            payload_type: second & 0x7f,
            seq: reader.u16("rtp.seq")?,
            timestamp: reader.u32("rtp.timestamp")?,
            ssrc: reader.u32("rtp.ssrc")?,
            transport_seq: None,
            absolute_send_time: None,
        };
        reader.bytes(4 * usize::from(first & 0x0f), "rtp.csrcs")?;
        if first & EXTENSION_BIT != 0 {
            let profile = reader.u16("rtp.extension.profile")?;
            let words = reader.u16("rtp.extension.length")?;
            let extension = reader.bytes(4 * usize::from(words), "rtp.extension")?;
            if profile == ONE_BYTE_PROFILE {
                read_extensions(extension, ids, &mut header)?;
            }
        }
        let rest = reader.rest();
        if first & PADDING_BIT == 0 {
            return Ok(Self { header, payload: rest, padding: 0 });
        }
        let Some(&padding) = rest.last() else {
            return Err(Error::Truncated { field: "rtp.padding", needed: 1, available: 0 });
        };
        match rest.len().checked_sub(padding.into()) {
            Some(len) if padding > 0 => Ok(Self { header, payload: &rest[..len], padding }),
            _ => Err(Error::Invalid { field: "rtp.padding", value: padding.into() }),
        }
    }
}

fn read_extensions(extension: &[u8], ids: &ExtensionIds, header: &mut Header) -> Result<(), Error> {
    let mut reader = Reader::new(extension);
    while let [first, ..] = reader.rest() {
        let (id, len) = (first >> 4, usize::from(first & 0x0f) + 1);
        reader.bytes(1, "rtp.extension.id")?;
        match id {
            0 if len == 1 => continue,
            // [rfc8285] §4.2: id 15, and id 0 with a length, end the extensions.
            0 | 15 => break,
            _ => {}
        }
        let value = reader.bytes(len, "rtp.extension.value")?;
        if ids.transport_seq == Some(id) {
            let &[high, low] = value else {
                return Err(Error::Invalid { field: "rtp.transport_seq.length", value: len as u64 });
            };
            header.transport_seq = Some(u16::from_be_bytes([high, low]));
        } else if ids.absolute_send_time == Some(id) {
            let &[a, b, c] = value else {
                return Err(Error::Invalid { field: "rtp.absolute_send_time.length", value: len as u64 });
            };
            header.absolute_send_time = Some(AbsoluteSendTime::from_bits(be_u24([a, b, c])));
        }
    }
    Ok(())
}

/// Appends a packet with `padding` bytes of padding. Extensions are written if the header has a
/// value and the session an id for it.
pub fn write(out: &mut Vec<u8>, header: &Header, ids: &ExtensionIds, payload: &[u8], padding: u8) {
    let transport_seq = ids.transport_seq.zip(header.transport_seq);
    let send_time = ids.absolute_send_time.zip(header.absolute_send_time);
    let extended = transport_seq.is_some() || send_time.is_some();
    let first = 0x80 | if padding > 0 { PADDING_BIT } else { 0 } | if extended { EXTENSION_BIT } else { 0 };
    out.extend_from_slice(&[first, (u8::from(header.marker) << 7) | (header.payload_type & 0x7f)]);
    out.extend_from_slice(&header.seq.to_be_bytes());
    out.extend_from_slice(&header.timestamp.to_be_bytes());
    out.extend_from_slice(&header.ssrc.to_be_bytes());
    if extended {
        let mut elements = [0; 8];
        let mut len = 0;
        if let Some((id, time)) = send_time {
            let [_, a, b, c] = time.bits().to_be_bytes();
            elements[..4].copy_from_slice(&[element(id, 3), a, b, c]);
            len = 4;
        }
        if let Some((id, seq)) = transport_seq {
            let [high, low] = seq.to_be_bytes();
            elements[len..len + 3].copy_from_slice(&[element(id, 2), high, low]);
            len += 4;
        }
        out.extend_from_slice(&ONE_BYTE_PROFILE.to_be_bytes());
        out.extend_from_slice(&((len / 4) as u16).to_be_bytes());
        out.extend_from_slice(&elements[..len]);
    }
    out.extend_from_slice(payload);
    if padding > 0 {
        out.resize(out.len() + usize::from(padding) - 1, 0);
        out.push(padding);
    }
}

/// The id and length byte of an extension of `len` bytes.
fn element(id: u8, len: u8) -> u8 {
    debug_assert!((1..=14).contains(&id), "extension id {id} is not one of 1..=14");
    (id << 4) | (len - 1)
}

const NS_PER_S: i64 = 1_000_000_000;
const PADDING_BIT: u8 = 0x20;
const EXTENSION_BIT: u8 = 0x10;
const ONE_BYTE_PROFILE: u16 = 0xbede;

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const IDS: ExtensionIds = ExtensionIds { transport_seq: Some(5), absolute_send_time: Some(3) };

    fn fixed(first: u8, rest: &[u8]) -> Vec<u8> {
        let mut bytes = vec![first, 0x60, 0, 1, 0, 0, 0, 2, 0, 0, 0, 3];
        bytes.extend_from_slice(rest);
        bytes
    }

    #[test]
    fn every_length_short_of_the_header_is_refused() {
        let whole = fixed(0x80, &[]);
        for len in 0..12 {
            assert!(matches!(Packet::parse(&whole[..len], &IDS), Err(Error::Truncated { .. })), "{len}");
        }
        assert!(Packet::parse(&whole, &IDS).unwrap().payload.is_empty());
        assert!(Packet::parse(&[0x81, 0x81, 0x94], &IDS).is_err());
    }

    /// The advisories of pion/rtp, and an invalid RTP version.
    #[test]
    fn counts_and_lengths_past_the_end_are_refused() {
        assert!(Packet::parse(&fixed(0x8f, &[]), &IDS).is_err(), "15 CSRCs in 12 bytes");
        assert!(Packet::parse(&fixed(0x90, &[0xbe, 0xde, 0]), &IDS).is_err(), "half an extension header");
        assert!(Packet::parse(&fixed(0x90, &[0xbe, 0xde, 0xff, 0xff, 0, 0, 0, 0]), &IDS).is_err());
        assert!(Packet::parse(&fixed(0x90, &[0xbe, 0xde, 0, 1, 0x5f, 0, 0, 0]), &IDS).is_err(), "element past the end");
        assert!(Packet::parse(&fixed(0x40, &[]), &IDS).is_err(), "version 1");
        assert!(Packet::parse(&fixed(0xa0, &[]), &IDS).is_err(), "no byte to count the padding");
        assert!(Packet::parse(&fixed(0xa0, &[7, 0]), &IDS).is_err(), "padding of 0");
        assert!(Packet::parse(&fixed(0xa0, &[7, 3]), &IDS).is_err(), "padding longer than the payload");
        assert_eq!(Packet::parse(&fixed(0xa0, &[7, 1]), &IDS).unwrap().payload, [7]);
    }

    #[test]
    fn unknown_extensions_are_skipped_and_ill_sized_known_ones_refused() {
        // Padding byte, id 7 of 1 byte, then the transport-wide sequence number under id 5.
        let mixed = fixed(0x90, &[0xbe, 0xde, 0, 2, 0, 0x70, 9, 0x51, 1, 2, 0, 0, 42]);
        let packet = Packet::parse(&mixed, &IDS).unwrap();
        assert_eq!((packet.header.transport_seq, packet.payload), (Some(0x0102), [42].as_slice()));
        let ill_sized = fixed(0x90, &[0xbe, 0xde, 0, 1, 0x50, 1, 0, 0]);
        assert!(Packet::parse(&ill_sized, &IDS).is_err());
        assert!(Packet::parse(&ill_sized, &ExtensionIds::default()).is_ok());
        let two_byte = fixed(0x90, &[0x10, 0, 0, 1, 5, 9, 0, 0]);
        assert_eq!(Packet::parse(&two_byte, &IDS).unwrap().header.transport_seq, None);
        // [rfc8285] §4.2: id 15 ends the extensions.
        let ended = fixed(0x90, &[0xbe, 0xde, 0, 2, 0xf0, 0, 0, 0, 0x51, 1, 2, 0]);
        assert_eq!(Packet::parse(&ended, &IDS).unwrap().header.transport_seq, None);
    }

    #[test]
    fn the_absolute_send_time_wraps_every_64_s() {
        let at = |ms| AbsoluteSendTime::from_timestamp(Timestamp::from_millis(ms));
        assert_eq!(at(1_000).bits(), 1 << 18);
        assert_eq!(at(64_000).bits(), 0);
        // 63.999999 s rounds up to the wrap.
        assert_eq!(AbsoluteSendTime::from_timestamp(Timestamp::from_nanos(63_999_999_000)).bits(), 0);
        assert_eq!(at(64_500).since(at(63_500)), TimeDelta::from_secs(1));
        assert_eq!(at(63_500).since(at(64_500)), TimeDelta::from_secs(-1));
    }

    fn header() -> impl Strategy<Value = Header> {
        (any::<bool>(), 0u8..128, any::<u16>(), any::<u32>(), any::<u32>(), any::<Option<u16>>(), any::<Option<u32>>())
            .prop_map(|(marker, payload_type, seq, timestamp, ssrc, transport_seq, send_time)| Header {
                marker,
                payload_type,
                seq,
                timestamp,
                ssrc,
                transport_seq,
                absolute_send_time: send_time.map(AbsoluteSendTime::from_bits),
            })
    }

    proptest! {
        #[test]
        fn packets_read_back_as_written(
            header in header(), payload in prop::collection::vec(any::<u8>(), 0..64), padding: u8,
        ) {
            let mut bytes = Vec::new();
            write(&mut bytes, &header, &IDS, &payload, padding);
            let packet = Packet::parse(&bytes, &IDS).unwrap();
            prop_assert_eq!(packet, Packet { header, payload: &payload, padding });
        }
    }
}
