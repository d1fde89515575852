//! The parameters of [`GccReceiver`](super::GccReceiver), with libwebrtc's defaults of 2020.

use legato_control::estimate::overuse::OveruseConfig;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Parameters of `gcc-receiver`.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// The estimate.
    pub aimd: RateConfig,
    /// The detector of over-use.
    pub overuse: OveruseConfig,
}

/// The estimate's fall.
// [libwebrtc-overuse-estimator] aimd_rate_control, as in AlphaRTC.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct RateConfig {
    /// After over-use the estimate is this share of the receiver rate.
    #[schemars(range(min = 0.01, max = 0.99))]
    pub backoff_ratio: f64,
}

impl Default for RateConfig {
    fn default() -> Self {
        Self { backoff_ratio: 0.85 }
    }
}
