//! One call of a scenario: everything it needs, assembled and run.

use crate::error::SimError;
use crate::event_logs::EventLogs;
use crate::future::FutureOf;
use crate::network::{LoadedCapacity, build_path, load_capacity, queue_limit};
use crate::pauses;
use crate::policies::Policies;
use crate::private_path::{Forward, PrivatePath};
use crate::route::Route;
use crate::scenario::{ControllerSpec, FeedbackTiming, LimitsSpec, PathSpec, Scenario};
use crate::seed::Seed;
use crate::video::{self, LoadedClip};
use legato_call::{AudioConfig, Call, Receiver, ReceiverClock, ReceiverConfig, Sender, SenderConfig};
use legato_control::steering::AnyController;
use legato_control::{Construct, Context, Entry, FeedbackRule, RateController, RateLimits, Side};
use legato_controllers::circuit_breaker::{CircuitBreakerConfig, CircuitBreakers};
use legato_controllers::entry;
use legato_controllers::remote::Remote;
use legato_media::DecoderKind;
use legato_media::pacer::PacerConfig;
use legato_media::playout::PlayoutConfig;
use legato_path::OverTime;
use legato_path::capacity::LinkCapacity;
use legato_trace::{CallFacts, LogLevel, Recorder, Summary, TraceSink};
use legato_units::{DataRate, TimeDelta, Timestamp};
use std::borrow::Cow;
use std::path::Path;

/// The parts of a call apart from its scenario and seed; loaded once, shared by many calls.
#[derive(Clone)]
pub struct CallParts {
    /// The forward bottleneck.
    pub forward: Option<LoadedCapacity>,
    /// The reverse bottleneck.
    pub reverse: Option<LoadedCapacity>,
    /// The source.
    pub clip: LoadedClip,
    /// The call's controller: the sender's, or the receiver's with `remote` at the sender.
    pub controller: ControllerSpec,
    /// Its actions are set from outside: by an [`crate::episode::Episode`].
    pub steered: bool,
    /// Where trained policies are found.
    pub policies: Policies,
    /// Where the controllers of a lone call write down what they are given and decide, if they do.
    pub events: Option<EventLogs>,
}

impl CallParts {
    /// The cross traffic that the forward trace records.
    pub(crate) fn cross_traffic(&self) -> Option<&OverTime<DataRate>> {
        let rates = self.forward.as_ref()?.conditions.cross_traffic.as_ref()?;
        rates.steps().iter().any(|&(_, rate)| rate > DataRate::ZERO).then_some(rates)
    }

    /// Those the scenario itself names; files are relative to `folder`.
    pub fn load(scenario: &Scenario, folder: &Path) -> Result<Self, SimError> {
        Ok(Self {
            forward: load_capacity(scenario.forward.capacity.as_ref(), folder, "forward.capacity")?,
            reverse: load_capacity(scenario.reverse.capacity.as_ref(), folder, "reverse.capacity")?,
            clip: LoadedClip::of(&scenario.video, folder)?,
            controller: scenario.controller.clone(),
            steered: false,
            policies: Policies::beside(folder),
            events: None,
        })
    }
}

/// Simulate one call; its tables stay in `recorder` until the next.
pub fn run_call(
    scenario: &Scenario,
    parts: &CallParts,
    seed: u64,
    level: LogLevel,
    recorder: &mut Recorder,
) -> Result<Summary, SimError> {
    let start = Timestamp::ZERO;
    let end = start + TimeDelta::from_secs_f64(scenario.duration_s);
    let seed = Seed(seed);
    recorder.begin(level, start);
    let (mut call, mut network, capacity) = build(scenario, parts, seed, start, end, recorder.wants_samples())?;
    call.begin(start, &mut network, recorder);
    call.advance(end, &mut network, recorder);
    call.finish(end, &mut network, recorder);
    let aged = video::aged_picture(&parts.clip, video::first_picture(&scenario.video, &parts.clip, seed));
    let link = Route::new(capacity).facts(start, end);
    Ok(recorder.finish(CallFacts { end, link, aged: aged.as_deref() }))
}

/// A call, its network, and the capacity of the forward bottleneck.
pub(crate) fn build(
    scenario: &Scenario,
    parts: &CallParts,
    seed: Seed,
    start: Timestamp,
    end: Timestamp,
    samples: bool,
) -> Result<(Call, PrivatePath, Option<LinkCapacity>), SimError> {
    let DrawnNetwork { forward, reverse, bottleneck } = DrawnNetwork::of(scenario, parts, seed);
    let capacity = bottleneck.as_ref().map(|loaded| &loaded.capacity);
    let own_queue = bottleneck.as_ref().map(|loaded| queue_limit(&forward.queue, loaded));
    let future = FutureOf { capacity, own_queue, start, end, policies: &parts.policies, events: parts.events.as_ref() };
    let Ends { sender, receiver, clock } = build_ends(scenario, parts, &scenario.limits, seed, future)?;
    let call = Call::new(sender, receiver, clock, pauses::changes(&scenario.pauses, start), start, samples);
    let forward = Forward::new(build_path(&forward, bottleneck.as_ref(), seed, "forward")?);
    let reverse = build_path(&reverse, parts.reverse.as_ref(), seed, "reverse")?;
    Ok((call, PrivatePath::new(forward, reverse), bottleneck.map(|loaded| loaded.capacity)))
}

