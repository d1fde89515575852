//! What a real call takes from a plan: the same scenario file, controller, seed and link as a simulated one, put
//! together for another driver, with a camera in place of the clip's tables. And its run folder.
//!
//! A scenario may describe what a call with one browser has not: then it is refused, with the key.

use crate::error::SimError;
use crate::network::build_path;
use crate::pauses;
use crate::plan::{LoadedPlan, Plan};
use crate::run::{FutureOf, sender_config, sender_controller};
use crate::seed::Seed;
use crate::sweep::{io_error, labels_of, open_folder};
use legato_call::Sender;
use legato_control::{Side, entry};
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

/// One call, ready for a driver; its time begins at [`Timestamp::ZERO`].
pub struct LiveCall<P> {
    /// The sending end.
    pub sender: Sender,
    /// From us to the other end.
    pub forward: NetworkPath<P>,
    /// And back.
    pub reverse: NetworkPath<P>,
    /// How long media flow.
    pub duration: TimeDelta,
    /// When media pause (true) and go on (false), the next one last.
    pub turns: Vec<(Timestamp, bool)>,
    /// How much is recorded.
    pub level: LogLevel,
    /// What names it in tables.
    pub labels: CallLabels,
}

impl LoadedPlan {
    /// The call of session `session`, for a driver of its own.
    pub fn live<P: Send + 'static>(&self, session: u64, video: LiveVideo) -> Result<LiveCall<P>, SimError> {
        let planned = self.session(session);
        let scenario = &self.scenario;
        self.check_live(&planned.parts.controller.name)?;
        let seed = Seed(planned.seed);
        let start = Timestamp::ZERO;
        let duration = TimeDelta::from_secs_f64(scenario.duration_s);
        let (mut forward, mut reverse) = (scenario.forward.clone(), scenario.reverse.clone());
        let bottleneck = planned.parts.forward.as_ref().map(|loaded| loaded.draw(seed, &mut forward, &mut reverse));
        let capacity = bottleneck.as_ref().map(|loaded| &loaded.capacity);
        let future = FutureOf { capacity, start, end: start + duration, policies: &planned.parts.policies };
        let controller = sender_controller(scenario, &planned.parts.controller, &scenario.limits, seed, &future)?;
        let LiveVideo { content, encoder, clip, encoder_name } = video;
        let encoder = match scenario.video.gop_frames {
            Some(frames) => Box::new(Gop::new(encoder, frames)),
            None => encoder,
        };
        let source = Source::new(content, start, 0);
        let labels = labels_of(self, &planned, session, 0);
        Ok(LiveCall {
            sender: Sender::new(sender_config(scenario, start), controller, encoder, source),
            forward: build_path(&forward, bottleneck.as_ref(), seed, "forward")?,
            reverse: build_path(&reverse, planned.parts.reverse.as_ref(), seed, "reverse")?,
            duration,
            turns: pauses::turns(&scenario.pauses, start),
            level: self.level,
            labels: CallLabels { clip: clip.into(), encoder: encoder_name.into(), decoder: "browser".into(), ..labels },
        })
    }

    fn check_live(&self, controller: &str) -> Result<(), SimError> {
        let scenario = &self.scenario;
        let refused = |key: &str, why: &str| Err(SimError::Plan(format!("{}: {key}: {why}", scenario.name)));
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
        if scenario.receiver_controller.is_some() || entry(controller).is_some_and(|entry| entry.side != Side::Sender) {
            return refused("controller", "the receiver is a browser, so the controller must be a sender's");
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
