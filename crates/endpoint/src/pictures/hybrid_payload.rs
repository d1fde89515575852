//! A coded frame of the hybrid codec as RTP payloads: each is one of the codec's packets behind five bytes
//! (`legato_wire::hybrid`).
//!
//! The sender counts 38 bytes of RTP per packet, of which the wire has 36; so two of the five are among them, as with the
//! other codecs (`even_cut.rs`), and three count as the frame's, with what is left empty for further header extensions.

use crate::error::Error;
use crate::pictures::payloads::Payloads;
use legato_codec::PacketCost;
use legato_codec::hybrid::Bundle;
use legato_media::packetizer::{MAX_PAYLOAD_BYTES, PACKET_OVERHEAD_BYTES};
use legato_wire::hybrid::{Confirmed, HEAD_BYTES, head};

/// A frame, ready to be sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HybridFrame {
    bundle: Bundle,
    keyframe: bool,
    /// Bytes of each packet that are not filled.
    room: u16,
}

/// What each payload holds beyond what the sender counts.
const FRAMING_BYTES: u16 = 2;

impl HybridFrame {
    /// From the encoder's bytes. Each packet leaves `room` bytes empty.
    pub fn new(bytes: &[u8], keyframe: bool, room: u16) -> Result<Self, Error> {
        Ok(Self { bundle: Bundle::parse(bytes)?, keyframe, room })
    }

    fn piece(&self, packet: &[u8]) -> u16 {
        packet.len() as u16 + taken(self.room)
    }
}

/// Bytes of a piece that are not the codec's.
fn taken(room: u16) -> u16 {
    HEAD_BYTES as u16 - FRAMING_BYTES + room
}

/// What packets cost the encoder, whose budgets account for those that the packetizer would cut.
pub fn packet_cost(room: u16) -> PacketCost {
    PacketCost {
        max_bytes: MAX_PAYLOAD_BYTES - taken(room),
        own_bytes: PACKET_OVERHEAD_BYTES + taken(room),
        even_max_bytes: MAX_PAYLOAD_BYTES - room,
        even_bytes: PACKET_OVERHEAD_BYTES,
    }
}

impl Payloads for HybridFrame {
    fn size_bytes(&self) -> u32 {
        self.bundle.packets.iter().map(|packet| u32::from(self.piece(packet))).sum()
    }

    fn pieces(&self) -> Option<Vec<u16>> {
        Some(self.bundle.packets.iter().map(|packet| self.piece(packet)).collect())
    }

    fn payload(&self, index: u16) -> Option<Vec<u8>> {
        let packet = self.bundle.packets.get(usize::from(index))?;
        let confirmed = self.bundle.confirmed.map(|(behind, sum)| Confirmed { behind, sum });
        Some([&head(self.keyframe, self.bundle.stream, confirmed), &packet[..]].concat())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use legato_wire::hybrid::Payload;

    #[test]
    fn payloads_are_the_packets_behind_five_bytes_and_two_longer_than_counted() {
        let packets = vec![vec![0x20, 0, 9, 0, 2, 80, 1, 5], vec![0x20, 0, 9, 1, 2, 80, 1, 5, 6]];
        let bundle = Bundle { stream: 3, confirmed: Some((4, 0xabcd)), packets: packets.clone() };
        let frame = HybridFrame::new(&bundle.to_bytes(), false, 8).unwrap();
        assert_eq!((frame.pieces(), frame.size_bytes(), frame.head_bytes()), (Some(vec![19, 20]), 39, 0));
        for (index, packet) in (0..2).zip(&packets) {
            let payload = frame.payload(index).unwrap();
            assert_eq!(payload.len() + 8, usize::from(frame.pieces().unwrap()[usize::from(index)]) + 2);
            let read = Payload::parse(&payload).unwrap();
            assert_eq!((read.stream, read.confirmed), (3, Some(Confirmed { behind: 4, sum: 0xabcd })));
            assert_eq!((read.frame, u16::from(read.packet), read.bytes), (9, index, &packet[..]));
        }
        assert_eq!(frame.payload(2), None);
        assert!(HybridFrame::new(&[], false, 0).is_err());
    }
}
