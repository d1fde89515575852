//! What a session of real calls is put together of: a plan's session and the ends that Python names on one side, what
//! `legato_endpoint` takes on the other.

use crate::error::{call_error, sim_error};
use crate::learning::LiveExchange;
use crate::vmaf::Interrupt;
use legato_control::RateLimits;
use legato_endpoint::{
    CallSetup, Camera, Coding, Decide, PairSetup, PictureSource, Place, ReceivingSetup, RelaySetup, TunPair as Hosts,
    Watched, WaySetup,
};
use legato_media::FrameRate;
use legato_sim::{LiveCall, LiveFlow, LiveNetwork, LiveReceiver, LiveVideo, LoadedPlan, Plan};
use legato_trace::CallLabels;
use legato_units::TimeDelta;
use pyo3::prelude::*;
use std::path::PathBuf;

/// `legato.call.ends.Session`: its ways of media.
#[derive(FromPyObject)]
pub(crate) struct Ends {
    media: Vec<Way>,
}

/// `legato.call.ends.Way`: whether its ends are ours, and if neither is, whether a program sends, whose packets all count.
#[derive(Clone, Copy, FromPyObject)]
struct Way {
    sent_by_us: bool,
    received_by_us: bool,
    sent_by_program: bool,
}

/// `legato.call.Pictures`: the pictures that Legato's end sends, and how all ends code.
#[derive(FromPyObject)]
pub(crate) struct Pictures {
    clip: Option<PathBuf>,
    width: u16,
    height: u16,
    fps: u32,
    codec: String,
    parity: String,
    recovery: String,
}

/// `legato.call.ends.Others`: what tables call the rate control, the pictures and the encoder of an end that is not ours,
/// and the columns of its camera's pictures.
#[derive(FromPyObject)]
pub(crate) struct Others {
    controller: String,
    clip: String,
    encoder: String,
    width: u16,
}

/// The values that all directions of a session share.
pub(crate) struct Parts<'a> {
    pub plan: &'a str,
    pub session: u64,
    pub ends: Ends,
    pub pictures: Pictures,
    pub others: Option<Others>,
    pub hosts: Option<&'a Hosts>,
    pub ffmpeg: Option<PathBuf>,
    /// Where the controller of our sending end learns in the call.
    pub learning: Option<&'a LiveExchange>,
    pub interrupt: &'a Interrupt,
}

/// One direction, as seen from outside.
pub(crate) struct WayParts {
    pub setup: WaySetup,
    pub labels: CallLabels,
    pub limits: RateLimits,
    pub duration: TimeDelta,
}

impl Default for Ends {
    fn default() -> Self {
        Self { media: vec![Way { sent_by_us: true, received_by_us: false, sent_by_program: false }] }
    }
}

impl Default for Pictures {
    fn default() -> Self {
        Self {
            clip: None,
            width: 1280,
            height: 720,
            fps: 30,
            codec: "h264".to_owned(),
            parity: "controller".to_owned(),
            recovery: "nack".to_owned(),
        }
    }
}

