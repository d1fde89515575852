//! From a scenario's flows to a session, its run, and its results.

use super::call_flow::{CallFlow, CallSetup};
use super::call_lanes::CallLanes;
use super::lane::Lane;
use super::link::{Link, Links};
use super::parcel::{Parcel, Way};
use super::tcp_flow::TcpFlow;
use super::udp_flow::UdpFlow;
use super::{AnyFlow, Session};
use crate::cross_traffic::{Algorithm, UdpSender, Workload};
use crate::error::SimError;
use crate::flows::{CallSpec, FlowSpec, LinkSpec};
use crate::future::FutureOf;
use crate::network::{LoadedCapacity, link_stages, load_named, queue_limit, tail_stages};
use crate::pauses;
use crate::route::Route;
use crate::run::{CallParts, Ends, build_ends};
use crate::scenario::{ControllerSpec, PathSpec, Scenario};
use crate::seed::Seed;
use crate::video;
use legato_call::Call;
use legato_path::Path;
use legato_path::capacity::LinkCapacity;
use legato_path::queue::QueueLimit;
use legato_trace::{LogLevel, Recorder, Summary, TrafficFigures};
use legato_units::{TimeDelta, Timestamp};
use std::borrow::Cow;
use std::path::Path as FilePath;

/// What sessions of a scenario share; loaded once.
#[derive(Clone, Default)]
pub struct SessionParts {
    /// The capacities of the scenario's `links`, in their order.
    links: Vec<LoadedCapacity>,
}

impl SessionParts {
    /// Load what the scenario's links name; paths are relative to `folder`.
    pub fn load(scenario: &Scenario, folder: &FilePath) -> Result<Self, SimError> {
        let load = |(n, link): (usize, &LinkSpec)| load_named(&link.capacity, folder, &format!("links[{n}].capacity"));
        Ok(Self { links: scenario.links.iter().enumerate().map(load).collect::<Result<_, _>>()? })
    }
}

/// Simulate the flows of a scenario together; returns the calls' summaries in order, and the other
/// flows' figures. The calls' tables stay in `recorders`, one each, until the next.
pub fn run_session(
    scenario: &Scenario,
    parts: &CallParts,
    session_parts: &SessionParts,
    seed: u64,
    level: LogLevel,
    recorders: &mut Vec<Recorder>,
) -> Result<(Vec<Summary>, Vec<TrafficFigures>), SimError> {
    let (mut summaries, mut traffic) = (Vec::new(), Vec::new());
    for flow in assemble(scenario, parts, session_parts, Seed(seed), level, recorders)?.run() {
        match flow {
            AnyFlow::Call(call) => {
                let (summary, recorder) = call.finished();
                recorders[summaries.len()] = recorder;
                summaries.push(summary.expect("a session runs until every call has ended"));
            }
            AnyFlow::Tcp(tcp) => traffic.push(tcp.figures()),
            AnyFlow::Udp(udp) => traffic.push(udp.figures()),
        }
    }
    Ok((summaries, traffic))
}

/// Make the session that [`run_session`] runs; calls come first among its flows.
pub(crate) fn assemble(
    scenario: &Scenario,
    parts: &CallParts,
    session_parts: &SessionParts,
    seed: Seed,
    level: LogLevel,
    recorders: &mut Vec<Recorder>,
) -> Result<Session, SimError> {
    let mut plan = Layout::new(scenario, parts, session_parts, seed);
    let calls = calls_of(scenario);
    recorders.resize_with(calls.len().max(recorders.len()), Recorder::default);
    let mut flows = Vec::new();
    for (n, call) in calls.iter().enumerate() {
        let recorder = std::mem::take(&mut recorders[n]);
        flows.push(AnyFlow::Call(Box::new(CallFlow::new(
            plan.call(n, call, level >= LogLevel::Series)?,
            level,
            recorder,
        ))));
    }
    for (n, tcp) in scenario.tcp.iter().enumerate() {
        let flow = plan.next_flow();
        let own = plan.flow_seed(flow, &format!("tcp.{n}"));
        let life = plan.life(tcp);
        plan.note_routes(tcp);
        let lanes = (plan.lane(flow, Way::Out, tcp, own)?, plan.lane(flow, Way::Back, tcp, own)?);
        let name = tcp.name.clone().unwrap_or_else(|| format!("tcp {}", n + 1));
        let figures = TrafficFigures::new(name, tcp_kind(tcp.own.config.congestion_control), life.0, life.1);
        let group = match &tcp.own.config.workload {
            Workload::Bursts(bursts) => bursts.group,
            _ => 0,
        };
        let rngs = (own.stream("tcp"), seed.stream(&format!("tcp.bursts.{group}")));
        flows.push(AnyFlow::Tcp(Box::new(TcpFlow::new(&tcp.own.config, life, lanes, figures, rngs))));
    }
    for (n, udp) in scenario.udp.iter().enumerate() {
        let flow = plan.next_flow();
        let own = plan.flow_seed(flow, &format!("udp.{n}"));
        let life = plan.life(udp);
        plan.note_routes(udp);
        let out = plan.lane(flow, Way::Out, udp, own)?;
        let name = udp.name.clone().unwrap_or_else(|| format!("udp {}", n + 1));
        let figures = TrafficFigures::new(name, "udp", life.0, life.1);
        let refused = |error| SimError::Plan(format!("udp[{n}].config: {error}"));
        let sender = UdpSender::new(&udp.own.config, life.0).map_err(refused)?;
        flows.push(AnyFlow::Udp(Box::new(UdpFlow::new(sender, life.1, out, figures))));
    }
    Ok(Session::new(plan.links()?, flows))
}

