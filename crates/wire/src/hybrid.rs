//! The hybrid codec in RTP payloads (docs/reference/codec-format.md, "In RTP"): five bytes, then one packet of the codec.
//!
//! This reads single payloads, and of the codec's packet only what says to which frame it belongs. Its check sum is left
//! to the decoder.

use crate::Error;
use crate::reader::Reader;

/// Bytes ahead of the codec's packet.
pub const HEAD_BYTES: usize = 5;
/// Packets of a frame.
pub const MAX_PACKETS: u8 = 64;
/// A frame behind the present one that a payload names lies no further back.
pub const MAX_BEHIND: u8 = 32;

/// A frame that the sender takes the receiver to have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Confirmed {
    /// How many frames before this one, 1 … [`MAX_BEHIND`].
    pub behind: u8,
    /// The check sum of its pixels, as the sender believes that the receiver shows them.
    pub sum: u16,
}

/// The contents of a payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Payload<'a> {
    /// The frame is decodable without any other.
    pub keyframe: bool,
    /// Which stream of the codec it belongs to, modulo 256: each begins with a key frame, and numbers its frames from 0.
    pub stream: u8,
    /// What the sender believes of an earlier frame, if anything.
    pub confirmed: Option<Confirmed>,
    /// The frame's number in its stream, modulo 65536.
    pub frame: u16,
    /// Which packet of the frame this is, from 0.
    pub packet: u8,
    /// Packets of the frame, 1 … [`MAX_PACKETS`].
    pub packets: u8,
    /// The codec's packet.
    pub bytes: &'a [u8],
}

const VERSION_BITS: u8 = 0xc0;
const VERSION: u8 = 0x40;
const KEYFRAME: u8 = 0x20;

impl<'a> Payload<'a> {
    /// Reads a payload. Bits without a meaning must be zero: only ends of one version talk to each other.
    pub fn parse(payload: &'a [u8]) -> Result<Self, Error> {
        let mut reader = Reader::new(payload);
        let [first, stream, behind] = reader.array("hybrid.head")?;
        let sum = reader.u16("hybrid.sum")?;
        let bytes = reader.rest();
        // Version and flags, the frame's number, the packet's, their count.
        let [_, high, low, packet, packets] = reader.array("hybrid.packet")?;
        let invalid = |field, value: u8| Err(Error::Invalid { field, value: value.into() });
        if first & !KEYFRAME != VERSION {
            return invalid(if first & VERSION_BITS == VERSION { "hybrid.flags" } else { "hybrid.version" }, first);
        }
        if behind > MAX_BEHIND {
            return invalid("hybrid.behind", behind);
        }
        if !(1..=MAX_PACKETS).contains(&packets) {
            return invalid("hybrid.packets", packets);
        }
        if packet >= packets {
            return invalid("hybrid.packet", packet);
        }
        Ok(Self {
            keyframe: first & KEYFRAME != 0,
            stream,
            confirmed: (behind > 0).then_some(Confirmed { behind, sum }),
            frame: u16::from_be_bytes([high, low]),
            packet,
            packets,
            bytes,
        })
    }
}

/// The bytes ahead of a packet of the codec.
pub fn head(keyframe: bool, stream: u8, confirmed: Option<Confirmed>) -> [u8; HEAD_BYTES] {
    let Confirmed { behind, sum } = confirmed.unwrap_or(Confirmed { behind: 0, sum: 0 });
    let [high, low] = sum.to_be_bytes();
    [VERSION | if keyframe { KEYFRAME } else { 0 }, stream, behind, high, low]
}

#[cfg(test)]
mod tests {
    use super::*;

    /// docs/reference/codec-format.md, "In RTP", worked by hand: version 1 and a key frame are 0x60; packet 3 of 8 of frame 0x1234.
    #[test]
    fn a_payload_says_which_packet_of_which_frame_it_is() {
        let bytes = [0x60, 7, 2, 0xab, 0xcd, 0x30, 0x12, 0x34, 3, 8, 99];
        let payload = Payload::parse(&bytes).unwrap();
        let confirmed = Some(Confirmed { behind: 2, sum: 0xabcd });
        assert_eq!((payload.keyframe, payload.stream, payload.confirmed), (true, 7, confirmed));
        assert_eq!((payload.frame, payload.packet, payload.packets), (0x1234, 3, 8));
        assert_eq!(payload.bytes, &bytes[HEAD_BYTES..]);
        assert_eq!(head(true, 7, confirmed), bytes[..HEAD_BYTES]);
        assert_eq!(head(false, 7, None), [0x40, 7, 0, 0, 0]);
    }

    #[test]
    fn what_is_no_payload_is_refused_by_field() {
        let good = [0x40, 0, 0, 0, 0, 0x20, 0, 1, 0, 1];
        assert_eq!(Payload::parse(&good).map(|payload| payload.confirmed), Ok(None));
        for length in 0..good.len() {
            assert!(matches!(Payload::parse(&good[..length]), Err(Error::Truncated { .. })), "{length}");
        }
        let refused = |place: usize, value: u8| {
            let mut bytes = good;
            bytes[place] = value;
            Payload::parse(&bytes).unwrap_err().to_string()
        };
        assert_eq!(refused(0, 0x80), "hybrid.version: 128 is not allowed");
        assert_eq!(refused(0, 0x41), "hybrid.flags: 65 is not allowed");
        assert_eq!(refused(2, 33), "hybrid.behind: 33 is not allowed");
        assert_eq!(refused(8, 1), "hybrid.packet: 1 is not allowed");
        assert_eq!(refused(9, 65), "hybrid.packets: 65 is not allowed");
        assert_eq!(refused(9, 0), "hybrid.packets: 0 is not allowed");
    }
}
