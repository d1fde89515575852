//! `remote` obeys the receiver: the target is the last estimate that came back by REMB. It is the
//! sender's half of every receiver-side controller.

use crate::{BuildError, Construct, Context, Decision, Event, RateController, RateLimits, Side};
use legato_units::{DataRate, Timestamp};
use serde::{Deserialize, Serialize};

/// Parameters of [`Remote`]: none.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Config {}

/// The last remote estimate, or the start rate before the first.
#[derive(Clone)]
pub struct Remote {
    estimate: DataRate,
    limits: RateLimits,
}

impl Construct for Remote {
    const NAME: &'static str = "remote";
    const SIDE: Side = Side::Sender;
    const SUMMARY: &'static str = "obeys the receiver's estimate (REMB)";
    const CITES: &'static [&'static str] = &["draft-alvestrand-rmcat-remb"];
    type Config = Config;

    fn new(_config: Config, context: Context<'_>) -> Result<Self, BuildError> {
        Ok(Self { estimate: context.limits.start, limits: context.limits })
    }
}

impl RateController for Remote {
    fn on_event(&mut self, _now: Timestamp, event: &Event) {
        match event {
            Event::RemoteEstimate(estimate) => self.estimate = *estimate,
            Event::Limits(limits) => self.limits = *limits,
            Event::RouteChange => self.estimate = self.limits.start,
            _ => {}
        }
    }

    fn decision(&self) -> Decision {
        Decision::of_target(self.limits.clamp(self.estimate))
    }

    fn clone_box(&self) -> Box<dyn RateController> {
        Box::new(self.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::NoAssets;

    #[test]
    fn the_last_estimate_is_obeyed_within_the_limits() {
        let limits =
            RateLimits { min: DataRate::from_kbps(50), start: DataRate::from_kbps(300), max: DataRate::from_mbps(2) };
        let context = Context { limits, start: Timestamp::ZERO, seed: 0, assets: &NoAssets };
        let mut remote = Remote::new(Config {}, context).unwrap();
        assert_eq!(remote.decision().target_bitrate, limits.start);
        remote.on_event(Timestamp::ZERO, &Event::RemoteEstimate(DataRate::from_kbps(700)));
        assert_eq!(remote.decision().target_bitrate, DataRate::from_kbps(700));
        remote.on_event(Timestamp::ZERO, &Event::RemoteEstimate(DataRate::from_mbps(9)));
        assert_eq!(remote.decision().target_bitrate, limits.max);
    }
}
