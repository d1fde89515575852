//! Decoder models: what arrived of a frame goes in, what the viewer sees comes out.
//!
//! A decoder follows `sequence`: a gap means that frames were lost or given up, and what that does
//! to later frames is the decoder's kind: `strict` shows nothing until a key frame, `sliced` and
//! `loss_tolerant` go on with damage.

pub mod strict;

use crate::{EncodedFrame, Quality, SourceFrame};
use legato_units::Timestamp;

/// A video decoder. One call a frame that the jitter buffer hands over, in `sequence` order.
pub trait Decoder: Send {
    /// Decode what is there of a frame.
    fn decode(&mut self, now: Timestamp, frame: &AssembledFrame) -> DecodedFrame;

    /// Whether frames with missing pieces are worth handing over; where not, the jitter buffer
    /// waits for repair or a key frame.
    fn accepts_partial(&self) -> bool;

    /// What the picture still on display is worth while the camera already sees `current`: the
    /// viewer's quality during a freeze. `None` before the first picture and without measured pixels.
    fn frozen(&self, current: &SourceFrame) -> Option<Quality>;
}

/// A frame as the jitter buffer hands it over, whole or in part.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AssembledFrame {
    /// What the encoder made.
    pub encoded: EncodedFrame,
    /// Packets of it that are here, repaired ones included.
    pub pieces_received: u16,
    /// Packets it was sent in, at least 1.
    pub pieces_total: u16,
}

impl AssembledFrame {
    /// A frame nothing is missing of.
    pub const fn complete(encoded: EncodedFrame, pieces: u16) -> Self {
        Self { encoded, pieces_received: pieces, pieces_total: pieces }
    }
    /// Nothing is missing.
    #[inline]
    pub const fn is_complete(&self) -> bool {
        self.pieces_received >= self.pieces_total
    }
    /// The share of the frame that is missing, in [0, 1].
    #[inline]
    pub fn loss_ratio(&self) -> f32 {
        let total = self.pieces_total.max(1);
        f32::from(total - self.pieces_received.min(total)) / f32::from(total)
    }
}

/// What became of a frame.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DecodedFrame {
    /// The captured frame.
    pub frame: u64,
    /// Something new can be shown. Else the last picture stays ([`Decoder::frozen`]).
    pub decodable: bool,
    /// The decoder cannot go on, or only damaged, without a key frame.
    pub keyframe_needed: bool,
    /// What the viewer sees; `None` where not decodable or without measured pixels.
    pub quality: Option<Quality>,
}
