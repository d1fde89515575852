//! `fixed` believes the configuration: it always asks for one bitrate, or for several in sequence at set times.
//! The yardstick for the cost of not adapting; with steps, for how encoder and receiver follow a target.

use legato_control::{
    BuildError, Construct, Context, Decision, Event, RateController, RateLimits, SendingWishes, Side,
};
use legato_units::{DataRate, TimeDelta, Timestamp};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Parameters of [`Fixed`].
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// Always ask for this; absent: the start rate of the call's limits.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0, max = 1e10))]
    pub target_bitrate_bps: Option<u64>,
    /// Pairs of a time in s and a rate in bit/s, `[[time_s, target_bitrate_bps]]`: from each time on ask for that
    /// rate instead.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub steps: Vec<(f64, u64)>,
    /// The share of the target that is spent on parity.
    #[schemars(range(min = 0, max = 0.9))]
    pub parity_ratio: f64,
}

/// Always the same target, or a sequence of them.
#[derive(Clone)]
pub struct Fixed {
    target: DataRate,
    limits: RateLimits,
    /// The remaining steps, the next one last.
    steps: Vec<(Timestamp, DataRate)>,
    parity_ratio: f64,
}

impl Construct for Fixed {
    const NAME: &'static str = "fixed";
    const SIDE: Side = Side::Sender;
    const SUMMARY: &'static str = "always the same target bitrate";
    const CITES: &'static [&'static str] = &[];
    type Config = Config;

    fn new(config: Config, context: Context<'_>) -> Result<Self, BuildError> {
        let refuse = |message: String| Err(BuildError::Config { controller: Self::NAME, message });
        let mut steps = Vec::with_capacity(config.steps.len());
        for &(time_s, bps) in config.steps.iter().rev() {
            if !(0.0..=MAX_TIME_S).contains(&time_s) {
                return refuse(format!("steps: {time_s} s is outside 0 … {MAX_TIME_S}"));
            }
            steps.push((context.start + TimeDelta::from_secs_f64(time_s), DataRate::from_bps(bps)));
        }
        if !steps.is_sorted_by(|later, earlier| earlier.0 < later.0) {
            return refuse("steps: times are not ascending".to_owned());
        }
        let target = config.target_bitrate_bps.map_or(context.limits.start, DataRate::from_bps);
        let mut fixed = Self { target, limits: context.limits, steps, parity_ratio: config.parity_ratio };
        fixed.step(context.start);
        Ok(fixed)
    }
}

impl Fixed {
    fn step(&mut self, now: Timestamp) {
        while let Some((_, target)) = self.steps.pop_if(|step| step.0 <= now) {
            self.target = target;
        }
    }
}

impl RateController for Fixed {
    fn on_event(&mut self, now: Timestamp, event: &Event) {
        if let Event::Limits(limits) = event {
            self.limits = *limits;
        }
        self.step(now);
    }

    fn next_deadline(&self) -> Option<Timestamp> {
        self.steps.last().map(|step| step.0)
    }

    fn decision(&self) -> Decision {
        let target = self.limits.clamp(self.target);
        let sending = SendingWishes { fec_rate: target.scale(self.parity_ratio), ..SendingWishes::default() };
        Decision { sending, ..Decision::of_target(target) }
    }
}

/// Calls last at most a day.
const MAX_TIME_S: f64 = 86_400.0;

#[cfg(test)]
mod tests {
    use super::*;
    use legato_control::NoAssets;

    fn context(start: Timestamp) -> Context<'static> {
        let [min, start_rate, max] = [50, 300, 6_000].map(DataRate::from_kbps);
        Context { limits: RateLimits { min, start: start_rate, max }, start, seed: 0, assets: &NoAssets }
    }

    #[test]
    fn steps_are_taken_at_their_times_from_the_start() {
        let start = Timestamp::from_secs(7);
        let steps = vec![(0.0, 2_000_000), (10.0, 400_000), (20.0, 1_200_000)];
        let mut fixed = Fixed::new(Config { steps, ..Config::default() }, context(start)).unwrap();
        let mut decisions = Vec::new();
        while let Some(due) = fixed.next_deadline() {
            decisions.push((due, fixed.decision().target_bitrate.as_bps()));
            fixed.on_event(due, &Event::Deadline);
        }
        assert_eq!(decisions, [(Timestamp::from_secs(17), 2_000_000), (Timestamp::from_secs(27), 400_000)]);
        assert_eq!(fixed.decision().target_bitrate, DataRate::from_bps(1_200_000));
    }

    #[test]
    fn steps_out_of_order_or_out_of_range_are_refused() {
        for steps in [vec![(5.0, 1), (5.0, 2)], vec![(-1.0, 1)], vec![(f64::NAN, 1)]] {
            let refused = Fixed::new(Config { steps, ..Config::default() }, context(Timestamp::ZERO)).err().unwrap();
            assert!(refused.to_string().contains("steps"), "{refused}");
        }
    }

    /// A fifth of 300 kbit/s.
    #[test]
    fn parity_takes_its_share_of_the_target() {
        let parity = |parity_ratio| Fixed::new(Config { parity_ratio, ..Config::default() }, context(Timestamp::ZERO));
        assert_eq!(parity(0.2).unwrap().decision().sending.fec_rate, DataRate::from_kbps(60));
        assert_eq!(
            Fixed::new(Config::default(), context(Timestamp::ZERO)).unwrap().decision().sending.fec_rate,
            DataRate::ZERO
        );
    }

    #[test]
    fn the_target_stays_within_the_limits_even_when_they_change() {
        let limits = |max| RateLimits {
            min: DataRate::from_kbps(50),
            start: DataRate::from_kbps(300),
            max: DataRate::from_kbps(max),
        };
        let context = Context { limits: limits(2_000), start: Timestamp::ZERO, seed: 0, assets: &NoAssets };
        let mut fixed =
            Fixed::new(Config { target_bitrate_bps: Some(1_000_000), ..Config::default() }, context).unwrap();
        assert_eq!(fixed.decision().target_bitrate, DataRate::from_mbps(1));
        fixed.on_event(Timestamp::ZERO, &Event::Limits(limits(400)));
        assert_eq!(fixed.decision().target_bitrate, DataRate::from_kbps(400));
    }
}
