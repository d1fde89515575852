//! A decoder of a stream in slices: missing parts of a frame are concealed, and the damage persists
//! in the pictures predicted from it until a key frame, as measured (docs/reference/profile-format.md).
//!
//! Damage adds up in 1 - SSIM and in the squared error: D_t = rho D_(t-1) + hit(loss), with one rho
//! for frames that are hit themselves and one for whole ones. A frame that never came counts as a hit
//! by total loss.

use super::display::Display;
use super::{AssembledFrame, DecodedFrame, Decoder};
use crate::profile::Damage;
use crate::{EncodedFrame, Profile, Quality, SourceFrame};
use legato_units::Timestamp;
use std::sync::Arc;

/// Decodes the available part, with concealment.
#[derive(Clone, Debug)]
pub struct Sliced {
    profile: Arc<Profile>,
    last: Option<u64>,
    damage: Damage,
    display: Display,
}

impl Sliced {
    /// A decoder of streams of `profile`; waits for its first key frame.
    pub fn new(profile: Arc<Profile>) -> Self {
        let display = Display::new(Some(profile.clone()));
        Self { profile, last: None, damage: Damage::default(), display }
    }

    /// A frame is hit by the loss of `ratio` of it.
    #[inline]
    fn hit(&mut self, encoded: &EncodedFrame, ratio: f32) {
        let loss = &self.profile.rungs[usize::from(encoded.rung)].loss;
        let inherited = self.damage.scaled(loss.persistence(ratio > 0.0));
        self.damage = inherited.plus(loss.hit(encoded.content, encoded.qp, ratio));
    }
}

impl Decoder for Sliced {
    #[inline]
    fn decode(&mut self, _now: Timestamp, frame: &AssembledFrame) -> DecodedFrame {
        let encoded = &frame.encoded;
        let started = encoded.keyframe || self.last.is_some();
        if !started || frame.pieces_received == 0 {
            return DecodedFrame { frame: encoded.frame, decodable: false, keyframe_needed: true, quality: None };
        }
        let missed = match self.last {
            Some(last) if !encoded.keyframe => encoded.sequence.saturating_sub(last + 1).min(MOST_MISSED),
            _ => 0,
        };
        self.last = Some(encoded.sequence);
        if encoded.keyframe {
            self.damage = Damage::default();
        }
        for _ in 0..missed {
            self.hit(encoded, 1.0);
        }
        let ratio = frame.loss_ratio();
        let untouched = self.damage == Damage::default() && ratio == 0.0;
        let quality = if untouched {
            encoded.quality
        } else {
            self.hit(encoded, ratio);
            if self.damage.dissimilarity < NEGLIGIBLE && ratio == 0.0 {
                self.damage = Damage::default();
            }
            encoded.quality.map(|clean| self.damage.applied_to(clean))
        };
        self.display.show(encoded, quality);
        let lost_db = match (encoded.quality, quality) {
            (Some(clean), Some(seen)) => clean.ssim_db - seen.ssim_db,
            _ => 0.0,
        };
        DecodedFrame { frame: encoded.frame, decodable: true, keyframe_needed: lost_db > KEYFRAME_AFTER_DB, quality }
    }

    fn accepts_partial(&self) -> bool {
        true
    }

    fn frozen(&self, current: &SourceFrame) -> Option<Quality> {
        self.display.frozen(current)
    }
}

/// More consecutive frames than this need not be counted: nothing is left to damage.
const MOST_MISSED: u64 = 60;
/// Damage below this shows in no figure and is forgotten.
const NEGLIGIBLE: f32 = 1e-5;
/// A viewer that has lost this much SSIM requests a key frame.
const KEYFRAME_AFTER_DB: f32 = 3.0;
