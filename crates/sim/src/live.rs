//! What a real call takes from a plan: the same scenario file, controller, seed and link as a simulated one, put
//! together for another driver, with a camera in place of the clip's tables. And its run folder.
//!
//! A scenario may describe what a call with one browser has not: then it is refused, with the key.

use crate::error::SimError;
use crate::network::build_path;
use crate::pauses;
use crate::plan::{LoadedPlan, Plan};
use crate::run::{
    DrawnNetwork, FutureOf, build_controller, context_of, rate_limits, sender_config, sender_controller, sides,
};
use crate::seed::Seed;
use crate::sweep::{io_error, labels_of, open_folder};
use legato_call::Sender;
use legato_control::{RateController, RateLimits, Side, entry};
use legato_media::encoder::gop::Gop;
use legato_media::{Content, Encoder, Source};
use legato_path::Path as NetworkPath;
use legato_trace::{CallLabels, LogLevel, Part, Recorder, Summary};
use legato_units::{TimeDelta, Timestamp};
use std::path::Path;

/// A camera and its encoder, as tables call them.
pub struct LiveVideo {
    /// Pictures a second.
    pub content: Content,
    /// Codes them.
    pub encoder: Box<dyn Encoder>,
    /// What tables call the pictures.
    pub clip: String,
    /// What tables call the encoder.
    pub encoder_name: String,
}

/// The network of a call, ready for a driver; its time begins at [`Timestamp::ZERO`].
pub struct LiveLink<P> {
    /// From the sending end to the other.
    pub forward: NetworkPath<P>,
    /// And back.
    pub reverse: NetworkPath<P>,
    /// How long media flow.
    pub duration: TimeDelta,
    /// Least, first and greatest target.
    pub limits: RateLimits,
    /// How much is recorded.
    pub level: LogLevel,
    /// What names the call in tables.
    pub labels: CallLabels,
}

/// One call, ready for a driver.
pub struct LiveCall<P> {
    /// The sending end.
    pub sender: Sender,
    /// When media pause (true) and go on (false), the next one last.
    pub turns: Vec<(Timestamp, bool)>,
    /// The rest.
    pub link: LiveLink<P>,
}

/// The network of a call whose media come from elsewhere, and the controller of the receiving end.
pub type LiveReceiving<P> = (LiveLink<P>, Option<Box<dyn RateController>>);

impl LoadedPlan {
    /// The call of session `session`, for a driver of its own.
    pub fn live<P: Send + 'static>(&self, session: u64, video: LiveVideo) -> Result<LiveCall<P>, SimError> {
        let planned = self.session(session);
        let scenario = &self.scenario;
        let parts = &planned.parts;
        if entry(&parts.controller.name).is_some_and(|entry| entry.side != Side::Sender) {
            return Err(self.not_live("controller", "the receiver is a browser, so the controller must be a sender's"));
        }
        if scenario.receiver_controller.is_some() {
            return Err(self.not_live("receiver_controller", "the receiver is a browser"));
        }
        let LiveVideo { content, encoder, clip, encoder_name } = video;
        let link = self.live_link(session, clip, encoder_name)?;
        let (seed, start) = (Seed(planned.seed), Timestamp::ZERO);
        let drawn = DrawnNetwork::of(scenario, parts, seed);
        let capacity = drawn.bottleneck.as_ref().map(|loaded| &loaded.capacity);
        let future = FutureOf { capacity, start, end: start + link.duration, policies: &parts.policies };
        let controller = sender_controller(scenario, &parts.controller, &scenario.limits, seed, &future)?;
        let encoder = match scenario.video.gop_frames {
            Some(frames) => Box::new(Gop::new(encoder, frames)),
            None => encoder,
        };
        let source = Source::new(content, start, 0);
        let sender = Sender::new(sender_config(scenario, start), controller, encoder, source);
        Ok(LiveCall { sender, turns: pauses::turns(&scenario.pauses, start), link })
    }

    /// The network of session `session`, and the controller of the receiving end where the plan has one there.
    pub fn live_receiving<P: Send + 'static>(
        &self,
        session: u64,
        clip: String,
        encoder: String,
    ) -> Result<LiveReceiving<P>, SimError> {
        let planned = self.session(session);
        let (scenario, parts) = (&self.scenario, &planned.parts);
        let link = self.live_link(session, clip, encoder)?;
        let (_, spec) = sides(&parts.controller, scenario.receiver_controller.as_ref())?;
        let Some(spec) = spec else { return Ok((link, None)) };
        let (seed, start) = (Seed(planned.seed), Timestamp::ZERO);
        let drawn = DrawnNetwork::of(scenario, parts, seed);
        let capacity = drawn.bottleneck.as_ref().map(|loaded| &loaded.capacity);
        let future = FutureOf { capacity, start, end: start + link.duration, policies: &parts.policies };
        let context = context_of(&scenario.limits, seed, "receiver_controller", start, &future);
        let controller = build_controller(spec, Side::Receiver, context)?;
        Ok((link, Some(controller)))
    }

    /// The network of session `session` alone, for ends that bring their own controller.
    pub fn live_link<P: Send + 'static>(
        &self,
        session: u64,
        clip: String,
        encoder: String,
    ) -> Result<LiveLink<P>, SimError> {
        self.check_live()?;
        let planned = self.session(session);
        let scenario = &self.scenario;
        let seed = Seed(planned.seed);
        let DrawnNetwork { forward, reverse, bottleneck } = DrawnNetwork::of(scenario, &planned.parts, seed);
        let labels = labels_of(self, &planned, session, 0);
        Ok(LiveLink {
            forward: build_path(&forward, bottleneck.as_ref(), seed, "forward")?,
            reverse: build_path(&reverse, planned.parts.reverse.as_ref(), seed, "reverse")?,
            duration: TimeDelta::from_secs_f64(scenario.duration_s),
            limits: rate_limits(&scenario.limits),
            level: self.level,
            labels: CallLabels { clip: clip.into(), encoder: encoder.into(), decoder: "browser".into(), ..labels },
        })
    }

    fn not_live(&self, key: &str, why: &str) -> SimError {
        SimError::Plan(format!("{}: {key}: {why}", self.scenario.name))
    }

    fn check_live(&self) -> Result<(), SimError> {
        let scenario = &self.scenario;
        let refused = |key, why| Err(self.not_live(key, why));
        if scenario.is_shared() {
            return refused("calls, tcp, udp, links", "a real call has its links to itself");
        }
        if scenario.audio.is_some() {
            return refused("audio", "a real call sends video alone");
        }
        if scenario.sender.ecn != "off" {
            return refused("sender.ecn", "a socket of a real call sends no marks");
        }
        if scenario.receiver.feedback != "twcc" {
            return refused("receiver.feedback", "a browser gives twcc");
        }
        Ok(())
    }
}

/// Open the run folder of a plan's real calls.
pub fn open_live_folder(plan: &Plan, loaded: &LoadedPlan, folder: &Path) -> Result<(), SimError> {
    open_folder(plan, loaded, folder, "call")
}

/// Write a finished call: one part of the folder each.
pub fn write_live(folder: &Path, labels: CallLabels, summary: Summary, recorder: &Recorder) -> Result<(), SimError> {
    let name = format!("{:05}", labels.call);
    let mut part = Part::new(recorder.level());
    part.push(labels, summary, recorder);
    part.write(folder, &name).map_err(|error| io_error(folder, &error))
}
