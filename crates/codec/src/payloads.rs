//! A coded frame, ready to be cut into packets.

use crate::PacketCost;
use legato_media::packetizer::{MAX_PAYLOAD_BYTES, PACKET_OVERHEAD_BYTES};

/// A coded frame, and what payloads say of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CodedFrame<'a> {
    /// As the encoder made it.
    pub bytes: &'a [u8],
    /// Decodable without any other.
    pub keyframe: bool,
    /// Luma columns and rows.
    pub size: (u16, u16),
    /// Counts the call's coded frames.
    pub number: u32,
}

/// The payloads of a frame's packets.
pub trait Payloads: Send {
    /// Bytes that the packetizer distributes.
    fn size_bytes(&self) -> u32;

    /// Of these, the bytes that go ahead in a separate packet.
    fn head_bytes(&self) -> u16 {
        0
    }

    /// The bytes of each packet, for a codec that makes its packets itself; `None`: the packetizer cuts evenly.
    fn pieces(&self) -> Option<Vec<u16>> {
        None
    }

    /// The payload of packet `index`; `None` beyond the last.
    fn payload(&self, index: u16) -> Option<Vec<u8>>;
}

/// A frame whose codec makes its packets itself.
///
/// The sender counts 38 bytes of RTP per packet, of which the wire has 36; so two bytes of each payload are among them.
/// Room left for further header extensions counts as the frame's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OwnPackets {
    payloads: Vec<Vec<u8>>,
    /// Bytes of each packet that are not filled.
    room: u16,
}

/// What each payload holds beyond what the sender counts.
const FRAMING_BYTES: u16 = 2;

impl OwnPackets {
    /// Of these payloads, each of which leaves `room` bytes empty.
    pub fn new(payloads: Vec<Vec<u8>>, room: u16) -> Self {
        Self { payloads, room }
    }

    /// The cost of packets to an encoder whose budgets account for evenly cut ones: `own_bytes` of each
    /// piece are not the codec's.
    pub fn cost(own_bytes: u16, room: u16) -> PacketCost {
        PacketCost {
            max_bytes: MAX_PAYLOAD_BYTES - own_bytes - room,
            own_bytes: PACKET_OVERHEAD_BYTES + own_bytes + room,
            even_max_bytes: MAX_PAYLOAD_BYTES - room,
            even_bytes: PACKET_OVERHEAD_BYTES,
        }
    }

    fn piece(&self, payload: &[u8]) -> u16 {
        (payload.len() as u16).saturating_sub(FRAMING_BYTES).max(1) + self.room
    }
}

impl Payloads for OwnPackets {
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
