//! The parameters of [`Gcc`](super::Gcc), one set per profile: libwebrtc's, and a set tuned for low delay. A profile
//! gives every key that is not set by name.

use super::aimd::AimdConfig;
use super::alr::AlrConfig;
use super::loss_config::LossConfig;
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
    /// Pace at this multiple of the target from the first feedback on.
    #[schemars(range(min = 1, max = 100))]
    pub pacing_ratio: f64,
    /// Pad up to this rate at all times.
    #[schemars(range(min = 0, max = 1e10))]
    pub padding_bps: u64,
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
            pacing_ratio: 1.1,
            padding_bps: 0,
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

    /// Found by a search on the training windows of `legato.links` with the OpenH264 model: the shortest delay and
    /// stalls at a picture within 0.1 dB. A steeper window with the pacer's queue in it bounds the queue. A line over
    /// fewer groups, less smoothed, against a lower threshold sees its growth earlier, and a rate measured over less
    /// time falls with the capacity. In exchange a back-off gives up less.
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

    /// Refuse bounds in the wrong order.
    pub fn check(&self) -> Result<(), String> {
        let AlrConfig { start_level_ratio, stop_level_ratio, .. } = self.alr;
        if start_level_ratio < stop_level_ratio {
            let stop = format!("alr.stop_level_ratio = {stop_level_ratio}");
            return Err(format!("alr.start_level_ratio = {start_level_ratio}: below {stop}"));
        }
        let LossConfig { min_inherent_loss_ratio, max_inherent_loss_offset_ratio, .. } = self.loss;
        if max_inherent_loss_offset_ratio < min_inherent_loss_ratio {
            let min = format!("loss.min_inherent_loss_ratio = {min_inherent_loss_ratio}");
            return Err(format!("loss.max_inherent_loss_offset_ratio = {max_inherent_loss_offset_ratio}: below {min}"));
        }
        Ok(())
    }
}
