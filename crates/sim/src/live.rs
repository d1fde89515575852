//! What a real call takes from a plan: the same scenario file, controllers, seed and link as a simulated one, assembled for
//! another driver, with a camera instead of the clip's tables. Also its run folder. A scenario of two calls, the second
//! with its media in reverse, is a call with media both ways.
//!
//! A scenario may describe what a real call, or one with a browser, cannot do: then it is refused, naming the key.

use crate::error::SimError;
use crate::flows::CallSpec;
use crate::future::FutureOf;
use crate::network::{build_path, queue_limit};
use crate::pauses::{self, PauseSpec};
use crate::plan::{LoadedPlan, Plan};
use crate::run::{
    CallParts, DrawnNetwork, build_controller, context_of, rate_limits, receiver_config, sender_config,
    sender_controller, sides,
};
use crate::scenario::{EcnSpec, LimitsSpec};
use crate::seed::Seed;
use crate::sweep::{io_error, labels_of, open_folder};
use legato_call::{FeedbackFormat, Pauses, ReceiverConfig, Sender};
use legato_control::{FeedbackRule, RateController, RateLimits, Side};
use legato_controllers::entry;
use legato_media::encoder::gop::Gop;
use legato_media::playout::PlayoutConfig;
use legato_media::{Content, Encoder, Source};
use legato_path::Path as NetworkPath;
use legato_trace::{CallLabels, LogLevel, Part, Recorder, Summary};
use legato_units::{TimeDelta, Timestamp};
use std::path::Path;

/// A camera and its encoder, with their names in tables.
pub struct LiveVideo {
    /// The pictures and their rate.
    pub content: Content,
    /// The encoder.
    pub encoder: Box<dyn Encoder>,
    /// The clip's name in tables.
    pub clip: String,
    /// The name of the encoder, and of Legato's decoder, in tables.
    pub codec_name: String,
}

/// The network of a session, ready for a driver; its time begins at [`Timestamp::ZERO`].
pub struct LiveNetwork<P> {
    /// From the sending end of the first call to the other.
    pub forward: NetworkPath<P>,
    /// The way back; the media of a second call go here.
    pub reverse: NetworkPath<P>,
}

/// The facts about a call whichever end sends.
pub struct LiveFlow {
    /// How long media flow.
    pub duration: TimeDelta,
    /// Minimum, start and maximum target.
    pub limits: RateLimits,
    /// The level of recording.
    pub level: LogLevel,
    /// The call's columns in tables.
    pub labels: CallLabels,
}

/// The scenario's settings for a Legato receiving end.
pub struct LiveReceiver {
    /// The receiver-side controller, if there is one.
    pub controller: Option<Box<dyn RateController>>,
    /// When pictures are shown.
    pub playout: PlayoutConfig,
    /// Whether missing packets are requested again.
    pub nack: bool,
}

/// One call, ready for a driver.
pub struct LiveCall {
    /// The sending end.
    pub sender: Sender,
    /// When media pauses and goes on.
    pub pauses: Pauses,
    /// Whether the size of pictures changes with the quantiser.
    pub adapt_resolution: bool,
    /// The rest.
    pub flow: LiveFlow,
}

/// Call `n`'s own settings, or the scenario's.
struct Own<'a> {
    parts: CallParts,
    limits: &'a LimitsSpec,
    pauses: &'a [PauseSpec],
    /// Whether its media go in reverse.
    backward: bool,
    seed: Seed,
    labels: CallLabels,
}

impl LoadedPlan {
    /// Call `n` of session `session` with a browser, for a separate driver. `steered`: its controller's actions are set
    /// from outside.
    pub fn live(&self, session: u64, n: usize, video: LiveVideo, steered: bool) -> Result<LiveCall, SimError> {
        let own = self.own(session, n)?;
        if entry(&own.parts.controller.name).is_some_and(|entry| entry.side != Side::Sender) {
            return Err(self.not_live("controller", "the receiver is a browser, so the controller must be a sender's"));
        }
        if self.scenario.receiver_controller.is_some() {
            return Err(self.not_live("receiver_controller", "the receiver is a browser"));
        }
        self.live_sender(own, video, steered)
    }

    /// Call `n` of session `session` between two of our ends; `steered` as for [`LoadedPlan::live`].
    pub fn live_pair(
        &self,
        session: u64,
        n: usize,
        video: LiveVideo,
        steered: bool,
    ) -> Result<(LiveCall, LiveReceiver), SimError> {
        let decoder = video.codec_name.as_str().into();
        let own = self.own(session, n)?;
        let receiver = self.live_receiver(&own)?;
        let mut call = self.live_sender(own, video, steered)?;
        call.flow.labels.decoder = decoder;
        Ok((call, receiver))
    }

