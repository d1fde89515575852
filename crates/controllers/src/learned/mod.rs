//! Learned controllers: window, observation, policy, action map, the same for training, simulated
//! calls and real ones. A paper's own part is a [`Scheme`], one file each.
//!
//! At the end of every interval the pipeline closes the window, passes the observation to the policy and the action to
//! the paper's map. It adds three rules for all. The target stays within its bounds. Each second without a sign of the
//! other end halves it, and no action raises it after half a second without. A NaN is counted, and a hand-written
//! controller decides that interval.

pub mod aurora;
pub mod clcc;
pub mod concerto;
pub mod hrcc;
pub mod mmsys24;
pub mod nvc_cc;
pub mod onrl;
pub mod r3net;
mod scheme;

pub use scheme::Scheme;

use legato_control::action::ActionSpace;
use legato_control::estimate::silence::Silence;
use legato_control::observation::{History, Layout};
use legato_control::policy::{Hand, MAX_INTERVAL_RTT_FACTOR, Manifest, NetworkPolicy, Policy};
use legato_control::steering::{Pipeline, Steered};
use legato_control::window::{Window, WindowStats};
use legato_control::{
    BuildError, Construct, Context, Decision, Event, NoAssets, Pacing, RateController, RateLimits, Side,
};
use legato_units::{DataRate, TimeDelta, Timestamp};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Parameters of every learned controller.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// The policy: its name or folder, or `hand`, whose actions are set from outside. Empty: the policy
    /// shipped under the controller's own name.
    pub policy: String,
    /// The pacing rate as a multiple of the target.
    #[schemars(range(min = 0.5, max = 10))]
    pub pacing_factor: f64,
    /// The time between two decisions in round trips, as last measured; 50 ms at least, the interval of feedback. 0: as
    /// the policy was trained, which is its controller's interval unless its files say otherwise.
    #[schemars(range(min = 0, max = MAX_INTERVAL_RTT_FACTOR))]
    pub interval_rtt_factor: f64,
}

impl Default for Config {
    fn default() -> Self {
        Self { policy: String::new(), pacing_factor: 2.5, interval_rtt_factor: 0.0 }
    }
}

/// A paper's scheme on the common pipeline.
#[derive(Clone)]
pub struct Learned<S> {
    scheme: S,
    config: Config,
    window: Window,
    history: History,
    policy: Box<dyn Policy>,
    /// The time between two decisions in round trips; 0: the scheme's interval.
    interval_rtt_factor: f64,
    limits: RateLimits,
    target: DataRate,
    /// Counts changes of the target, the only input of the decision.
    revision: u64,
    last_action: f32,
    next: Timestamp,
    silence: Silence,
    /// When there was last a sign of the other end.
    last_heard: Option<Timestamp>,
    /// Decides when the policy's output is NaN; built when that first happens.
    fallback: Option<Box<dyn RateController>>,
    fallbacks: u32,
}

impl<S: Scheme> Construct for Learned<S> {
    const NAME: &'static str = S::NAME;
    const SIDE: Side = S::SIDE;
    const SUMMARY: &'static str = S::SUMMARY;
    const CITES: &'static [&'static str] = S::CITES;
    const LEARNED: bool = true;
    const FOR_STUDY: bool = S::FOR_STUDY;
    type Config = Config;

    fn new(config: Config, context: Context<'_>) -> Result<Self, BuildError> {
        let (policy, trained_rtts) = policy_of::<S>(&config, context)?;
        let interval_rtt_factor =
            if config.interval_rtt_factor > 0.0 { config.interval_rtt_factor } else { trained_rtts };
        Ok(Self {
            scheme: S::new(context)?,
            window: Window::new(context.start),
            history: History::new(&S::LAYOUT),
            policy,
            interval_rtt_factor,
            config,
            limits: context.limits,
            target: context.limits.start,
            revision: 0,
            last_action: S::ACTIONS.neutral(),
            next: context.start + S::INTERVAL,
            silence: Silence::default(),
            last_heard: None,
            fallback: None,
            fallbacks: 0,
        })
    }

    fn steered(config: Config, context: Context<'_>) -> Result<Box<dyn Steered>, BuildError> {
        Ok(Box::new(Self::new(config, context)?))
    }
}

