//! The parameters of the [loss-based estimate](super::loss_based), with libwebrtc's defaults
//! [libwebrtc-m150]. Its own tests and older ports use others: state them with the expectation.

use super::loss_model::MAX_WINDOW;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Parameters of the loss-based estimate.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct LossConfig {
    /// Candidates for the bandwidth, as multiples of the last estimate.
    #[schemars(inner(range(min = 0.001, max = 1_000)))]
    pub candidate_ratios: [f64; 3],
    /// The acknowledged rate times this is a candidate.
    #[schemars(range(min = 0, max = 1_000))]
    pub acknowledged_candidate_ratio: f64,
    /// Whether the acknowledged rate is no candidate while the application is the limit.
    pub ignore_acknowledged_in_alr: bool,
    /// Whether the delay-based estimate is a candidate.
    pub delay_based_candidate: bool,
    /// The minimum span of departures of an observation.
    #[schemars(range(min = 1, max = 1_000_000))]
    pub observation_ms: u32,
    /// The number of observations kept.
    #[schemars(range(min = 2, max = MAX_WINDOW))]
    pub observations: usize,
    /// The number of observations needed for an estimate.
    #[schemars(range(min = 1, max = 1_000_000))]
    pub min_observations: usize,
    /// The weight of an observation against the next newer one, in a candidate's score.
    #[schemars(range(min = 1e-6, max = 1))]
    pub temporal_weight: f64,
    /// The weight of an observation against the next newer one, in the average loss.
    #[schemars(range(min = 1e-6, max = 1))]
    pub average_temporal_weight: f64,
    /// The observation with the highest loss is left out as a spike unless it was sent at more than this many times
    /// the median rate.
    #[schemars(range(min = 0, max = 1_000_000))]
    pub median_rate_ratio: f64,
    /// The inherent loss of the path, at the start.
    #[schemars(range(min = 0, max = 0.999999))]
    pub initial_inherent_loss_ratio: f64,
    /// The minimum inherent loss.
    #[schemars(range(min = 0, max = 0.999999))]
    pub min_inherent_loss_ratio: f64,
    /// The maximum inherent loss is this plus `max_inherent_loss_balance_bps` over the bandwidth.
    #[schemars(range(min = 0, max = 1))]
    pub max_inherent_loss_offset_ratio: f64,
    /// The part of the maximum inherent loss that falls with the bandwidth: this over the bandwidth.
    #[schemars(range(min = 0, max = 1e10))]
    pub max_inherent_loss_balance_bps: u64,
    /// An average loss above this bounds the estimate.
    #[schemars(range(min = 0, max = 1))]
    pub upper_bound_loss_offset_ratio: f64,
    /// That bound is this over the excess of the average loss.
    #[schemars(range(min = 0, max = 1e10))]
    pub upper_bound_balance_bps: u64,
    /// The preference for high bandwidths in a candidate's score, per kbit/s.
    #[schemars(range(min = -1_000, max = 1_000))]
    pub bandwidth_bias: f64,
    /// The preference for high bandwidths in a candidate's score, per natural logarithm of kbit/s.
    #[schemars(range(min = -1_000, max = 1_000))]
    pub log_bandwidth_bias: f64,
    /// The preference changes its sign at this average loss.
    #[schemars(range(min = 0, max = 1))]
    pub bias_loss_threshold_ratio: f64,
    /// How softly it changes: the width of that change, as a loss ratio.
    #[schemars(range(min = 1e-9, max = 1))]
    pub bias_smoothing: f64,
    /// The number of steps of Newton's method for a candidate's inherent loss.
    #[schemars(range(min = 1, max = 100))]
    pub newton_iterations: u32,
    /// The size of such a step, as a share of Newton's own.
    #[schemars(range(min = 1e-9, max = 1_000))]
    pub newton_step: f64,
    /// While loss limits, the estimate grows to at most this many times the acknowledged rate.
    #[schemars(range(min = 1, max = 1_000_000_000))]
    pub ramp_up_ratio: f64,
    /// The same soon after a hold.
    #[schemars(range(min = 1, max = 1_000_000_000))]
    pub ramp_up_in_hold_ratio: f64,
    /// It is soon after a hold while the acknowledged rate is below this many times the rate of the hold.
    #[schemars(range(min = 0, max = 1_000_000_000))]
    pub hold_threshold_ratio: f64,
    /// The span within which growth is bounded by `max_increase_ratio`.
    #[schemars(range(min = 0, max = 1_000_000))]
    pub increase_window_ms: u32,
    /// The maximum factor of growth within `increase_window_ms`.
    #[schemars(range(min = 0.001, max = 1_000_000_000))]
    pub max_increase_ratio: f64,
    /// Whether the estimate stays while the average loss is above the inherent loss.
    pub hold_above_inherent_loss: bool,
    /// The estimate is at least this many times the acknowledged rate.
    #[schemars(range(min = 0, max = 1_000))]
    pub lower_bound_ratio: f64,
    /// Every hold lasts this many times the previous one; zero: no hold.
    #[schemars(range(min = 0, max = 1_000))]
    pub hold_ratio: f64,
    /// How long to pad when the estimate starts to grow; zero: never.
    #[schemars(range(min = 0, max = 1_000_000))]
    pub padding_ms: u32,
    /// Whether an estimate cut by bounds is stored as cut.
    pub bound_best_candidate: bool,
    /// Whether the loss-based estimate counts in the first 2 s of a call.
    pub in_start_phase: bool,
}

impl Default for LossConfig {
    fn default() -> Self {
        Self {
            candidate_ratios: [1.02, 1.0, 0.95],
            acknowledged_candidate_ratio: 1.0,
            ignore_acknowledged_in_alr: true,
            delay_based_candidate: true,
            observation_ms: 250,
            observations: 15,
            min_observations: 3,
            temporal_weight: 0.9,
            average_temporal_weight: 0.9,
            median_rate_ratio: 2.0,
            initial_inherent_loss_ratio: 0.01,
            min_inherent_loss_ratio: 1e-3,
            max_inherent_loss_offset_ratio: 0.05,
            max_inherent_loss_balance_bps: 100_000,
            upper_bound_loss_offset_ratio: 0.05,
            upper_bound_balance_bps: 100_000,
            bandwidth_bias: 2e-4,
            log_bandwidth_bias: 0.02,
            bias_loss_threshold_ratio: 0.2,
            bias_smoothing: 0.002,
            newton_iterations: 1,
            newton_step: 0.75,
            ramp_up_ratio: 1.5,
            ramp_up_in_hold_ratio: 1.2,
            hold_threshold_ratio: 1.3,
            increase_window_ms: 300,
            max_increase_ratio: 1.3,
            hold_above_inherent_loss: true,
            lower_bound_ratio: 1.0,
            hold_ratio: 2.0,
            padding_ms: 2_000,
            bound_best_candidate: true,
            in_start_phase: false,
        }
    }
}