    /// Call `n` of session `session` with our receiving end and another sender. `clip`, `encoder` and `decoder` are
    /// their names in tables.
    pub fn live_receiving(
        &self,
        session: u64,
        n: usize,
        clip: String,
        encoder: String,
        decoder: String,
    ) -> Result<(LiveFlow, LiveReceiver), SimError> {
        let own = self.own(session, n)?;
        if n > 0 && !own.pauses.is_empty() {
            return Err(self.not_live(&format!("calls[{n}].pauses"), "a browser's camera cannot pause"));
        }
        let receiver = self.live_receiver(&own)?;
        let mut flow = self.live_flow(own, clip, encoder);
        flow.labels.decoder = decoder.into();
        Ok((flow, receiver))
    }

    fn live_sender(&self, own: Own<'_>, video: LiveVideo, steered: bool) -> Result<LiveCall, SimError> {
        let scenario = &self.scenario;
        let LiveVideo { content, encoder, clip, codec_name } = video;
        let (spec, _) = sides(&own.parts.controller, scenario.receiver_controller.as_ref())?;
        let start = Timestamp::ZERO;
        let controller =
            self.with_future(&own, |future| sender_controller(scenario, &spec, own.limits, own.seed, future, steered))?;
        let encoder = match scenario.video.gop_frames {
            Some(frames) => Box::new(Gop::new(encoder, frames)),
            None => encoder,
        };
        let source = Source::new(content, start, 0);
        let sender = Sender::new(sender_config(scenario, start), controller, encoder, source);
        // Each size begins with a key frame, which takes time on a link just found too slow.
        let adapt_resolution = scenario.video.adapt_resolution.unwrap_or(false);
        let pauses = pauses::changes(own.pauses, start);
        Ok(LiveCall { sender, pauses, adapt_resolution, flow: self.live_flow(own, clip, codec_name) })
    }

    fn live_receiver(&self, own: &Own<'_>) -> Result<LiveReceiver, SimError> {
        let (scenario, start) = (&self.scenario, Timestamp::ZERO);
        let ReceiverConfig { playout, nack, .. } = receiver_config(scenario, FeedbackRule::default(), start);
        let (_, spec) = sides(&own.parts.controller, scenario.receiver_controller.as_ref())?;
        let Some(spec) = spec else { return Ok(LiveReceiver { controller: None, playout, nack }) };
        let controller = self.with_future(own, |future| {
            let context = context_of(own.limits, own.seed, "receiver_controller", start, future);
            build_controller(spec, Side::Receiver, context)
        })?;
        Ok(LiveReceiver { controller: Some(controller), playout, nack })
    }

    /// `build` a controller that may need the future capacity of its media's direction.
    fn with_future<T>(
        &self,
        own: &Own<'_>,
        build: impl FnOnce(&FutureOf<'_>) -> Result<T, SimError>,
    ) -> Result<T, SimError> {
        let drawn = DrawnNetwork::of(&self.scenario, &own.parts, own.seed);
        let bottleneck = if own.backward { own.parts.reverse.as_ref() } else { drawn.bottleneck.as_ref() };
        let queue = if own.backward { &drawn.reverse.queue } else { &drawn.forward.queue };
        let (capacity, start) = (bottleneck.map(|loaded| &loaded.capacity), Timestamp::ZERO);
        let own_queue = bottleneck.map(|loaded| queue_limit(queue, loaded));
        build(&FutureOf {
            capacity,
            own_queue,
            start,
            end: start + self.live_duration(),
            policies: &own.parts.policies,
            events: None,
        })
    }

    /// The network of session `session`.
    pub fn live_network<P: Send + 'static>(&self, session: u64) -> Result<LiveNetwork<P>, SimError> {
        let planned = self.session(session);
        let seed = Seed(planned.seed);
        let DrawnNetwork { forward, reverse, bottleneck } = DrawnNetwork::of(&self.scenario, &planned.parts, seed);
        Ok(LiveNetwork {
            forward: build_path(&forward, bottleneck.as_ref(), seed, "forward")?,
            reverse: build_path(&reverse, planned.parts.reverse.as_ref(), seed, "reverse")?,
        })
    }

