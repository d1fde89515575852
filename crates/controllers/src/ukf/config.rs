//! Parameters of `ukf`.

use super::Ukf;
use legato_control::{BuildError, Construct};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Parameters of [`Ukf`].
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// The model of the path.
    pub filter: FilterConfig,
    /// The reaction to it.
    pub rules: RulesConfig,
}

/// The model of the path.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct FilterConfig {
    /// Random walk of the capacity per second, as a share of it.
    #[schemars(range(min = 0.001, max = 10))]
    pub capacity_walk_ratio: f64,
    /// Random walk of the queue per second, beyond what this sender does to it.
    #[schemars(range(min = 0.01, max = 1_000))]
    pub queue_walk_ms: f64,
    /// Random walk of the path's own delay per second; clock drift accounts for 0.1.
    #[schemars(range(min = 0.001, max = 100))]
    pub base_walk_ms: f64,
    /// The delay's minimum standard deviation; more is learned.
    #[schemars(range(min = 0.01, max = 30))]
    pub jitter_ms: f64,
    /// The minimum delay over one to two of these windows becomes the path's own.
    #[schemars(range(min = 0.1, max = 3_600))]
    pub base_window_s: f64,
}

impl Default for FilterConfig {
    fn default() -> Self {
        Self { capacity_walk_ratio: 0.3, queue_walk_ms: 10.0, base_walk_ms: 0.1, jitter_ms: 0.5, base_window_s: 5.0 }
    }
}

/// The reaction to the path.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct RulesConfig {
    /// The time between two decisions.
    #[schemars(range(min = 20, max = 1_000))]
    pub interval_ms: f64,
    /// Stay this share below the capacity.
    #[schemars(range(min = 0, max = 0.9))]
    pub margin_ratio: f64,
    /// The target climbs while the queue is shorter than this.
    #[schemars(range(min = 0.1, max = 10_000))]
    pub low_queue_ms: f64,
    /// The target backs off when the queue is longer than this.
    #[schemars(range(min = 0.1, max = 10_000))]
    pub high_queue_ms: f64,
    /// Backing off drains the queue within about this time.
    #[schemars(range(min = 1, max = 60_000))]
    pub drain_ms: f64,
    /// Climb by this share of the target per second.
    #[schemars(range(min = 0, max = 100))]
    pub climb_per_s_ratio: f64,
    /// Do not climb while more than this is lost beyond the permanent loss.
    #[schemars(range(min = 0, max = 1))]
    pub loss_hold_ratio: f64,
    /// Back off when more than this is lost beyond the permanent loss.
    #[schemars(range(min = 0, max = 1))]
    pub loss_brake_ratio: f64,
    /// Slow down when nothing arrived for this long.
    #[schemars(range(min = 50, max = 60_000))]
    pub silence_ms: f64,
}

impl Default for RulesConfig {
    fn default() -> Self {
        Self {
            interval_ms: 50.0,
            margin_ratio: 0.08,
            low_queue_ms: 12.0,
            high_queue_ms: 25.0,
            drain_ms: 500.0,
            climb_per_s_ratio: 1.2,
            loss_hold_ratio: 0.05,
            loss_brake_ratio: 0.1,
            silence_ms: 500.0,
        }
    }
}

impl Config {
    /// Refuses thresholds in the wrong order, naming key and value.
    pub(super) fn check(&self) -> Result<(), BuildError> {
        let RulesConfig { low_queue_ms, high_queue_ms, loss_hold_ratio, loss_brake_ratio, .. } = self.rules;
        for (low, below, high, above) in [
            ("low_queue_ms", low_queue_ms, "high_queue_ms", high_queue_ms),
            ("loss_hold_ratio", loss_hold_ratio, "loss_brake_ratio", loss_brake_ratio),
        ] {
            if below > above {
                let message = format!("rules.{low} = {below}: above rules.{high} = {above}");
                return Err(BuildError::Config { controller: Ukf::NAME, message });
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thresholds_ascend() {
        Config::default().check().unwrap();
        let rules = RulesConfig { low_queue_ms: 30.0, ..RulesConfig::default() };
        let message = Config { rules, ..Config::default() }.check().unwrap_err().to_string();
        assert_eq!(message, "controller ukf: rules.low_queue_ms = 30: above rules.high_queue_ms = 25");
        let rules = RulesConfig { loss_hold_ratio: 0.2, ..RulesConfig::default() };
        let message = Config { rules, ..Config::default() }.check().unwrap_err().to_string();
        assert_eq!(message, "controller ukf: rules.loss_hold_ratio = 0.2: above rules.loss_brake_ratio = 0.1");
    }
}
