//! A decoder of a stream without slices: a frame with a missing piece cannot be decoded, nor can
//! any frame after it until a key frame.

use super::display::Display;
use super::{AssembledFrame, DecodedFrame, Decoder};
use crate::{Profile, Quality, SourceFrame};
use legato_units::Timestamp;
use std::sync::Arc;

/// Decodes whole chains only.
#[derive(Clone, Debug, Default)]
pub struct Strict {
    /// The `sequence` of the last decoded frame.
    last: Option<u64>,
    display: Display,
}

impl Strict {
    /// A decoder that waits for its first key frame; the picture it freezes on keeps its quality.
    pub fn new() -> Self {
        Self::default()
    }
    /// The same, for a measured clip: the picture it freezes on loses quality with every frame.
    pub fn of_clip(profile: Arc<Profile>) -> Self {
        Self { last: None, display: Display::new(Some(profile)) }
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
            self.display.show(encoded, encoded.quality);
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

    fn frozen(&self, current: &SourceFrame) -> Option<Quality> {
        self.display.frozen(current)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decoder::tests::coded;

    #[test]
    fn nothing_is_decoded_after_a_gap_until_a_key_frame() {
        let mut decoder = Strict::new();
        let mut decode = |sequence, keyframe, received| {
            let frame =
                AssembledFrame { encoded: coded(sequence, keyframe), pieces_received: received, pieces_total: 3 };
            decoder.decode(Timestamp::ZERO, &frame).decodable
        };
        assert!(!decode(0, false, 3), "a stream starts with a key frame");
        assert!(decode(1, true, 3));
        assert!(decode(2, false, 3));
        assert!(!decode(3, false, 2), "a piece is missing");
        assert!(!decode(4, false, 3), "its reference is missing");
        assert!(decode(5, true, 3));
        assert!(!decode(7, false, 3), "frame 6 never came");
    }
}
