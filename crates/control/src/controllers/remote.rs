//! `remote` obeys the receiver: the target is the last estimate that came back by REMB. It is the
//! sender's half of every receiver-side controller.
//!
//! The estimate describes the path as it was. If no new one comes, the path or the receiver is gone, so
//! the target is halved after every `timeout_ms` of silence, and the next estimate is obeyed as if
//! nothing had happened. The draft of REMB leaves silence open; [rfc8836] asks a sender to reduce its
//! rate when feedback is absent for a while, and halving on a timer is what [rfc5348] §4.4 does.

use crate::{BuildError, Construct, Context, Decision, Event, RateController, RateLimits, Side};
use legato_units::{DataRate, TimeDelta, Timestamp};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Parameters of [`Remote`].
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// Halve the target whenever no estimate came for this long.
    pub timeout_ms: f64,
}

impl Default for Config {
    /// Seven times the 200 ms at which a receiver repeats itself; two halvings within 3 s.
    fn default() -> Self {
        Self { timeout_ms: 1_400.0 }
    }
}

/// The last remote estimate, or the start rate before the first.
#[derive(Clone)]
pub struct Remote {
    timeout: TimeDelta,
    estimate: DataRate,
    limits: RateLimits,
    next_halving: Timestamp,
}

impl Construct for Remote {
    const NAME: &'static str = "remote";
    const SIDE: Side = Side::Sender;
    const SUMMARY: &'static str = "obeys the receiver's estimate (REMB)";
    const CITES: &'static [&'static str] = &["draft-alvestrand-rmcat-remb", "rfc8836"];
    type Config = Config;

    fn new(config: Config, context: Context<'_>) -> Result<Self, BuildError> {
        if !(10.0..=60_000.0).contains(&config.timeout_ms) {
            return Err(BuildError::Config {
                controller: Self::NAME,
                message: format!("timeout_ms = {}: not from 10 to 60000", config.timeout_ms),
            });
        }
        let timeout = TimeDelta::from_millis_f64(config.timeout_ms);
        let Context { limits, start, .. } = context;
        Ok(Self { timeout, estimate: limits.start, limits, next_halving: start + timeout })
    }
}

impl RateController for Remote {
    fn on_event(&mut self, now: Timestamp, event: &Event) {
        match event {
            Event::RemoteEstimate(estimate) => {
                self.estimate = *estimate;
                self.next_halving = now + self.timeout;
            }
            Event::Limits(limits) => self.limits = *limits,
            Event::RouteChange => {
                self.estimate = self.limits.start;
                self.next_halving = now + self.timeout;
            }
            Event::Deadline if now >= self.next_halving => {
                // What the limits cut off needs no halving.
                self.estimate = self.limits.clamp(self.estimate).scale(0.5);
                self.next_halving = now + self.timeout;
            }
            _ => {}
        }
    }

    fn decision(&self) -> Decision {
        Decision::of_target(self.limits.clamp(self.estimate))
    }

    fn next_deadline(&self) -> Option<Timestamp> {
        Some(self.next_halving)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::NoAssets;

    const LIMITS: RateLimits =
        RateLimits { min: DataRate::from_kbps(50), start: DataRate::from_kbps(300), max: DataRate::from_mbps(2) };

    fn remote() -> Remote {
        let context = Context { limits: LIMITS, start: Timestamp::ZERO, seed: 0, assets: &NoAssets };
        Remote::new(Config::default(), context).unwrap()
    }

    /// Deadlines as a driver sends them until `until`.
    fn wait(remote: &mut Remote, until: Timestamp) {
        while let Some(due) = remote.next_deadline().filter(|due| *due <= until) {
            remote.on_event(due, &Event::Deadline);
        }
    }

    #[test]
    fn the_last_estimate_is_obeyed_within_the_limits() {
        let mut remote = remote();
        assert_eq!(remote.decision().target_bitrate, LIMITS.start);
        remote.on_event(Timestamp::ZERO, &Event::RemoteEstimate(DataRate::from_kbps(700)));
        assert_eq!(remote.decision().target_bitrate, DataRate::from_kbps(700));
        remote.on_event(Timestamp::ZERO, &Event::RemoteEstimate(DataRate::from_mbps(9)));
        assert_eq!(remote.decision().target_bitrate, LIMITS.max);
    }

    /// [rfc5348] §4.4: without feedback the allowed rate is halved each time the timer expires. From
    /// 1,600 kbit/s: 800 at 1.4 s, 400 at 2.8 s; and finally no lower than the minimum.
    #[test]
    fn three_seconds_of_silence_quarter_the_rate_and_one_estimate_restores_it() {
        let mut remote = remote();
        remote.on_event(Timestamp::from_millis(500), &Event::RemoteEstimate(DataRate::from_kbps(1_600)));
        wait(&mut remote, Timestamp::from_millis(1_899));
        assert_eq!(remote.decision().target_bitrate, DataRate::from_kbps(1_600));
        wait(&mut remote, Timestamp::from_millis(3_500));
        assert_eq!(remote.decision().target_bitrate, DataRate::from_kbps(400));
        wait(&mut remote, Timestamp::from_secs(60));
        assert_eq!(remote.decision().target_bitrate, LIMITS.min);
        remote.on_event(Timestamp::from_secs(60), &Event::RemoteEstimate(DataRate::from_kbps(900)));
        assert_eq!(remote.decision().target_bitrate, DataRate::from_kbps(900));
    }

    #[test]
    fn an_estimate_that_never_comes_is_not_waited_for_at_the_start_rate() {
        let mut remote = remote();
        wait(&mut remote, Timestamp::from_secs(3));
        assert_eq!(remote.decision().target_bitrate, DataRate::from_kbps(75));
    }

    #[test]
    fn a_rate_above_the_limits_is_halved_from_the_limit() {
        let mut remote = remote();
        remote.on_event(Timestamp::ZERO, &Event::RemoteEstimate(DataRate::from_mbps(9)));
        wait(&mut remote, Timestamp::from_secs(2));
        assert_eq!(remote.decision().target_bitrate, DataRate::from_mbps(1));
    }
}
