//! A frame's bytes distributed evenly among packets, each after a descriptor of constant length: what VP8 and VP9 have in
//! common.
//!
//! The packetizer distributes a frame's bytes in pieces that differ by at most one byte, and counts 38 bytes of RTP per
//! packet, of which the wire has 36; a payload has two bytes more than its piece, as with H.264 (`h264/payloads.rs`). What
//! a descriptor takes beyond those two counts as bytes of the frame, and so does what each piece leaves empty for further
//! header extensions.

use legato_media::packetizer::{self, MAX_PAYLOAD_BYTES};

/// A frame, ready to be cut.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EvenCut {
    body: Vec<u8>,
    /// Bytes of each piece that do not belong to the body.
    taken: usize,
}

/// What each payload holds beyond its piece.
const FRAMING_BYTES: usize = 2;

impl EvenCut {
    /// Of `body`, after descriptors of two or more bytes. Each piece leaves `room` bytes empty.
    pub fn new(body: Vec<u8>, descriptor_bytes: usize, room: u16) -> Self {
        Self { body, taken: descriptor_bytes - FRAMING_BYTES + usize::from(room) }
    }

    /// Bytes that the packetizer distributes.
    pub fn size_bytes(&self) -> u32 {
        let most = usize::from(MAX_PAYLOAD_BYTES) - self.taken;
        let packets = self.body.len().div_ceil(most).max(1);
        (self.body.len() + self.taken * packets) as u32
    }

    /// The part of the body in packet `index`, and whether it is the last; `None` beyond it.
    pub fn piece(&self, index: u16) -> Option<(&[u8], bool)> {
        let pieces = packetizer::pieces(self.size_bytes());
        let length = |piece: u16| usize::from(piece) - self.taken;
        let start: usize = pieces.clone().take(usize::from(index)).map(length).sum();
        let length = pieces.clone().nth(usize::from(index)).map(length)?;
        Some((&self.body[start..start + length], index + 1 == pieces.packets()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_and_descriptors_are_the_packetizers_pieces_plus_two_minus_the_room() {
        let lengths = [1, 500, 1_159, 1_160, 1_161, 1_162, 2_320, 2_321, 5_000, 40_000, 115_999, 116_000, 116_001];
        let cases = lengths.into_iter().flat_map(|length| [(3, 0), (4, 0), (3, 8), (4, 8)].map(|how| (length, how)));
        for (length, (descriptor, room)) in cases {
            let body: Vec<u8> = (0..length).map(|n| (n % 251) as u8).collect();
            let cut = EvenCut::new(body.clone(), descriptor, room);
            let case = format!("{length} bytes behind {descriptor}, {room} left");
            let all: Vec<_> = (0..).map_while(|index| cut.piece(index)).collect();
            let sizes: Vec<_> = all.iter().map(|(piece, _)| (descriptor + piece.len() - 2) as u16 + room).collect();
            assert_eq!(sizes, packetizer::pieces(cut.size_bytes()).collect::<Vec<_>>(), "{case}");
            assert_eq!(all.iter().flat_map(|(piece, _)| piece.to_vec()).collect::<Vec<_>>(), body, "{case}");
            assert!(all.iter().rev().map(|&(_, last)| last).eq((0..all.len()).map(|place| place == 0)), "{case}");
        }
    }
}
