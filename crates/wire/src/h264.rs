//! H.264 in RTP payloads (RFC 6184, packetization modes 0 and 1): one NAL unit, several in one payload (STAP-A), or a
//! piece of one (FU-A). The interleaved mode (STAP-B, MTAP, FU-B) is refused: WebRTC does not use it.
//!
//! This reads single payloads; joining pieces is up to a caller that keeps state.

use crate::Error;
use crate::reader::Reader;

/// The contents of a payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Payload<'a> {
    /// Several NAL units.
    Aggregate(Units<'a>),
    /// A piece of one.
    Fragment(Fragment<'a>),
    /// One.
    Single(&'a [u8]),
}

/// The NAL units of an aggregate: each is checked, and there is at least one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Units<'a>(&'a [u8]);

/// A piece of a NAL unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fragment<'a> {
    /// The unit's own first byte, which no piece contains.
    pub header: u8,
    /// The first piece.
    pub first: bool,
    /// The last piece.
    pub last: bool,
    /// May be empty.
    pub bytes: &'a [u8],
}

/// Type of a NAL unit: a slice of a picture that is decodable without any other.
pub const IDR_SLICE: u8 = 5;
/// Type of a NAL unit: a sequence parameter set.
pub const SEQUENCE_PARAMETERS: u8 = 7;

/// The type of a NAL unit by its first byte.
#[inline]
pub const fn unit_type(header: u8) -> u8 {
    header & TYPE_BITS
}

impl<'a> Payload<'a> {
    /// Reads a payload. A unit with the forbidden bit set is refused as damaged.
    pub fn parse(bytes: &'a [u8]) -> Result<Self, Error> {
        let mut reader = Reader::new(bytes);
        let [indicator] = reader.array("h264.header")?;
        check_unit(indicator, "h264.header", STAP_A)?;
        match unit_type(indicator) {
            STAP_A => {
                let units = reader.rest();
                check_aggregate(units)?;
                Ok(Self::Aggregate(Units(units)))
            }
            // [rfc6184] §5.8: indicator, header with start and end bits, bytes. Both bits at once are forbidden: a
            // unit in one piece is not a fragment.
            FU_A => {
                let [header] = reader.array("h264.fragment.header")?;
                let (first, last) = (header & START_BIT != 0, header & END_BIT != 0);
                let unit = header & TYPE_BITS;
                if !(1..STAP_A).contains(&unit) || (first && last) {
                    return Err(Error::Invalid { field: "h264.fragment.header", value: header.into() });
                }
                let header = indicator & IMPORTANCE_BITS | unit;
                Ok(Self::Fragment(Fragment { header, first, last, bytes: reader.rest() }))
            }
            _ => Ok(Self::Single(bytes)),
        }
    }

    /// Whether a NAL unit of this type begins here.
    pub fn begins(&self, unit: u8) -> bool {
        match *self {
            Self::Aggregate(mut units) => units.any(|bytes| unit_type(bytes[0]) == unit),
            Self::Fragment(fragment) => fragment.first && unit_type(fragment.header) == unit,
            Self::Single(bytes) => unit_type(bytes[0]) == unit,
        }
    }
}

impl<'a> Iterator for Units<'a> {
    type Item = &'a [u8];

    fn next(&mut self) -> Option<&'a [u8]> {
        let (length, rest) = self.0.split_first_chunk()?;
        let (unit, rest) = rest.split_at_checked(u16::from_be_bytes(*length).into())?;
        self.0 = rest;
        Some(unit)
    }
}

// [rfc6184] §5.7.1: each unit after its length in 16 bits; at least one; no nested aggregates.
fn check_aggregate(bytes: &[u8]) -> Result<(), Error> {
    let mut reader = Reader::new(bytes);
    loop {
        let length = reader.u16("h264.aggregate.length")?;
        let unit = reader.bytes(length.into(), "h264.aggregate.unit")?;
        let &[header, ..] = unit else {
            return Err(Error::Invalid { field: "h264.aggregate.length", value: 0 });
        };
        check_unit(header, "h264.aggregate.unit", STAP_A - 1)?;
        if reader.rest().is_empty() {
            return Ok(());
        }
    }
}

// [rfc6184] §5.4: types 1 to 23 are units of H.264's own, 24 is STAP-A, 28 is FU-A.
fn check_unit(header: u8, field: &'static str, max: u8) -> Result<(), Error> {
    let unit = unit_type(header);
    let known = (1..=max).contains(&unit) || (max == STAP_A && unit == FU_A);
    if header & FORBIDDEN_BIT != 0 || !known {
        return Err(Error::Invalid { field, value: header.into() });
    }
    Ok(())
}

