//! A small network may bend what the analytic controller does with a picture, within fixed bounds and while the link is
//! its own. It never sets a rate: it shifts how much of the capacity is used, how long a frame may take, when a picture is
//! skipped, and how far a rise is believed. All outputs zero, or no network, is the analytic controller bit for bit.

use super::capacity::Capacity;
use crate::policy::{Decide, Model, NetworkPolicy};
use std::sync::Arc;

/// What a network of this controller observes, in the order of its inputs; each is within ±4.
pub const FEATURES: [&str; 14] = [
    "wait_over_budget",
    "log_fast_over_slow",
    "belief_spread",
    "log_belief_over_capacity",
    "log_low_belief_over_capacity",
    "expected_loss",
    "feedback_lag",
    "log_packets_per_frame",
    "log_frame_over_limit",
    "short_volatility",
    "long_volatility",
    "short_worst_wait",
    "long_worst_wait",
    "skipped_ratio",
];
/// Its outputs, each within ±1.
pub const OUTPUTS: usize = 4;
/// The action map that its policy.toml names.
pub const ACTION_MAP: &str = "legato-residual";

/// What is bent, for one picture.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Advice {
    /// Added to the share of the capacity that is used.
    pub utilisation: f64,
    /// Times the time that a frame may take.
    pub budget_ratio: f64,
    /// Times the wait above which a picture is skipped.
    pub skip_ratio: f64,
    /// Times the capacity.
    pub rise_ratio: f64,
}

/// No advice at all.
impl Default for Advice {
    fn default() -> Self {
        Self { utilisation: 0.0, budget_ratio: 1.0, skip_ratio: 1.0, rise_ratio: 1.0 }
    }
}

impl Advice {
    /// The advice that outputs within ±1 stand for, where the shorter memory of the capacity shows so much more than
    /// the longer one.
    fn of(outputs: [f32; OUTPUTS], log_rise: f64) -> Self {
        let [utilisation, budget, skip, rise] = outputs.map(f64::from);
        Self {
            utilisation: MOST_UTILISATION * utilisation,
            budget_ratio: libm::exp2(budget),
            skip_ratio: libm::exp2(skip),
            rise_ratio: libm::exp(MOST_RISE_BELIEVED * rise.max(0.0) * log_rise.clamp(0.0, MOST_LOG_RISE)),
        }
    }
}

/// What the rest of the controller knows when a picture is captured.
#[derive(Clone, Copy, Debug)]
pub struct Moment {
    /// Since the picture before.
    pub interval_s: f64,
    /// For which the picture would wait.
    pub wait_s: f64,
    /// The time that a frame may take.
    pub budget_s: f64,
    /// The 10, 50 and 90 % quantiles of the belief, in bytes a second.
    pub believed: [f64; 3],
    /// The share of packets that the link is expected to lose, whatever is sent.
    pub expected_loss_ratio: f64,
    /// How long feedback takes.
    pub lag_s: f64,
    /// The last frame, and what it was allowed, in bytes.
    pub frame_bytes: f64,
    /// See [`Moment::frame_bytes`].
    pub limit_bytes: f64,
    /// The picture before was skipped.
    pub skipped: bool,
}

/// The network and what it remembers of the link.
#[derive(Clone, Debug)]
pub struct Residual {
    policy: NetworkPolicy,
    last_log_capacity: Option<f64>,
    short_volatility: f64,
    long_volatility: f64,
    short_worst_wait_s: f64,
    long_worst_wait_s: f64,
    skipped_ratio: f64,
}

impl Residual {
    /// With this network.
    ///
    /// # Errors
    /// It was made for something else.
    pub fn new(model: Arc<Model>) -> Result<Self, String> {
        let manifest = model.manifest();
        let file = manifest.file();
        if manifest.action_map() != ACTION_MAP {
            return Err(format!("{file}: action.map = {:?} is not {ACTION_MAP:?}", manifest.action_map()));
        }
        if !manifest.features().iter().map(String::as_str).eq(FEATURES) {
            let given = manifest.features().join(", ");
            return Err(format!("{file}: observation.features = [{given}] are not [{}]", FEATURES.join(", ")));
        }
        if (manifest.width(), manifest.history()) != (1, 1) {
            let (width, history) = (manifest.width(), manifest.history());
            return Err(format!("{file}: observation.width = {width}, history = {history} are not 1 and 1"));
        }
        if manifest.outputs() != OUTPUTS {
            return Err(format!("{file}: {} outputs are not {OUTPUTS}", manifest.outputs()));
        }
        if manifest.decide() != (Decide::Values { low: -1.0, high: 1.0 }) {
            return Err(format!("{file}: action.decide: \"values\" within -1 and 1 are needed"));
        }
        Ok(Self {
            policy: NetworkPolicy::new(model),
            last_log_capacity: None,
            short_volatility: 0.0,
            long_volatility: 0.0,
            short_worst_wait_s: 0.0,
            long_worst_wait_s: 0.0,
            skipped_ratio: 0.0,
        })
    }

