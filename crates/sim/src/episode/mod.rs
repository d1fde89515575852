//! Calls steered from outside. An [`Episode`] stops before each decision of its agents' learned controllers, shows
//! their observations, takes an action for each and continues. An agent is a call: one that has its network to itself
//! ([`Episode::alone`]), or one of several on shared links ([`Episode::shared`]), whose other calls, TCP and UDP are
//! competing traffic. Observations and what really happened are kept apart: [`Episode::observe_into`] never reveals the
//! latter.

mod batch;
mod columns;
mod world;

pub use batch::{Batch, Slot};
pub use columns::{COLUMNS, columns};

use crate::error::SimError;
use crate::recorded_path::with_cross_traffic;
use crate::run::{CallParts, side_of};
use crate::scenario::Scenario;
use crate::seed::Seed;
use crate::session::{SessionParts, assemble, calls_of};
use crate::truth::Truth;
use legato_call::Call;
use legato_control::Side;
use legato_control::action::ActionSpace;
use legato_control::observation::Layout;
use legato_control::steering::Pipeline;
use legato_control::window::WindowStats;
use legato_trace::LogLevel;
use legato_units::{DataRate, TimeDelta, Timestamp};
use world::{LoneCall, World, next_decision};

/// Steered calls, which decide at the same times.
pub struct Episode {
    world: Box<dyn World>,
    side: Side,
    agents: Vec<Agent>,
    now: Timestamp,
}

/// A steered call.
pub struct Agent {
    name: String,
    flow: usize,
    state: AgentState,
    /// Whether it acted in the last step.
    acted: bool,
    /// Of its last interval.
    outcome: Outcome,
    /// When its next decision is due, in true time.
    due: Timestamp,
    /// Start of the current interval.
    from: Timestamp,
    /// Takeovers before it.
    takeovers: u32,
}

/// The state of an agent between two steps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AgentState {
    /// It has not reached its first decision.
    Waiting,
    /// It waits for an action.
    Acting,
    /// Its call has ended.
    Over,
}