const FORBIDDEN_BIT: u8 = 0x80;
const IMPORTANCE_BITS: u8 = 0x60;
const TYPE_BITS: u8 = 0x1f;
const START_BIT: u8 = 0x80;
const END_BIT: u8 = 0x40;
const STAP_A: u8 = 24;
const FU_A: u8 = 28;

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn units(payload: &[u8]) -> Vec<&[u8]> {
        match Payload::parse(payload).unwrap() {
            Payload::Aggregate(units) => units.collect(),
            other => panic!("{other:?}"),
        }
    }

    /// [rfc6184] §5.4: the first byte gives the type of a payload.
    #[test]
    fn types_that_webrtc_does_not_use_are_refused() {
        assert_eq!(Payload::parse(&[0x65, 1, 2]), Ok(Payload::Single(&[0x65, 1, 2])));
        for unused in [0, 25, 26, 27, 29, 30, 31] {
            let value = u64::from(unused);
            assert_eq!(Payload::parse(&[unused, 0, 0]), Err(Error::Invalid { field: "h264.header", value }));
        }
        assert!(Payload::parse(&[]).is_err());
        assert!(Payload::parse(&[0xe5, 1]).is_err(), "the forbidden bit");
    }

    /// [rfc6184] §5.7.1, by hand: two units of 2 and 1 bytes.
    #[test]
    fn an_aggregate_is_its_units() {
        assert_eq!(units(&[0x78, 0, 2, 0x67, 9, 0, 1, 0x68]), [&[0x67, 9][..], &[0x68]]);
        for broken in [&[0x78][..], &[0x78, 0], &[0x78, 0, 0], &[0x78, 0, 2, 0x67], &[0x78, 0, 1, 0x67, 0]] {
            assert!(Payload::parse(broken).is_err(), "{broken:?}");
        }
        assert!(Payload::parse(&[0x78, 0, 1, 0x78]).is_err(), "an aggregate within an aggregate");
    }

    /// [rfc6184] §5.8, by hand: importance of the indicator, type of the header, and which is first and last.
    #[test]
    fn a_fragment_knows_its_units_first_byte() {
        let fragment = |bytes: &[u8]| match Payload::parse(bytes).unwrap() {
            Payload::Fragment(fragment) => (fragment.header, fragment.first, fragment.last, fragment.bytes.len()),
            other => panic!("{other:?}"),
        };
        assert_eq!(fragment(&[0x7c, 0x85, 7, 7]), (0x65, true, false, 2));
        assert_eq!(fragment(&[0x7c, 0x05, 7]), (0x65, false, false, 1));
        assert_eq!(fragment(&[0x5c, 0x41]), (0x41, false, true, 0));
        assert!(Payload::parse(&[0x7c]).is_err(), "no header");
        assert!(Payload::parse(&[0x7c, 0xc5, 1]).is_err(), "first and last at once");
        assert!(Payload::parse(&[0x7c, 0x9c, 1]).is_err(), "a fragment of a fragment");
    }

    #[test]
    fn a_unit_begins_in_its_first_fragment_or_wherever_it_is_whole() {
        let begins = |bytes: &[u8], unit| Payload::parse(bytes).unwrap().begins(unit);
        let parameters = [0x78, 0, 1, 0x67, 0, 1, 0x68];
        assert!(begins(&parameters, SEQUENCE_PARAMETERS) && !begins(&parameters, IDR_SLICE));
        assert!(begins(&[0x7c, 0x85, 1], IDR_SLICE) && begins(&[0x65, 1], IDR_SLICE));
        assert!(!begins(&[0x7c, 0x05, 1], IDR_SLICE) && !begins(&[0x41, 1], IDR_SLICE));
    }

    proptest! {
        #[test]
        fn units_come_out_of_an_aggregate_unchanged(
            all in prop::collection::vec((1u8..24, prop::collection::vec(any::<u8>(), 0..40)), 1..8),
        ) {
            let all: Vec<Vec<u8>> = all.into_iter().map(|(kind, body)| [&[kind][..], &body].concat()).collect();
            let mut payload = vec![0x78];
            for unit in &all {
                payload.extend((unit.len() as u16).to_be_bytes());
                payload.extend_from_slice(unit);
            }
            prop_assert_eq!(units(&payload), all);
        }
    }
}
