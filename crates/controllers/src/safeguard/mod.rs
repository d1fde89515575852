//! `safeguard` wraps one controller with another: OnRL's safety net under a learned controller that still
//! explores. It believes that a bad action shows as jitter before it hurts: while one-way delay varies by
//! more than the path's own variation, the fallback decides; afterwards the wrapped controller does again.
//!
//! Both see every event all the time, so that each is up to date when it takes over. Missing from the paper: the
//! threshold's own formula, which it does not print: ours is the mean plus some standard deviations of the last seconds.
//! The training penalty for a switch belongs to the reward (`legato.envs.rewards`).

mod jitter;

use jitter::{Jitter, Sample};
use legato_control::steering::{Pipeline, Steered};
use legato_control::{
    BuildError, Construct, Context, Decision, Entry, Event, FeedbackRule, ProbeCluster, RateController, Side,
    TransportFeedback,
};
use legato_units::{TimeDelta, Timestamp};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::ops::DerefMut;

/// Parameters of [`Safeguard`].
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// The controller that decides normally.
    pub inner: String,
    /// The parameters of the controller that decides normally.
    #[schemars(with = "std::collections::BTreeMap<String, String>")]
    pub inner_config: toml::Table,
    /// The controller that decides otherwise.
    pub fallback: String,
    /// The parameters of the controller that decides otherwise.
    #[schemars(with = "std::collections::BTreeMap<String, String>")]
    pub fallback_config: toml::Table,
    /// The quantity compared with the threshold.
    pub jitter: JitterOf,
    /// The jitter of each such interval is judged.
    #[schemars(range(min = 1, max = 10_000))]
    pub interval_ms: u32,
    /// The threshold is computed from the jitter of the last this many seconds.
    #[schemars(range(min = 0.1, max = 600))]
    pub window_s: f64,
    /// The threshold lies this many standard deviations above the mean: the smaller, the sooner it falls back.
    #[schemars(range(min = 0, max = 100))]
    pub n_std: f64,
    /// The threshold never falls below this.
    #[schemars(range(min = 0, max = 10_000))]
    pub min_threshold_ms: f64,
    /// Stay with the fallback for at least this long.
    #[schemars(range(min = 0, max = 100_000))]
    pub hold_ms: u32,
    /// Stay with the fallback until the delay is back where it rose from, but for `window_s` at most.
    pub until_drained: bool,
}

/// What jitter is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum JitterOf {
    /// The difference of the mean delays of two consecutive intervals.
    IntervalMeans,
    /// The mean difference of the delays of two consecutive packets within the interval.
    Packets,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            inner: "nada".to_owned(),
            inner_config: toml::Table::new(),
            fallback: "gcc".to_owned(),
            fallback_config: toml::Table::new(),
            jitter: JitterOf::IntervalMeans,
            interval_ms: 50,
            window_s: 10.0,
            n_std: 2.0,
            min_threshold_ms: 5.0,
            hold_ms: 0,
            until_drained: true,
        }
    }
}

/// One controller supervised by another.
#[derive(Clone)]
pub struct Safeguard<C = Box<dyn RateController>> {
    config: Config,
    inner: C,
    fallback: Box<dyn RateController>,
    jitter: Jitter,
    sample: Sample,
    /// Since when the fallback decides, and the delay before its jump.
    fallen_back: Option<(Timestamp, f64)>,
    /// Times the fallback took over, and how long it decided before the current time.
    switches: u32,
    before: TimeDelta,
    now: Timestamp,
}

impl Construct for Safeguard {
    const NAME: &'static str = "safeguard";
    const SIDE: Side = Side::Sender;
    const SUMMARY: &'static str = "another controller, with a fallback while delay jitters";
    const CITES: &'static [&'static str] = &["zhang2020", "nvc-cc"];
    type Config = Config;

    fn new(config: Config, context: Context<'_>) -> Result<Self, BuildError> {
        let inner = found("inner", &config.inner, context)?.build(&config.inner_config, context)?;
        Self::around(inner, config, context)
    }

    fn steered(config: Config, context: Context<'_>) -> Result<Box<dyn Steered>, BuildError> {
        let inner = found("inner", &config.inner, context)?.steered(&config.inner_config, context)?;
        Ok(Box::new(Safeguard::around(inner, config, context)?))
    }
}

fn refused(message: String) -> BuildError {
    BuildError::Config { controller: Safeguard::<Box<dyn RateController>>::NAME, message }
}

