//! `fixed` believes the configuration: it always asks for one bitrate. The yardstick of what not
//! adapting costs.

use crate::{BuildError, Construct, Context, Decision, Event, RateController, RateLimits, Side};
use legato_units::{DataRate, Timestamp};
use serde::{Deserialize, Serialize};

/// Parameters of [`Fixed`].
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// Always ask for this; absent: the start rate of the call's limits.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub target_bitrate_bps: Option<u64>,
}

/// Always the same target.
#[derive(Clone)]
pub struct Fixed {
    target: DataRate,
    limits: RateLimits,
}

impl Construct for Fixed {
    const NAME: &'static str = "fixed";
    const SIDE: Side = Side::Sender;
    const SUMMARY: &'static str = "always the same target bitrate";
    const CITES: &'static [&'static str] = &[];
    type Config = Config;

    fn new(config: Config, context: Context<'_>) -> Result<Self, BuildError> {
        let target = config.target_bitrate_bps.map_or(context.limits.start, DataRate::from_bps);
        Ok(Self { target, limits: context.limits })
    }
}

impl RateController for Fixed {
    fn on_event(&mut self, _now: Timestamp, event: &Event) {
        if let Event::Limits(limits) = event {
            self.limits = *limits;
        }
    }

    fn decision(&self) -> Decision {
        Decision::of_target(self.limits.clamp(self.target))
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
    fn the_target_stays_within_the_limits_even_when_they_change() {
        let limits = |max| RateLimits {
            min: DataRate::from_kbps(50),
            start: DataRate::from_kbps(300),
            max: DataRate::from_kbps(max),
        };
        let context = Context { limits: limits(2_000), start: Timestamp::ZERO, seed: 0, assets: &NoAssets };
        let mut fixed = Fixed::new(Config { target_bitrate_bps: Some(1_000_000) }, context).unwrap();
        assert_eq!(fixed.decision().target_bitrate, DataRate::from_mbps(1));
        fixed.on_event(Timestamp::ZERO, &Event::Limits(limits(400)));
        assert_eq!(fixed.decision().target_bitrate, DataRate::from_kbps(400));
    }
}
