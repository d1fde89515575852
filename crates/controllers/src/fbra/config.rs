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
    /// How often feedback is judged, or once a round trip if that is longer; 20 to 5,000.
    pub report_interval_ms: u32,
    /// The one-way delay is compared with its percentiles over this span, 500 to 10,000.
    pub history_ms: u32,
    /// Media packets per parity packet in the first probe, 2 to 14.
    pub start_fec_interval_packets: u8,
    /// alpha_stay: STAY while the delay exceeds this many times its 80th percentile, at least 1.
    pub stay_above_ratio: f64,
    /// beta: probe with less parity while the delay exceeds this many times its 40th percentile.
    pub probe_less_above_ratio: f64,
    /// alpha_down: undershoot while the delay exceeds this many times its 80th percentile.
    pub down_above_ratio: f64,
    /// alpha_undershoot: undershoot again while the delay exceeds this many times its 80th percentile.
    pub undershoot_above_ratio: f64,
    /// A climb ends no higher than the highest goodput of this many reports, the probe's the last; 1 to 10.
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
        let bad = |message: String| Err(BuildError::Config { controller: Fbra::NAME, message });
        if !(20..=5_000).contains(&self.report_interval_ms) {
            return bad(format!("report_interval_ms = {}: not from 20 to 5000", self.report_interval_ms));
        }
        if !(500..=10_000).contains(&self.history_ms) {
            return bad(format!("history_ms = {}: not from 500 to 10000", self.history_ms));
        }
        if !(1..=10).contains(&self.proven_reports) {
            return bad(format!("proven_reports = {}: not from 1 to 10", self.proven_reports));
        }
        let n = self.start_fec_interval_packets;
        if !(MIN_FEC_INTERVAL..=MAX_FEC_INTERVAL).contains(&n) {
            return bad(format!("start_fec_interval_packets = {n}: not from 2 to 14"));
        }
        for (key, value) in [
            ("stay_above_ratio", self.stay_above_ratio),
            ("probe_less_above_ratio", self.probe_less_above_ratio),
            ("down_above_ratio", self.down_above_ratio),
            ("undershoot_above_ratio", self.undershoot_above_ratio),
        ] {
            if !(1.0..=1e3).contains(&value) {
                return bad(format!("{key} = {value}: not from 1 to 1000"));
            }
        }
        if self.down_above_ratio < self.stay_above_ratio {
            let (down, stay) = (self.down_above_ratio, self.stay_above_ratio);
            return bad(format!("down_above_ratio = {down}: below stay_above_ratio = {stay}"));
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
