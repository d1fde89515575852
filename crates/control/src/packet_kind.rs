//! What packets carry.

use serde::{Deserialize, Serialize};

/// The contents of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PacketKind {
    /// An audio frame.
    Audio,
    /// Parity for other packets.
    Fec,
    /// Nothing: bytes sent to fill a rate or a probe.
    Padding,
    /// A packet sent again.
    Retransmission,
    /// A piece of a video frame.
    Video,
}
