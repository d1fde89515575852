//! Decoder models turn the packets of a frame that arrived into the viewer's picture.
//!
//! A decoder follows `sequence`: a gap means that frames were lost or given up. The effect on later frames depends on
//! the kind of decoder: `strict` shows nothing until a key frame, `sliced` and `loss_tolerant` go on with damage.

mod display;
pub mod hybrid;
pub mod loss_tolerant;
pub mod sliced;
pub mod strict;

use crate::{EncodedFrame, Profile, Quality, SourceFrame};
use legato_units::Timestamp;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// A video decoder. One call per frame that the jitter buffer releases, in `sequence` order.
pub trait Decoder: Send {
    /// Decode the available part of a frame.
    fn decode(&mut self, now: Timestamp, frame: &AssembledFrame) -> DecodedFrame;

    /// Whether frames with missing pieces are worth decoding; if not, the jitter buffer waits for
    /// repair or a key frame.
    fn accepts_partial(&self) -> bool;

    /// The quality of the picture still on display while the camera already sees `current`: the
    /// viewer's quality during a freeze. `None` before the first picture and without measured pixels.
    fn frozen(&self, current: &SourceFrame) -> Option<Quality>;
}

/// A frame as the jitter buffer releases it, whole or in part.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AssembledFrame {
    /// The encoder's output.
    pub encoded: EncodedFrame,
    /// Packets of it that have arrived, including repaired ones.
    pub pieces_received: u16,
    /// Packets it was sent in, at least 1.
    pub pieces_total: u16,
}

impl AssembledFrame {
    /// A complete frame.
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

/// The result of decoding a frame.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DecodedFrame {
    /// The captured frame.
    pub frame: u64,
    /// Whether there is something new to show. If not, the last picture stays ([`Decoder::frozen`]).
    pub decodable: bool,
    /// The decoder cannot continue, or only with damage, without a key frame.
    pub keyframe_needed: bool,
    /// What the viewer sees; `None` if not decodable or without measured pixels.
    pub quality: Option<Quality>,
}

/// The decoders there are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DecoderKind {
    /// Shows whatever arrives of a frame: [`loss_tolerant`].
    LossTolerant,
    /// Conceals missing slices: [`sliced`].
    Sliced,
    /// Shows whole frames only: [`strict`].
    #[default]
    Strict,
}

impl DecoderKind {
    /// As scenarios and tables write it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::LossTolerant => "loss_tolerant",
            Self::Sliced => "sliced",
            Self::Strict => "strict",
        }
    }

    /// The decoder. Without a profile it is `strict`: the others need its tables. `standin_rows` is the size that
    /// `loss_tolerant` was coded at, if it is not the clip's own.
    pub fn build(self, profile: Option<Arc<Profile>>, standin_rows: Option<u16>) -> Box<dyn Decoder> {
        let Some(profile) = profile else { return Box::new(strict::Strict::new()) };
        match self {
            Self::LossTolerant => Box::new(loss_tolerant::LossTolerant::new(profile, standin_rows)),
            Self::Sliced => Box::new(sliced::Sliced::new(profile)),
            Self::Strict => Box::new(strict::Strict::of_clip(profile)),
        }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use legato_units::{DataRate, DataSize};

    /// A coded frame of 20 dB at QP 30.
    pub(crate) fn coded(sequence: u64, keyframe: bool) -> EncodedFrame {
        EncodedFrame {
            acknowledged: None,
            frame: sequence,
            sequence,
            content: 0,
            rung: 0,
            qp: 30.0,
            size: DataSize::from_bytes(3_000),
            head_bytes: 0,
            keyframe,
            width: 320,
            height: 180,
            psnr_db: Some(38.0),
            quality: Some(Quality { ssim_db: 20.0, psnr_db: 38.0 }),
            bitrate: DataRate::from_kbps(500),
        }
    }

    #[test]
    fn the_missing_share_lies_between_zero_and_one() {
        let frame = |received, total| AssembledFrame {
            encoded: coded(0, true),
            pieces_received: received,
            pieces_total: total,
        };
        assert_eq!(frame(4, 4).loss_ratio(), 0.0);
        assert_eq!(frame(1, 4).loss_ratio(), 0.75);
        assert_eq!(frame(9, 4).loss_ratio(), 0.0, "a duplicate piece counts once");
        assert_eq!(frame(0, 0).loss_ratio(), 1.0);
    }
}
