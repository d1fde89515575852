//! The parameters of [`Gcc`](super::Gcc), one set per profile: libwebrtc's, and a set tuned for low delay. A profile
//! gives every key that is not set by name.

use super::aimd::AimdConfig;
use super::alr::AlrConfig;
use super::loss_config::LossConfig;
use super::loss_model::MAX_WINDOW;
use super::probe_controller::ProbeConfig;
use super::pushback::PushbackConfig;
use super::rtt_backoff::RttBackoffConfig;
use legato_control::estimate::overuse::OveruseConfig;
use legato_control::estimate::robust_throughput::ThroughputConfig;
use legato_control::estimate::trendline::{Trendline, TrendlineConfig};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A named set of parameters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Profile {
    /// libwebrtc's own numbers, branch M150.
    #[default]
    M150,
    /// Tuned for a short queue and few stalls at the same picture: docs/papers/gcc.md has the networks and figures.
    LowDelay,
}

/// Parameters of `gcc`.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// The set that gives every parameter not set by name.
    pub profile: Profile,
    /// Pace at this multiple of the target before the first feedback.
    pub initial_pacing_ratio: f64,
    /// Pace at this multiple of the target from the first feedback on.
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
    /// The detector of over-use.
    pub overuse: OveruseConfig,
    /// Probing.
    pub probe: ProbeConfig,
    /// The congestion window.
    pub pushback: PushbackConfig,
    /// The limit on round trips.
    pub rtt_backoff: RttBackoffConfig,
    /// The acknowledged rate.
    pub throughput: ThroughputConfig,
    /// The line through the delay variation of the last groups of packets.
    pub trendline: TrendlineConfig,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            profile: Profile::M150,
            initial_pacing_ratio: 2.5,
            pacing_ratio: 1.1,
            padding_bps: 0,
            probe_floor_ratio: 0.85,
            aimd: AimdConfig::default(),
            alr: AlrConfig::default(),
            loss: LossConfig::default(),
            overuse: OveruseConfig::default(),
            probe: ProbeConfig::default(),
            pushback: PushbackConfig::default(),
            rtt_backoff: RttBackoffConfig::default(),
            throughput: ThroughputConfig::default(),
            trendline: TrendlineConfig::default(),
        }
    }
}

impl Config {
    /// The parameters of a profile.
    pub fn of(profile: Profile) -> Self {
        match profile {
            Profile::M150 => Self::default(),
            Profile::LowDelay => Self::low_delay(),
        }
    }

    /// Found by a search on the training windows of `legato.access_networks` with the OpenH264 model: the shortest delay
    /// and stalls at a picture within 0.1 dB. A steeper window and the pacer's queue in it bound the queue, a line over
    /// fewer groups, less smoothed, against a lower threshold sees its growth earlier, and a rate measured over less time
    /// falls with the capacity; in exchange a back-off gives up less.
    fn low_delay() -> Self {
        let m150 = Self::default();
        Self {
            profile: Profile::LowDelay,
            pacing_ratio: 2.5,
            aimd: AimdConfig { backoff_ratio: 0.95, ..m150.aimd },
            overuse: OveruseConfig { min_threshold_ms: 2.0, up_gain_per_ms: 0.02, ..m150.overuse },
            pushback: PushbackConfig { queue_ms: 80, add_pacer_queue: true, ..m150.pushback },
            throughput: ThroughputConfig { window_ms: 700, ..m150.throughput },
            trendline: TrendlineConfig { window_groups: 18, smoothing_weight: 0.8, slope_gain: 1.75 },
            ..m150
        }
    }

    /// A trend line and its detector, with nothing seen.
    pub fn trendline(&self) -> Trendline {
        Trendline::new(self.trendline, self.overuse)
    }

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
        self.overuse.check(within)?;
        self.throughput.check(within)?;
        self.trendline.check(within)?;
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
        within("probe.allocation_limit_ratio", probe.allocation_limit_ratio, 0.0, 1e3)?;
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
