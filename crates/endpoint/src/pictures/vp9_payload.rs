//! A coded VP9 frame as RTP payloads (RFC 9628), cut where the sender's packetizer cuts (`even_cut.rs`).
//!
//! The descriptor is libwebrtc's for one spatial and one temporal layer: non-flexible mode, a picture number of 15 bits
//! in every packet, no layer indices, and before a key frame the scalability structure: its size, and that each picture
//! refers to the one before. The structure is only in the first packet and counts as bytes of the frame. Missing: layers;
//! flexible mode.

use crate::pictures::even_cut::EvenCut;
use crate::pictures::payloads::Payloads;

/// A frame, ready to be cut.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Vp9Frame {
    cut: EvenCut,
    picture_id: u16,
    keyframe: bool,
}

const DESCRIPTOR_BYTES: usize = 3;
const HAS_PICTURE_ID: u8 = 0x80;
const INTER_PREDICTED: u8 = 0x40;
const BEGIN: u8 = 0x08;
const END: u8 = 0x04;
const HAS_STRUCTURE: u8 = 0x02;
/// The picture number has 15 bits.
const LONG_PICTURE_ID: u16 = 0x8000;
/// One spatial layer, its size, a group of pictures.
const SIZE_AND_GROUP: u8 = 0x18;
/// A group of one picture: of temporal layer 0, where one may switch up, with one reference …
const ONE_PICTURE: [u8; 2] = [1, 0x14];
/// … to the picture before.
const PREVIOUS: u8 = 1;

impl Vp9Frame {
    /// From the encoder's bytes. `key`: columns and rows, for a key frame. `number` counts the stream's frames. Each piece
    /// leaves `room` bytes empty.
    pub fn new(bytes: &[u8], key: Option<(u16, u16)>, number: u32, room: u16) -> Self {
        let body = [&key.map_or_else(Vec::new, structure)[..], bytes].concat();
        let cut = EvenCut::new(body, DESCRIPTOR_BYTES, room);
        Self { cut, picture_id: number as u16 | LONG_PICTURE_ID, keyframe: key.is_some() }
    }
}

impl Payloads for Vp9Frame {
    fn size_bytes(&self) -> u32 {
        self.cut.size_bytes()
    }

    fn payload(&self, index: u16) -> Option<Vec<u8>> {
        let (piece, last) = self.cut.piece(index)?;
        let when = |so: bool, bit: u8| if so { bit } else { 0 };
        // [rfc9628] §4.2: |I|P|L|F|B|E|V|Z|, |M| PictureID |, then what V announces, with which the body begins.
        let bits = when(!self.keyframe, INTER_PREDICTED)
            | when(index == 0, BEGIN)
            | when(last, END)
            | when(index == 0 && self.keyframe, HAS_STRUCTURE);
        let mut payload = Vec::with_capacity(DESCRIPTOR_BYTES + piece.len());
        payload.push(HAS_PICTURE_ID | bits);
        payload.extend(self.picture_id.to_be_bytes());
        payload.extend_from_slice(piece);
        Some(payload)
    }
}

/// [rfc9628] §4.2.1: |N_S|Y|G|RES|, width, height, |N_G|, |TID|U|R|RES|, P_DIFF.
fn structure((width, height): (u16, u16)) -> Vec<u8> {
    let [width, height] = [width, height].map(u16::to_be_bytes);
    [&[SIZE_AND_GROUP][..], &width, &height, &ONE_PICTURE, &[PREVIOUS]].concat()
}

#[cfg(test)]
mod tests {
    use super::*;
    use legato_media::packetizer;

    fn heads(frame: &Vp9Frame) -> Vec<[u8; 3]> {
        (0..).map_while(|index| frame.payload(index)).map(|payload| [payload[0], payload[1], payload[2]]).collect()
    }

    /// [rfc9628] §4.2, worked by hand: I and P, B first and E last; 40,000 is 7,232 modulo 2^15, 0x1c40.
    #[test]
    fn every_packet_names_its_picture_and_the_first_and_last_are_marked() {
        let frame = Vp9Frame::new(&[7; 3_000], None, 40_000, 0);
        assert_eq!(heads(&frame), [[0xc8, 0x9c, 0x40], [0xc0, 0x9c, 0x40], [0xc4, 0x9c, 0x40]]);
        assert_eq!(heads(&Vp9Frame::new(&[7; 30], None, 1, 0)), [[0xcc, 0x80, 1]]);
    }

    /// [rfc9628] §4.2.1, worked by hand: 1280 is 0x0500, 720 is 0x02d0.
    #[test]
    fn a_key_frame_has_its_structure_ahead_and_no_prediction() {
        let frame = Vp9Frame::new(&[7; 2_000], Some((1_280, 720)), 1, 0);
        let first = frame.payload(0).unwrap();
        assert_eq!(first[..12], [0x8a, 0x80, 1, 0x18, 0x05, 0, 0x02, 0xd0, 1, 0x14, 1, 7]);
        assert_eq!(heads(&frame), [[0x8a, 0x80, 1], [0x84, 0x80, 1]]);
        let sizes = (0..).map_while(|index| frame.payload(index)).map(|payload| payload.len() as u16 - 2);
        assert!(sizes.eq(packetizer::pieces(frame.size_bytes())));
        assert_eq!(frame.size_bytes(), 2_000 + 8 + 2);
    }
}
