//! The parameters of `legato`, and those with a unit as its type.

use super::capacity::{Capacity, SmallFrames};
use super::path::PathState;
use super::share::Share;
use legato_control::RateLimits;
use legato_units::{Bytes, PerSecond, Seconds, Timestamp};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Parameters of [`Legato`](super::Legato).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// The share of the measured capacity that is aimed at.
    #[schemars(range(min = 0.1, max = 1.5))]
    pub utilisation_ratio: f64,
    /// The shorter memory of the capacity: falls are followed by it.
    #[schemars(range(min = 10, max = 10_000))]
    pub fast_memory_ms: f64,
    /// The longer memory of the capacity: rises are believed by it.
    #[schemars(range(min = 10, max = 60_000))]
    pub slow_memory_ms: f64,
    /// A frame shall have crossed the link so long after its capture.
    #[schemars(range(min = 5, max = 1_000))]
    pub frame_budget_ms: f64,
    /// The target gives up all but a fifth of the capacity where the backlog needs as long as this.
    #[schemars(range(min = 10, max = 10_000))]
    pub drain_ms: f64,
    /// A picture that would wait longer than this is skipped.
    #[schemars(range(min = 5, max = 10_000))]
    pub skip_above_ms: f64,
    /// No more pictures than this are skipped in a row.
    #[schemars(range(min = 0, max = 100))]
    pub max_skips: u32,
    /// Encoders make single frames so much larger than they are asked to.
    #[schemars(range(min = 1, max = 3))]
    pub encoder_overshoot_ratio: f64,
    /// The smallest frame that shows anything.
    #[schemars(range(min = 1, max = 65_535))]
    pub min_frame_bytes: u32,
    /// The pacing rate over the capacity: a frame that leaves faster than the link passes it measures it.
    #[schemars(range(min = 1, max = 100))]
    pub pacing_ratio: f64,
    /// The same once losses have shown that a queue holds no whole frame.
    #[schemars(range(min = 1, max = 10))]
    pub shallow_pacing_ratio: f64,
    /// In company a frame leaves over this share of the frame interval.
    #[schemars(range(min = 0.05, max = 1))]
    pub company_spread_ratio: f64,
    /// In company: by how much more to climb than flows that are alike, and what queue to bear for it; with
    /// 2 the rate is mostly 1.6 to 2.4 times theirs, and up to 4 beside a single one ([rfc8867] §6.1).
    #[schemars(range(min = 0.001, max = 1_000))]
    pub priority: f64,
    /// Parity, as a share of the rate, over the share of packets that the link loses whatever is sent.
    #[schemars(range(min = 0, max = 4))]
    pub parity_over_loss_ratio: f64,
    /// Without a frame large enough to measure, the capacity grows by this ratio a second.
    #[schemars(range(min = 0, max = 100))]
    pub unmeasured_growth_ratio: f64,
    /// A frame that is done early shows the capacity for one so many times as large.
    #[schemars(range(min = 1, max = 100))]
    pub max_stretch_ratio: f64,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            utilisation_ratio: 0.95,
            fast_memory_ms: 150.0,
            slow_memory_ms: 1_000.0,
            frame_budget_ms: 45.0,
            drain_ms: 300.0,
            skip_above_ms: 60.0,
            max_skips: 2,
            encoder_overshoot_ratio: 1.2,
            min_frame_bytes: 600,
            pacing_ratio: 2.5,
            shallow_pacing_ratio: 1.1,
            company_spread_ratio: 0.6,
            priority: 1.0,
            parity_over_loss_ratio: 1.0,
            unmeasured_growth_ratio: 1.5,
            max_stretch_ratio: 4.0,
        }
    }
}

/// What frames may take, by the parameters.
#[derive(Clone, Copy, Debug)]
pub struct Budget {
    /// From its capture until a frame has crossed the link.
    pub frame: Seconds,
    /// The backlog is to be drained within this.
    pub drain: Seconds,
    /// A picture that would wait longer is skipped.
    pub skip_above: Seconds,
    /// The smallest frame that shows anything.
    pub min_frame: Bytes,
    /// How small frames are read.
    pub small: SmallFrames,
}

impl Config {
    /// What frames may take.
    pub fn budget(&self) -> Budget {
        let [frame, drain, skip_above] =
            [self.frame_budget_ms, self.drain_ms, self.skip_above_ms].map(Seconds::from_millis);
        let growth = PerSecond::new(self.unmeasured_growth_ratio);
        let small = SmallFrames { max_stretch_ratio: self.max_stretch_ratio, growth };
        Budget { frame, drain, skip_above, min_frame: Bytes::new(self.min_frame_bytes.into()), small }
    }

    /// A path without measurements.
    pub fn path(&self, limits: RateLimits, now: Timestamp) -> PathState {
        let [fast, slow] = [self.fast_memory_ms, self.slow_memory_ms].map(Seconds::from_millis);
        let (capacity, share) = (Capacity::new(fast, slow, limits), Share::with_priority(self.priority));
        PathState::new(capacity, share, limits.start.into(), now)
    }
}