/// A seed's draw of a call's two paths and of the forward bottleneck.
pub(crate) struct DrawnNetwork {
    pub forward: PathSpec,
    pub reverse: PathSpec,
    pub bottleneck: Option<LoadedCapacity>,
}

impl DrawnNetwork {
    /// Only a generator depends on the seed.
    pub fn of(scenario: &Scenario, parts: &CallParts, seed: Seed) -> Self {
        let (mut forward, mut reverse) = (scenario.forward.clone(), scenario.reverse.clone());
        let bottleneck = parts.forward.as_ref().map(|loaded| loaded.draw(seed, &mut forward, &mut reverse));
        Self { forward, reverse, bottleneck }
    }
}

/// The two ends of a call and the receiver's clock.
pub(crate) struct Ends {
    pub sender: Sender,
    pub receiver: Receiver,
    pub clock: ReceiverClock,
}

/// Build the ends of a call that lasts as long as the future it may be given.
pub(crate) fn build_ends(
    scenario: &Scenario,
    parts: &CallParts,
    limits: &LimitsSpec,
    seed: Seed,
    future: FutureOf<'_>,
) -> Result<Ends, SimError> {
    let start = future.start;
    let clock = ReceiverClock::new(TimeDelta::from_millis_f64(scenario.clock.offset_ms), scenario.clock.drift_ppm);
    let (at_sender, at_receiver) = sides(&parts.controller, scenario.receiver_controller.as_ref())?;
    let steered = parts.steered.then(|| side_of(&parts.controller));
    let controller = sender_controller(scenario, &at_sender, limits, seed, &future, steered == Some(Side::Sender))?;
    let context = |name: &str, start| context_of(limits, seed, name, start, &future);
    let receiver_controller = match at_receiver {
        Some(spec) => {
            let context = context("receiver_controller", clock.local(start));
            Some(any_controller(spec, Side::Receiver, context, steered == Some(Side::Receiver), future.events)?)
        }
        None => None,
    };
    let rule = controller.feedback_rule();
    let encoder = video::build_encoder(&scenario.video, limits, &parts.clip, seed)?;
    let decoder = video::build_decoder(&scenario.video, &parts.clip)?;
    let source = video::build_source(&scenario.video, &parts.clip, seed, start);
    Ok(Ends {
        sender: Sender::new(sender_config(scenario, start), controller, encoder, source),
        receiver: Receiver::new(
            receiver_config(scenario, rule, clock.local(start)),
            receiver_controller,
            decoder,
            seed.stream("receiver.reports"),
        ),
        clock,
    })
}

/// The controller at the sender, within its circuit breakers if the scenario has them.
pub(crate) fn sender_controller(
    scenario: &Scenario,
    spec: &ControllerSpec,
    limits: &LimitsSpec,
    seed: Seed,
    future: &FutureOf<'_>,
    steered: bool,
) -> Result<AnyController, SimError> {
    let context = context_of(limits, seed, "controller", future.start, future);
    let controller = any_controller(spec, Side::Sender, context, steered, future.events)?;
    let Some(response) = scenario.sender.circuit_breakers.response() else { return Ok(controller) };
    let config = CircuitBreakerConfig { response, ..CircuitBreakerConfig::default() };
    Ok(match controller {
        AnyController::Own(inner) => AnyController::Own(Box::new(CircuitBreakers::around(inner, config))),
        AnyController::Steered(inner) => AnyController::Steered(Box::new(CircuitBreakers::around(inner, config))),
    })
}

/// A scenario's limits as controllers take them.
pub(crate) fn rate_limits(spec: &LimitsSpec) -> RateLimits {
    let [min, start, max] = [spec.min_bps, spec.start_bps, spec.max_bps].map(DataRate::from_bps);
    RateLimits { min, start, max }
}

/// The context for building a controller; its randomness is the stream `name`.
pub(crate) fn context_of<'a>(
    limits: &LimitsSpec,
    seed: Seed,
    name: &str,
    start: Timestamp,
    assets: &'a FutureOf<'_>,
) -> Context<'a> {
    Context { limits: rate_limits(limits), start, seed: seed.derived(name), assets }
}

/// The two sides: a receiver-side controller named as the call's goes to the receiver, and `remote`,
/// which obeys it, to the sender.
pub(crate) fn sides<'a>(
    controller: &'a ControllerSpec,
    at_receiver: Option<&'a ControllerSpec>,
) -> Result<(Cow<'a, ControllerSpec>, Option<&'a ControllerSpec>), SimError> {
    if side_of(controller) == Side::Sender {
        return Ok((Cow::Borrowed(controller), at_receiver));
    }
    if let Some(other) = at_receiver {
        let message = format!(
            "controller {} belongs at the receiver, where receiver_controller puts {}: name one of them",
            controller.name, other.name
        );
        return Err(SimError::Controller(message));
    }
    let at_sender = entry(&controller.name).map_or("", |entry| entry.at_sender);
    let config = at_sender.parse().expect("a controller's half at the sender is TOML: a test parses each");
    let obeys = ControllerSpec { name: Remote::NAME.to_owned(), config };
    Ok((Cow::Owned(obeys), Some(controller)))
}

