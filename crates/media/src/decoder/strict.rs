//! A decoder of a stream without slices: a frame with a piece missing cannot be decoded, nor can
//! any frame after it until a key frame.

use super::{AssembledFrame, DecodedFrame, Decoder};
use crate::{Quality, SourceFrame};
use legato_units::Timestamp;

/// Decodes whole chains only.
#[derive(Clone, Debug, Default)]
pub struct Strict {
    /// The `sequence` of the last decoded frame.
    last: Option<u64>,
    /// What is on display.
    shown: Option<Quality>,
}

impl Strict {
    /// A decoder that waits for its first key frame.
    pub fn new() -> Self {
        Self::default()
    }
}

impl Decoder for Strict {
    #[inline]
    fn decode(&mut self, _now: Timestamp, frame: &AssembledFrame) -> DecodedFrame {
        let encoded = &frame.encoded;
        let continues = encoded.keyframe || self.last.is_some_and(|last| last + 1 == encoded.sequence);
        let decodable = continues && frame.is_complete();
        if decodable {
            self.last = Some(encoded.sequence);
            self.shown = encoded.quality;
        }
        DecodedFrame {
            frame: encoded.frame,
            decodable,
            keyframe_needed: !decodable,
            quality: encoded.quality.filter(|_| decodable),
        }
    }

    fn accepts_partial(&self) -> bool {
        false
    }

    fn frozen(&self, _current: &SourceFrame) -> Option<Quality> {
        self.shown
    }
}
