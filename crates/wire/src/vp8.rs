//! VP8 in RTP payloads (RFC 7741): a descriptor, then consecutive bytes of one frame.
//!
//! This reads single payloads; joining frames is up to a caller that keeps state. The indices of temporal layers and of
//! key frames are skipped: a receiver that decodes everything it gets does not need them.

use crate::Error;
use crate::reader::Reader;

/// The contents of a payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Payload<'a> {
    /// Its first byte is the first of a partition …
    pub starts_partition: bool,
    /// … of this number, 0 … 7; 0 is the first of a frame.
    pub partition: u8,
    /// No other frame refers to this one.
    pub non_reference: bool,
    /// Number of the frame, of 7 or 15 bits.
    pub picture_id: Option<u16>,
    /// Of the frame; at least one.
    pub bytes: &'a [u8],
}

impl<'a> Payload<'a> {
    /// Reads a payload. Reserved bits are ignored (§4.2: they are to be ignored).
    pub fn parse(bytes: &'a [u8]) -> Result<Self, Error> {
        let mut reader = Reader::new(bytes);
        // [rfc7741] §4.2: |X|R|N|S|R| PID |, then if X is set |I|L|T|K| RSV |.
        let [first] = reader.array("vp8.descriptor")?;
        let [more] = if first & EXTENDED == 0 { [0] } else { reader.array("vp8.extension")? };
        let mut picture_id = None;
        if more & HAS_PICTURE_ID != 0 {
            picture_id = Some(read_picture_id(&mut reader, "vp8.picture_id")?);
        }
        if more & HAS_TL0 != 0 {
            reader.array::<1>("vp8.tl0picidx")?;
        }
        if more & (HAS_LAYER | HAS_KEY_INDEX) != 0 {
            reader.array::<1>("vp8.layer")?;
        }
        let bytes = reader.rest();
        if bytes.is_empty() {
            return Err(Error::Truncated { field: "vp8.payload", needed: 1, available: 0 });
        }
        Ok(Self {
            starts_partition: first & STARTS_PARTITION != 0,
            partition: first & PARTITION_BITS,
            non_reference: first & NON_REFERENCE != 0,
            picture_id,
            bytes,
        })
    }

    /// Whether a frame begins here.
    #[inline]
    pub const fn begins_frame(&self) -> bool {
        self.starts_partition && self.partition == 0
    }

    /// Whether a frame that is decodable without any other begins here.
    #[inline]
    pub fn begins_keyframe(&self) -> bool {
        // [rfc7741] §4.3: the first bit of a frame, its lowest, is clear in key frames.
        self.begins_frame() && self.bytes[0] & INTER_FRAME == 0
    }
}

/// The number of a picture in 7 bits, or in 15 if the first bit is set.
pub(crate) fn read_picture_id(reader: &mut Reader<'_>, field: &'static str) -> Result<u16, Error> {
    let [high] = reader.array(field)?;
    if high & LONG_PICTURE_ID == 0 {
        return Ok(high.into());
    }
    let [low] = reader.array(field)?;
    Ok(u16::from_be_bytes([high & !LONG_PICTURE_ID, low]))
}

const EXTENDED: u8 = 0x80;
const NON_REFERENCE: u8 = 0x20;
const STARTS_PARTITION: u8 = 0x10;
const PARTITION_BITS: u8 = 0x07;
const HAS_PICTURE_ID: u8 = 0x80;
const HAS_TL0: u8 = 0x40;
const HAS_LAYER: u8 = 0x20;
const HAS_KEY_INDEX: u8 = 0x10;
const LONG_PICTURE_ID: u8 = 0x80;
const INTER_FRAME: u8 = 0x01;

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// [rfc7741] §4.2, by hand: the extension's bits say which bytes follow, in the order I, L, T or K.
    #[test]
    fn a_descriptor_is_as_long_as_its_bits_say() {
        let read = |bytes: &[u8]| {
            let payload = Payload::parse(bytes).unwrap();
            (payload.picture_id, payload.bytes.to_vec())
        };
        assert_eq!(read(&[0x10, 7]), (None, vec![7]));
        assert_eq!(read(&[0x90, 0x00, 7]), (None, vec![7]));
        assert_eq!(read(&[0x90, 0x80, 0x7f, 7]), (Some(127), vec![7]));
        assert_eq!(read(&[0x90, 0x80, 0x9c, 0x40, 7]), (Some(7_232), vec![7]));
        assert_eq!(read(&[0x90, 0xe0, 0x9c, 0x40, 1, 0x60, 7]), (Some(7_232), vec![7]));
        assert_eq!(read(&[0x90, 0x30, 0x21, 7]), (None, vec![7]), "T and K share a byte");
        for cut_short in [&[][..], &[0x10], &[0x90], &[0x90, 0x80], &[0x90, 0x80, 0x80], &[0x90, 0xc0, 1, 1]] {
            assert!(Payload::parse(cut_short).is_err(), "{cut_short:?}");
        }
    }

    /// [rfc7741] §4.3: P, the lowest bit of a frame's first byte, is clear in key frames; §4.2: S and partition 0.
    #[test]
    fn a_key_frame_begins_with_the_first_partition() {
        let begins = |bytes: &[u8]| {
            let payload = Payload::parse(bytes).unwrap();
            (payload.begins_frame(), payload.begins_keyframe())
        };
        assert_eq!(begins(&[0x10, 0x50]), (true, true));
        assert_eq!(begins(&[0x30, 0x51]), (true, false));
        assert_eq!(begins(&[0x00, 0x50]), (false, false), "in the middle of it");
        assert_eq!(begins(&[0x11, 0x50]), (false, false), "the second partition");
        assert!(Payload::parse(&[0x30, 0x51]).unwrap().non_reference);
    }

    proptest! {
        #[test]
        fn any_bytes_are_a_descriptor_of_at_most_six_bytes_or_refused(
            bytes in prop::collection::vec(any::<u8>(), 0..40),
        ) {
            if let Ok(payload) = Payload::parse(&bytes) {
                prop_assert!(bytes.ends_with(payload.bytes) && bytes.len() - payload.bytes.len() <= 6);
                prop_assert!(payload.picture_id.is_none_or(|id| id < 1 << 15));
            }
        }
    }
}
