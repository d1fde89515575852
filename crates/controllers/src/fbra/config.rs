//! Parameters of `fbra`, with their sources.

use super::state::Thresholds;
use super::{Fbra, MAX_FEC_INTERVAL, MIN_FEC_INTERVAL};
use legato_control::{BuildError, Construct};
use legato_units::TimeDelta;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Parameters of [`Fbra`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// How often feedback is judged, or once a round trip if that is longer.
    #[schemars(range(min = 20, max = 5_000))]
    pub report_interval_ms: u32,
    /// The one-way delay is compared with its percentiles over this span.
    #[schemars(range(min = 500, max = 10_000))]
    pub history_ms: u32,
    /// Media packets per parity packet in the first probe.
    #[schemars(range(min = MIN_FEC_INTERVAL, max = MAX_FEC_INTERVAL))]
    pub start_fec_interval_packets: u8,
    /// alpha_stay: STAY while the delay exceeds this many times its 80th percentile.
    #[schemars(range(min = 1, max = 1_000))]
    pub stay_above_ratio: f64,
    /// beta: probe with less parity while the delay exceeds this many times its 40th percentile.
    #[schemars(range(min = 1, max = 1_000))]
    pub probe_less_above_ratio: f64,
    /// alpha_down: undershoot while the delay exceeds this many times its 80th percentile.
    #[schemars(range(min = 1, max = 1_000))]
    pub down_above_ratio: f64,
    /// alpha_undershoot: undershoot again while the delay exceeds this many times its 80th percentile.
    #[schemars(range(min = 1, max = 1_000))]
    pub undershoot_above_ratio: f64,
    /// A climb ends no higher than the highest goodput of this many reports, the probe's the last.
    #[schemars(range(min = 1, max = 10))]
    pub proven_reports: u8,
    /// Also send parity after losses, one packet per frame, not only in probes.
    pub protect: bool,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            report_interval_ms: 100,
            // Ours: the simulator of [nvc-cc] has 2 s, in which a deep queue is taken for the path.
            history_ms: 5_000,
            start_fec_interval_packets: 8,
            // The simulator of [nvc-cc]; alpha_down is 1.4 to 1.6 there.
            stay_above_ratio: 1.1,
            probe_less_above_ratio: 1.2,
            down_above_ratio: 1.6,
            undershoot_above_ratio: 2.0,
            // Ours. With 1 a climb depends on how many frames one report covers; with 5, and with no bound, losses and delay
            // are higher (docs/papers/nagy2014.md).
            proven_reports: 3,
            protect: true,
        }
    }
}

impl Config {
    pub(super) fn check(&self) -> Result<(), BuildError> {
        if self.down_above_ratio < self.stay_above_ratio {
            let (down, stay) = (self.down_above_ratio, self.stay_above_ratio);
            let message = format!("down_above_ratio = {down}: below stay_above_ratio = {stay}");
            return Err(BuildError::Config { controller: Fbra::NAME, message });
        }
        Ok(())
    }

    pub(super) fn thresholds(&self) -> Thresholds {
        Thresholds {
            stay_above: self.stay_above_ratio,
            probe_less_above: self.probe_less_above_ratio,
            down_above: self.down_above_ratio,
            undershoot_above: self.undershoot_above_ratio,
        }
    }

    pub(super) fn history(&self) -> TimeDelta {
        TimeDelta::from_millis(i64::from(self.history_ms))
    }

    pub(super) fn report_interval(&self) -> TimeDelta {
        TimeDelta::from_millis(i64::from(self.report_interval_ms))
    }
}
