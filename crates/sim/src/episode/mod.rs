//! A call steered from outside: it stops before each decision of its learned controller, shows the
//! controller's observation, takes an action and continues. The observation and what really
//! happened are kept apart: [`Episode::observe_into`] never reveals the latter.

mod batch;
mod columns;
mod truth;

pub use batch::{Batch, Slot};
pub use columns::{COLUMNS, columns};
pub use truth::{Truth, TruthLog};

use crate::error::SimError;
use crate::private_path::PrivatePath;
use crate::run::{CallParts, build};
use crate::scenario::Scenario;
use crate::seed::Seed;
use legato_call::{Call, Pause};
use legato_control::action::ActionSpace;
use legato_control::controllers::learned::Steered;
use legato_control::observation::Layout;
use legato_control::window::WindowStats;
use legato_control::{Side, entry};
use legato_path::capacity::{Capacity, LinkCapacity};
use legato_units::{DataRate, TimeDelta, Timestamp};

/// A steered call.
pub struct Episode {
    call: Call,
    network: PrivatePath,
    log: TruthLog,
    side: Side,
    end: Timestamp,
    now: Timestamp,
    capacity: Option<LinkCapacity>,
    /// Takeovers before the current interval.
    takeovers: u32,
}

/// The results of one interval.
#[derive(Clone, Copy, Debug)]
pub struct Outcome {
    /// What the controller could know.
    pub stats: WindowStats,
    /// What really happened.
    pub truth: Truth,
    /// Mean capacity of the forward bottleneck over the interval.
    pub capacity: Option<DataRate>,
    /// Mean capacity over the second to come.
    pub capacity_ahead: Option<DataRate>,
    /// How often a safeguard took over from the steered controller.
    pub takeovers: u32,
    /// Whether the call is over: it ran out of time, it did not end by itself.
    pub truncated: bool,
}

impl Episode {
    /// Begin a call and run it to its first decision. Its controller must be a learned one.
    pub fn new(scenario: &Scenario, parts: &CallParts, seed: u64) -> Result<Self, SimError> {
        let start = Timestamp::ZERO;
        let end = start + TimeDelta::from_secs_f64(scenario.duration_s);
        let side = entry(&parts.controller.name).map_or(Side::Sender, |entry| entry.side);
        let (mut call, mut network, capacity) = build(scenario, parts, Seed(seed), start, end, false)?;
        let mut log = TruthLog::new(start);
        call.begin(start, &mut network, &mut log);
        let mut episode = Self { call, network, log, side, end, now: start, capacity, takeovers: 0 };
        if episode.steered().is_none() {
            let message = format!("controller {} is not learned: it cannot be steered", parts.controller.name);
            return Err(SimError::Controller(message));
        }
        episode.advance();
        episode.log.close(episode.now);
        Ok(episode)
    }

    /// Cut the call off when this share of its time is over, but not before the next decision.
    pub fn cut_off_after(&mut self, share: f64) {
        let span_s = (self.end - Timestamp::ZERO).as_secs_f64();
        let cut = Timestamp::ZERO + TimeDelta::from_secs_f64(span_s * share);
        self.end = cut.max(self.now + TimeDelta::from_nanos(1)).min(self.end);
    }

    fn steered(&mut self) -> Option<&mut dyn Steered> {
        self.call.steered(self.side)
    }

    fn controller(&mut self) -> &mut dyn Steered {
        self.steered().expect("checked when the episode began")
    }

    /// The shape of the controller's input.
    pub fn layout(&mut self) -> Layout {
        self.controller().layout()
    }

    /// The actions it may take.
    pub fn actions(&mut self) -> ActionSpace {
        self.controller().actions()
    }

    /// The network's current observation. `out` is as long as the layout.
    pub fn observe_into(&mut self, out: &mut [f32]) {
        let now = self.local_now();
        let controller = self.controller();
        controller.observe_into(&controller.stats(now), out);
    }

    /// Like [`Episode::observe_into`] after the step that gave this outcome, whose interval is at hand.
    pub fn observe_outcome_into(&mut self, outcome: &Outcome, out: &mut [f32]) {
        self.controller().observe_into(&outcome.stats, out);
    }

    /// Apply the action, and run to the next decision or to the end.
    pub fn step(&mut self, action: f32) -> Outcome {
        let from = self.now;
        self.controller().steer(action);
        let truncated = self.advance() == Pause::Ended;
        let now = self.local_now();
        let stats = self.controller().stats(now);
        let mean = |from: Timestamp, to: Timestamp| match (&self.capacity, to > from) {
            (Some(link), true) => Some(link.mean_rate(from, to)),
            _ => None,
        };
        let capacity = mean(from, self.now);
        let capacity_ahead = mean(self.now, self.now + TimeDelta::from_secs(1));
        let takeovers = self.call.takeovers();
        let taken = takeovers - std::mem::replace(&mut self.takeovers, takeovers);
        Outcome { stats, truth: self.log.close(self.now), capacity, capacity_ahead, takeovers: taken, truncated }
    }

    /// Run until the controller is about to decide.
    fn advance(&mut self) -> Pause {
        // First the turn that was held, and the decision in it.
        let just_after = (self.now + TimeDelta::from_nanos(1)).min(self.end);
        self.call.hold(None);
        self.call.advance(just_after, &mut self.network, &mut self.log);
        let next = self.controller().next_decision();
        self.call.hold(Some((self.side, self.true_time(next))));
        let pause = self.call.advance(self.end, &mut self.network, &mut self.log);
        self.now = match pause {
            Pause::Held(at) => at,
            Pause::Ended => self.end,
        };
        pause
    }

    fn true_time(&self, at: Timestamp) -> Timestamp {
        match self.side {
            Side::Sender => at,
            Side::Receiver => self.call.clock().true_time(at),
        }
    }

    fn local_now(&self) -> Timestamp {
        match self.side {
            Side::Sender => self.now,
            Side::Receiver => self.call.clock().local(self.now),
        }
    }
}

#[cfg(test)]
#[path = "episode_tests.rs"]
mod tests;
