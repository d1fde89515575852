//! A decoder of a loss-tolerant codec: any part of a frame decodes, at a quality that depends on its share.
//!
//! The figures behind it are `grace-standin`'s (`grace_standin.rs`): they give the effect of earlier
//! losses on a frame under continuous loss. After the last lossy frame the sender's and the receiver's
//! references differ until they are synchronised again; the damage fades until then.

use super::display::Display;
use super::{AssembledFrame, DecodedFrame, Decoder};
use crate::grace_standin::Standin;
use crate::profile::Damage;
use crate::{Profile, Quality, SourceFrame};
use legato_units::Timestamp;
use std::sync::Arc;

/// Decodes any subset of a frame's packets.
#[derive(Clone, Debug)]
pub struct LossTolerant {
    standin: Standin,
    started: bool,
    last: u64,
    damage: Damage,
    /// Frames until the references agree again.
    unsettled: u32,
    display: Display,
}

impl LossTolerant {
    /// A decoder of `grace-standin` streams of a clip at `rows` rows; absent: the largest size of its ladder.
    pub fn new(profile: Arc<Profile>, rows: Option<u16>) -> Self {
        let standin = Standin::of_clip(&profile, rows);
        Self {
            standin,
            started: false,
            last: 0,
            damage: Damage::default(),
            unsettled: 0,
            display: Display::new(Some(profile)),
        }
    }
}

impl Decoder for LossTolerant {
    #[inline]
    fn decode(&mut self, _now: Timestamp, frame: &AssembledFrame) -> DecodedFrame {
        let encoded = &frame.encoded;
        // The first frame is coded on its own and is useless without most of it.
        let begins = !self.started && encoded.keyframe && frame.loss_ratio() <= LARGEST_FIRST_LOSS;
        if (!self.started && !begins) || frame.pieces_received == 0 {
            return DecodedFrame {
                frame: encoded.frame,
                decodable: false,
                keyframe_needed: !self.started,
                quality: None,
            };
        }
        let missed = self.started && encoded.sequence > self.last + 1 && !encoded.keyframe;
        self.started = true;
        self.last = encoded.sequence;
        if encoded.keyframe {
            self.damage = Damage::default();
            self.unsettled = 0;
        }
        let ratio = frame.loss_ratio();
        if ratio > 0.0 || missed {
            // A frame that never came counts as one of which nearly all was lost.
            let hit = self.standin.damage(encoded.qp, if missed { ratio.max(MOST_LOSS) } else { ratio });
            let inherited = self.damage.scaled(FADING);
            self.damage = Damage {
                dissimilarity: hit.dissimilarity.max(inherited.dissimilarity),
                mse: hit.mse.max(inherited.mse),
            };
            self.unsettled = SYNC_FRAMES;
        } else if self.unsettled > 0 {
            self.unsettled -= 1;
            self.damage = if self.unsettled == 0 { Damage::default() } else { self.damage.scaled(FADING) };
        }
        let untouched = self.damage == Damage::default();
        let quality = encoded.quality.map(|clean| if untouched { clean } else { self.damage.applied_to(clean) });
        self.display.show(encoded, quality);
        DecodedFrame { frame: encoded.frame, decodable: true, keyframe_needed: false, quality }
    }

    fn accepts_partial(&self) -> bool {
        true
    }

    fn frozen(&self, current: &SourceFrame) -> Option<Quality> {
        self.display.frozen(current)
    }
}

/// The state is synchronised every ten frames under continuous loss.
const SYNC_FRAMES: u32 = 10;
/// The share of damage a whole frame inherits until then. Assumed: the public figures cover continuous loss only.
const FADING: Damage = Damage { dissimilarity: 0.8, mse: 0.8 };
/// The largest loss the public figures know.
const MOST_LOSS: f32 = 0.9;
const LARGEST_FIRST_LOSS: f32 = 0.5;
