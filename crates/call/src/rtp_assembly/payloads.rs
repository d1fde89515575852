//! The codecs' payload formats: where a key frame begins, and how the payloads of one picture are joined (RFC 6184,
//! RFC 7741, RFC 9628).
//!
//! A picture is broken, and will not be shown, if its payloads cannot be parsed or are not in the order of its
//! format. Its contents are left to the decoder.

use legato_wire::h264::{self, Payload};
use legato_wire::{vp8, vp9};

/// How a video is put into RTP payloads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PayloadFormat {
    /// RFC 6184.
    H264,
    /// RFC 7741.
    Vp8,
    /// RFC 9628.
    Vp9,
}

/// How a payload begins a key frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyStart {
    /// It does, whatever came before it.
    Certain,
    /// It does if the previous picture ends there: a slice of H.264 without parameter sets ahead of it.
    IfNothingAhead,
}

/// Whether a key frame begins with a payload.
pub fn key_start(format: PayloadFormat, payload: &[u8]) -> Option<KeyStart> {
    match format {
        PayloadFormat::H264 => {
            let payload = Payload::parse(payload).ok()?;
            if payload.begins(h264::SEQUENCE_PARAMETERS) {
                return Some(KeyStart::Certain);
            }
            payload.begins(h264::IDR_SLICE).then_some(KeyStart::IfNothingAhead)
        }
        PayloadFormat::Vp8 => vp8::Payload::parse(payload).ok()?.begins_keyframe().then_some(KeyStart::Certain),
        PayloadFormat::Vp9 => vp9::Payload::parse(payload).ok()?.begins_keyframe().then_some(KeyStart::Certain),
    }
}

/// Consecutive payloads of one picture, from its first on.
#[derive(Debug)]
pub struct Joining {
    format: PayloadFormat,
    bytes: Vec<u8>,
    keyframe: bool,
    /// In the middle of something that must continue.
    open: bool,
    /// The packets do not form a picture.
    broken: bool,
}

const START_CODE: [u8; 4] = [0, 0, 0, 1];

impl Joining {
    /// Nothing yet.
    pub fn new(format: PayloadFormat) -> Self {
        Self { format, bytes: Vec::new(), keyframe: false, open: false, broken: false }
    }

    /// The next payload.
    pub fn push(&mut self, payload: &[u8]) {
        let read = match self.format {
            PayloadFormat::H264 => Payload::parse(payload).map(|payload| self.push_units(payload)),
            PayloadFormat::Vp8 => vp8::Payload::parse(payload).map(|payload| self.push_vp8(&payload)),
            PayloadFormat::Vp9 => vp9::Payload::parse(payload).map(|payload| self.push_vp9(&payload)),
        };
        self.broken |= read.is_err();
    }

    /// The picture as its encoder made it, and whether it is decodable without any other; `None`: it is not a valid
    /// picture.
    pub fn finish(self) -> Option<(Vec<u8>, bool)> {
        (!self.broken && !self.open && !self.bytes.is_empty()).then_some((self.bytes, self.keyframe))
    }

    fn push_units(&mut self, payload: Payload<'_>) {
        // Pieces follow each other from the first to the last, with nothing in between.
        let continues = matches!(payload, Payload::Fragment(fragment) if !fragment.first);
        self.broken |= continues != self.open;
        match payload {
            Payload::Aggregate(units) => units.for_each(|unit| self.unit(unit[0], &unit[1..])),
            Payload::Single(unit) => self.unit(unit[0], &unit[1..]),
            Payload::Fragment(fragment) => {
                if fragment.first {
                    self.unit(fragment.header, &[]);
                }
                self.bytes.extend_from_slice(fragment.bytes);
                self.open = !fragment.last;
            }
        }
    }

    fn unit(&mut self, header: u8, rest: &[u8]) {
        self.keyframe |= h264::unit_type(header) == h264::IDR_SLICE;
        self.bytes.extend_from_slice(&START_CODE);
        self.bytes.push(header);
        self.bytes.extend_from_slice(rest);
    }

