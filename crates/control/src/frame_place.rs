//! The place of a packet in its frame.

use serde::{Deserialize, Serialize};

/// Which frame a packet carries a piece of, and which piece.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FramePlace {
    /// Counts sent frames, from 0, wraps.
    pub frame: u32,
    /// The packet's place among the frame's, from 0; parity counts on from the last piece of video.
    pub index: u16,
    /// The frame's number of packets, without parity.
    pub packets: u16,
}

impl FramePlace {
    /// The place of the packet so many behind.
    #[inline]
    pub(crate) fn behind(self, packets: u16) -> Self {
        Self { index: self.index.wrapping_add(packets), ..self }
    }
}
