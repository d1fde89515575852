//! Switching the picture's size: smaller when the quantiser stays coarse, larger when it stays fine.
//!
//! What libwebrtc's quality scaler does for H.264: every two seconds, with at least sixty frames
//! seen, a mean QP above 37 steps down the ladder and one of 24 or less steps up. After a step
//! down it looks again only after five seconds. A call that starts at a low bitrate starts small.
//! Every switch opens a new stream of the encoder and begins with a key frame.

use super::openh264::OpenH264;
use super::x264::{self, X264};
use super::{EncodedFrame, Encoder, EncoderBudget};
use crate::{Profile, SourceFrame};
use legato_units::{DataRate, TimeDelta, Timestamp};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// Which encoder runs at each size.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Model {
    /// OpenH264.
    OpenH264,
    /// x264.
    X264(x264::Config),
}

/// The bounds and thresholds of switching.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// No smaller pictures, in rows.
    pub min_height: u16,
    /// No larger pictures, in rows.
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
    OpenH264(OpenH264),
    X264(X264),
}

/// An encoder that walks the ladder of a profile.
#[derive(Clone, Debug)]
pub struct Switching {
    profile: Arc<Profile>,
    model: Model,
    config: Config,
    stream: Stream,
    rung: usize,
    sequence: u64,
    qp_sum: f32,
    qp_count: u32,
    /// When the QP is looked at next.
    due: Option<Timestamp>,
    switches: u32,
}

impl Switching {
    /// `None` where the profile holds no tables of the model at some size within the bounds.
    pub fn new(profile: Arc<Profile>, model: Model, config: Config) -> Option<Self> {
        let allowed = |rung: &usize| (config.min_height..=config.max_height).contains(&profile.rungs[*rung].height);
        let rungs: Vec<usize> = (0..profile.rungs.len()).filter(allowed).collect();
        let rung = *rungs.last()?;
        for &rung in &rungs {
            open(&profile, model, rung)?;
        }
        let stream = open(&profile, model, rung)?;
        Some(Self {
            profile,
            model,
            config,
            stream,
            rung,
            sequence: 0,
            qp_sum: 0.0,
            qp_count: 0,
            due: None,
            switches: 0,
        })
    }

    fn height(&self, rung: usize) -> u16 {
        self.profile.rungs[rung].height
    }
    fn allowed(&self, rung: usize) -> bool {
        rung < self.profile.rungs.len()
            && (self.config.min_height..=self.config.max_height).contains(&self.height(rung))
    }

    /// The largest size for a first bitrate.
    fn start_at(&mut self, bitrate: DataRate) {
        let most =
            START_HEIGHTS.iter().find(|&&(below_bps, _)| bitrate.as_bps() < below_bps).map(|&(_, height)| height);
        let Some(most) = most else { return };
        while self.rung > 0 && self.height(self.rung) > most && self.allowed(self.rung - 1) {
            self.rung -= 1;
        }
        self.reopen(self.rung);
    }

    fn reopen(&mut self, rung: usize) {
        if let Some(stream) = open(&self.profile, self.model, rung) {
            (self.stream, self.rung) = (stream, rung);
        }
        (self.qp_sum, self.qp_count) = (0.0, 0);
    }

    fn look(&mut self, now: Timestamp) {
        let due = *self.due.get_or_insert(now + PERIOD);
        if now < due || self.qp_count < FEWEST_FRAMES {
            return;
        }
        let mean = self.qp_sum / self.qp_count as f32;
        self.due = Some(now + PERIOD);
        (self.qp_sum, self.qp_count) = (0.0, 0);
        if mean > self.config.high_qp && self.rung > 0 && self.allowed(self.rung - 1) {
            self.reopen(self.rung - 1);
            self.due = Some(now + PERIOD_AFTER_DOWN);
            self.switches += 1;
        } else if mean <= self.config.low_qp && self.allowed(self.rung + 1) {
            self.reopen(self.rung + 1);
            self.switches += 1;
        }
    }
}

fn open(profile: &Arc<Profile>, model: Model, rung: usize) -> Option<Stream> {
    let profile = Arc::clone(profile);
    Some(match model {
        Model::OpenH264 => Stream::OpenH264(OpenH264::new(profile, rung)?),
        Model::X264(config) => Stream::X264(X264::new(profile, rung, config)?),
    })
}

impl Encoder for Switching {
    #[inline]
    fn encode(&mut self, now: Timestamp, frame: SourceFrame, budget: EncoderBudget) -> EncodedFrame {
        if self.sequence == 0 {
            self.start_at(budget.bitrate);
        }
        self.look(now);
        let mut coded = match &mut self.stream {
            Stream::OpenH264(stream) => stream.encode(now, frame, budget),
            Stream::X264(stream) => stream.encode(now, frame, budget),
        };
        coded.sequence = self.sequence;
        self.sequence += 1;
        self.qp_sum += coded.qp;
        self.qp_count += 1;
        coded
    }

    fn try_out(&self, now: Timestamp, frame: SourceFrame, budget: EncoderBudget) -> Option<EncodedFrame> {
        Some(self.clone().encode(now, frame, budget))
    }

    fn observe(&self, gauge: &mut dyn FnMut(&'static str, f64)) {
        gauge("encoder_height", f64::from(self.height(self.rung)));
        gauge("encoder_switches", f64::from(self.switches));
        match &self.stream {
            Stream::OpenH264(stream) => stream.observe(gauge),
            Stream::X264(stream) => stream.observe(gauge),
        }
    }
}

const PERIOD: TimeDelta = TimeDelta::from_secs(2);
const PERIOD_AFTER_DOWN: TimeDelta = TimeDelta::from_secs(5);
const FEWEST_FRAMES: u32 = 60;
/// Below these bitrates a call starts no larger than so many rows.
const START_HEIGHTS: [(u64, u16); 2] = [(250_000, 240), (500_000, 480)];
