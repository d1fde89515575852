//! A coded H.264 picture in slices as RTP payloads (RFC 6184, packetization mode 1): parameter sets in an aggregation of
//! their own, then each slice in a packet alone, or in fragments (FU-A) if it is too large for one.
//!
//! The sender counts 38 bytes of RTP per packet, of which the wire has 36; so two of each payload are among them, as with
//! the other codecs (`h264_payload.rs`), and what is left empty for further header extensions counts as the frame's.

use crate::error::Error;
use crate::pictures::h264_payload::UnitKind;
use crate::pictures::h264_payload::{FRAMING_BYTES, aggregate, fragment, unit_kind, units};
use crate::pictures::payloads::Payloads;
use legato_codec::PacketCost;
use legato_media::packetizer::{MAX_PAYLOAD_BYTES, PACKET_OVERHEAD_BYTES};

/// A frame, ready to be sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SlicedFrame {
    payloads: Vec<Vec<u8>>,
    /// Bytes of each packet that are not filled.
    room: u16,
}

impl SlicedFrame {
    /// From NAL units with start codes (Annex B). Each packet leaves `room` bytes empty.
    pub fn new(annex_b: &[u8], room: u16) -> Result<Self, Error> {
        let (mut parameters, mut slices) = (Vec::new(), Vec::new());
        for unit in units(annex_b) {
            match unit_kind(unit) {
                UnitKind::Parameters => parameters.push(unit),
                UnitKind::Slice => slices.push(unit),
                UnitKind::Other => {}
            }
        }
        if slices.is_empty() {
            return Err(Error::Encoder("the encoder made a picture without a slice".to_owned()));
        }
        let head = (!parameters.is_empty()).then(|| aggregate(&parameters));
        let most = usize::from(MAX_PAYLOAD_BYTES - room);
        let payloads = head.into_iter().chain(slices.into_iter().flat_map(|slice| cut(slice, most))).collect();
        Ok(Self { payloads, room })
    }

    fn piece(&self, payload: &[u8]) -> u16 {
        (payload.len() as u16).saturating_sub(FRAMING_BYTES).max(1) + self.room
    }
}

/// A slice in payloads of at most two bytes more than `most`.
fn cut(slice: &[u8], most: usize) -> Vec<Vec<u8>> {
    if slice.len() <= most + usize::from(FRAMING_BYTES) {
        return vec![slice.to_vec()];
    }
    let (header, bytes) = (slice[0], &slice[1..]);
    let pieces = bytes.chunks(bytes.len().div_ceil(bytes.len().div_ceil(most)));
    let last = pieces.len() - 1;
    pieces.enumerate().map(|(place, piece)| fragment(header, place == 0, place == last, piece)).collect()
}

/// What packets cost the encoder, whose budgets account for those that the packetizer would cut.
pub fn packet_cost(room: u16) -> PacketCost {
    PacketCost {
        max_bytes: MAX_PAYLOAD_BYTES - room,
        own_bytes: PACKET_OVERHEAD_BYTES + room,
        even_max_bytes: MAX_PAYLOAD_BYTES - room,
        even_bytes: PACKET_OVERHEAD_BYTES,
    }
}

impl Payloads for SlicedFrame {
    fn size_bytes(&self) -> u32 {
        self.payloads.iter().map(|payload| u32::from(self.piece(payload))).sum()
    }

    fn pieces(&self) -> Option<Vec<u16>> {
        Some(self.payloads.iter().map(|payload| self.piece(payload)).collect())
    }

    fn payload(&self, index: u16) -> Option<Vec<u8>> {
        self.payloads.get(usize::from(index)).cloned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn slice(header: u8, length: usize) -> Vec<u8> {
        let body = (1..length).map(|n| (n % 250 + 1) as u8);
        std::iter::once(header).chain(body).collect()
    }

    fn annex_b(units: &[&[u8]]) -> Vec<u8> {
        units.iter().flat_map(|unit| [&[0, 0, 0, 1][..], unit].concat()).collect()
    }

    #[test]
    fn each_slice_is_a_packet_and_two_bytes_longer_than_counted() {
        let slices = [slice(0x41, 300), slice(0x41, 200)];
        let frame = SlicedFrame::new(&annex_b(&[&slices[0], &slices[1]]), 8).unwrap();
        assert_eq!((frame.pieces(), frame.size_bytes(), frame.head_bytes()), (Some(vec![306, 206]), 512, 0));
        assert_eq!(
            [frame.payload(0), frame.payload(1), frame.payload(2)],
            [Some(slices[0].clone()), Some(slices[1].clone()), None]
        );
        assert!(SlicedFrame::new(&annex_b(&[&[0x67, 1]]), 0).is_err());
    }

    /// [rfc6184] §5.8: indicator, fragment header with start and end bits, then the unit without its first byte.
    #[test]
    fn parameters_go_ahead_and_a_large_slice_in_fragments() {
        for room in [0, 8] {
            let large = slice(0x65, 3_000);
            let frame =
                SlicedFrame::new(&annex_b(&[&[0x67, 1, 2], &[0x68, 9], &large, &slice(0x65, 90)]), room).unwrap();
            let payloads: Vec<_> = (0..).map_while(|index| frame.payload(index)).collect();
            assert_eq!(payloads[0], [0x78, 0, 3, 0x67, 1, 2, 0, 2, 0x68, 9]);
            assert_eq!(payloads.len(), 5);
            let heads: Vec<_> = payloads[1..4].iter().map(|payload| [payload[0], payload[1]]).collect();
            assert_eq!(heads, [[0x7c, 0x85], [0x7c, 0x05], [0x7c, 0x45]]);
            let body: Vec<u8> = payloads[1..4].iter().flat_map(|payload| payload[2..].to_vec()).collect();
            assert_eq!([&[0x65], &body[..]].concat(), large);
            assert!(frame.pieces().unwrap().iter().all(|&piece| piece <= MAX_PAYLOAD_BYTES));
            let largest = slice(0x41, usize::from(MAX_PAYLOAD_BYTES - room) + 2);
            let frame = SlicedFrame::new(&annex_b(&[&largest]), room).unwrap();
            assert_eq!(frame.pieces(), Some(vec![MAX_PAYLOAD_BYTES]));
        }
    }
}