/// The calls of a scenario: those it names, or one alone.
pub(crate) fn calls_of(scenario: &Scenario) -> Vec<CallSpec> {
    scenario.calls.clone().unwrap_or_else(|| vec![CallSpec::default()])
}

/// The network's parts for flows, while they are made.
struct Layout<'a> {
    scenario: &'a Scenario,
    parts: Cow<'a, CallParts>,
    forward: PathSpec,
    reverse: PathSpec,
    further: &'a [LoadedCapacity],
    seed: Seed,
    routes: Vec<[Vec<usize>; 2]>,
    /// The links of all flows' media and of TCP's acknowledgements, once for each flow.
    loaded: Vec<usize>,
}

/// The scenario's own links come first.
const FORWARD: usize = 0;
const REVERSE: usize = 1;
const FURTHER: usize = 2;

impl<'a> Layout<'a> {
    fn new(scenario: &'a Scenario, parts: &'a CallParts, session_parts: &'a SessionParts, seed: Seed) -> Self {
        let (mut forward, mut reverse) = (scenario.forward.clone(), scenario.reverse.clone());
        let mut drawn = Cow::Borrowed(parts);
        if let Some(loaded) = &parts.forward
            && loaded.sets_the_path()
        {
            drawn.to_mut().forward = Some(loaded.draw(seed, &mut forward, &mut reverse));
        }
        let further = &session_parts.links;
        let loaded = loaded_links(scenario);
        Self { scenario, parts: drawn, forward, reverse, further, seed, routes: Vec::new(), loaded }
    }

    fn next_flow(&self) -> u16 {
        self.routes.len() as u16
    }

    /// The first flow has the run's own seed: alone it equals the call of the engine for one call.
    fn flow_seed(&self, flow: u16, name: &str) -> Seed {
        if flow == 0 { self.seed } else { Seed(self.seed.derived(&format!("flow.{name}"))) }
    }

    fn life<Own>(&self, flow: &FlowSpec<Own>) -> (Timestamp, Timestamp) {
        (at(flow.start_s), at(flow.stop_s.unwrap_or(self.scenario.duration_s)))
    }

    fn call(&mut self, n: usize, call: &CallSpec, samples: bool) -> Result<CallSetup, SimError> {
        let flow = self.next_flow();
        let seed = self.flow_seed(flow, &format!("call.{n}"));
        let (start, stop) = self.life(call);
        self.note_routes(call);
        let (media, replies) = (self.lane(flow, Way::Out, call, seed)?, self.lane(flow, Way::Back, call, seed)?);
        let mut parts = self.parts.clone().into_owned();
        if let Some(own) = &call.own.controller {
            parts.controller = own.clone();
            parts.steered = false;
        }
        if let Some(priority) = call.own.priority {
            give_priority(&mut parts.controller, priority);
        }
        let limits = call.own.limits.as_ref().unwrap_or(&self.scenario.limits);
        let route = &self.routes[usize::from(flow)][0];
        let (capacity, own_queue) = (self.bottleneck(route), self.own_queue(route));
        let future = FutureOf { capacity, own_queue, start, end: stop, policies: &self.parts.policies, events: None };
        let Ends { sender, receiver, clock } = build_ends(self.scenario, &parts, limits, seed, future)?;
        let pauses = if self.scenario.calls.is_some() { &call.own.pauses } else { &self.scenario.pauses };
        let call = Call::new(sender, receiver, clock, pauses::changes(pauses, Timestamp::ZERO), start, samples);
        let first_picture = video::first_picture(&self.scenario.video, &parts.clip, seed);
        Ok(CallSetup {
            call,
            lanes: CallLanes::new(flow, media, replies),
            route: Some(Route::new(
                self.routes[usize::from(flow)][0].iter().filter_map(|&link| self.capacity(link)).cloned(),
            )),
            start,
            stop,
            clip: parts.clip,
            first_picture,
        })
    }

    /// The future for an oracle: the capacity of the only link on its way, whether or not it is shared.
    fn bottleneck(&self, route: &[usize]) -> Option<&LinkCapacity> {
        if let [link] = *route { self.capacity(link) } else { None }
    }

    fn capacity(&self, link: usize) -> Option<&LinkCapacity> {
        let loaded = match link {
            FORWARD => self.parts.forward.as_ref(),
            REVERSE => self.parts.reverse.as_ref(),
            _ => self.further.get(link - FURTHER),
        };
        loaded.map(|loaded| &loaded.capacity)
    }

