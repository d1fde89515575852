//! The parameters of [`Scream`](super::Scream), with the values [rfc8298] §4.1.1.1 recommends. Its other values are
//! constants beside the rules that use them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Parameters of `scream`.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// QDELAY_TARGET_LO: the minimum target queue delay.
    #[schemars(range(min = 1, max = 10_000))]
    pub qdelay_target_lo_ms: u32,
    /// QDELAY_TARGET_HI: the maximum, against flows that keep a queue.
    #[schemars(range(min = 1, max = 60_000))]
    pub qdelay_target_hi_ms: u32,
    /// Adapt the target between the two (§4.1.2.3: "MAY be turned off").
    pub competing_flows: bool,
    /// RAMP_UP_SPEED: the maximum rise of the target per second.
    #[schemars(range(min = 0, max = 1e10))]
    pub ramp_up_speed_bps: u64,
    /// Skip pictures while media has waited longer than this (§4.1.3: "excessively delayed").
    #[schemars(range(min = 1, max = 60_000))]
    pub max_rtp_qdelay_ms: u32,
    /// Discard such media in place of skipping pictures, as §4.1.3 says: whole frames that have not begun to leave. The
    /// next picture is then a key frame.
    pub discard_media: bool,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            qdelay_target_lo_ms: 100,
            qdelay_target_hi_ms: 400,
            competing_flows: true,
            ramp_up_speed_bps: 200_000,
            max_rtp_qdelay_ms: 200,
            discard_media: false,
        }
    }
}

impl Config {
    /// Refuse targets in the wrong order.
    pub fn check(&self) -> Result<(), String> {
        let Self { qdelay_target_lo_ms: low_ms, qdelay_target_hi_ms: high_ms, .. } = self;
        match low_ms <= high_ms {
            true => Ok(()),
            false => Err(format!("qdelay_target_hi_ms = {high_ms}: below qdelay_target_lo_ms = {low_ms}")),
        }
    }
}
