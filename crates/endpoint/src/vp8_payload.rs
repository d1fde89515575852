//! A coded VP8 frame as RTP payloads (RFC 7741), cut where the sender's packetizer cuts.
//!
//! The packetizer shares a frame's bytes out in pieces that differ by one byte at most, and counts 38 bytes of RTP a
//! packet, of which the wire has 36; a payload has two bytes more than its piece, as with H.264 (`h264_payload.rs`).
//! A descriptor takes four: two are those, and two are counted as bytes of the frame. So a frame is as large as its
//! bytes and two for each of its packets; and as many more as each piece leaves empty for further header extensions.
//!
//! The descriptor is libwebrtc's: a picture number of 15 bits in every packet, all packets of partition 0. Missing:
//! temporal layers, and with them frames that no other refers to; partitions in packets of their own.

use legato_media::packetizer::{self, MAX_PAYLOAD_BYTES};

/// What each payload holds beside its piece.
const FRAMING_BYTES: usize = 2;
const DESCRIPTOR_BYTES: usize = 4;

/// A frame, ready to be cut.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Vp8Frame {
    bytes: Vec<u8>,
    picture_id: u16,
    /// Bytes of each piece that are not the encoder's.
    taken: usize,
}

/// The descriptor has a second byte …
const EXTENDED: u8 = 0x80;
/// … which says that a picture number follows …
const HAS_PICTURE_ID: u8 = 0x80;
/// … of 15 bits.
const LONG_PICTURE_ID: u16 = 0x8000;
/// The payload begins a partition.
const START: u8 = 0x10;

impl Vp8Frame {
    /// From the encoder's bytes. `number` counts the stream's frames. Each piece leaves `room` bytes empty.
    pub fn new(bytes: &[u8], number: u32, room: u16) -> Self {
        let taken = DESCRIPTOR_BYTES - FRAMING_BYTES + usize::from(room);
        Self { bytes: bytes.to_vec(), picture_id: number as u16 | LONG_PICTURE_ID, taken }
    }

    /// Bytes that the packetizer shares out.
    pub fn size_bytes(&self) -> u32 {
        let most = usize::from(MAX_PAYLOAD_BYTES) - self.taken;
        let packets = self.bytes.len().div_ceil(most).max(1);
        (self.bytes.len() + self.taken * packets) as u32
    }

    /// The payload of packet `index`; `None` beyond the last.
    pub fn payload(&self, index: u16) -> Option<Vec<u8>> {
        let pieces = packetizer::pieces(self.size_bytes());
        let length = |piece: u16| usize::from(piece) - self.taken;
        let start: usize = pieces.clone().take(usize::from(index)).map(length).sum();
        let length = pieces.clone().nth(usize::from(index)).map(length)?;
        let mut payload = Vec::with_capacity(DESCRIPTOR_BYTES + length);
        // [rfc7741] §4.2: |X|R|N|S|R| PID |, |I|L|T|K| RSV |, |M| PictureID |. All packets may be of partition 0, and
        // only the first byte of a frame is known here to begin one.
        payload.extend([EXTENDED | if index == 0 { START } else { 0 }, HAS_PICTURE_ID]);
        payload.extend(self.picture_id.to_be_bytes());
        payload.extend_from_slice(&self.bytes[start..start + length]);
        Some(payload)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(length: usize, number: u32, room: u16) -> Vp8Frame {
        Vp8Frame::new(&(0..length).map(|n| (n % 251) as u8).collect::<Vec<_>>(), number, room)
    }

    fn payloads(frame: &Vp8Frame) -> Vec<Vec<u8>> {
        (0..).map_while(|index| frame.payload(index)).collect()
    }

    #[test]
    fn payloads_are_the_packetizers_pieces_and_two_bytes_less_the_room_left() {
        for (length, room) in
            [1, 500, 1_159, 1_160, 1_161, 1_162, 2_320, 2_321, 5_000, 40_000, 115_999, 116_000, 116_001]
                .into_iter()
                .flat_map(|length| [(length, 0), (length, 8)])
        {
            let (frame, case) = (frame(length, 7, room), format!("a frame of {length} bytes, {room} left"));
            let sizes: Vec<_> = payloads(&frame).iter().map(|payload| payload.len() as u16 - 2 + room).collect();
            let pieces: Vec<_> = packetizer::pieces(frame.size_bytes()).collect();
            assert_eq!(sizes, pieces, "{case}");
            let body: Vec<u8> = payloads(&frame).iter().flat_map(|payload| payload[4..].to_vec()).collect();
            assert_eq!(body, frame.bytes, "{case}");
        }
    }

    /// [rfc7741] §4.2, worked by hand: X and S, then I, then M and 15 bits: 40,000 is 7,232 modulo 2^15, 0x1c40.
    #[test]
    fn every_packet_names_its_picture_and_the_first_one_begins_it() {
        let all = payloads(&frame(3_000, 40_000, 0));
        let heads: Vec<_> = all.iter().map(|payload| payload[..4].to_vec()).collect();
        let later = [0x80, 0x80, 0x9c, 0x40];
        assert_eq!(heads, [[0x90, 0x80, 0x9c, 0x40], later, later]);
    }
}
