//! Reed-Solomon parity of a frame's packets in RTP payloads (docs/reference/parity-format.md): five bytes, then a symbol.
//!
//! Only between Legato's ends: FlexFEC ([rfc8627]) is XOR alone, with which a second loss in a row of packets is final.
//! This reads single payloads; the arithmetic over several is `legato_call::parity`.

use crate::Error;
use crate::reader::Reader;

/// Bytes ahead of the symbol.
pub const HEAD_BYTES: usize = 5;
/// Bytes that a media packet's symbol has ahead of the packet's payload.
pub const SYMBOL_HEAD_BYTES: usize = 2;
/// What parity has more than the largest payload that it protects.
pub const OVERHEAD_BYTES: usize = HEAD_BYTES + SYMBOL_HEAD_BYTES;
/// The most parity packets of a frame.
pub const MAX_PARITY: u8 = 64;
/// The most media and parity packets of a frame together: elements of the field of 256.
pub const MAX_PACKETS: u16 = 256;
/// The longest payload of a media packet.
pub const MAX_PAYLOAD_BYTES: usize = 0x7fff;

/// The contents of a payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Payload<'a> {
    /// The number in the RTP header of the frame's first media packet; the others' follow it.
    pub first_seq: u16,
    /// The frame's media packets, 1 or more.
    pub packets: u8,
    /// Which parity packet of the frame this is, from 0.
    pub place: u8,
    /// A combination of the media packets' symbols, as long as the longest of them.
    pub symbol: &'a [u8],
}

const VERSION: u8 = 0x40;

impl<'a> Payload<'a> {
    /// Reads a payload.
    pub fn parse(payload: &'a [u8]) -> Result<Self, Error> {
        let mut reader = Reader::new(payload);
        let [version, packets, place] = reader.array("parity.head")?;
        let first_seq = reader.u16("parity.first_seq")?;
        let invalid = |field, value: u8| Err(Error::Invalid { field, value: value.into() });
        if version != VERSION {
            return invalid("parity.version", version);
        }
        if packets == 0 {
            return invalid("parity.packets", packets);
        }
        if place >= MAX_PARITY || u16::from(packets) + u16::from(place) >= MAX_PACKETS {
            return invalid("parity.place", place);
        }
        let symbol = reader.rest();
        let needed = SYMBOL_HEAD_BYTES + 1;
        if symbol.len() < needed {
            return Err(Error::Truncated { field: "parity.symbol", needed, available: symbol.len() });
        }
        let most = SYMBOL_HEAD_BYTES + MAX_PAYLOAD_BYTES;
        if symbol.len() > most {
            return Err(Error::Trailing { field: "parity.symbol", bytes: symbol.len() - most });
        }
        Ok(Self { first_seq, packets, place, symbol })
    }

    /// The bytes ahead of the symbol.
    pub fn head(&self) -> [u8; HEAD_BYTES] {
        let [high, low] = self.first_seq.to_be_bytes();
        [VERSION, self.packets, self.place, high, low]
    }
}

/// A media packet as the code sees it: its marker and its payload's length, then the payload. `None`: the payload is
/// empty or longer than [`MAX_PAYLOAD_BYTES`].
pub fn symbol(marker: bool, payload: &[u8]) -> Option<Vec<u8>> {
    let length = u16::try_from(payload.len()).ok().filter(|&length| (1..=0x7fff).contains(&length))?;
    let head = length | if marker { 0x8000 } else { 0 };
    Some([&head.to_be_bytes()[..], payload].concat())
}

/// The marker and the payload of a media packet's symbol, which may have zeros at its end. Refuses a length that the
/// symbol does not have, and other bytes than zeros behind it: then its source packets were not of one frame.
pub fn read_symbol(symbol: &[u8]) -> Result<(bool, &[u8]), Error> {
    let mut reader = Reader::new(symbol);
    let head = reader.u16("parity.length")?;
    let length = usize::from(head & 0x7fff);
    let payload = reader.bytes(length, "parity.payload")?;
    if length == 0 {
        return Err(Error::Invalid { field: "parity.length", value: 0 });
    }
    if let Some(&byte) = reader.rest().iter().find(|&&byte| byte != 0) {
        return Err(Error::Invalid { field: "parity.filling", value: byte.into() });
    }
    Ok((head & 0x8000 != 0, payload))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// docs/reference/parity-format.md, worked by hand: version 1, parity 3 of a frame of 9 packets from 0x1234 on.
    #[test]
    fn a_payload_says_which_parity_of_which_packets_it_is() {
        let bytes = [0x40, 9, 3, 0x12, 0x34, 7, 8, 9];
        let payload = Payload::parse(&bytes).unwrap();
        assert_eq!((payload.first_seq, payload.packets, payload.place), (0x1234, 9, 3));
        assert_eq!(payload.symbol, [7, 8, 9]);
        assert_eq!(payload.head(), bytes[..HEAD_BYTES]);
    }

    #[test]
    fn what_is_no_payload_is_refused_by_field() {
        let good = [0x40, 9, 3, 0x12, 0x34, 7, 8, 9];
        for length in 0..good.len() {
            assert!(matches!(Payload::parse(&good[..length]), Err(Error::Truncated { .. })), "{length}");
        }
        let refused = |changes: &[(usize, u8)]| {
            let mut bytes = good;
            changes.iter().for_each(|&(at, value)| bytes[at] = value);
            Payload::parse(&bytes).unwrap_err().to_string()
        };
        assert_eq!(refused(&[(0, 0x80)]), "parity.version: 128 is not allowed");
        assert_eq!(refused(&[(0, 0x41)]), "parity.version: 65 is not allowed");
        assert_eq!(refused(&[(1, 0)]), "parity.packets: 0 is not allowed");
        assert_eq!(refused(&[(2, 64)]), "parity.place: 64 is not allowed");
        assert_eq!(refused(&[(1, 255), (2, 1)]), "parity.place: 1 is not allowed");
        let long = [&good[..5], &[0; 0x8002]].concat();
        assert_eq!(Payload::parse(&long).unwrap_err().to_string(), "parity.symbol: 1 bytes too many");
    }

    /// Worked by hand: three bytes and the marker are 0x8003.
    #[test]
    fn a_symbol_is_read_back_with_zeros_behind_it_and_nothing_else() {
        let made = symbol(true, &[1, 2, 3]).unwrap();
        assert_eq!(made, [0x80, 3, 1, 2, 3]);
        assert_eq!(read_symbol(&[0x80, 3, 1, 2, 3, 0, 0]), Ok((true, &[1, 2, 3][..])));
        assert_eq!(symbol(false, &[9]).as_deref(), Some(&[0, 1, 9][..]));
        assert_eq!((symbol(false, &[]), symbol(false, &[0; 0x8000])), (None, None));
        let refused = |bytes: &[u8]| read_symbol(bytes).unwrap_err().to_string();
        assert_eq!(refused(&[0]), "parity.length: needs 2 bytes, 1 are left");
        assert_eq!(refused(&[0, 2, 1]), "parity.payload: needs 2 bytes, 1 are left");
        assert_eq!(refused(&[0x80, 0, 0]), "parity.length: 0 is not allowed");
        assert_eq!(refused(&[0, 1, 1, 5]), "parity.filling: 5 is not allowed");
    }
}
