//! Slices of H.264 in payloads of RFC 6184: where a frame begins, and the slices that the received payloads make up.

use legato_wire::h264::{self, Fragment, Payload};
use std::collections::BTreeMap;

/// How a payload begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SliceStart {
    /// With parameter sets, ahead of a key frame's slices.
    Parameters,
    /// With the slice of a picture's first macroblock.
    First,
    /// With something further on in its frame.
    Within,
}

/// `first_mb_in_slice` is 0 if the first bit behind the header is set ([itu-h264] 7.3.3, 9.1).
const FIRST_MACROBLOCK: u8 = 0x80;
const SLICE: u8 = 1;
const START_CODE: [u8; 4] = [0, 0, 0, 1];

/// How a payload begins, and whether it is of a key frame; `None`: it cannot be read.
pub fn slice_start(payload: &[u8]) -> Option<(SliceStart, bool)> {
    let payload = Payload::parse(payload).ok()?;
    let (header, rest) = match payload {
        Payload::Aggregate(mut units) => units.next().and_then(<[u8]>::split_first).map(|(&one, rest)| (one, rest))?,
        Payload::Single(unit) => unit.split_first().map(|(&one, rest)| (one, rest))?,
        Payload::Fragment(Fragment { header, first, bytes, .. }) => (header, if first { bytes } else { &[] }),
    };
    let keyframe = matches!(h264::unit_type(header), h264::IDR_SLICE | h264::SEQUENCE_PARAMETERS);
    let start = match h264::unit_type(header) {
        h264::SEQUENCE_PARAMETERS => SliceStart::Parameters,
        SLICE | h264::IDR_SLICE if rest.first().is_some_and(|byte| byte & FIRST_MACROBLOCK != 0) => SliceStart::First,
        _ => SliceStart::Within,
    };
    Some((start, keyframe))
}

/// The NAL units of payloads, by their numbers, as far as they are whole; `None`: there is no slice among them.
pub fn joined_slices(payloads: &BTreeMap<u64, Vec<u8>>) -> Option<Vec<u8>> {
    let mut joined = Joined::default();
    for (&seq, payload) in payloads {
        match Payload::parse(payload).ok()? {
            Payload::Aggregate(units) => units.for_each(|unit| joined.unit(unit)),
            Payload::Single(unit) => joined.unit(unit),
            Payload::Fragment(fragment) => joined.fragment(seq, fragment),
        }
    }
    joined.has_slice.then_some(joined.bytes)
}

#[derive(Default)]
struct Joined {
    bytes: Vec<u8>,
    has_slice: bool,
    /// The unit in pieces: the number that the next one has, and the unit so far.
    open: Option<(u64, Vec<u8>)>,
}

impl Joined {
    fn unit(&mut self, unit: &[u8]) {
        self.bytes.extend_from_slice(&START_CODE);
        self.bytes.extend_from_slice(unit);
        self.has_slice |= unit.first().is_some_and(|&one| matches!(h264::unit_type(one), SLICE | h264::IDR_SLICE));
    }

    fn fragment(&mut self, seq: u64, fragment: Fragment<'_>) {
        let before = self.open.take().filter(|(next, _)| *next == seq && !fragment.first);
        let unit = if fragment.first { Some(vec![fragment.header]) } else { before.map(|(_, unit)| unit) };
        let Some(mut unit) = unit else { return };
        unit.extend_from_slice(fragment.bytes);
        if fragment.last {
            self.unit(&unit);
        } else {
            self.open = Some((seq + 1, unit));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_frame_begins_with_its_parameters_or_the_slice_of_its_first_macroblock() {
        assert_eq!(slice_start(&[0x78, 0, 1, 0x67, 0, 1, 0x68]), Some((SliceStart::Parameters, true)));
        assert_eq!(slice_start(&[0x65, 0x88]), Some((SliceStart::First, true)));
        assert_eq!(slice_start(&[0x41, 0x9a]), Some((SliceStart::First, false)));
        assert_eq!(slice_start(&[0x41, 0x1a]), Some((SliceStart::Within, false)));
        assert_eq!(slice_start(&[0x5c, 0x81, 0x9a]), Some((SliceStart::First, false)));
        assert_eq!(slice_start(&[0x7c, 0x05, 0x9a]), Some((SliceStart::Within, true)));
        assert_eq!(slice_start(&[]), None);
    }

    /// [rfc6184] §5.8: a slice in three fragments, of which the middle one is missing or not.
    #[test]
    fn slices_in_pieces_are_of_use_if_all_came() {
        let of = |pieces: &[(u64, &[u8])]| {
            joined_slices(&pieces.iter().map(|&(seq, bytes)| (seq, bytes.to_vec())).collect())
        };
        let [first, middle, last] = [&[0x5c, 0x81, 1][..], &[0x5c, 0x01, 2], &[0x5c, 0x41, 3]];
        let whole = vec![0, 0, 0, 1, 0x41, 1, 2, 3];
        assert_eq!(of(&[(5, first), (6, middle), (7, last)]), Some(whole));
        let single = &[0x41, 0x1a, 9][..];
        assert_eq!(of(&[(5, first), (7, last), (8, single)]), Some(vec![0, 0, 0, 1, 0x41, 0x1a, 9]));
        assert_eq!(of(&[(6, middle), (7, last)]), None);
        assert_eq!(of(&[(5, &[0x78, 0, 1, 0x67])]), None, "parameters are no picture");
    }
}
