//! The encoder of `grace-standin` (`grace_standin.rs`): it takes the level whose frames fit
//! the budget, at once and exactly, as a codec that codes each frame at several levels can.

use super::{EncodedFrame, Encoder, EncoderBudget};
use crate::grace_standin::{Standin, size_of};
use crate::{Profile, SourceFrame};
use legato_units::elementary::{exp2, log2};
use legato_units::{DataSize, Timestamp};
use std::sync::Arc;

/// A loss-tolerant stream at the largest size of a clip's ladder.
#[derive(Clone, Debug)]
pub struct LossTolerant {
    standin: Standin,
    fps: f32,
    rung: u8,
    width: u16,
    height: u16,
    sequence: u64,
    /// The last frame's level.
    last_level: f32,
}

impl LossTolerant {
    /// A stream of a clip at `rows` rows; absent: the largest size of its ladder.
    pub fn new(profile: &Arc<Profile>, rows: Option<u16>) -> Self {
        let (width, height) = size_of(profile, rows);
        Self {
            standin: Standin::of_clip(profile, rows),
            fps: profile.content.frame_rate.as_f64() as f32,
            rung: (profile.rungs.len() - 1) as u8,
            width,
            height,
            sequence: 0,
            last_level: 0.0,
        }
    }
}

impl Encoder for LossTolerant {
    fn encode(&mut self, _now: Timestamp, frame: SourceFrame, budget: EncoderBudget) -> EncodedFrame {
        let keyframe = budget.keyframe || self.sequence == 0;
        let wanted = budget.bitrate.as_bps().max(1) as f32 / self.fps;
        let wanted = budget.max_frame_size.map_or(wanted, |max| wanted.min(max.as_bits().max(1) as f32));
        let level = match budget.version.log2_size_step() {
            Some(step) if self.sequence > 0 => self.standin.level_for(self.standin.log2_bits(self.last_level) + step),
            _ => self.standin.level_for(log2(wanted.max(1.0))),
        };
        self.last_level = level;
        let (bits, quality) = if keyframe {
            (self.standin.first_bits(), self.standin.first_quality())
        } else {
            (exp2(self.standin.log2_bits(level)), self.standin.quality(level))
        };
        let sequence = self.sequence;
        self.sequence += 1;
        EncodedFrame {
            acknowledged: None,
            frame: frame.frame,
            sequence,
            content: frame.content,
            rung: self.rung,
            qp: level,
            size: DataSize::from_bytes((bits * 0.125) as u64),
            head_bytes: 0,
            keyframe,
            width: self.width,
            height: self.height,
            psnr_db: Some(quality.psnr_db),
            quality: Some(quality),
            bitrate: budget.bitrate,
        }
    }

    fn try_out(&self, now: Timestamp, frame: SourceFrame, budget: EncoderBudget) -> Option<EncodedFrame> {
        Some(self.clone().encode(now, frame, budget))
    }
}
