//! VP9, by libvpx, in RTP payloads (RFC 9628).
//!
//! A frame is cut where the sender's packetizer cuts (`even_cut.rs`).
//!
//! The descriptor is libwebrtc's for one spatial and one temporal layer: non-flexible mode, a picture number of 15 bits
//! in every packet, and no layer indices. Before a key frame comes the scalability structure: its size, and that each
//! picture refers to the previous one. The structure is only in the first packet and counts as bytes of the frame.
//! Missing: layers; flexible mode.

use crate::assembly::whole::{KeyStart, PayloadFormat, WholeFrames};
use crate::even_cut::EvenCut;
use crate::{CallCodec, PacketCost, Payloads, Recovery, RtpFormat, Stream, failed, vpx};
use legato_media::encoder::size_rule::Thresholds;
use legato_vpx::Codec;
use legato_wire::vp9::Payload;

/// The codec.
pub static VP9: CallCodec = CallCodec {
    name: "vp9",
    check: || legato_vpx::check().map_err(failed),
    remedy: Some(vpx::REMEDY),
    ours_alone: false,
    rtp: RtpFormat { name: "VP9", parameters: Some("profile-id=0") },
    // libwebrtc's.
    thresholds: Thresholds { low_qp: 149.0, high_qp: 205.0 },
    streams: &[Stream {
        recovery: Recovery::Nack,
        label: "libvpx vp9 (real)",
        encoder: |settings| vpx::encoder(Codec::Vp9, settings),
        packet_cost: |_| PacketCost::default(),
        payloads: |frame, room| {
            let key = frame.keyframe.then_some(frame.size);
            Ok(Box::new(Vp9Frame::new(frame.bytes, key, frame.number, room)))
        },
        assembly: || Box::new(WholeFrames::new(&FORMAT)),
        playback: || vpx::playback(Codec::Vp9),
    }],
    filling: |length, keyframe| [&[if keyframe { 0x80 } else { 0x84 }, 0, 0][..], &vec![0x55; length]].concat(),
};

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

/// Payloads joined to a picture ([rfc9628] §4.2): a sequence of complete frames, each from B to E.
pub static FORMAT: PayloadFormat = PayloadFormat {
    key_start: |payload| Payload::parse(payload).ok()?.begins_keyframe().then_some(KeyStart::Certain),
    push: |joined, payload| {
        let payload = Payload::parse(payload)?;
        joined.broken |= payload.begins_frame == joined.open;
        joined.keyframe |= payload.begins_keyframe();
        joined.bytes.extend_from_slice(payload.bytes);
        joined.open = !payload.ends_frame;
        Ok(())
    },
};

#[cfg(test)]
mod tests {
    use super::*;
    use crate::assembly::whole::Joined;
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

    /// [rfc9628] §4.2, worked by hand: from B to E, and once more for another spatial layer.
    #[test]
    fn a_vp9_picture_is_its_frames_from_begin_to_end() {
        let key = [0x8a, 1, 0x18, 5, 0, 2, 0xd0, 1, 0x14, 1, 0x82, 4];
        let [begin, middle, end, whole] = [&[0xc8, 2, 0x86][..], &[0xc0, 2, 7], &[0xc4, 2, 8], &[0xcc, 2, 0x86]];
        let second_layer = &[0xec, 2, 0x02, 0, 9][..];
        assert_eq!(Joined::of(&FORMAT, &[&key, &[0x84, 1, 5]]), Some((vec![0x82, 4, 5], true)));
        assert_eq!(Joined::of(&FORMAT, &[begin, middle, end]), Some((vec![0x86, 7, 8], false)));
        assert_eq!(Joined::of(&FORMAT, &[whole, second_layer]), Some((vec![0x86, 9], false)));
        for broken in [&[begin][..], &[begin, middle], &[middle, end], &[begin, whole], &[whole, end], &[&[0xcc, 2]]] {
            assert_eq!(Joined::of(&FORMAT, broken), None, "{broken:?}");
        }
        let key_start = FORMAT.key_start;
        assert_eq!(key_start(&key), Some(KeyStart::Certain));
        assert_eq!((key_start(whole), key_start(&[0x84, 1, 5])), (None, None));
    }
}