    /// A picture was captured: advice for it. What is NaN is no advice.
    pub fn advise(&mut self, capacity: &Capacity, moment: &Moment) -> Advice {
        let log_rise = capacity.log_fast_over_slow();
        let observation = self.observe(capacity.bytes_per_s(), log_rise, moment);
        let mut outputs = [0.0; OUTPUTS];
        self.policy.values(&observation, &mut outputs);
        if outputs[0].is_nan() { Advice::default() } else { Advice::of(outputs, log_rise) }
    }

    fn observe(&mut self, bytes_per_s: f64, log_rise: f64, moment: &Moment) -> [f32; FEATURES.len()] {
        let log_capacity = libm::log(bytes_per_s);
        let moved = self.last_log_capacity.replace(log_capacity).map_or(0.0, |last| (log_capacity - last).abs());
        let within = |memory_s: f64| (moment.interval_s / memory_s).min(1.0);
        let follow = |kept: &mut f64, value: f64, memory_s: f64| *kept += within(memory_s) * (value - *kept);
        follow(&mut self.short_volatility, moved, SHORT_MEMORY_S);
        follow(&mut self.long_volatility, moved, LONG_MEMORY_S);
        follow(&mut self.skipped_ratio, f64::from(u8::from(moment.skipped)), LONG_MEMORY_S);
        let worst = |kept: &mut f64, memory_s: f64| *kept = moment.wait_s.max(*kept * (1.0 - within(memory_s)));
        worst(&mut self.short_worst_wait_s, SHORT_MEMORY_S);
        worst(&mut self.long_worst_wait_s, LONG_MEMORY_S);
        let [low, middle, high] = moment.believed.map(|rate| libm::log(rate.max(1.0)));
        let frame_ratio = moment.frame_bytes.max(1.0) / moment.limit_bytes.max(1.0);
        [
            moment.wait_s / moment.budget_s,
            log_rise,
            (high - low) / 2.0,
            middle - log_capacity,
            low - log_capacity,
            10.0 * moment.expected_loss_ratio,
            moment.lag_s / USUAL_LAG_S,
            libm::log(bytes_per_s * moment.interval_s / PACKET_BYTES) / 2.0,
            libm::log(frame_ratio),
            self.short_volatility / USUAL_VOLATILITY,
            self.long_volatility / USUAL_VOLATILITY,
            self.short_worst_wait_s / moment.budget_s,
            self.long_worst_wait_s / moment.budget_s,
            4.0 * self.skipped_ratio,
        ]
        .map(|value| value.clamp(-MOST_SEEN, MOST_SEEN) as f32)
    }
}

/// The share of the capacity that is used moves by as much to either side.
const MOST_UTILISATION: f64 = 0.1;
/// Of what the shorter memory shows above the longer one, as a logarithm, half is believed at most.
const MOST_RISE_BELIEVED: f64 = 0.5;
/// A capacity four times as high.
const MOST_LOG_RISE: f64 = 2.0 * std::f64::consts::LN_2;
/// Features are about one, and four at most.
const MOST_SEEN: f64 = 4.0;
const SHORT_MEMORY_S: f64 = 1.0;
const LONG_MEMORY_S: f64 = 10.0;
/// A round trip of 100 ms.
const USUAL_LAG_S: f64 = 0.1;
/// From one picture to the next, of the capacity's logarithm.
const USUAL_VOLATILITY: f64 = 0.05;
const PACKET_BYTES: f64 = 1_200.0;

#[cfg(test)]
#[path = "residual_tests.rs"]
mod tests;
