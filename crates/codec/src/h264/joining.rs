//! Payloads of H.264 joined to pictures (RFC 6184).

use crate::assembly::whole::{Joined, KeyStart, PayloadFormat};
use legato_wire::h264::{self, Payload};

/// Pieces of a unit follow each other from the first to the last, with nothing in between.
pub static FORMAT: PayloadFormat = PayloadFormat {
    key_start: |payload| {
        let payload = Payload::parse(payload).ok()?;
        if payload.begins(h264::SEQUENCE_PARAMETERS) {
            return Some(KeyStart::Certain);
        }
        payload.begins(h264::IDR_SLICE).then_some(KeyStart::IfNothingAhead)
    },
    push: |joined, payload| {
        let payload = Payload::parse(payload)?;
        let continues = matches!(payload, Payload::Fragment(fragment) if !fragment.first);
        joined.broken |= continues != joined.open;
        match payload {
            Payload::Aggregate(units) => units.for_each(|unit| push_unit(joined, unit[0], &unit[1..])),
            Payload::Single(unit) => push_unit(joined, unit[0], &unit[1..]),
            Payload::Fragment(fragment) => {
                if fragment.first {
                    push_unit(joined, fragment.header, &[]);
                }
                joined.bytes.extend_from_slice(fragment.bytes);
                joined.open = !fragment.last;
            }
        }
        Ok(())
    },
};

fn push_unit(joined: &mut Joined, header: u8, rest: &[u8]) {
    joined.keyframe |= h264::unit_type(header) == h264::IDR_SLICE;
    joined.bytes.extend_from_slice(&[0, 0, 0, 1, header]);
    joined.bytes.extend_from_slice(rest);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_frame_of_h264_begins_with_its_parameters_or_perhaps_with_its_slice() {
        let starts = FORMAT.key_start;
        assert_eq!(starts(&[0x78, 0, 1, 0x67]), Some(KeyStart::Certain));
        assert_eq!(starts(&[0x7c, 0x85, 1]), Some(KeyStart::IfNothingAhead));
        assert_eq!((starts(&[0x7c, 0x05, 1]), starts(&[0x41, 1]), starts(&[])), (None, None, None));
    }
}