/// The end at which a controller runs; an unknown one is refused where it is built.
pub(crate) fn side_of(controller: &ControllerSpec) -> Side {
    entry(&controller.name).map_or(Side::Sender, |entry| entry.side)
}

/// Check a controller's name, side and parameters without a call.
pub fn build_controller(
    spec: &ControllerSpec,
    side: Side,
    context: Context<'_>,
) -> Result<Box<dyn RateController>, SimError> {
    Ok(known(spec, side)?.build(&spec.config, context)?)
}

fn any_controller(
    spec: &ControllerSpec,
    side: Side,
    context: Context<'_>,
    steered: bool,
    events: Option<&EventLogs>,
) -> Result<AnyController, SimError> {
    let entry = known(spec, side)?;
    if let (Some(logs), false) = (events, steered) {
        let log = if side == Side::Sender { &logs.sender } else { &logs.receiver };
        return Ok(log.record(entry, &spec.config, context)?.into());
    }
    Ok(if steered { entry.steered(&spec.config, context)?.into() } else { entry.build(&spec.config, context)?.into() })
}

/// A controller's entry in the registry.
fn known(spec: &ControllerSpec, side: Side) -> Result<&'static Entry, SimError> {
    let Some(entry) = entry(&spec.name) else {
        let known: Vec<_> = legato_controllers::REGISTRY.iter().map(|entry| entry.name).collect();
        let message = format!("controller {:?} is not one of {}", spec.name, known.join(", "));
        return Err(SimError::Controller(message));
    };
    if entry.side != side {
        let message =
            format!("controller {} belongs at the {}, not at the {}", spec.name, entry.side.name(), side.name());
        return Err(SimError::Controller(message));
    }
    Ok(entry)
}

pub(crate) fn sender_config(scenario: &Scenario, start: Timestamp) -> SenderConfig {
    let spec = &scenario.sender;
    SenderConfig {
        start,
        pacer: PacerConfig {
            burst_interval: TimeDelta::from_millis_f64(spec.burst_ms),
            queue_time_limit: TimeDelta::from_millis_f64(spec.queue_time_limit_ms),
        },
        pad_to_target: spec.pad_to_target,
        retransmit: spec.retransmit,
        max_pacer_queue: TimeDelta::from_millis_f64(spec.max_pacer_queue_ms),
        encoder_interval: TimeDelta::from_millis_f64(spec.encoder_interval_ms),
        audio: scenario.audio.as_ref().map(|audio| AudioConfig {
            bitrate: DataRate::from_bps(audio.bitrate_bps),
            interval: TimeDelta::from_millis(i64::from(audio.interval_ms)),
        }),
        feedback: scenario.receiver.feedback,
        ecn: spec.ecn.field(),
    }
}

// [libwebrtc-m150] RtcpSender: half to one and a half times a second.
/// Each interval of receiver reports is drawn from between the two.
const REPORT_INTERVAL: (TimeDelta, TimeDelta) = (TimeDelta::from_millis(500), TimeDelta::from_millis(1_500));
// [libwebrtc-m150] VCMTiming: max_playout_delay_.
const MAX_PLAYOUT_DELAY: TimeDelta = TimeDelta::from_secs(10);

/// `rule` is what the call's controller asks for.
pub(crate) fn receiver_config(scenario: &Scenario, rule: FeedbackRule, start: Timestamp) -> ReceiverConfig {
    let spec = &scenario.receiver;
    let nack = spec.nack.unwrap_or(scenario.video.decoder != DecoderKind::LossTolerant);
    let partial_wait_ms = spec.partial_wait_ms.unwrap_or(if nack { 150.0 } else { 0.0 });
    ReceiverConfig {
        start,
        feedback_interval: (
            TimeDelta::from_millis_f64(spec.min_feedback_interval_ms),
            TimeDelta::from_millis_f64(spec.max_feedback_interval_ms),
        ),
        feedback_rule: match spec.feedback_timing {
            FeedbackTiming::Controller => rule,
            FeedbackTiming::Rtcp => FeedbackRule::BitrateShare,
        },
        report_interval: REPORT_INTERVAL,
        nack,
        nack_interval: spec.nack_interval_ms.map(TimeDelta::from_millis_f64),
        partial_wait: TimeDelta::from_millis_f64(partial_wait_ms),
        playout: PlayoutConfig {
            min_delay: TimeDelta::from_millis_f64(spec.min_playout_delay_ms),
            max_delay: MAX_PLAYOUT_DELAY,
        },
        feedback: spec.feedback,
    }
}
