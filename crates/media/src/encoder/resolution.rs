//! Encoder models that switch the picture's size by the rule of `size_rule.rs`, at libwebrtc's thresholds for H.264.
//!
//! Every switch opens a new stream of the encoder and begins with a key frame.

use super::jm::Jm;
use super::openh264::OpenH264;
use super::size_rule::{SizeRule, Thresholds};
use super::x264::{self, X264};
use super::{EncodedFrame, Encoder, EncoderBudget};
use crate::{Profile, SourceFrame};
use legato_units::Timestamp;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// Which encoder runs at each size.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Model {
    /// The JM's rate control, with key frames at this distance.
    Jm(Option<u32>),
    /// OpenH264.
    OpenH264,
    /// x264.
    X264(x264::Config),
}

/// The bounds and thresholds of switching.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// Minimum height, in rows.
    pub min_height: u16,
    /// Maximum height, in rows.
    pub max_height: u16,
    /// A mean QP of this or less steps up.
    pub low_qp: f32,
    /// A mean QP above this steps down.
    pub high_qp: f32,
}

impl Default for Config {
    fn default() -> Self {
        Self { min_height: 0, max_height: u16::MAX, low_qp: 24.0, high_qp: 37.0 }
    }
}

#[derive(Clone, Debug)]
enum Stream {
    Jm(Jm),
    OpenH264(OpenH264),
    X264(X264),
}

/// An encoder that walks the ladder of a profile.
#[derive(Clone, Debug)]
pub struct Switching {
    profile: Arc<Profile>,
    model: Model,
    stream: Stream,
    rule: SizeRule,
    /// Place in the profile of the rule's smallest size.
    smallest: usize,
    sequence: u64,
}

impl Switching {
    /// `None` if the profile holds no tables of the model at some size within the bounds.
    pub fn new(profile: Arc<Profile>, model: Model, config: Config) -> Option<Self> {
        let allowed = |height: u16| (config.min_height..=config.max_height).contains(&height);
        let smallest = profile.rungs.iter().position(|rung| allowed(rung.height))?;
        let heights: Vec<u16> =
            profile.rungs[smallest..].iter().map(|rung| rung.height).take_while(|&height| allowed(height)).collect();
        for place in 0..heights.len() {
            open(&profile, model, smallest + place)?;
        }
        let rule = SizeRule::new(&heights, Thresholds { low_qp: config.low_qp, high_qp: config.high_qp })?;
        let stream = open(&profile, model, smallest + rule.place())?;
        Some(Self { profile, model, stream, rule, smallest, sequence: 0 })
    }
}

fn open(profile: &Arc<Profile>, model: Model, rung: usize) -> Option<Stream> {
    let profile = Arc::clone(profile);
    Some(match model {
        Model::Jm(gop_frames) => Stream::Jm(Jm::new(profile, rung, gop_frames)?),
        Model::OpenH264 => Stream::OpenH264(OpenH264::new(profile, rung)?),
        Model::X264(config) => Stream::X264(X264::new(profile, rung, config)?),
    })
}

impl Encoder for Switching {
    #[inline]
    fn encode(&mut self, now: Timestamp, frame: SourceFrame, budget: EncoderBudget) -> EncodedFrame {
        if self.rule.steps(now, budget.bitrate)
            && let Some(stream) = open(&self.profile, self.model, self.smallest + self.rule.place())
        {
            self.stream = stream;
        }
        let mut coded = match &mut self.stream {
            Stream::Jm(stream) => stream.encode(now, frame, budget),
            Stream::OpenH264(stream) => stream.encode(now, frame, budget),
            Stream::X264(stream) => stream.encode(now, frame, budget),
        };
        coded.sequence = self.sequence;
        self.sequence += 1;
        self.rule.coded(coded.qp);
        coded
    }

    fn look(&self, frame: SourceFrame) -> SourceFrame {
        match &self.stream {
            Stream::Jm(stream) => stream.look(frame),
            Stream::OpenH264(stream) => stream.look(frame),
            Stream::X264(stream) => stream.look(frame),
        }
    }

    fn try_out(&self, now: Timestamp, frame: SourceFrame, budget: EncoderBudget) -> Option<EncodedFrame> {
        Some(self.clone().encode(now, frame, budget))
    }

    fn observe(&self, gauge: &mut dyn FnMut(&'static str, f64)) {
        gauge("encoder_height", f64::from(self.rule.height()));
        gauge("encoder_switches", f64::from(self.rule.switches()));
        match &self.stream {
            Stream::Jm(stream) => stream.observe(gauge),
            Stream::OpenH264(stream) => stream.observe(gauge),
            Stream::X264(stream) => stream.observe(gauge),
        }
    }
}