    /// The limit of that link's queue, if no other flow loads the link.
    fn own_queue(&self, route: &[usize]) -> Option<QueueLimit> {
        let &[link] = route else { return None };
        if self.loaded.iter().filter(|&&loaded| loaded == link).count() > 1 {
            return None;
        }
        match link {
            FORWARD => Some(queue_limit(&self.forward.queue, self.parts.forward.as_ref()?)),
            REVERSE => Some(queue_limit(&self.reverse.queue, self.parts.reverse.as_ref()?)),
            link => {
                let place = link - FURTHER;
                Some(queue_limit(&self.scenario.links.get(place)?.queue, self.further.get(place)?))
            }
        }
    }

    /// Record the links of the next flow's packets, out and back.
    fn note_routes<Own>(&mut self, flow: &FlowSpec<Own>) {
        self.routes.push(routes_of(self.scenario, flow));
    }

    /// One direction of a flow, with its own part after the links.
    fn lane<T: Send + Into<Parcel> + 'static, Own>(
        &self,
        flow: u16,
        direction: Way,
        spec: &FlowSpec<Own>,
        seed: Seed,
    ) -> Result<Lane<T>, SimError> {
        let (path, loaded, name) = match (direction, spec.is_reversed()) {
            (Way::Out, false) | (Way::Back, true) => (&self.forward, &self.parts.forward, "forward"),
            (Way::Back, false) | (Way::Out, true) => (&self.reverse, &self.parts.reverse, "reverse"),
        };
        let mut own = path.clone();
        if let Some(propagation_ms) = spec.propagation_ms {
            own.propagation_ms = propagation_ms;
            own.recorded.propagation = None;
        }
        let serial = loaded.as_ref().map(|loaded| loaded.reference);
        Ok(Lane::new(flow, direction, Path::new(tail_stages(&own, serial, seed, name)?)))
    }

    /// The links, once every route is complete.
    fn links(self) -> Result<Links, SimError> {
        let further = self.scenario.links.iter().zip(self.further);
        let further: Vec<_> = further.map(|(link, loaded)| (link.path(), Some(loaded), link.name.as_str())).collect();
        let own = [
            (self.forward.clone(), self.parts.forward.as_ref(), "forward"),
            (self.reverse.clone(), self.parts.reverse.as_ref(), "reverse"),
        ];
        let mut links = Vec::new();
        let mut routes = self.routes;
        for (n, (spec, loaded, name)) in own.into_iter().chain(further).enumerate() {
            let name = if n < FURTHER { name.to_owned() } else { format!("link.{name}") };
            let stages = link_stages(&spec, loaded, self.seed, &name)?;
            if stages.is_empty() {
                // Nothing happens there: packets need not pass it.
                routes.iter_mut().flatten().for_each(|route| route.retain(|&passed| passed != n));
            }
            let path = Path::new(stages);
            let passed = routes.iter().flatten().filter(|route| route.contains(&n));
            let is_last = passed.clone().all(|route| route.last() == Some(&n));
            links.push(Link::new(path, is_last));
        }
        Ok(Links { links, routes })
    }
}

/// The links of a flow's packets, out and back.
fn routes_of<Own>(scenario: &Scenario, flow: &FlowSpec<Own>) -> [Vec<usize>; 2] {
    let named = |name: &String| {
        let place = scenario.links.iter().position(|link| link.name == *name);
        FURTHER + place.expect("routes were checked with the scenario")
    };
    let links = |route: &[String], own: usize| {
        if route.is_empty() { vec![own] } else { route.iter().map(named).collect() }
    };
    let (out, back) = if flow.is_reversed() { (REVERSE, FORWARD) } else { (FORWARD, REVERSE) };
    [links(&flow.route, out), links(&flow.return_route, back)]
}

/// The links that more than a call's reports pass, once for each flow.
fn loaded_links(scenario: &Scenario) -> Vec<usize> {
    let calls = calls_of(scenario).into_iter().flat_map(|call| routes_of(scenario, &call).into_iter().take(1));
    let tcp = scenario.tcp.iter().flat_map(|tcp| routes_of(scenario, tcp));
    let udp = scenario.udp.iter().flat_map(|udp| routes_of(scenario, udp).into_iter().take(1));
    calls.chain(tcp).chain(udp).flatten().collect()
}

/// Controllers that support a weight have a parameter of that name; others go without.
fn give_priority(controller: &mut ControllerSpec, priority: f64) {
    let known = legato_controllers::entry(&controller.name)
        .is_some_and(|entry| entry.default_config().contains_key("priority"));
    if known {
        controller.config.insert("priority".to_owned(), toml::Value::Float(priority));
    }
}

fn tcp_kind(algorithm: Algorithm) -> &'static str {
    match algorithm {
        Algorithm::Bbr => "tcp-bbr",
        Algorithm::Bic => "tcp-bic",
        Algorithm::Cubic => "tcp-cubic",
        Algorithm::Reno => "tcp-reno",
    }
}

fn at(seconds: f64) -> Timestamp {
    Timestamp::ZERO + TimeDelta::from_secs_f64(seconds)
}