/// The controller that `key` names.
fn found(key: &str, name: &str, context: Context<'_>) -> Result<&'static Entry, BuildError> {
    let Some(entry) = context.assets.controller(name) else {
        return Err(refused(format!("{key} = {name:?}: no such controller")));
    };
    if entry.side != Side::Sender {
        return Err(refused(format!("{key} = {name:?} belongs at the {}", entry.side.name())));
    }
    Ok(entry)
}

impl Config {
    fn jitter(&self) -> Jitter {
        Jitter::new((self.window_s * 1e3 / f64::from(self.interval_ms)).clamp(2.0, 10_000.0) as usize)
    }
}

impl<C: DerefMut<Target: RateController>> Safeguard<C> {
    fn around(inner: C, config: Config, context: Context<'_>) -> Result<Self, BuildError> {
        Ok(Self {
            inner,
            fallback: found("fallback", &config.fallback, context)?.build(&config.fallback_config, context)?,
            jitter: config.jitter(),
            sample: Sample::default(),
            fallen_back: None,
            switches: 0,
            before: TimeDelta::ZERO,
            now: context.start,
            config,
        })
    }

    // [zhang2020] falls back while jitter exceeds a threshold that is adjusted all the time.
    fn take_feedback(&mut self, now: Timestamp, feedback: &TransportFeedback) {
        let Some(sample) = self.jitter.push(&self.config, now, feedback) else { return };
        self.sample = sample;
        let risky = sample.jitter_ms > sample.threshold_ms;
        match self.fallen_back {
            None if risky => {
                self.fallen_back = Some((now, sample.before_ms));
                self.switches += 1;
            }
            Some((since, calm_ms)) if !risky && self.may_return(now - since, calm_ms) => {
                self.before += now - since;
                self.fallen_back = None;
            }
            _ => {}
        }
    }
}

impl<C> Safeguard<C> {
    // Legato's: a queue that stays full does not jitter. Judged by jitter alone, the fallback would hand back the path
    // that it took over 50 ms earlier, and never take it again.
    fn may_return(&self, lasted: TimeDelta, calm_ms: f64) -> bool {
        let drained = self.sample.delay_ms <= calm_ms + self.sample.threshold_ms;
        // A delay that stays that long is the path's own.
        let for_good = lasted >= TimeDelta::from_secs_f64(self.config.window_s);
        lasted >= TimeDelta::from_millis(i64::from(self.config.hold_ms))
            && (drained || for_good || !self.config.until_drained)
    }
}

impl<C> RateController for Safeguard<C>
where
    C: DerefMut<Target: RateController> + Clone + Send,
{
    fn on_event(&mut self, now: Timestamp, event: &Event) {
        self.now = now;
        match event {
            Event::Deadline => {
                // Each gets the deadlines it asked for.
                if self.inner.next_deadline().is_some_and(|due| due <= now) {
                    self.inner.on_event(now, event);
                }
                if self.fallback.next_deadline().is_some_and(|due| due <= now) {
                    self.fallback.on_event(now, event);
                }
                return;
            }
            Event::TransportFeedback(feedback) => self.take_feedback(now, feedback),
            Event::RouteChange => self.jitter = self.config.jitter(),
            _ => {}
        }
        self.inner.on_event(now, event);
        self.fallback.on_event(now, event);
    }

    fn decision(&self) -> Decision {
        if self.fallen_back.is_some() { self.fallback.decision() } else { self.inner.decision() }
    }

    fn next_deadline(&self) -> Option<Timestamp> {
        match (self.inner.next_deadline(), self.fallback.next_deadline()) {
            (Some(inner), Some(fallback)) => Some(inner.min(fallback)),
            (inner, fallback) => inner.or(fallback),
        }
    }

    fn poll_probe(&mut self) -> Option<ProbeCluster> {
        // The controller that does not decide does not probe either.
        if self.fallen_back.is_some() {
            while self.inner.poll_probe().is_some() {}
            self.fallback.poll_probe()
        } else {
            while self.fallback.poll_probe().is_some() {}
            self.inner.poll_probe()
        }
    }

    fn feedback_rule(&self) -> FeedbackRule {
        self.inner.feedback_rule()
    }

    fn observe(&mut self, gauge: &mut dyn FnMut(&'static str, f64)) {
        self.inner.observe(gauge);
        let lasting = self.fallen_back.map_or(TimeDelta::ZERO, |(since, _)| self.now - since);
        gauge("safeguard_active", f64::from(u8::from(self.fallen_back.is_some())));
        gauge("safeguard_switches", f64::from(self.switches));
        gauge("safeguard_fallback_s", (self.before + lasting).as_secs_f64());
        gauge("safeguard_jitter_ms", self.sample.jitter_ms);
        gauge("safeguard_threshold_ms", self.sample.threshold_ms);
    }
}

impl<C> Steered for Safeguard<C>
where
    C: DerefMut<Target: Steered> + Clone + Send,
{
    fn pipeline(&mut self) -> &mut dyn Pipeline {
        self.inner.pipeline()
    }

    fn takeovers(&self) -> u32 {
        self.switches
    }
}

#[cfg(test)]
#[path = "safeguard_tests.rs"]
mod tests;