/// The results of one interval.
#[derive(Clone, Copy, Debug, Default)]
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
    /// Begin a call and run it to its first decision. Its controller must be a learned one. Given a share of its time,
    /// it is cut off when that is over, but not before its first decision.
    pub fn alone(
        scenario: &Scenario,
        parts: CallParts,
        seed: u64,
        cut_off_after: Option<f64>,
    ) -> Result<Self, SimError> {
        if parts.cross_traffic().is_some() {
            let message = "forward.capacity: the trace has cross traffic, beside which a lone call cannot be steered: \
                           play its capacity alone (plays = \"capacity\"), or name the calls";
            return Err(SimError::Plan(message.to_owned()));
        }
        let side = side_of(&parts.controller);
        let mut call = LoneCall::begin(scenario, &CallParts { steered: true, ..parts }, Seed(seed))?;
        if let Some(share) = cut_off_after {
            call.cut_off_after(share, side);
        }
        let mut episode = Self { world: Box::new(call), side, agents: Vec::new(), now: Timestamp::ZERO };
        episode.agents.push(Agent::new("call 1".to_owned(), 0, Timestamp::ZERO));
        episode.go_on();
        Ok(episode)
    }

    /// Begin a session and run it to the first decision. The calls that name no controller are steered; `parts` has
    /// theirs, which must be a learned one.
    pub fn shared(
        scenario: &Scenario,
        parts: CallParts,
        session_parts: &SessionParts,
        seed: u64,
    ) -> Result<Self, SimError> {
        let scenario = &*with_cross_traffic(scenario, parts.cross_traffic());
        let side = side_of(&parts.controller);
        let parts = CallParts { steered: true, ..parts };
        let mut session = assemble(scenario, &parts, session_parts, Seed(seed), LogLevel::Summary, &mut Vec::new())?;
        let mut agents = Vec::new();
        for (flow, call) in calls_of(scenario).into_iter().enumerate() {
            if call.own.controller.is_some() {
                continue;
            }
            let running = session.call(flow);
            running.observe_truth();
            let interval = pipeline(running.call(), side).interval();
            let from = TimeDelta::from_secs_f64(call.start_s);
            if from.as_nanos() % interval.as_nanos() != 0 {
                let (start_s, interval_ms) = (from.as_secs_f64(), interval.as_millis());
                let message = format!(
                    "calls[{flow}].start_s = {start_s} is not a multiple of {interval_ms} ms: steered calls decide at once"
                );
                return Err(SimError::Plan(message));
            }
            let name = call.name.unwrap_or_else(|| format!("call {}", flow + 1));
            agents.push(Agent::new(name, flow, Timestamp::ZERO + from));
        }
        if agents.is_empty() {
            return Err(SimError::Plan("calls: each has a controller of its own, so none is steered".to_owned()));
        }
        let mut episode = Self { world: Box::new(session), side, agents, now: Timestamp::ZERO };
        episode.go_on();
        Ok(episode)
    }

    /// The agents, in order of their calls.
    pub fn agents(&self) -> &[Agent] {
        &self.agents
    }

    /// The shape of each one's input.
    pub fn layout(&mut self) -> Layout {
        self.pipeline(0).layout()
    }

    /// The actions each may take.
    pub fn actions(&mut self) -> ActionSpace {
        self.pipeline(0).actions()
    }

    /// An agent's observation at its next decision, or when its call ended. `out` is as long as the layout.
    pub fn observe_into(&mut self, agent: usize, out: &mut [f32]) {
        let Agent { flow, outcome, .. } = &self.agents[agent];
        pipeline(self.world.call(*flow), self.side).observe_into(&outcome.stats, out);
    }

    /// Apply an action for each agent that acts, in order of the agents; others' are ignored. Runs to the next
    /// decision of any, or to the end of all.
    pub fn step(&mut self, actions: &[f32]) {
        for (agent, &action) in actions.iter().enumerate() {
            if self.agents[agent].state == AgentState::Acting {
                self.pipeline(agent).steer(action);
            }
        }
        self.go_on();
    }

    /// Take the decisions that are due, and run until the next are.
    fn go_on(&mut self) {
        for Agent { flow, .. } in self.agents.iter().filter(|agent| agent.state == AgentState::Acting) {
            self.world.hold(*flow, None);
        }
        self.world.advance(self.now);
        let mut next = Timestamp::MAX;
        for agent in 0..self.agents.len() {
            if self.agents[agent].state != AgentState::Over {
                let due = self.next_decision(agent);
                self.agents[agent].due = due;
                self.world.hold(self.agents[agent].flow, Some((self.side, due)));
                next = next.min(due);
            }
        }
        if next < Timestamp::MAX {
            self.now = next;
            self.world.advance(next);
        }
        for agent in 0..self.agents.len() {
            self.close(agent);
        }
    }

    /// The state of an agent by now; the interval of one that acted, or reached its first decision, is over.
    fn close(&mut self, agent: usize) {
        let Self { world, agents, side, now, .. } = self;
        let agent = &mut agents[agent];
        let (stop, is_due) = (world.stop(agent.flow), agent.due <= *now);
        let begins = agent.state == AgentState::Waiting && is_due;
        agent.acted = agent.state == AgentState::Acting;
        agent.state = match (stop <= *now, is_due) {
            (true, _) => AgentState::Over,
            (false, true) => AgentState::Acting,
            (false, false) => AgentState::Waiting,
        };
        if !agent.acted && !begins {
            return;
        }
        // A call may end between two decisions.
        let now = stop.min(*now);
        let from = std::mem::replace(&mut agent.from, now);
        let mean = |from, to| if to > from { world.capacity(agent.flow, from, to) } else { None };
        agent.outcome.capacity = mean(from, now);
        agent.outcome.capacity_ahead = mean(now, now + TimeDelta::from_secs(1));
        agent.outcome.truth = world.truth(agent.flow).close(now);
        agent.outcome.truncated = agent.state == AgentState::Over;
        let call = world.call(agent.flow);
        let local = match side {
            Side::Sender => now,
            Side::Receiver => call.clock().local(now),
        };
        let steered = call.steered(*side).expect(STEERED);
        let takeovers = steered.takeovers();
        agent.outcome.takeovers = takeovers - std::mem::replace(&mut agent.takeovers, takeovers);
        agent.outcome.stats = steered.pipeline().stats(local);
    }

    /// When an agent decides next, in true time.
    fn next_decision(&mut self, agent: usize) -> Timestamp {
        next_decision(self.world.call(self.agents[agent].flow), self.side).expect(STEERED)
    }

    fn pipeline(&mut self, agent: usize) -> &mut dyn Pipeline {
        pipeline(self.world.call(self.agents[agent].flow), self.side)
    }
}

impl Agent {
    fn new(name: String, flow: usize, from: Timestamp) -> Self {
        let (state, due) = (AgentState::Waiting, Timestamp::MAX);
        Self { name, flow, state, acted: false, outcome: Outcome::default(), due, from, takeovers: 0 }
    }

    /// The name of its call.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Whether it acts next.
    pub fn state(&self) -> AgentState {
        self.state
    }

    /// The results of the last step, if it acted in it.
    pub fn outcome(&self) -> Option<&Outcome> {
        self.acted.then_some(&self.outcome)
    }
}

fn pipeline(call: &mut Call, side: Side) -> &mut dyn Pipeline {
    call.steered(side).expect(STEERED).pipeline()
}

const STEERED: &str = "agents are built to be steered";

#[cfg(test)]
#[path = "episode_tests.rs"]
mod tests;

#[cfg(test)]
mod shared_tests;