    /// [rfc7741] §4.2: the first payload begins the frame, and no other does.
    fn push_vp8(&mut self, payload: &vp8::Payload<'_>) {
        self.broken |= payload.begins_frame() != self.bytes.is_empty();
        self.keyframe |= payload.begins_keyframe();
        self.bytes.extend_from_slice(payload.bytes);
    }

    /// [rfc9628] §4.2: a picture is a sequence of complete frames, each from B to E.
    fn push_vp9(&mut self, payload: &vp9::Payload<'_>) {
        self.broken |= payload.begins_frame == self.open;
        self.keyframe |= payload.begins_keyframe();
        self.bytes.extend_from_slice(payload.bytes);
        self.open = !payload.ends_frame;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn joined(format: PayloadFormat, payloads: &[&[u8]]) -> Option<(Vec<u8>, bool)> {
        let mut joining = Joining::new(format);
        payloads.iter().for_each(|payload| joining.push(payload));
        joining.finish()
    }

    /// [rfc7741] §4.2, worked by hand: S and partition 0 only in the first payload.
    #[test]
    fn a_vp8_frame_is_its_payloads_without_their_descriptors() {
        let [key, delta, later] = [&[0x90, 0x80, 0x81, 2, 0x50, 5][..], &[0x90, 0x80, 3, 0x51], &[0x80, 0x80, 3, 7, 8]];
        assert_eq!(joined(PayloadFormat::Vp8, &[key, later]), Some((vec![0x50, 5, 7, 8], true)));
        assert_eq!(joined(PayloadFormat::Vp8, &[delta, later, later]), Some((vec![0x51, 7, 8, 7, 8], false)));
        for broken in [&[later, later][..], &[delta, delta], &[delta, &[]], &[delta, &[0x80, 0x80, 3]], &[]] {
            assert_eq!(joined(PayloadFormat::Vp8, broken), None, "{broken:?}");
        }
        let starts = [key, delta, later].map(|payload| key_start(PayloadFormat::Vp8, payload));
        assert_eq!(starts, [Some(KeyStart::Certain), None, None]);
    }

    /// [rfc9628] §4.2, worked by hand: from B to E, and once more for another spatial layer.
    #[test]
    fn a_vp9_picture_is_its_frames_from_begin_to_end() {
        let key = [0x8a, 1, 0x18, 5, 0, 2, 0xd0, 1, 0x14, 1, 0x82, 4];
        let [begin, middle, end, whole] = [&[0xc8, 2, 0x86][..], &[0xc0, 2, 7], &[0xc4, 2, 8], &[0xcc, 2, 0x86]];
        let second_layer = &[0xec, 2, 0x02, 0, 9][..];
        assert_eq!(joined(PayloadFormat::Vp9, &[&key, &[0x84, 1, 5]]), Some((vec![0x82, 4, 5], true)));
        assert_eq!(joined(PayloadFormat::Vp9, &[begin, middle, end]), Some((vec![0x86, 7, 8], false)));
        assert_eq!(joined(PayloadFormat::Vp9, &[whole, second_layer]), Some((vec![0x86, 9], false)));
        for broken in [&[begin][..], &[begin, middle], &[middle, end], &[begin, whole], &[whole, end], &[&[0xcc, 2]]] {
            assert_eq!(joined(PayloadFormat::Vp9, broken), None, "{broken:?}");
        }
        assert_eq!(key_start(PayloadFormat::Vp9, &key), Some(KeyStart::Certain));
        assert_eq!((key_start(PayloadFormat::Vp9, whole), key_start(PayloadFormat::Vp9, &[0x84, 1, 5])), (None, None));
    }

    #[test]
    fn a_key_frame_of_h264_begins_with_its_parameters_or_perhaps_with_its_slice() {
        let starts = |payload: &[u8]| key_start(PayloadFormat::H264, payload);
        assert_eq!(starts(&[0x78, 0, 1, 0x67]), Some(KeyStart::Certain));
        assert_eq!(starts(&[0x7c, 0x85, 1]), Some(KeyStart::IfNothingAhead));
        assert_eq!((starts(&[0x7c, 0x05, 1]), starts(&[0x41, 1]), starts(&[])), (None, None, None));
    }
}
