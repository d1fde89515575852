//! What a real call takes from a plan: the same scenario file, controllers, seed and link as a simulated one, put
//! together for another driver, with a camera in place of the clip's tables. And its run folder.
//!
//! A scenario may describe what a real call, or one with a browser, has not: then it is refused, with the key.

use crate::error::SimError;
use crate::network::build_path;
use crate::pauses;
use crate::plan::{LoadedPlan, Plan};
use crate::run::{
    DrawnNetwork, FutureOf, build_controller, context_of, rate_limits, receiver_config, sender_config,
    sender_controller, sides,
};
use crate::seed::Seed;
use crate::sweep::{io_error, labels_of, open_folder};
use legato_call::{ReceiverConfig, Sender};
use legato_control::{RateController, RateLimits, Side, entry};
use legato_media::encoder::gop::Gop;
use legato_media::playout::PlayoutConfig;
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
    /// What tables call the encoder, and a decoder of ours.
    pub codec_name: String,
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

/// What the scenario says of a receiving end of ours.
pub struct LiveReceiver {
    /// The receiver-side controller, where there is one.
    pub controller: Option<Box<dyn RateController>>,
    /// When pictures are shown.
    pub playout: PlayoutConfig,
    /// Ask for missing packets again.
    pub nack: bool,
}

/// One call, ready for a driver.
pub struct LiveCall<P> {
    /// The sending end.
    pub sender: Sender,
    /// When media pause (true) and go on (false), the next one last.
    pub turns: Vec<(Timestamp, bool)>,
    /// The size of pictures changes with the quantiser.
    pub adapt_resolution: bool,
    /// The rest.
    pub link: LiveLink<P>,
}

impl LoadedPlan {
    /// The call of session `session` with a browser, for a driver of its own.
    pub fn live<P: Send + 'static>(&self, session: u64, video: LiveVideo) -> Result<LiveCall<P>, SimError> {
        let controller = &self.session(session).parts.controller;
        if entry(&controller.name).is_some_and(|entry| entry.side != Side::Sender) {
            return Err(self.not_live("controller", "the receiver is a browser, so the controller must be a sender's"));
        }
        if self.scenario.receiver_controller.is_some() {
            return Err(self.not_live("receiver_controller", "the receiver is a browser"));
        }
        self.live_sender(session, video)
    }

    /// The call of session `session` between two of ours.
    pub fn live_pair<P: Send + 'static>(
        &self,
        session: u64,
        video: LiveVideo,
    ) -> Result<(LiveCall<P>, LiveReceiver), SimError> {
        let decoder = video.codec_name.as_str().into();
        let mut call = self.live_sender(session, video)?;
        call.link.labels.decoder = decoder;
        Ok((call, self.live_receiver(session)?))
    }

    /// The network of session `session` and our receiving end; who sends is another. `clip`, `encoder`, `decoder`: what
    /// tables call them.
    pub fn live_receiving<P: Send + 'static>(
        &self,
        session: u64,
        clip: String,
        encoder: String,
        decoder: String,
    ) -> Result<(LiveLink<P>, LiveReceiver), SimError> {
        let mut link = self.live_link(session, clip, encoder)?;
        link.labels.decoder = decoder.into();
        Ok((link, self.live_receiver(session)?))
    }

    fn live_sender<P: Send + 'static>(&self, session: u64, video: LiveVideo) -> Result<LiveCall<P>, SimError> {
        let planned = self.session(session);
        let (scenario, parts) = (&self.scenario, &planned.parts);
        let LiveVideo { content, encoder, clip, codec_name } = video;
        let link = self.live_link(session, clip, codec_name)?;
        let (spec, _) = sides(&parts.controller, scenario.receiver_controller.as_ref())?;
        let (seed, start) = (Seed(planned.seed), Timestamp::ZERO);
        let drawn = DrawnNetwork::of(scenario, parts, seed);
        let capacity = drawn.bottleneck.as_ref().map(|loaded| &loaded.capacity);
        let future = FutureOf { capacity, start, end: start + link.duration, policies: &parts.policies };
        let controller = sender_controller(scenario, &spec, &scenario.limits, seed, &future)?;
        let encoder = match scenario.video.gop_frames {
            Some(frames) => Box::new(Gop::new(encoder, frames)),
            None => encoder,
        };
        let source = Source::new(content, start, 0);
        let sender = Sender::new(sender_config(scenario, start), controller, encoder, source);
        // Each size begins with a key frame, which a link just found too slow takes its time for.
        let adapt_resolution = scenario.video.adapt_resolution.unwrap_or(false);
        Ok(LiveCall { sender, turns: pauses::turns(&scenario.pauses, start), adapt_resolution, link })
    }

    fn live_receiver(&self, session: u64) -> Result<LiveReceiver, SimError> {
        let planned = self.session(session);
        let (scenario, parts) = (&self.scenario, &planned.parts);
        let (seed, start) = (Seed(planned.seed), Timestamp::ZERO);
        let ReceiverConfig { playout, nack, .. } = receiver_config(scenario, start);
        let (_, spec) = sides(&parts.controller, scenario.receiver_controller.as_ref())?;
        let Some(spec) = spec else { return Ok(LiveReceiver { controller: None, playout, nack }) };
        let drawn = DrawnNetwork::of(scenario, parts, seed);
        let capacity = drawn.bottleneck.as_ref().map(|loaded| &loaded.capacity);
        let end = start + TimeDelta::from_secs_f64(scenario.duration_s);
        let future = FutureOf { capacity, start, end, policies: &parts.policies };
        let context = context_of(&scenario.limits, seed, "receiver_controller", start, &future);
        let controller = build_controller(spec, Side::Receiver, context)?;
        Ok(LiveReceiver { controller: Some(controller), playout, nack })
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
            return refused("receiver.feedback", "a real call's receiver gives twcc");
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
