//! Parameters of `ukf` and their ranges.

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
    pub capacity_walk_ratio: f64,
    /// Random walk of the queue per second, beyond what this sender does to it.
    pub queue_walk_ms: f64,
    /// Random walk of the path's own delay per second; clock drift accounts for 0.1.
    pub base_walk_ms: f64,
    /// The delay's minimum standard deviation; more is learned.
    pub jitter_ms: f64,
    /// The minimum delay over one to two of these windows becomes the path's own.
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
    /// Decision interval, 20 to 1000.
    pub interval_ms: f64,
    /// Stay this share below the capacity.
    pub margin_ratio: f64,
    /// The target climbs while the queue is shorter than this.
    pub low_queue_ms: f64,
    /// The target backs off when the queue is longer than this.
    pub high_queue_ms: f64,
    /// Backing off drains the queue within about this time.
    pub drain_ms: f64,
    /// Climb by this share of the target per second.
    pub climb_per_s_ratio: f64,
    /// Do not climb while more than this is lost beyond the permanent loss.
    pub loss_hold_ratio: f64,
    /// Back off when more than this is lost beyond the permanent loss.
    pub loss_brake_ratio: f64,
    /// Slow down when nothing arrived for this long.
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
    /// Refuses invalid values, naming key and value.
    pub(super) fn check(&self) -> Result<(), BuildError> {
        let Self { filter, rules } = self;
        let ranges = [
            ("filter.capacity_walk_ratio", filter.capacity_walk_ratio, 0.001, 10.0),
            ("filter.queue_walk_ms", filter.queue_walk_ms, 0.01, 1_000.0),
            ("filter.base_walk_ms", filter.base_walk_ms, 0.001, 100.0),
            ("filter.jitter_ms", filter.jitter_ms, 0.01, 30.0),
            ("filter.base_window_s", filter.base_window_s, 0.1, 3_600.0),
            ("rules.interval_ms", rules.interval_ms, 20.0, 1_000.0),
            ("rules.margin_ratio", rules.margin_ratio, 0.0, 0.9),
            ("rules.low_queue_ms", rules.low_queue_ms, 0.1, rules.high_queue_ms),
            ("rules.high_queue_ms", rules.high_queue_ms, 0.1, 10_000.0),
            ("rules.drain_ms", rules.drain_ms, 1.0, 60_000.0),
            ("rules.climb_per_s_ratio", rules.climb_per_s_ratio, 0.0, 100.0),
            ("rules.loss_hold_ratio", rules.loss_hold_ratio, 0.0, rules.loss_brake_ratio),
            ("rules.loss_brake_ratio", rules.loss_brake_ratio, 0.0, 1.0),
            ("rules.silence_ms", rules.silence_ms, 50.0, 60_000.0),
        ];
        match ranges.into_iter().find(|(_, value, min, max)| !(min..=max).contains(&value)) {
            None => Ok(()),
            Some((key, value, min, max)) => Err(BuildError::Config {
                controller: Ukf::NAME,
                message: format!("{key} = {value}: not from {min} to {max}"),
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_defaults_are_valid_and_a_bad_value_is_named() {
        Config::default().check().unwrap();
        let mut config = Config::default();
        config.rules.low_queue_ms = 30.0;
        let message = config.check().unwrap_err().to_string();
        assert_eq!(message, "controller ukf: rules.low_queue_ms = 30: not from 0.1 to 25");
        config = Config::default();
        config.filter.jitter_ms = f64::NAN;
        assert!(config.check().unwrap_err().to_string().contains("filter.jitter_ms = NaN"));
    }
}