    /// Call `n` of session `session` for ends that bring their own controller.
    pub fn live_between(&self, session: u64, n: usize, clip: String, encoder: String) -> Result<LiveFlow, SimError> {
        Ok(self.live_flow(self.own(session, n)?, clip, encoder))
    }

    fn live_flow(&self, own: Own<'_>, clip: String, encoder: String) -> LiveFlow {
        LiveFlow {
            duration: self.live_duration(),
            limits: rate_limits(own.limits),
            level: self.level,
            labels: CallLabels { clip: clip.into(), encoder: encoder.into(), decoder: "browser".into(), ..own.labels },
        }
    }

    fn live_duration(&self) -> TimeDelta {
        TimeDelta::from_secs_f64(self.scenario.duration_s)
    }

    /// As in the simulator: the first call has the run's own seed.
    fn own(&self, session: u64, n: usize) -> Result<Own<'_>, SimError> {
        self.check_live()?;
        let planned = self.session(session);
        if planned.parts.cross_traffic().is_some() {
            let why = "the trace has cross traffic, and a real call shares its links with nothing: \
                       play its capacity alone (plays = \"capacity\")";
            return Err(self.not_live("forward.capacity", why));
        }
        let labels = labels_of(self, &planned, session, n);
        let (scenario, mut parts, seed) = (&self.scenario, planned.parts, Seed(planned.seed));
        let call = scenario.calls.as_ref().and_then(|calls| calls.get(n));
        if let Some(controller) = call.and_then(|call| call.own.controller.as_ref()) {
            parts.controller = controller.clone();
        }
        Ok(Own {
            parts,
            limits: call.and_then(|call| call.own.limits.as_ref()).unwrap_or(&scenario.limits),
            pauses: call.map_or(&scenario.pauses, |call| &call.own.pauses),
            backward: call.is_some_and(CallSpec::is_reversed),
            seed: if n == 0 { seed } else { Seed(seed.derived(&format!("flow.call.{n}"))) },
            labels,
        })
    }

    fn not_live(&self, key: &str, why: &str) -> SimError {
        SimError::Plan(format!("{}: {key}: {why}", self.scenario.name))
    }

    fn check_live(&self) -> Result<(), SimError> {
        let scenario = &self.scenario;
        let refused = |key: &str, why| Err(self.not_live(key, why));
        if !(scenario.tcp.is_empty() && scenario.udp.is_empty() && scenario.links.is_empty()) {
            return refused("tcp, udp, links", "a real call shares its links with nothing");
        }
        if let Some(calls) = &scenario.calls {
            if !matches!(&calls[..], [first, second] if !first.is_reversed() && second.is_reversed()) {
                return refused("calls", "real calls are one, or two of which the second's direction is reverse");
            }
            for (n, call) in calls.iter().enumerate() {
                let CallSpec { start_s, stop_s, propagation_ms, own, .. } = call;
                let given = [
                    ("start_s", *start_s > 0.0),
                    ("stop_s", stop_s.is_some()),
                    ("propagation_ms", propagation_ms.is_some()),
                    ("priority", own.priority.is_some()),
                ];
                if let Some((key, _)) = given.iter().find(|(_, given)| *given) {
                    return refused(
                        &format!("calls[{n}].{key}"),
                        "the two directions of a real call begin and end together, on one network",
                    );
                }
            }
        }
        if scenario.audio.is_some() {
            return refused("audio", "a real call sends only video");
        }
        if scenario.sender.ecn != EcnSpec::Off {
            return refused("sender.ecn", "a socket of a real call sends no marks");
        }
        if scenario.receiver.feedback != FeedbackFormat::Twcc {
            return refused("receiver.feedback", "a real call's receiver gives twcc");
        }
        Ok(())
    }
}

/// Open the run folder of a plan's real calls.
pub fn open_live_folder(plan: &Plan, loaded: &LoadedPlan, folder: &Path) -> Result<(), SimError> {
    open_folder(plan, loaded, folder, "call")
}

/// Write the finished calls of a session: one part of the folder.
pub fn write_live(folder: &Path, calls: &[(CallLabels, Summary, Recorder)]) -> Result<(), SimError> {
    let Some((first, _, recorder)) = calls.first() else { return Ok(()) };
    let (name, mut part) = (format!("{:05}", first.session), Part::new(recorder.level()));
    for (labels, summary, recorder) in calls {
        part.push(labels.clone(), summary.clone(), recorder);
    }
    part.write(folder, &name).map_err(|error| io_error(folder, &error))
}
