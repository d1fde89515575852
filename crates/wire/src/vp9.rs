//! VP9 in RTP payloads (RFC 9628): a descriptor, then consecutive bytes of one frame of a picture; a picture has a
//! frame for each of its spatial layers, usually one.
//!
//! This reads single payloads; joining pictures is up to a caller that keeps state. References and the scalability
//! structure are validated and skipped: a receiver that decodes everything it gets does not need them.

use crate::Error;
use crate::reader::Reader;
use crate::vp8::read_picture_id;

/// The contents of a payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Payload<'a> {
    /// Number of the picture, of 7 or 15 bits.
    pub picture_id: Option<u16>,
    /// The frame refers to pictures before it.
    pub inter_predicted: bool,
    /// Its first byte is the first of a frame.
    pub begins_frame: bool,
    /// Its last byte is the last of a frame.
    pub ends_frame: bool,
    /// The spatial layer of the frame, 0 … 7.
    pub spatial_layer: u8,
    /// It has a scalability structure.
    pub has_structure: bool,
    /// Of the frame; at least one.
    pub bytes: &'a [u8],
}

impl<'a> Payload<'a> {
    /// Reads a payload. Reserved bits are ignored.
    pub fn parse(bytes: &'a [u8]) -> Result<Self, Error> {
        let mut reader = Reader::new(bytes);
        // [rfc9628] §4.2: |I|P|L|F|B|E|V|Z|, then the fields of I, L, F and V, in this order.
        let [first] = reader.array("vp9.descriptor")?;
        let has = |bit: u8| first & bit != 0;
        let picture_id = if has(PICTURE_ID) { Some(read_picture_id(&mut reader, "vp9.picture_id")?) } else { None };
        let mut spatial_layer = 0;
        if has(LAYER) {
            let [layer] = reader.array("vp9.layer")?;
            spatial_layer = layer >> 1 & 7;
            if !has(FLEXIBLE) {
                reader.array::<1>("vp9.tl0picidx")?;
            }
        }
        if has(FLEXIBLE) && has(INTER_PREDICTED) {
            skip_references(&mut reader)?;
        }
        if has(STRUCTURE) {
            skip_structure(&mut reader)?;
        }
        let bytes = reader.rest();
        if bytes.is_empty() {
            return Err(Error::Truncated { field: "vp9.payload", needed: 1, available: 0 });
        }
        Ok(Self {
            picture_id,
            inter_predicted: has(INTER_PREDICTED),
            begins_frame: has(BEGIN),
            ends_frame: has(END),
            spatial_layer,
            has_structure: has(STRUCTURE),
            bytes,
        })
    }

    /// Whether a picture that is decodable without any other begins here.
    #[inline]
    pub const fn begins_keyframe(&self) -> bool {
        self.begins_frame && !self.inter_predicted && self.spatial_layer == 0
    }
}

// [rfc9628] §4.2: |P_DIFF|N|, up to three, the next one if N is set.
fn skip_references(reader: &mut Reader<'_>) -> Result<(), Error> {
    for _ in 0..MAX_REFERENCES {
        let [reference] = reader.array("vp9.p_diff")?;
        if reference & 1 == 0 {
            return Ok(());
        }
    }
    Err(Error::Invalid { field: "vp9.p_diff", value: MAX_REFERENCES + 1 })
}

// [rfc9628] §4.2.1: |N_S|Y|G|RES|, with Y width and height of N_S + 1 layers, with G |N_G| and for each of these
// pictures |TID|U|R|RES| and R differences.
fn skip_structure(reader: &mut Reader<'_>) -> Result<(), Error> {
    let [head] = reader.array("vp9.structure")?;
    if head & STRUCTURE_SIZES != 0 {
        reader.bytes(4 * (usize::from(head >> 5) + 1), "vp9.structure.sizes")?;
    }
    if head & STRUCTURE_GROUP != 0 {
        let [pictures] = reader.array("vp9.structure.pictures")?;
        for _ in 0..pictures {
            let [picture] = reader.array("vp9.structure.picture")?;
            reader.bytes(usize::from(picture >> 2 & 3), "vp9.structure.p_diff")?;
        }
    }
    Ok(())
}