/// The policy, and its interval in round trips.
fn policy_of<S: Scheme>(config: &Config, context: Context<'_>) -> Result<(Box<dyn Policy>, f64), BuildError> {
    if config.policy == "hand" {
        return Ok((Box::new(Hand::new(S::ACTIONS.neutral())), 0.0));
    }
    let name = if config.policy.is_empty() { S::NAME } else { &config.policy };
    let refused = |message| BuildError::Config { controller: S::NAME, message };
    let model = context.assets.model(name).map_err(refused)?;
    check_manifest::<S>(model.manifest()).map_err(refused)?;
    let interval_rtt_factor = model.manifest().interval_rtt_factor();
    Ok((Box::new(NetworkPolicy::new(model)), interval_rtt_factor))
}

/// A policy made for another controller would get other features than it learned from.
fn check_manifest<S: Scheme>(manifest: &Manifest) -> Result<(), String> {
    let file = manifest.file();
    let layout = S::LAYOUT;
    let choices = match S::ACTIONS {
        ActionSpace::Continuous { .. } => 1,
        ActionSpace::Discrete(choices) => choices as usize,
    };
    if manifest.action_map() != S::NAME {
        return Err(format!("{file}: action.map = {:?} is not {:?}", manifest.action_map(), S::NAME));
    }
    if !manifest.features().iter().map(String::as_str).eq(layout.features.iter().copied()) {
        let (given, wanted) = (manifest.features().join(", "), layout.features.join(", "));
        return Err(format!("{file}: observation.features = [{given}] are not [{wanted}]"));
    }
    if (manifest.width(), manifest.history()) != (layout.width, layout.history) {
        let (width, history) = (manifest.width(), manifest.history());
        return Err(format!(
            "{file}: observation.width = {width}, history = {history} are not {} and {}",
            layout.width, layout.history
        ));
    }
    if manifest.outputs() != choices {
        return Err(format!("{file}: {} outputs are not the {choices} of {}", manifest.outputs(), S::NAME));
    }
    Ok(())
}

impl<S: Scheme> Learned<S> {
    /// The interval is over: observe, query the policy, apply its action.
    fn decide(&mut self, now: Timestamp) {
        let stats = self.window.close(now, self.target);
        let (scheme, last_action) = (&self.scheme, self.last_action);
        self.history.push(|row| scheme.features(&stats, last_action, row));
        let answer = self.policy.act(self.history.as_slice());
        let wanted = if answer.is_finite() {
            self.last_action = S::ACTIONS.clamp(answer);
            self.scheme.target(self.last_action, &stats, self.target)
        } else {
            self.fallbacks += 1;
            self.fall_back(now)
        };
        // The other end may be gone: no reason to send more.
        let heard = self.last_heard.is_some_and(|at| now - at <= HEARD_LATELY) && !self.silence.lasts();
        let wanted = if heard { wanted } else { wanted.min(self.target) };
        self.set_target(now, wanted);
        self.scheme.close(&stats);
        self.next = (self.next + self.interval_after(&stats)).max(now + TimeDelta::from_millis(1));
    }

    // [jay2019]'s monitor intervals follow the round trip.
    fn interval_after(&self, stats: &WindowStats) -> TimeDelta {
        match stats.rtt {
            Some(rtt) if self.interval_rtt_factor > 0.0 => {
                TimeDelta::from_secs_f64(self.interval_rtt_factor * rtt.as_secs_f64())
                    .clamp(SHORTEST_RTTS, LONGEST_RTTS)
            }
            _ => S::INTERVAL,
        }
    }

    #[cold]
    fn fall_back(&mut self, now: Timestamp) -> DataRate {
        if self.fallback.is_none() {
            let limits = RateLimits { start: self.target, ..self.limits };
            let context = Context { limits, start: now, seed: 0, assets: &NoAssets };
            self.fallback = S::Fallback::new(Default::default(), context).ok().map(|fallback| Box::new(fallback) as _);
        }
        self.fallback.as_ref().map_or(self.target, |fallback| fallback.decision().target_bitrate)
    }

