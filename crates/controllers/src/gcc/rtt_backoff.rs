//! Packets leave and no feedback comes back: from a round trip of 3 s on, cut the target by a fifth
//! every second. libwebrtc's `RttBasedBackoff` [libwebrtc-m150].

use legato_units::{DataRate, TimeDelta, Timestamp};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Parameters of the back-off.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct RttBackoffConfig {
    /// Whether long round trips cut the target at all.
    pub enabled: bool,
    /// Round trips beyond this cut the target.
    #[schemars(range(min = 0, max = 1_000_000))]
    pub limit_ms: u32,
    /// Each cut takes the target to this share of it.
    #[schemars(range(min = 0, max = 1))]
    pub drop_ratio: f64,
    /// The time between two cuts.
    #[schemars(range(min = 25, max = 1_000_000_000))]
    pub interval_ms: u32,
    /// The cuts end at this rate.
    #[schemars(range(min = 0, max = 1e10))]
    pub floor_bps: u64,
}

impl Default for RttBackoffConfig {
    fn default() -> Self {
        Self { enabled: true, limit_ms: 3_000, drop_ratio: 0.8, interval_ms: 1_000, floor_bps: 5_000 }
    }
}

/// The last round trip, and how long packets have been leaving since.
#[derive(Clone, Debug)]
pub struct RttBackoff {
    config: RttBackoffConfig,
    /// A departure after this means that the limit is exceeded.
    alarm: Timestamp,
    last_sent: Option<Timestamp>,
}

impl RttBackoff {
    /// Nothing sent.
    pub fn new(config: RttBackoffConfig) -> Self {
        Self { config, alarm: Timestamp::MAX, last_sent: None }
    }

    /// A packet left. The first one counts as if feedback had come with it.
    #[inline]
    pub fn on_sent(&mut self, now: Timestamp) {
        if self.last_sent.replace(now).is_none() {
            self.on_rtt(now, TimeDelta::ZERO);
        }
    }

    /// Feedback came at `now` with this round trip.
    pub fn on_rtt(&mut self, now: Timestamp, rtt: TimeDelta) {
        if self.config.enabled {
            self.alarm = now + TimeDelta::from_millis(i64::from(self.config.limit_ms)) - rtt;
            // The last departure counts from the feedback on at the earliest.
            if rtt > TimeDelta::from_millis(i64::from(self.config.limit_ms)) {
                self.last_sent = self.last_sent.max(Some(now));
            }
        }
    }

    /// The round trip is beyond the limit; time in which nothing is sent does not count.
    #[inline]
    pub fn is_above_limit(&self) -> bool {
        self.last_sent.is_some_and(|sent| sent > self.alarm)
    }

    /// The next lower target, if there is one.
    pub fn reduce(&self, target: DataRate) -> Option<DataRate> {
        let floor = DataRate::from_bps(self.config.floor_bps);
        (target > floor).then(|| target.scale(self.config.drop_ratio).max(floor))
    }

    /// The time between two cuts.
    pub fn interval(&self) -> TimeDelta {
        TimeDelta::from_millis(i64::from(self.config.interval_ms))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: i64) -> Timestamp {
        Timestamp::from_millis(ms)
    }

    #[test]
    fn three_seconds_of_departures_without_feedback_pass_the_limit() {
        let mut backoff = RttBackoff::new(RttBackoffConfig::default());
        backoff.on_sent(at(0));
        backoff.on_sent(at(3_000));
        assert!(!backoff.is_above_limit());
        backoff.on_sent(at(3_001));
        assert!(backoff.is_above_limit());
        backoff.on_rtt(at(3_002), TimeDelta::from_millis(100));
        assert!(!backoff.is_above_limit());
    }

    #[test]
    fn silence_in_which_nothing_is_sent_does_not_count() {
        let mut backoff = RttBackoff::new(RttBackoffConfig::default());
        backoff.on_sent(at(0));
        backoff.on_rtt(at(100), TimeDelta::from_millis(100));
        assert!(!backoff.is_above_limit());
        backoff.on_sent(at(60_000));
        assert!(backoff.is_above_limit(), "until a packet leaves");
    }

    #[test]
    fn a_measured_round_trip_above_the_limit_passes_it_at_once() {
        let mut backoff = RttBackoff::new(RttBackoffConfig::default());
        backoff.on_sent(at(0));
        backoff.on_rtt(at(3_500), TimeDelta::from_millis(3_500));
        assert!(backoff.is_above_limit());
    }

    #[test]
    fn a_cut_takes_a_fifth_down_to_the_floor() {
        let backoff = RttBackoff::new(RttBackoffConfig::default());
        assert_eq!(backoff.reduce(DataRate::from_kbps(100)), Some(DataRate::from_kbps(80)));
        assert_eq!(backoff.reduce(DataRate::from_kbps(6)), Some(DataRate::from_kbps(5)));
        assert_eq!(backoff.reduce(DataRate::from_kbps(5)), None);
    }
}
