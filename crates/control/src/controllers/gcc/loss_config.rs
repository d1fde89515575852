//! The parameters of the [loss-based estimate](super::loss_based), with libwebrtc's defaults
//! [libwebrtc-m150]. Its own tests and older ports use others: state them with the expectation.

use serde::{Deserialize, Serialize};

/// Parameters of the loss-based estimate.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct LossConfig {
    /// Candidates, as multiples of the estimate.
    pub candidate_ratios: [f64; 3],
    /// The acknowledged rate is a candidate, times this.
    pub acknowledged_candidate_ratio: f64,
    /// The acknowledged rate is not a candidate while the application is the limit.
    pub ignore_acknowledged_in_alr: bool,
    /// The delay-based estimate is a candidate.
    pub delay_based_candidate: bool,
    /// An observation lasts at least this long.
    pub observation_ms: u32,
    /// Number of observations kept.
    pub observations: usize,
    /// Observations needed for an estimate.
    pub min_observations: usize,
    /// Weight of an observation against the next newer one.
    pub temporal_weight: f64,
    /// The same within the average loss.
    pub average_temporal_weight: f64,
    /// The worst observation is a spike unless sent at this many times the median rate.
    pub median_rate_ratio: f64,
    /// The initial inherent loss.
    pub initial_inherent_loss_ratio: f64,
    /// Minimum inherent loss.
    pub min_inherent_loss_ratio: f64,
    /// Maximum inherent loss: this …
    pub max_inherent_loss_offset_ratio: f64,
    /// … plus this over the bandwidth.
    pub max_inherent_loss_balance_bps: u64,
    /// Above this average loss …
    pub upper_bound_loss_offset_ratio: f64,
    /// … the estimate is at most this over the excess.
    pub upper_bound_balance_bps: u64,
    /// Preference for high bandwidths, per kbit/s …
    pub bandwidth_bias: f64,
    /// … and per logarithm of it.
    pub log_bandwidth_bias: f64,
    /// The bias changes sign at this average loss.
    pub bias_loss_threshold_ratio: f64,
    /// The softness of that change.
    pub bias_smoothing: f64,
    /// Steps of Newton's method per candidate.
    pub newton_iterations: u32,
    /// Size of such a step.
    pub newton_step: f64,
    /// Grow to at most this many times the acknowledged rate …
    pub ramp_up_ratio: f64,
    /// … or this many …
    pub ramp_up_in_hold_ratio: f64,
    /// … while it is below this many times the rate of the last hold.
    pub hold_threshold_ratio: f64,
    /// Within this long …
    pub increase_window_ms: u32,
    /// … grow by at most this factor.
    pub max_increase_ratio: f64,
    /// Do not grow while the average loss is above the inherent.
    pub hold_above_inherent_loss: bool,
    /// The estimate is at least this many times the acknowledged rate.
    pub lower_bound_ratio: f64,
    /// Every hold lasts this many times the previous one; zero: no hold.
    pub hold_ratio: f64,
    /// Pad for this long when the estimate starts to grow; zero: never.
    pub padding_ms: u32,
    /// An estimate cut by bounds is stored as cut.
    pub bound_best_candidate: bool,
    /// Use it already within the first 2 s.
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
