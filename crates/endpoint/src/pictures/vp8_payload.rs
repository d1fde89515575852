//! A coded VP8 frame as RTP payloads (RFC 7741), cut where the sender's packetizer cuts (`even_cut.rs`).
//!
//! The descriptor is libwebrtc's: a picture number of 15 bits in every packet, all packets of partition 0. Missing:
//! temporal layers, and with them non-reference frames; partitions in packets of their own.

use crate::pictures::even_cut::EvenCut;
use crate::pictures::payloads::Payloads;

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
        // only the first byte of a frame is known here to begin one.
        payload.extend([EXTENDED | if index == 0 { START } else { 0 }, HAS_PICTURE_ID]);
        payload.extend(self.picture_id.to_be_bytes());
        payload.extend_from_slice(piece);
        Some(payload)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// [rfc7741] §4.2, worked by hand: X and S, then I, then M and 15 bits: 40,000 is 7,232 modulo 2^15, 0x1c40.
    #[test]
    fn every_packet_names_its_picture_and_the_first_one_begins_it() {
        let frame = Vp8Frame::new(&[7; 3_000], 40_000, 0);
        let heads: Vec<_> =
            (0..).map_while(|index| frame.payload(index)).map(|payload| payload[..4].to_vec()).collect();
        let later = [0x80, 0x80, 0x9c, 0x40];
        assert_eq!(heads, [[0x90, 0x80, 0x9c, 0x40], later, later]);
    }
}
