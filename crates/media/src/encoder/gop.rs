//! A key frame at a fixed distance and at no other time: the group of pictures of storage and
//! broadcast, which published experiments use. Calls code key frames on request.

use super::{EncodedFrame, Encoder, EncoderBudget};
use crate::SourceFrame;
use legato_control::PacketReports;
use legato_units::Timestamp;

/// Another encoder in groups of pictures.
pub struct Gop {
    encoder: Box<dyn Encoder>,
    frames: u32,
    /// Frames coded since the group began, including its key frame; 0 before the first.
    coded: u32,
}

impl Gop {
    /// `encoder` with a key frame every `frames` frames; other requests are ignored.
    pub fn new(encoder: Box<dyn Encoder>, frames: u32) -> Self {
        Self { encoder, frames: frames.max(1), coded: 0 }
    }

    fn within_group(&self, budget: EncoderBudget) -> EncoderBudget {
        EncoderBudget { keyframe: self.coded == 0 || self.coded >= self.frames, ..budget }
    }
}

impl Encoder for Gop {
    fn encode(&mut self, now: Timestamp, frame: SourceFrame, budget: EncoderBudget) -> EncodedFrame {
        let coded = self.encoder.encode(now, frame, self.within_group(budget));
        self.coded = if coded.keyframe { 1 } else { self.coded + 1 };
        coded
    }

    fn begin(&mut self, now: Timestamp, frame: SourceFrame, budget: EncoderBudget) -> Option<EncodedFrame> {
        let budget = self.within_group(budget);
        let coded = self.encoder.begin(now, frame, budget);
        // A frame still being coded counts as the one requested.
        self.coded = if coded.map_or(budget.keyframe, |coded| coded.keyframe) { 1 } else { self.coded + 1 };
        coded
    }

    fn look(&self, frame: SourceFrame) -> SourceFrame {
        self.encoder.look(frame)
    }

    fn try_out(&self, now: Timestamp, frame: SourceFrame, budget: EncoderBudget) -> Option<EncodedFrame> {
        self.encoder.try_out(now, frame, self.within_group(budget))
    }

    fn pieces(&self, frame: &EncodedFrame) -> Option<Vec<u16>> {
        self.encoder.pieces(frame)
    }

    fn reported(&mut self, reports: &PacketReports) {
        self.encoder.reported(reports);
    }

    fn observe(&self, gauge: &mut dyn FnMut(&'static str, f64)) {
        self.encoder.observe(gauge);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::FrameRate;
    use crate::encoder::statistical::{Config, Statistical};
    use legato_units::DataRate;
    use rand_chacha::ChaCha8Rng;
    use rand_core::SeedableRng;

    #[test]
    fn every_fourth_frame_is_a_key_frame_and_no_other_is() {
        let random = ChaCha8Rng::seed_from_u64(1);
        let plain = Statistical::new(Config::default(), FrameRate::THIRTY, random);
        let mut gop = Gop::new(Box::new(plain), 4);
        let keys: Vec<bool> = (0..9)
            .map(|frame| {
                let capture = Timestamp::from_millis(33 * frame as i64);
                let picture = SourceFrame { frame, capture, content: 0, complexity: None };
                let wished =
                    EncoderBudget { keyframe: frame == 6, ..EncoderBudget::of_bitrate(DataRate::from_kbps(300)) };
                gop.encode(capture, picture, wished).keyframe
            })
            .collect();
        assert_eq!(keys, [true, false, false, false, true, false, false, false, true]);
    }
}
