//! What agents live in: a call that has its network to itself, or the calls of a session.

use crate::error::SimError;
use crate::private_path::PrivatePath;
use crate::run::{CallParts, build};
use crate::scenario::Scenario;
use crate::seed::Seed;
use crate::session::Session;
use crate::truth::TruthLog;
use legato_call::Call;
use legato_control::Side;
use legato_path::capacity::{Capacity, LinkCapacity};
use legato_units::{DataRate, TimeDelta, Timestamp};

/// Calls that run until a time; one that is held waits there. `flow` is a call's place among all flows.
pub(super) trait World: Send {
    /// Do everything due by `until`, as far as no call is held.
    fn advance(&mut self, until: Timestamp);

    /// Let a call wait before the turn of that end at that time, or continue.
    fn hold(&mut self, flow: usize, hold: Option<(Side, Timestamp)>);

    /// A call.
    fn call(&mut self, flow: usize) -> &mut Call;

    /// When a call ends.
    fn stop(&mut self, flow: usize) -> Timestamp;

    /// What really happens in a call.
    fn truth(&mut self, flow: usize) -> &mut TruthLog;

    /// Mean capacity over `[from, to)` of the bottleneck on a call's way to its receiver.
    fn capacity(&self, flow: usize, from: Timestamp, to: Timestamp) -> Option<DataRate>;
}

/// When the steered controller at that end of a call decides next, in true time.
pub(super) fn next_decision(call: &mut Call, side: Side) -> Option<Timestamp> {
    let at = call.steered(side)?.pipeline().next_decision();
    Some(match side {
        Side::Sender => at,
        Side::Receiver => call.clock().true_time(at),
    })
}

/// A call that has its network to itself.
pub(super) struct LoneCall {
    call: Call,
    network: PrivatePath,
    log: TruthLog,
    capacity: Option<LinkCapacity>,
    stop: Timestamp,
}

impl LoneCall {
    /// A call that has just begun.
    pub fn begin(scenario: &Scenario, parts: &CallParts, seed: Seed) -> Result<Self, SimError> {
        let start = Timestamp::ZERO;
        let stop = start + TimeDelta::from_secs_f64(scenario.duration_s);
        let (mut call, mut network, capacity) = build(scenario, parts, seed, start, stop, false)?;
        let mut log = TruthLog::new(start);
        call.begin(start, &mut network, &mut log);
        Ok(Self { call, network, log, capacity, stop })
    }

    /// Cut it off when this share of its time is over, but not before the first decision at that end.
    pub fn cut_off_after(&mut self, share: f64, side: Side) {
        let span_s = (self.stop - Timestamp::ZERO).as_secs_f64();
        let first = next_decision(&mut self.call, side).map_or(self.stop, |first| first + TimeDelta::from_nanos(1));
        self.stop = (Timestamp::ZERO + TimeDelta::from_secs_f64(span_s * share)).max(first).min(self.stop);
    }
}

impl World for LoneCall {
    fn advance(&mut self, until: Timestamp) {
        let just_after = (until + TimeDelta::from_nanos(1)).min(self.stop);
        self.call.advance(just_after, &mut self.network, &mut self.log);
    }

    fn hold(&mut self, _flow: usize, hold: Option<(Side, Timestamp)>) {
        self.call.hold(hold);
    }

    fn call(&mut self, _flow: usize) -> &mut Call {
        &mut self.call
    }

    fn stop(&mut self, _flow: usize) -> Timestamp {
        self.stop
    }

    fn truth(&mut self, _flow: usize) -> &mut TruthLog {
        &mut self.log
    }

    fn capacity(&self, _flow: usize, from: Timestamp, to: Timestamp) -> Option<DataRate> {
        self.capacity.as_ref().map(|link| link.mean_rate(from, to))
    }
}

impl World for Session {
    fn advance(&mut self, until: Timestamp) {
        self.advance(until);
    }

    fn hold(&mut self, flow: usize, hold: Option<(Side, Timestamp)>) {
        self.hold(flow, hold);
    }

    fn call(&mut self, flow: usize) -> &mut Call {
        self.call(flow).call()
    }

    fn stop(&mut self, flow: usize) -> Timestamp {
        self.call(flow).stop()
    }

    fn truth(&mut self, flow: usize) -> &mut TruthLog {
        self.call(flow).truth().expect("steered calls have one")
    }

    fn capacity(&self, flow: usize, from: Timestamp, to: Timestamp) -> Option<DataRate> {
        self.capacity(flow, from, to)
    }
}
