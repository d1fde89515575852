//! `oracle` knows the future: at every step it asks for what the bottleneck will deliver over the
//! next `horizon`, minus a margin. Papers call it the upper bound, but frames are larger than asked for and links die:
//! `clairvoyant` is one.

use legato_control::{
    BuildError, CapacityStep, Construct, Context, Decision, Event, KnownFuture, Pacing, RateController, RateLimits,
    Side,
};
use legato_units::{DataRate, TimeDelta, Timestamp};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// Parameters of [`Oracle`].
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// Look this far ahead: about one encoder interval and one path delay.
    #[schemars(range(min = 0, max = 60_000))]
    pub horizon_ms: u32,
    /// Use this share of the minimum mean capacity ahead.
    #[schemars(range(max = 1.5), extend("exclusiveMinimum" = 0))]
    pub utilisation_ratio: f64,
    /// The time between two decisions.
    #[schemars(range(min = 1, max = 60_000))]
    pub interval_ms: u32,
}

impl Default for Config {
    fn default() -> Self {
        Self { horizon_ms: 300, utilisation_ratio: 0.92, interval_ms: 20 }
    }
}

/// Knows the capacity to come.
#[derive(Clone)]
pub struct Oracle {
    future: Arc<[CapacityStep]>,
    /// First step that may still matter; time never goes back.
    cursor: usize,
    horizon: TimeDelta,
    interval: TimeDelta,
    utilisation: f64,
    limits: RateLimits,
    target: DataRate,
    deadline: Timestamp,
}

impl Construct for Oracle {
    const NAME: &'static str = "oracle";
    const SIDE: Side = Side::Sender;
    const SUMMARY: &'static str = "knows the future capacity: what papers call the upper bound";
    const CITES: &'static [&'static str] = &["nvc-cc"];
    type Config = Config;

    fn new(config: Config, context: Context<'_>) -> Result<Self, BuildError> {
        let Some(future) = context.assets.future().and_then(KnownFuture::capacity) else {
            return Err(BuildError::Missing { controller: Self::NAME, what: "the future capacity".to_owned() });
        };
        let mut oracle = Self {
            future,
            cursor: 0,
            horizon: TimeDelta::from_millis(i64::from(config.horizon_ms)),
            interval: TimeDelta::from_millis(i64::from(config.interval_ms)),
            utilisation: config.utilisation_ratio,
            limits: context.limits,
            target: context.limits.start,
            deadline: context.start,
        };
        oracle.look_ahead(context.start);
        Ok(oracle)
    }
}

impl Oracle {
    /// The target is the minimum, over instants within the horizon, of the mean capacity from now to that instant: the
    /// rate that leaves no queue when the horizon ends.
    fn look_ahead(&mut self, now: Timestamp) {
        while self.cursor + 1 < self.future.len() && self.future[self.cursor + 1].start <= now {
            self.cursor += 1;
        }
        let end = now + self.horizon;
        let mut bits = 0.0;
        let mut minimum = f64::INFINITY;
        for index in self.cursor..self.future.len() {
            let from = self.future[index].start.max(now);
            if from >= end {
                break;
            }
            let until = self.future.get(index + 1).map_or(end, |next| next.start.min(end));
            bits += self.future[index].capacity.as_bps_f64() * (until - from).as_secs_f64();
            // A mean over less than a fifth of the horizon is a packet's noise, not capacity.
            if (until - now) * 5 >= self.horizon {
                minimum = minimum.min(bits / (until - now).as_secs_f64());
            }
        }
        if minimum.is_finite() {
            self.target = DataRate::from_bps_f64(minimum * self.utilisation);
        }
    }
}

impl RateController for Oracle {
    fn on_event(&mut self, now: Timestamp, event: &Event) {
        match event {
            Event::Deadline => {
                self.look_ahead(now);
                self.deadline = now + self.interval;
            }
            Event::Limits(limits) => self.limits = *limits,
            _ => {}
        }
    }

    fn decision(&self) -> Decision {
        let target = self.limits.clamp(self.target);
        Decision { pacing: Pacing::at(target.scale(1.25)), ..Decision::of_target(target) }
    }

    fn next_deadline(&self) -> Option<Timestamp> {
        Some(self.deadline)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use legato_control::{Assets, FutureLink};
    use std::borrow::Cow;

    struct Future(Arc<[CapacityStep]>);
    impl Assets for Future {
        fn file(&self, _name: &str) -> Option<Cow<'_, [u8]>> {
            None
        }
        fn future(&self) -> Option<&dyn KnownFuture> {
            Some(self)
        }
    }
    impl KnownFuture for Future {
        fn capacity(&self) -> Option<Arc<[CapacityStep]>> {
            Some(self.0.clone())
        }
        fn link(&self) -> Option<Box<dyn FutureLink>> {
            None
        }
    }

    fn oracle(steps: &[(i64, u64)]) -> Oracle {
        let steps = steps
            .iter()
            .map(|&(ms, kbps)| CapacityStep { start: Timestamp::from_millis(ms), capacity: DataRate::from_kbps(kbps) });
        let limits = RateLimits { min: DataRate::from_kbps(10), start: DataRate::from_kbps(300), max: DataRate::MAX };
        let assets = Future(steps.collect());
        let context = Context { limits, start: Timestamp::ZERO, seed: 0, assets: &assets };
        Oracle::new(Config { utilisation_ratio: 1.0, ..Config::default() }, context).unwrap()
    }

    #[test]
    fn a_drop_within_the_horizon_is_met_before_it_comes() {
        let mut oracle = oracle(&[(0, 3_000), (1_000, 500)]);
        assert_eq!(oracle.decision().target_bitrate, DataRate::from_kbps(3_000));
        // 200 ms of 3 Mbit/s and 100 ms of 0.5 Mbit/s lie ahead: (0.6 + 0.05) Mbit / 0.3 s.
        oracle.on_event(Timestamp::from_millis(800), &Event::Deadline);
        assert_eq!(oracle.decision().target_bitrate.as_bps(), 2_166_667);
        oracle.on_event(Timestamp::from_millis(1_000), &Event::Deadline);
        assert_eq!(oracle.decision().target_bitrate, DataRate::from_kbps(500));
    }

    #[test]
    fn a_rise_is_not_used_before_it_comes() {
        let mut oracle = oracle(&[(0, 500), (1_000, 3_000)]);
        oracle.on_event(Timestamp::from_millis(900), &Event::Deadline);
        assert_eq!(oracle.decision().target_bitrate, DataRate::from_kbps(500));
    }
}
