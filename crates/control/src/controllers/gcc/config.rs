//! The parameters of [`Gcc`](super::Gcc), with libwebrtc's defaults.

use super::aimd::AimdConfig;
use super::alr::AlrConfig;
use super::loss_config::LossConfig;
use super::loss_model::MAX_WINDOW;
use super::probe_controller::ProbeConfig;
use super::pushback::PushbackConfig;
use super::rtt_backoff::RttBackoffConfig;
use serde::{Deserialize, Serialize};

/// Parameters of `gcc`.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// Pace at this multiple of the target before the first feedback …
    pub initial_pacing_ratio: f64,
    /// … and at this one after.
    pub pacing_ratio: f64,
    /// Pad up to this rate at all times.
    pub padding_bps: u64,
    /// A probe lowers the estimate at most to this share of the acknowledged rate.
    pub probe_floor_ratio: f64,
    /// The delay-based rate.
    pub aimd: AimdConfig,
    /// The application-limited region.
    pub alr: AlrConfig,
    /// The loss-based estimate.
    pub loss: LossConfig,
    /// Probing.
    pub probe: ProbeConfig,
    /// The congestion window.
    pub pushback: PushbackConfig,
    /// The limit on round trips.
    pub rtt_backoff: RttBackoffConfig,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            initial_pacing_ratio: 2.5,
            pacing_ratio: 1.1,
            padding_bps: 0,
            probe_floor_ratio: 0.85,
            aimd: AimdConfig::default(),
            alr: AlrConfig::default(),
            loss: LossConfig::default(),
            probe: ProbeConfig::default(),
            pushback: PushbackConfig::default(),
            rtt_backoff: RttBackoffConfig::default(),
        }
    }
}

impl Config {
    /// Name the first key whose value is invalid.
    pub fn check(&self) -> Result<(), String> {
        let within = |key: &str, value: f64, low: f64, high: f64| match value >= low && value <= high {
            true => Ok(()),
            false => Err(format!("{key} = {value} is not within [{low}, {high}]")),
        };
        within("initial_pacing_ratio", self.initial_pacing_ratio, 1.0, 100.0)?;
        within("pacing_ratio", self.pacing_ratio, 1.0, 100.0)?;
        within("probe_floor_ratio", self.probe_floor_ratio, 0.0, 1.0)?;
        within("aimd.backoff_ratio", self.aimd.backoff_ratio, 0.01, 0.99)?;
        within("aimd.increase_per_s_ratio", self.aimd.increase_per_s_ratio, 1.0, 10.0)?;
        within("aimd.increase_limit_ratio", self.aimd.increase_limit_ratio, 0.1, 1e6)?;
        within("alr.usage_ratio", self.alr.usage_ratio, 0.01, 10.0)?;
        within("alr.start_level_ratio", self.alr.start_level_ratio, self.alr.stop_level_ratio, 1.0)?;
        within("alr.stop_level_ratio", self.alr.stop_level_ratio, -1.0, 1.0)?;
        within("rtt_backoff.drop_ratio", self.rtt_backoff.drop_ratio, 0.0, 1.0)?;
        within("rtt_backoff.interval_ms", f64::from(self.rtt_backoff.interval_ms), 25.0, 1e9)?;
        self.check_probe(within)?;
        self.check_loss(within)
    }

    fn check_probe(&self, within: impl Fn(&str, f64, f64, f64) -> Result<(), String>) -> Result<(), String> {
        let probe = &self.probe;
        for ratio in probe.initial_ratios {
            within("probe.initial_ratios", ratio, 0.0, 1e3)?;
        }
        for ratio in probe.allocation_ratios {
            within("probe.allocation_ratios", ratio, 0.0, 1e3)?;
        }
        within("probe.further_ratio", probe.further_ratio, 0.0, 1e3)?;
        within("probe.further_threshold_ratio", probe.further_threshold_ratio, 0.0, 1e3)?;
        within("probe.alr_ratio", probe.alr_ratio, 0.0, 1e3)?;
        within("probe.alr_interval_ms", f64::from(probe.alr_interval_ms), 25.0, 1e9)?;
        within("probe.min_packets", f64::from(probe.min_packets), 1.0, 1e6)?;
        within("probe.min_duration_ms", f64::from(probe.min_duration_ms), 1.0, 1e6)?;
        within("probe.initial_duration_ms", f64::from(probe.initial_duration_ms), 1.0, 1e6)
    }

    fn check_loss(&self, within: impl Fn(&str, f64, f64, f64) -> Result<(), String>) -> Result<(), String> {
        let loss = &self.loss;
        for ratio in loss.candidate_ratios {
            within("loss.candidate_ratios", ratio, 1e-3, 1e3)?;
        }
        within("loss.observations", loss.observations as f64, 2.0, MAX_WINDOW as f64)?;
        within("loss.min_observations", loss.min_observations as f64, 1.0, 1e6)?;
        within("loss.observation_ms", f64::from(loss.observation_ms), 1.0, 1e6)?;
        within("loss.temporal_weight", loss.temporal_weight, 1e-6, 1.0)?;
        within("loss.average_temporal_weight", loss.average_temporal_weight, 1e-6, 1.0)?;
        within("loss.initial_inherent_loss_ratio", loss.initial_inherent_loss_ratio, 0.0, 1.0 - 1e-6)?;
        within("loss.min_inherent_loss_ratio", loss.min_inherent_loss_ratio, 0.0, 1.0 - 1e-6)?;
        within(
            "loss.max_inherent_loss_offset_ratio",
            loss.max_inherent_loss_offset_ratio,
            loss.min_inherent_loss_ratio,
            1.0,
        )?;
        within("loss.upper_bound_loss_offset_ratio", loss.upper_bound_loss_offset_ratio, 0.0, 1.0)?;
        within("loss.bias_smoothing", loss.bias_smoothing, 1e-9, 1.0)?;
        within("loss.newton_step", loss.newton_step, 1e-9, 1e3)?;
        within("loss.newton_iterations", f64::from(loss.newton_iterations), 1.0, 100.0)?;
        within("loss.ramp_up_ratio", loss.ramp_up_ratio, 1.0, 1e9)?;
        within("loss.ramp_up_in_hold_ratio", loss.ramp_up_in_hold_ratio, 1.0, 1e9)?;
        within("loss.hold_threshold_ratio", loss.hold_threshold_ratio, 0.0, 1e9)?;
        within("loss.max_increase_ratio", loss.max_increase_ratio, 1e-3, 1e9)?;
        within("loss.lower_bound_ratio", loss.lower_bound_ratio, 0.0, 1e3)?;
        within("loss.hold_ratio", loss.hold_ratio, 0.0, 1e3)
    }
}