    #[inline]
    fn set_target(&mut self, now: Timestamp, wanted: DataRate) {
        self.target = self.limits.clamp(wanted);
        self.revision += 1;
        self.scheme.settled(now, self.target);
    }

    fn mind_silence(&mut self, now: Timestamp) {
        if self.silence.is_over(now) {
            self.set_target(now, self.target.scale(0.5));
        }
    }
}

impl<S: Scheme> RateController for Learned<S> {
    fn on_event(&mut self, now: Timestamp, event: &Event) {
        match event {
            // A departure changes neither the scheme's state nor the decision.
            Event::PacketsSent(_) => {
                self.silence.on_packet_sent(now);
                self.mind_silence(now);
                self.window.on_event(now, event);
                if let Some(fallback) = &mut self.fallback {
                    fallback.on_event(now, event);
                }
                return;
            }
            Event::TransportFeedback(feedback) if feedback.reports.iter().any(|report| report.arrived()) => {
                self.silence.on_feedback(now, feedback.round_trip(now));
                self.last_heard = Some(now);
            }
            // A receiver's sign of life is an arrival, and it expects more of them.
            Event::PacketReceived(_) => {
                self.silence.on_sign_of_life();
                self.silence.on_packet_sent(now);
                self.last_heard = Some(now);
            }
            Event::Limits(limits) => {
                self.limits = *limits;
                self.set_target(now, self.target);
            }
            _ => {}
        }
        self.mind_silence(now);
        self.window.on_event(now, event);
        self.scheme.on_event(now, event);
        if let Some(wanted) = self.scheme.between() {
            self.set_target(now, wanted);
        }
        if let Some(fallback) = &mut self.fallback {
            fallback.on_event(now, event);
        }
        if now >= self.next && matches!(event, Event::Deadline) {
            self.decide(now);
        }
    }

    fn decision(&self) -> Decision {
        let rate = self.target.scale(self.config.pacing_factor);
        let decision = S::decision(self.target);
        Decision { pacing: Pacing { rate, ..decision.pacing }, ..decision }
    }

    fn next_deadline(&self) -> Option<Timestamp> {
        Some(self.silence.next_deadline().map_or(self.next, |silence| silence.min(self.next)))
    }

    fn observe(&mut self, gauge: &mut dyn FnMut(&'static str, f64)) {
        gauge("action", f64::from(self.last_action));
        gauge("fallbacks", f64::from(self.fallbacks));
    }
}

impl<S: Scheme> Steered for Learned<S> {
    fn pipeline(&mut self) -> &mut dyn Pipeline {
        self
    }

    fn revision(&self) -> Option<u64> {
        Some(self.revision)
    }
}

impl<S: Scheme> Pipeline for Learned<S> {
    fn next_decision(&self) -> Timestamp {
        self.next
    }

    fn interval(&self) -> TimeDelta {
        S::INTERVAL
    }

    fn layout(&self) -> Layout {
        S::LAYOUT
    }

    fn actions(&self) -> ActionSpace {
        S::ACTIONS
    }

    fn stats(&self, now: Timestamp) -> WindowStats {
        self.window.stats(now, self.target)
    }

    fn observe_into(&self, stats: &WindowStats, out: &mut [f32]) {
        self.history.preview(out, |row| self.scheme.features(stats, self.last_action, row));
    }

    fn steer(&mut self, action: f32) {
        self.policy.hold(action);
    }
}

/// Ours: a shorter interval would hold no feedback, and a longer one would leave a full queue alone.
const SHORTEST_RTTS: TimeDelta = TimeDelta::from_millis(50);
const LONGEST_RTTS: TimeDelta = TimeDelta::from_secs(2);

/// Ours: two feedbacks at their longest interval, 250 ms.
const HEARD_LATELY: TimeDelta = TimeDelta::from_millis(500);

#[cfg(test)]
#[path = "learned_tests.rs"]
mod tests;