impl Parts<'_> {
    /// Each way of the session.
    pub fn ways(&self) -> PyResult<Vec<WayParts>> {
        let loaded = Plan::parse(self.plan).and_then(|plan| plan.load()).map_err(sim_error)?;
        let ways = &self.ends.media;
        if loaded.calls_per_session() != ways.len() as u64 {
            return Err(call_error(format!("media on {} ways: the plan needs as many calls a session", ways.len())));
        }
        let places = self.places(&loaded, ways.len())?;
        let ways = ways.iter().zip(places).enumerate();
        ways.map(|(n, (&way, place))| self.way(&loaded, n, way, place)).collect()
    }

    fn places(&self, loaded: &LoadedPlan, ways: usize) -> PyResult<Vec<Place>> {
        let LiveNetwork { forward, reverse } = loaded.live_network(self.session).map_err(sim_error)?;
        let places = match ways {
            1 => vec![Place::alone(forward, reverse).map_err(call_error)?],
            _ => Place::opposite(forward, reverse).map_err(call_error)?.into(),
        };
        let Some(hosts) = self.hosts else { return Ok(places) };
        places.into_iter().map(|place| place.between(hosts).map_err(call_error)).collect()
    }

    fn way(&self, loaded: &LoadedPlan, n: usize, way: Way, place: Place) -> PyResult<WayParts> {
        let session = self.session;
        let (setup, LiveFlow { duration, limits, labels, .. }) = match (way.sent_by_us, way.received_by_us) {
            (true, true) => {
                let (camera, video) = self.filmed()?;
                let (live, receiver) =
                    loaded.live_pair(session, n, video, self.learning.is_some()).map_err(sim_error)?;
                let LiveReceiver { controller, playout, nack } = receiver;
                let (call, flow) = self.sending(live, camera, place)?;
                (WaySetup::Own(Box::new(PairSetup { call, controller, playout, nack })), flow)
            }
            (true, false) => {
                let (camera, video) = self.filmed()?;
                let live = loaded.live(session, n, video, self.learning.is_some()).map_err(sim_error)?;
                let (call, flow) = self.sending(live, camera, place)?;
                (WaySetup::Sent(Box::new(call)), flow)
            }
            (false, true) => {
                let (coding, Others { controller: named, clip, encoder, width }) = (self.coding()?, self.others()?);
                let (clip, encoder, decoder) = (clip.clone(), encoder.clone(), coding.label().to_owned());
                let live = loaded.live_receiving(session, n, clip, encoder, decoder).map_err(sim_error)?;
                let (mut flow, LiveReceiver { controller, playout, nack }) = live;
                if controller.is_none() {
                    flow.labels.controller = named.as_str().into();
                }
                let (duration, level, sent_width) = (flow.duration, flow.level, Some(*width));
                let setup = ReceivingSetup { coding, controller, place, duration, level, playout, nack, sent_width };
                (WaySetup::Received(Box::new(setup)), flow)
            }
            (false, false) => {
                let Others { controller, clip, encoder, .. } = self.others()?;
                let flow = loaded.live_between(session, n, clip.clone(), encoder.clone()).map_err(sim_error)?;
                let watched = if way.sent_by_program { Watched::Everything } else { Watched::Media };
                let (duration, level) = (flow.duration, flow.level);
                let labels = CallLabels { controller: controller.as_str().into(), ..flow.labels };
                let setup = RelaySetup { place, duration, level, watched };
                (WaySetup::Relayed(setup), LiveFlow { labels, ..flow })
            }
        };
        Ok(WayParts { setup, labels, limits, duration })
    }

    fn sending(&self, live: LiveCall, mut camera: Camera, place: Place) -> PyResult<(CallSetup, LiveFlow)> {
        let LiveCall { sender, pauses, adapt_resolution, flow } = live;
        camera.adapt_resolution(adapt_resolution);
        let (duration, level) = (flow.duration, flow.level);
        let explorer = self.learning.map(|learning| learning.explorer(flow.labels.seed)).transpose()?;
        let decide = explorer.map(|mut explorer| -> Decide { Box::new(move |now, it| explorer.decide(now, it)) });
        let parity = self.pictures.parity.parse().map_err(call_error)?;
        Ok((CallSetup { sender, camera, place, duration, pauses, level, decide, parity }, flow))
    }

    fn coding(&self) -> PyResult<Coding> {
        let recovery = self.pictures.recovery.parse().map_err(call_error)?;
        Coding::new(&self.pictures.codec, recovery).map_err(call_error)
    }

    fn others(&self) -> PyResult<&Others> {
        self.others.as_ref().ok_or_else(|| call_error("others: what tables call the end that sends is needed"))
    }

    /// The camera of a Legato end, and the part that its sender takes.
    fn filmed(&self) -> PyResult<(Camera, LiveVideo)> {
        let Pictures { clip, width, height, fps, .. } = &self.pictures;
        let source = match clip {
            Some(path) => PictureSource::Y4m(path.clone()),
            None => generated(*width, *height, *fps)?,
        };
        let coding = self.coding()?;
        let (mut camera, encoder) = Camera::open(&source, coding).map_err(call_error)?;
        if let Some(ffmpeg) = &self.ffmpeg {
            camera.measure_vmaf(self.interrupt.ends(ffmpeg.clone()));
        }
        let (content, clip) = (camera.content(), camera.label().to_owned());
        let video = LiveVideo { content, encoder, clip, codec_name: coding.label().to_owned() };
        Ok((camera, video))
    }
}

/// Generated pictures.
pub(crate) fn generated(width: u16, height: u16, fps: u32) -> PyResult<PictureSource> {
    let refused = || call_error(format!("fps = {fps}: outside 1 to 60"));
    let frame_rate = FrameRate::new(fps, 1).filter(|_| fps <= 60).ok_or_else(refused)?;
    Ok(PictureSource::Generated { width, height, frame_rate })
}
