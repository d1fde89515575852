//! Several calls on shared links, steered from outside all at once: the session stops before the instant at
//! which their learned controllers decide, shows each observation, takes an action for each and continues.
//! Calls with a controller of their own, TCP and UDP are traffic beside them.

use super::Session;
use super::assemble::{SessionParts, assemble, calls_of};
use crate::episode::{Outcome, Truth, TruthLog};
use crate::error::SimError;
use crate::run::CallParts;
use crate::scenario::Scenario;
use crate::seed::Seed;
use legato_control::action::ActionSpace;
use legato_control::controllers::learned::Steered;
use legato_control::observation::Layout;
use legato_control::{Side, entry};
use legato_trace::LogLevel;
use legato_units::{TimeDelta, Timestamp};

/// Steered calls that share links.
pub struct SharedEpisode {
    session: Session,
    side: Side,
    agents: Vec<Agent>,
    now: Timestamp,
}

/// A steered call.
struct Agent {
    name: String,
    flow: usize,
    turn: Turn,
    /// Start of the current interval.
    from: Timestamp,
    /// Takeovers before it.
    takeovers: u32,
}

/// The state of a call between two steps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Turn {
    /// It has not reached its first decision.
    Waiting,
    /// It waits for an action.
    Acting,
    /// It has ended.
    Over,
}

impl SharedEpisode {
    /// Begin a session and run it to the first decision. The calls that name no controller of their own are
    /// steered; `parts` has theirs, which must be a learned one.
    pub fn new(
        scenario: &Scenario,
        parts: &CallParts,
        session_parts: &SessionParts,
        seed: u64,
    ) -> Result<Self, SimError> {
        let side = entry(&parts.controller.name).map_or(Side::Sender, |entry| entry.side);
        let mut recorders = Vec::new();
        let session = assemble(scenario, parts, session_parts, Seed(seed), LogLevel::Summary, &mut recorders)?;
        let mut episode = Self { session, side, agents: Vec::new(), now: Timestamp::ZERO };
        for (flow, call) in calls_of(scenario).into_iter().enumerate() {
            if call.own.controller.is_some() {
                continue;
            }
            let name = call.name.unwrap_or_else(|| format!("call {}", flow + 1));
            let running = episode.session.call(flow);
            let (from, _) = running.life();
            running.log().truth = Some(TruthLog::new(from));
            let Some(interval) = running.call().steered(side).map(|steered| steered.interval()) else {
                let message = format!("controller {} is not learned: it cannot be steered", parts.controller.name);
                return Err(SimError::Controller(message));
            };
            if (from - Timestamp::ZERO).as_nanos() % interval.as_nanos() != 0 {
                let (start_s, interval_ms) = ((from - Timestamp::ZERO).as_secs_f64(), interval.as_millis());
                let message = format!(
                    "calls[{flow}].start_s = {start_s} is not a multiple of {interval_ms} ms: steered calls decide at once"
                );
                return Err(SimError::Plan(message));
            }
            episode.agents.push(Agent { name, flow, turn: Turn::Waiting, from, takeovers: 0 });
        }
        if episode.agents.is_empty() {
            return Err(SimError::Plan("calls: each has a controller of its own, so none is steered".to_owned()));
        }
        episode.go_on();
        Ok(episode)
    }

