//! The parameters of [`GccReceiver`](super::GccReceiver), with libwebrtc's defaults of 2020.

use crate::gcc::aimd::AimdConfig;
use legato_control::estimate::delay_filter::DelayFilterConfig;
use legato_control::estimate::overuse::OveruseConfig;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Parameters of `gcc-receiver`.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// The estimate.
    pub aimd: RateConfig,
    /// The filter of the delay variation.
    pub filter: DelayFilterConfig,
    /// The detector of over-use.
    pub overuse: OveruseConfig,
}

/// Parameters of the estimate's rise and fall.
// [libwebrtc-overuse-estimator] aimd_rate_control, as in AlphaRTC.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct RateConfig {
    /// After over-use the estimate is this share of the receiver rate.
    pub backoff_ratio: f64,
    /// Far from the known capacity, the estimate grows by this factor per second.
    pub increase_per_s_ratio: f64,
    /// The estimate does not grow beyond this many times the receiver rate, plus 10 kbit/s.
    pub increase_limit_ratio: f64,
}

impl Default for RateConfig {
    fn default() -> Self {
        Self { backoff_ratio: 0.85, increase_per_s_ratio: 1.08, increase_limit_ratio: 1.5 }
    }
}

impl Config {
    /// Name the first key whose value is invalid.
    pub fn check(&self) -> Result<(), String> {
        let within = |key: &str, value: f64, low: f64, high: f64| match value >= low && value <= high {
            true => Ok(()),
            false => Err(format!("{key} = {value} is not within [{low}, {high}]")),
        };
        within("aimd.backoff_ratio", self.aimd.backoff_ratio, 0.01, 0.99)?;
        within("aimd.increase_per_s_ratio", self.aimd.increase_per_s_ratio, 1.0, 10.0)?;
        within("aimd.increase_limit_ratio", self.aimd.increase_limit_ratio, 0.1, 1e6)?;
        self.filter.check(within)?;
        self.overuse.check(within)
    }

    /// That generation took nothing off a back-off and knew no application-limited region at the receiver.
    pub(super) fn rate_control(&self) -> AimdConfig {
        AimdConfig {
            backoff_ratio: self.aimd.backoff_ratio,
            backoff_offset_bps: 0,
            increase_per_s_ratio: self.aimd.increase_per_s_ratio,
            increase_limit_ratio: self.aimd.increase_limit_ratio,
            hold_in_alr: false,
        }
    }
}
