//! VP8, by libvpx, in RTP payloads (RFC 7741).
//!
//! A frame is cut where the sender's packetizer cuts (`even_cut.rs`).
//!
//! The descriptor is libwebrtc's: a picture number of 15 bits in every packet, all packets of partition 0. Missing:
//! temporal layers, and with them non-reference frames; partitions in separate packets.

use crate::assembly::whole::{KeyStart, PayloadFormat, WholeFrames};
use crate::even_cut::EvenCut;
use crate::{CallCodec, PacketCost, Payloads, Recovery, RtpFormat, Stream, failed, vpx};
use legato_media::encoder::size_rule::Thresholds;
use legato_vpx::Codec;
use legato_wire::vp8::Payload;

/// The codec.
pub static VP8: CallCodec = CallCodec {
    name: "vp8",
    check: || legato_vpx::check().map_err(failed),
    remedy: Some(vpx::REMEDY),
    ours_alone: false,
    // [rfc7741] §6.2.1: there is no parameter that an offer must name.
    rtp: RtpFormat { name: "VP8", parameters: None },
    // libwebrtc's.
    thresholds: Thresholds { low_qp: 29.0, high_qp: 95.0 },
    streams: &[Stream {
        recovery: Recovery::Nack,
        label: "libvpx vp8 (real)",
        encoder: |settings| vpx::encoder(Codec::Vp8, settings),
        packet_cost: |_| PacketCost::default(),
        payloads: |frame, room| Ok(Box::new(Vp8Frame::new(frame.bytes, frame.number, room))),
        assembly: || Box::new(WholeFrames::new(&FORMAT)),
        playback: || vpx::playback(Codec::Vp8),
    }],
    filling: |length, keyframe| [&[u8::from(!keyframe), 0, 0][..], &vec![0x55; length]].concat(),
};

/// A frame, ready to be cut.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Vp8Frame {
    cut: EvenCut,
    picture_id: u16,
}

const DESCRIPTOR_BYTES: usize = 4;
/// The descriptor has a second byte …
const EXTENDED: u8 = 0x80;
/// … which announces a picture number …
const HAS_PICTURE_ID: u8 = 0x80;
/// … of 15 bits.
const LONG_PICTURE_ID: u16 = 0x8000;
/// The payload begins a partition.
const START: u8 = 0x10;

impl Vp8Frame {
    /// From the encoder's bytes. `number` counts the stream's frames. Each piece leaves `room` bytes empty.
    pub fn new(bytes: &[u8], number: u32, room: u16) -> Self {
        let cut = EvenCut::new(bytes.to_vec(), DESCRIPTOR_BYTES, room);
        Self { cut, picture_id: number as u16 | LONG_PICTURE_ID }
    }
}

impl Payloads for Vp8Frame {
    fn size_bytes(&self) -> u32 {
        self.cut.size_bytes()
    }

    fn payload(&self, index: u16) -> Option<Vec<u8>> {
        let (piece, _) = self.cut.piece(index)?;
        let mut payload = Vec::with_capacity(DESCRIPTOR_BYTES + piece.len());
        // [rfc7741] §4.2: |X|R|N|S|R| PID |, |I|L|T|K| RSV |, |M| PictureID |. All packets may be of partition 0, and
        // only the first byte of a frame certainly begins one.
        payload.extend([EXTENDED | if index == 0 { START } else { 0 }, HAS_PICTURE_ID]);
        payload.extend(self.picture_id.to_be_bytes());
        payload.extend_from_slice(piece);
        Some(payload)
    }
}

/// Payloads joined to a picture ([rfc7741] §4.2): the first begins the frame, and no other does.
pub static FORMAT: PayloadFormat = PayloadFormat {
    key_start: |payload| Payload::parse(payload).ok()?.begins_keyframe().then_some(KeyStart::Certain),
    push: |joined, payload| {
        let payload = Payload::parse(payload)?;
        joined.broken |= payload.begins_frame() != joined.bytes.is_empty();
        joined.keyframe |= payload.begins_keyframe();
        joined.bytes.extend_from_slice(payload.bytes);
        Ok(())
    },
};

#[cfg(test)]
mod tests {
    use super::*;
    use crate::assembly::whole::Joined;

    /// [rfc7741] §4.2, worked by hand: X and S, then I, then M and 15 bits: 40,000 is 7,232 modulo 2^15, 0x1c40.
    #[test]
    fn every_packet_names_its_picture_and_the_first_one_begins_it() {
        let frame = Vp8Frame::new(&[7; 3_000], 40_000, 0);
        let heads: Vec<_> =
            (0..).map_while(|index| frame.payload(index)).map(|payload| payload[..4].to_vec()).collect();
        let later = [0x80, 0x80, 0x9c, 0x40];
        assert_eq!(heads, [[0x90, 0x80, 0x9c, 0x40], later, later]);
    }

    /// [rfc7741] §4.2, worked by hand: S and partition 0 only in the first payload.
    #[test]
    fn a_vp8_frame_is_its_payloads_without_their_descriptors() {
        let [key, delta, later] = [&[0x90, 0x80, 0x81, 2, 0x50, 5][..], &[0x90, 0x80, 3, 0x51], &[0x80, 0x80, 3, 7, 8]];
        assert_eq!(Joined::of(&FORMAT, &[key, later]), Some((vec![0x50, 5, 7, 8], true)));
        assert_eq!(Joined::of(&FORMAT, &[delta, later, later]), Some((vec![0x51, 7, 8, 7, 8], false)));
        for broken in [&[later, later][..], &[delta, delta], &[delta, &[]], &[delta, &[0x80, 0x80, 3]], &[]] {
            assert_eq!(Joined::of(&FORMAT, broken), None, "{broken:?}");
        }
        let starts = [key, delta, later].map(FORMAT.key_start);
        assert_eq!(starts, [Some(KeyStart::Certain), None, None]);
    }
}
