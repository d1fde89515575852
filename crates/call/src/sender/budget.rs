//! What the encoder is asked for: which pictures, and how many bits.

use super::Sender;
use legato_media::{EncodedFrame, EncoderBudget, SourceFrame, Version, packetizer};
use legato_units::DataRate;

impl Sender {
    /// Code a picture; `None` if the controller's budget has no room for it, or the frame comes later.
    #[inline]
    pub(super) fn code(&mut self, picture: SourceFrame, budget: EncoderBudget) -> Option<EncodedFrame> {
        if self.decision.encoder.best_of_two {
            return self.best_of_two.code(self.encoder.as_mut(), self.now, picture, budget);
        }
        self.encoder.begin(self.now, picture, budget)
    }

    /// Whether to skip this frame, as the controller wants one captured frame in this many skipped.
    pub(super) fn leaves_out(&mut self) -> bool {
        let Some(interval) = self.decision.encoder.drop_one_frame_in else {
            self.kept = 0;
            return false;
        };
        self.kept += 1;
        let drop = self.kept >= interval;
        if drop {
            self.kept = 0;
        }
        drop
    }

    /// What the target leaves for coded video: minus audio, parity, recent retransmissions, and headers.
    pub(super) fn budget(&mut self) -> EncoderBudget {
        let fps = self.source.content().frame_rate;
        let interval = fps.interval();
        let repair = self.rate.repair(self.now, interval);
        let video = self
            .without_parity(interval)
            .saturating_sub(self.audio.rate())
            // Repair never takes more than half: some picture is better than none.
            .saturating_sub(repair.min(self.decision.target_bitrate.scale(0.5)));
        let video = self.decision.encoder.drop_one_frame_in.map_or(video, |n| video.scale(1.0 - 1.0 / f64::from(n)));
        let coded = packetizer::coded_bitrate(video.as_bps(), whole_fps(fps.as_f64()));
        EncoderBudget {
            bitrate: self.rate.give(self.now, DataRate::from_bps(coded)),
            max_frame_size: self.decision.encoder.max_frame_size,
            keyframe: self.keyframes.is_due(self.now),
            version: Version::Budgeted,
        }
    }
}

/// Frame rates are whole numbers or close to one.
fn whole_fps(fps: f64) -> u32 {
    (fps + 0.5) as u32
}
