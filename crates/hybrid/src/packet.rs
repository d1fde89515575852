//! Packets: a header that suffices to decode each alone, then the decisions of a range coder.
//!
//! docs/reference/codec-format.md describes the bytes.

use crate::Error;
use crate::interleave::MOST_PACKETS;
use crate::picture::Size;

/// The format's version, in the upper three bits of a packet.
const VERSION: u8 = 1;
const KEY: u8 = 0x10;
const COPIES: u8 = 0x03;
/// A frame is predicted from one at most so many frames before.
pub const MOST_DISTANCE: u8 = 32;

/// What a packet says about its frame and itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// Frames in sequence, modulo 65536.
    pub frame: u16,
    /// Which packet of the frame this is, from 0.
    pub packet: u8,
    /// Packets of the frame, 1 to 64.
    pub packets: u8,
    /// Other packets whose motion each repeats, 0 to 3.
    pub motion_copies: u8,
    /// 0 is the finest; 32 more double the step.
    pub quantiser: u8,
    /// How many frames before lies the one it is predicted from; `None` in a key frame.
    pub distance: Option<u8>,
    /// Of the picture; key frames only.
    pub size: Option<Size>,
}

impl Header {
    /// Bytes of a packet before its decisions.
    pub(crate) const fn length(key: bool) -> usize {
        if key { 12 } else { 8 }
    }

    pub(crate) fn write(&self, decisions: &[u8]) -> Vec<u8> {
        let key = if self.distance.is_none() { KEY } else { 0 };
        let [high, low] = self.frame.to_be_bytes();
        let distance = self.distance.unwrap_or(0);
        let mut bytes = vec![
            VERSION << 5 | key | (self.motion_copies & COPIES),
            high,
            low,
            self.packet,
            self.packets,
            self.quantiser,
            distance,
        ];
        if let Some(size) = self.size {
            bytes.extend((size.width() as u16).to_be_bytes());
            bytes.extend((size.height() as u16).to_be_bytes());
        }
        let sum = checksum(checksum(0xff, &bytes), decisions);
        bytes.push(sum);
        bytes.extend_from_slice(decisions);
        bytes
    }

    /// The header and the bytes of the range coder. Refuses bytes that are truncated or of another format.
    pub fn parse(bytes: &[u8]) -> Result<(Self, &[u8]), Error> {
        let &[first, high, low, packet, packets, quantiser, distance, ..] = bytes else {
            return Err(Error::Truncated { bytes: bytes.len() });
        };
        if first & !(KEY | COPIES) != VERSION << 5 {
            return Err(Error::Foreign { first });
        }
        let key = first & KEY != 0;
        let length = Self::length(key);
        if bytes.len() < length {
            return Err(Error::Truncated { bytes: bytes.len() });
        }
        if checksum(checksum(0xff, &bytes[..length - 1]), &bytes[length..]) != bytes[length - 1] {
            return Err(Error::Checksum);
        }
        if !(1..=MOST_PACKETS).contains(&packets) || packet >= packets {
            return Err(Error::PacketNumber { packet, packets });
        }
        if key != (distance == 0) || distance > MOST_DISTANCE {
            return Err(Error::Distance { distance });
        }
        let side = |at: usize| u16::from_be_bytes([bytes[at], bytes[at + 1]]);
        let size = if key { Some(Size::new(side(7), side(9))?) } else { None };
        let distance = if key { None } else { Some(distance) };
        let frame = u16::from_be_bytes([high, low]);
        Ok((
            Self { frame, packet, packets, motion_copies: first & COPIES, quantiser, distance, size },
            &bytes[length..],
        ))
    }
    /// Make the checksum match what a packet holds, for those who change packets to test decoders.
    pub fn seal(bytes: &mut [u8]) {
        let length = Self::length(bytes.first().is_some_and(|first| first & KEY != 0));
        if bytes.len() >= length {
            bytes[length - 1] = checksum(checksum(0xff, &bytes[..length - 1]), &bytes[length..]);
        }
    }
    /// Whether two packets can be of one frame.
    pub(crate) fn same_frame(&self, other: &Self) -> bool {
        Self { packet: 0, ..*self } == Self { packet: 0, ..*other }
    }
}

/// CRC-8 with the polynomial x^8 + x^5 + x^3 + x^2 + x + 1 (0x2f).
fn checksum(start: u8, bytes: &[u8]) -> u8 {
    bytes.iter().fold(start, |sum, byte| CHECKSUMS[usize::from(sum ^ byte)])
}

const CHECKSUMS: [u8; 256] = {
    let mut table = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        let mut sum = byte as u8;
        let mut bit = 0;
        while bit < 8 {
            sum = if sum & 0x80 != 0 { sum << 1 ^ 0x2f } else { sum << 1 };
            bit += 1;
        }
        table[byte] = sum;
        byte += 1;
    }
    table
};

#[cfg(test)]
mod tests {
    use super::*;

    fn header() -> Header {
        Header { frame: 0x1234, packet: 2, packets: 8, motion_copies: 1, quantiser: 99, distance: Some(3), size: None }
    }

    #[test]
    fn a_header_is_read_as_it_was_written() {
        let key = Header { distance: None, size: Some(Size::new(352, 288).unwrap()), ..header() };
        for header in [header(), key] {
            let bytes = header.write(&[1, 2, 3]);
            assert_eq!(Header::parse(&bytes).unwrap(), (header, &[1, 2, 3][..]));
        }
    }

    #[test]
    fn what_is_no_packet_is_refused() {
        let bytes = header().write(&[1, 2, 3]);
        assert!(matches!(Header::parse(&bytes[..6]), Err(Error::Truncated { bytes: 6 })));
        assert!(matches!(Header::parse(&bytes[..10]), Err(Error::Checksum)));
        assert!(matches!(Header::parse(&[0; 20]), Err(Error::Foreign { first: 0 })));
        let number = Header { packet: 8, ..header() }.write(&[]);
        assert!(matches!(Header::parse(&number), Err(Error::PacketNumber { packet: 8, packets: 8 })));
        let far = Header { distance: Some(33), ..header() }.write(&[]);
        assert!(matches!(Header::parse(&far), Err(Error::Distance { distance: 33 })));
    }

    /// CRC-8/AUTOSAR of "123456789" is 0xdf after its final inversion.
    #[test]
    fn the_checksum_is_the_catalogue_s() {
        assert_eq!(checksum(0xff, b"123456789") ^ 0xff, 0xdf);
    }
}