    /// The names of the steered calls, in order.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.agents.iter().map(|agent| agent.name.as_str())
    }

    /// The state of each steered call.
    pub fn turns(&self) -> impl Iterator<Item = Turn> {
        self.agents.iter().map(|agent| agent.turn)
    }

    /// The shape of each one's input.
    pub fn layout(&mut self) -> Layout {
        self.steered(0).layout()
    }

    /// The actions each may take.
    pub fn actions(&mut self) -> ActionSpace {
        self.steered(0).actions()
    }

    /// The current observation of the `agent`-th. `out` is as long as the layout.
    pub fn observe_into(&mut self, agent: usize, out: &mut [f32]) {
        let now = self.local_now(agent);
        let steered = self.steered(agent);
        steered.observe_into(&steered.stats(now), out);
    }

    /// Apply an action for each that acts, in order of the agents; others' are ignored. Runs to the next
    /// decision of any, and returns the outcome of each interval of those that acted.
    pub fn step(&mut self, actions: &[f32]) -> Vec<Option<Outcome>> {
        let acted: Vec<_> = self.turns().map(|turn| turn == Turn::Acting).collect();
        for (agent, &action) in actions.iter().enumerate() {
            if acted[agent] {
                self.steered(agent).steer(action);
            }
        }
        self.go_on();
        acted.into_iter().enumerate().map(|(agent, acted)| acted.then(|| self.outcome(agent))).collect()
    }

    /// Take the decisions that are due, and run until the next are.
    fn go_on(&mut self) {
        for agent in 0..self.agents.len() {
            if self.agents[agent].turn == Turn::Acting {
                self.session.hold(self.agents[agent].flow, None);
            }
        }
        self.session.advance(self.now);
        let mut next = Timestamp::MAX;
        for agent in 0..self.agents.len() {
            if self.agents[agent].turn == Turn::Over {
                continue;
            }
            let local = self.steered(agent).next_decision();
            let (flow, at) = (self.agents[agent].flow, self.true_time(agent, local));
            self.session.hold(flow, Some((self.side, at)));
            next = next.min(at);
        }
        if next < Timestamp::MAX {
            self.now = next;
            self.session.advance(self.now);
        }
        for agent in 0..self.agents.len() {
            let local = self.steered(agent).next_decision();
            let (at, now) = (self.true_time(agent, local), self.now);
            let flow = self.agents[agent].flow;
            let call = self.session.call(flow);
            let begins = self.agents[agent].turn == Turn::Waiting && at <= now;
            self.agents[agent].turn = match (call.is_over(), at <= now) {
                (true, _) => Turn::Over,
                (false, true) => Turn::Acting,
                (false, false) => Turn::Waiting,
            };
            if begins {
                self.close(agent);
            }
        }
    }

    /// The outcome of the current interval of one; the next begins.
    fn outcome(&mut self, agent: usize) -> Outcome {
        let (from, now) = (self.agents[agent].from, self.now_of(agent));
        let local = self.local_now(agent);
        let stats = self.steered(agent).stats(local);
        let truncated = self.agents[agent].turn == Turn::Over;
        let (truth, takeovers) = self.close(agent);
        let links = &self.session.network.links;
        let flow = self.agents[agent].flow as u16;
        let mean = |from: Timestamp, to: Timestamp| if to > from { links.capacity(flow, from, to) } else { None };
        Outcome {
            stats,
            truth,
            capacity: mean(from, now),
            capacity_ahead: mean(now, now + TimeDelta::from_secs(1)),
            takeovers,
            truncated,
        }
    }

    fn close(&mut self, agent: usize) -> (Truth, u32) {
        let (now, flow) = (self.now_of(agent), self.agents[agent].flow);
        let call = self.session.call(flow);
        let takeovers = call.call().takeovers();
        let truth = call.log().truth.as_mut().map(|log| log.close(now)).unwrap_or_default();
        let agent = &mut self.agents[agent];
        agent.from = now;
        (truth, takeovers - std::mem::replace(&mut agent.takeovers, takeovers))
    }

    fn steered(&mut self, agent: usize) -> &mut dyn Steered {
        let (flow, side) = (self.agents[agent].flow, self.side);
        self.session.call(flow).call().steered(side).expect("checked when the episode began")
    }

    fn true_time(&mut self, agent: usize, at: Timestamp) -> Timestamp {
        let flow = self.agents[agent].flow;
        match self.side {
            Side::Sender => at,
            Side::Receiver => self.session.call(flow).call().clock().true_time(at),
        }
    }

    /// A call may end between two decisions of the others.
    fn now_of(&mut self, agent: usize) -> Timestamp {
        let (_, stop) = self.session.call(self.agents[agent].flow).life();
        self.now.min(stop)
    }

    fn local_now(&mut self, agent: usize) -> Timestamp {
        let (now, flow) = (self.now_of(agent), self.agents[agent].flow);
        match self.side {
            Side::Sender => now,
            Side::Receiver => self.session.call(flow).call().clock().local(now),
        }
    }
}

#[cfg(test)]
#[path = "steered_tests.rs"]
mod tests;