const PICTURE_ID: u8 = 0x80;
const INTER_PREDICTED: u8 = 0x40;
const LAYER: u8 = 0x20;
const FLEXIBLE: u8 = 0x10;
const BEGIN: u8 = 0x08;
const END: u8 = 0x04;
const STRUCTURE: u8 = 0x02;
const STRUCTURE_SIZES: u8 = 0x10;
const STRUCTURE_GROUP: u8 = 0x08;
const MAX_REFERENCES: u64 = 3;

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// [rfc9628] §4.2, by hand: picture number, layer with TL0PICIDX if F is clear, references if it is set.
    #[test]
    fn a_descriptor_is_as_long_as_its_bits_say() {
        let read = |bytes: &[u8]| {
            let payload = Payload::parse(bytes).unwrap();
            (payload.picture_id, payload.spatial_layer, payload.bytes.to_vec())
        };
        assert_eq!(read(&[0x0c, 7]), (None, 0, vec![7]));
        assert_eq!(read(&[0x8c, 0x7f, 7]), (Some(127), 0, vec![7]));
        assert_eq!(read(&[0xcc, 0x9c, 0x40, 7]), (Some(7_232), 0, vec![7]));
        assert_eq!(read(&[0xec, 0x9c, 0x40, 0x04, 9, 7]), (Some(7_232), 2, vec![7]));
        assert_eq!(read(&[0xfc, 0x9c, 0x40, 0x04, 0x03, 0x04, 7]), (Some(7_232), 2, vec![7]));
        assert_eq!(read(&[0xbc, 0x01, 0x04, 7]), (Some(1), 2, vec![7]), "no references where nothing is predicted");
        let four = Payload::parse(&[0xdc, 0x01, 3, 3, 3, 2, 7]);
        assert_eq!(four, Err(Error::Invalid { field: "vp9.p_diff", value: 4 }));
        for cut_short in [&[][..], &[0x0c], &[0x8c, 0x80], &[0xa8, 1, 4], &[0xd8, 1, 3], &[0x0e], &[0x0e, 0x10, 0, 9]] {
            assert!(Payload::parse(cut_short).is_err(), "{cut_short:?}");
        }
    }

    /// [rfc9628] §4.2.1, by hand: one layer of 1280x720, a group of one picture that refers to the last.
    #[test]
    fn a_structure_is_skipped() {
        let payload = [0x8e, 0x80, 0x01, 0x18, 0x05, 0x00, 0x02, 0xd0, 0x01, 0x14, 0x01, 0x82, 0x49];
        let read = Payload::parse(&payload).unwrap();
        assert_eq!((read.bytes, read.picture_id, read.has_structure), (&payload[11..], Some(1), true));
        assert!(read.begins_keyframe() && read.ends_frame);
        for length in 3..12 {
            assert!(Payload::parse(&payload[..length]).is_err(), "{length}");
        }
    }

    #[test]
    fn a_key_frame_begins_with_the_lowest_layer_of_an_unpredicted_picture() {
        let begins = |bytes: &[u8]| Payload::parse(bytes).unwrap().begins_keyframe();
        assert!(begins(&[0x88, 1, 7]) && !begins(&[0xc8, 1, 7]) && !begins(&[0x84, 1, 7]));
        assert!(!begins(&[0xa8, 1, 0x02, 0, 7]), "a layer above");
    }

    proptest! {
        #[test]
        fn any_bytes_are_a_descriptor_and_the_rest_or_refused(
            bytes in prop::collection::vec(any::<u8>(), 0..80),
        ) {
            if let Ok(payload) = Payload::parse(&bytes) {
                prop_assert!(bytes.ends_with(payload.bytes) && !payload.bytes.is_empty());
                prop_assert!(payload.spatial_layer < 8 && payload.picture_id.is_none_or(|id| id < 1 << 15));
            }
        }
    }
}
