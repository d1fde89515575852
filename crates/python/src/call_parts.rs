//! What real calls are put together of: a plan's session on one side, what `legato_endpoint` takes on the other.

use crate::error::{call_error, sim_error};
use legato_endpoint::{CallSetup, Camera, Codec, PictureSource, Place, ReceivingSetup};
use legato_media::FrameRate;
use legato_sim::{LiveCall, LiveFlow, LiveNetwork, LiveReceiver, LiveVideo, LoadedPlan, Plan};
use legato_trace::CallLabels;
use pyo3::prelude::*;
use std::path::PathBuf;

/// The camera of a call whose pictures are ours, and what its sender is told of them.
pub(crate) fn filmed(
    clip: Option<PathBuf>,
    (width, height): (u16, u16),
    fps: u32,
    codec: Codec,
) -> PyResult<(Camera, LiveVideo)> {
    let source = match clip {
        Some(path) => PictureSource::Y4m(path),
        None => generated(width, height, fps)?,
    };
    let (camera, encoder) = Camera::open(&source, codec).map_err(call_error)?;
    let (content, clip) = (camera.content(), camera.label().to_owned());
    let video = LiveVideo { content, encoder, clip, codec_name: codec.label().to_owned() };
    Ok((camera, video))
}

pub(crate) fn generated(width: u16, height: u16, fps: u32) -> PyResult<PictureSource> {
    let refused = || call_error(format!("fps = {fps}: outside 1 to 60"));
    let frame_rate = FrameRate::new(fps, 1).filter(|_| fps <= 60).ok_or_else(refused)?;
    Ok(PictureSource::Generated { width, height, frame_rate })
}

/// A plan with everything it names.
pub(crate) fn load(plan_json: &str) -> PyResult<LoadedPlan> {
    Plan::parse(plan_json).and_then(|plan| plan.load()).map_err(sim_error)
}

/// The place of a session's only call.
pub(crate) fn alone(loaded: &LoadedPlan, session: u64) -> PyResult<Place> {
    let LiveNetwork { forward, reverse } = loaded.live_network(session).map_err(sim_error)?;
    Place::alone(forward, reverse).map_err(call_error)
}

/// The places of a session's one or two calls.
pub(crate) fn places(loaded: &LoadedPlan, session: u64) -> PyResult<Vec<Place>> {
    if loaded.calls_per_session() < 2 {
        return Ok(vec![alone(loaded, session)?]);
    }
    let LiveNetwork { forward, reverse } = loaded.live_network(session).map_err(sim_error)?;
    Ok(Place::opposite(forward, reverse).map_err(call_error)?.into())
}

/// A call in which we send, and what names it.
pub(crate) fn sending(live: LiveCall, mut camera: Camera, place: Place) -> (CallSetup, CallLabels) {
    let LiveCall { sender, turns, adapt_resolution, flow } = live;
    camera.adapt_resolution(adapt_resolution);
    let LiveFlow { duration, level, labels, .. } = flow;
    (CallSetup { sender, camera, place, duration, turns, level }, labels)
}

/// What another end sends.
pub(crate) struct Theirs {
    /// What tables call the pictures …
    pub clip: String,
    /// … and their encoder.
    pub encoder: String,
    /// Columns of its camera's pictures.
    pub width: u16,
    /// How they are coded.
    pub codec: Codec,
}

/// Call `n` of a session, in which another end sends to us.
pub(crate) fn receiving(
    loaded: &LoadedPlan,
    session: u64,
    n: usize,
    theirs: Theirs,
    place: Place,
) -> PyResult<(ReceivingSetup, LiveFlow)> {
    let Theirs { clip, encoder, width, codec } = theirs;
    let decoder = codec.label().to_owned();
    let (mut flow, receiver) = loaded.live_receiving(session, n, clip, encoder, decoder).map_err(sim_error)?;
    let LiveReceiver { controller, playout, nack } = receiver;
    if controller.is_none() {
        flow.labels.controller = "chromium".into();
    }
    let (duration, level, sent_width) = (flow.duration, flow.level, Some(width));
    Ok((ReceivingSetup { codec, controller, place, duration, level, playout, nack, sent_width }, flow))
}
