//! Real calls: a plan's session put together by `legato_sim`, driven by `legato_endpoint`, written as a part of a
//! run folder. Python plays the signalling between the two ends, and brings what the other end tells of frames.

use crate::error::{call_error, sim_error};
use crate::tun::TunPair;
use legato_control::RateLimits;
use legato_endpoint::{
    Between, Call, CallReport, CallSetup, Camera, Codec, Datagram, Error as EndpointError, Finished, PictureSource,
    Place, Progress, ReceivingCall, ReceivingSetup, Relay, RelaySetup, SeenPicture, ShownFrame, scene_period,
    write_y4m,
};
use legato_media::FrameRate;
use legato_sim::{
    LiveCall, LiveFlow, LiveNetwork, LiveReceiver, LiveVideo, LoadedPlan, Plan, open_live_folder, write_live,
};
use legato_trace::CallLabels;
use legato_units::{DataRate, TimeDelta, Timestamp};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

/// One call with a peer that Python brings.
#[pyclass(module = "legato._core")]
pub struct RealCall {
    /// Until it is finished.
    call: Option<Call>,
    labels: CallLabels,
    duration: TimeDelta,
    folder: PathBuf,
}

/// A frame as the other end tells of it: RTP time, when its last packet came and when it was shown, in ms of the
/// call's time.
pub(crate) type Shown = (u32, Option<f64>, f64);

/// A picture as our own receiving end saw it: RTP time, when it was whole, when it was shown and when it was to be, in ms
/// of the call's time; how long it took to decode in ms, columns, rows, and the number in it.
pub(crate) type Seen = (u32, f64, Option<f64>, f64, Option<f64>, Option<u16>, Option<u16>, Option<u32>);

pub(crate) fn seen_row(picture: &SeenPicture) -> Seen {
    let (at, image) = (Timestamp::as_millis_f64, picture.image.as_ref());
    (
        picture.rtp_timestamp,
        at(picture.decodable_at),
        picture.shown.map(at),
        at(picture.due),
        image.map(|image| image.took.as_millis_f64()),
        image.map(|image| image.width),
        image.map(|image| image.height),
        image.and_then(|image| image.stamp),
    )
}

/// Open the run folder of a plan's real calls; how many sessions there are.
#[pyfunction]
pub fn open_call_folder(py: Python<'_>, plan_json: &str, out_dir: PathBuf) -> PyResult<u64> {
    py.detach(|| {
        let plan = Plan::parse(plan_json)?;
        let loaded = plan.load()?;
        open_live_folder(&plan, &loaded, &out_dir)?;
        Ok(loaded.sessions())
    })
    .map_err(sim_error)
}

#[pymethods]
impl RealCall {
    /// Set up call `session` of a plan: a socket on the loopback interface, an offer. Pictures are those of the
    /// Y4M file `clip`, or generated at `width`, `height` and `fps`; `codec` is one of `codecs`.
    #[new]
    #[pyo3(signature = (
        plan_json, session, out_dir, *, clip = None, width = 1280, height = 720, fps = 30, codec = "h264"
    ))]
    #[expect(clippy::too_many_arguments, reason = "Python names them")]
    fn new(
        py: Python<'_>,
        plan_json: &str,
        session: u64,
        out_dir: PathBuf,
        clip: Option<PathBuf>,
        width: u16,
        height: u16,
        fps: u32,
        codec: &str,
    ) -> PyResult<Self> {
        py.detach(|| {
            let codec: Codec = codec.parse().map_err(call_error)?;
            let (camera, video) = filmed(clip, (width, height), fps, codec)?;
            let loaded = load(plan_json)?;
            let live = loaded.live(session, 0, video).map_err(sim_error)?;
            let (setup, labels) = sending(live, camera, alone(&loaded, session)?);
            let duration = setup.duration;
            let call = Some(Call::open(setup).map_err(call_error)?);
            Ok(Self { call, labels, duration, folder: out_dir })
        })
    }

    /// How long media flow, in s.
    #[getter]
    fn duration_s(&self) -> f64 {
        self.duration.as_secs_f64()
    }

    /// What names the call in tables: number, controller, trace, clip, encoder, seed.
    #[getter]
    fn labels<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        describe_labels(py, &self.labels)
    }

    /// The offer, as a session description.
    #[getter]
    fn offer(&self) -> PyResult<&str> {
        Ok(self.call()?.offer())
    }

    /// Take the other end's answer and begin.
    fn answer(&self, sdp: &str) -> PyResult<()> {
        self.call()?.answer(sdp).map_err(call_error)
    }

    /// The call's time in ms; before media began, since it was set up.
    fn now_ms(&self) -> PyResult<f64> {
        Ok(self.call()?.now().as_millis_f64())
    }

    /// How far it is: `reached`, `connected`, `over`, `time_s`, `target_bps`, `sent_bytes`, `arrived_bytes`, `shown_frames`.
    fn progress<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        describe_progress(py, self.call()?.progress())
    }

    /// End it before its time.
    fn stop(&self) {
        if let Some(call) = &self.call {
            call.stop();
        }
    }

    /// Wait for the end, write the call's part of the folder, and tell how the machine did. `shown_ms`: the frames as
    /// the other end tells of them.
    fn finish<'py>(&mut self, py: Python<'py>, shown_ms: Vec<Shown>) -> PyResult<Bound<'py, PyDict>> {
        let call = self.call.take().ok_or_else(|| call_error("the call was finished before"))?;
        let report = py.detach(|| {
            let finished = call.finish(&shown_frames(shown_ms)).map_err(call_error)?;
            write_one(&self.folder, &self.labels, finished)
        })?;
        describe(py, &report)
    }
}

impl RealCall {
    fn call(&self) -> PyResult<&Call> {
        self.call.as_ref().ok_or_else(|| call_error("the call is finished"))
    }
}

/// One call between two peers that Python brings, over a plan's link.
#[pyclass(module = "legato._core")]
pub struct RelayCall {
    /// Until it is finished.
    relay: Option<Relay>,
    labels: CallLabels,
    duration: TimeDelta,
    limits: RateLimits,
    folder: PathBuf,
}

#[pymethods]
impl RelayCall {
    /// Set up the link of call `session` of a plan between two sockets on the loopback interface, or between the
    /// namespaces of `tuns`; with `strangers`, whatever programs do in these. `clip`: what tables call the pictures;
    /// `controller`, `encoder`: those of the sending peer.
    #[new]
    #[pyo3(signature = (plan_json, session, out_dir, *, clip, controller, encoder, tuns = None, strangers = false))]
    #[expect(clippy::too_many_arguments, reason = "Python names them")]
    fn new(
        py: Python<'_>,
        plan_json: &str,
        session: u64,
        out_dir: PathBuf,
        clip: String,
        controller: &str,
        encoder: String,
        tuns: Option<&TunPair>,
        strangers: bool,
    ) -> PyResult<Self> {
        let between = match tuns.map(TunPair::pair).transpose()? {
            None => Between::Sockets,
            Some(pair) if strangers => Between::Strangers(pair),
            Some(pair) => Between::Namespaces(pair),
        };
        py.detach(|| {
            let loaded = load(plan_json)?;
            let flow = loaded.live_between(session, clip, encoder).map_err(sim_error)?;
            let LiveFlow { duration, limits, level, labels } = flow;
            let LiveNetwork { forward, reverse } = loaded.live_network::<Datagram>(session).map_err(sim_error)?;
            let relay = Relay::open(RelaySetup { forward, reverse, duration, level }, between).map_err(call_error)?;
            let labels = CallLabels { controller: controller.into(), ..labels };
            Ok(Self { relay: Some(relay), labels, duration, limits, folder: out_dir })
        })
    }

    /// How long it is recorded, in s.
    #[getter]
    fn duration_s(&self) -> f64 {
        self.duration.as_secs_f64()
    }

    /// Least, first and greatest target of the scenario, in bit/s.
    #[getter]
    fn limits_bps(&self) -> (u64, u64, u64) {
        let RateLimits { min, start, max } = self.limits;
        (min.as_bps(), start.as_bps(), max.as_bps())
    }

    /// What names the call in tables: number, controller, trace, clip, encoder, seed.
    #[getter]
    fn labels<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        describe_labels(py, &self.labels)
    }

    /// The sending peer's offer, as the other is to see it.
    fn pass_offer(&self, sdp: &str) -> PyResult<String> {
        self.relay()?.pass_offer(sdp).map_err(call_error)
    }

    /// The other peer's answer, as the sending one is to see it.
    fn pass_answer(&self, sdp: &str) -> PyResult<String> {
        self.relay()?.pass_answer(sdp).map_err(call_error)
    }

    /// What the sending peer aims at from now on, in bit/s.
    fn aims_at(&self, target_bps: u64) -> PyResult<()> {
        self.relay()?.aims_at(DataRate::from_bps(target_bps));
        Ok(())
    }

    /// The call's time in ms; before media began, since it was set up.
    fn now_ms(&self) -> PyResult<f64> {
        Ok(self.relay()?.now().as_millis_f64())
    }

    /// How far it is: `reached`, `connected`, `over`, `time_s`, `target_bps`, `sent_bytes`, `arrived_bytes`, `shown_frames`.
    fn progress<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        describe_progress(py, self.relay()?.progress())
    }

    /// End it before its time.
    fn stop(&self) {
        if let Some(relay) = &self.relay {
            relay.stop();
        }
    }

    /// As of `RealCall`.
    fn finish<'py>(&mut self, py: Python<'py>, shown_ms: Vec<Shown>) -> PyResult<Bound<'py, PyDict>> {
        let relay = self.relay.take().ok_or_else(|| call_error("the call was finished before"))?;
        let report = py.detach(|| {
            let finished = relay.finish(&shown_frames(shown_ms)).map_err(call_error)?;
            write_one(&self.folder, &self.labels, finished)
        })?;
        describe(py, &report)
    }
}

impl RelayCall {
    fn relay(&self) -> PyResult<&Relay> {
        self.relay.as_ref().ok_or_else(|| call_error("the call is finished"))
    }
}

/// One call in which a peer that Python brings sends to us.
#[pyclass(module = "legato._core")]
pub struct ReceivedCall {
    /// Until it is finished.
    call: Option<ReceivingCall>,
    labels: CallLabels,
    duration: TimeDelta,
    limits: RateLimits,
    folder: PathBuf,
}

#[pymethods]
impl ReceivedCall {
    /// Set up call `session` of a plan: a socket on the loopback interface, and the answer to the peer's offer. `clip`
    /// and `encoder`: what tables call the peer's; `width`: columns of its camera's pictures; `codec` is one of `codecs`.
    #[new]
    #[pyo3(signature = (plan_json, session, out_dir, offer, *, clip, encoder, width, codec = "h264"))]
    #[expect(clippy::too_many_arguments, reason = "Python names them")]
    fn new(
        py: Python<'_>,
        plan_json: &str,
        session: u64,
        out_dir: PathBuf,
        offer: &str,
        clip: String,
        encoder: String,
        width: u16,
        codec: &str,
    ) -> PyResult<Self> {
        py.detach(|| {
            let codec: Codec = codec.parse().map_err(call_error)?;
            let loaded = load(plan_json)?;
            let theirs = Theirs { clip, encoder, width, codec };
            let place = alone(&loaded, session)?;
            let (setup, LiveFlow { duration, limits, labels, .. }) = receiving(&loaded, session, 0, theirs, place)?;
            let call = Some(ReceivingCall::open(setup, offer).map_err(call_error)?);
            Ok(Self { call, labels, duration, limits, folder: out_dir })
        })
    }

    /// How long it is recorded, in s.
    #[getter]
    fn duration_s(&self) -> f64 {
        self.duration.as_secs_f64()
    }

    /// Least, first and greatest target of the scenario, in bit/s.
    #[getter]
    fn limits_bps(&self) -> (u64, u64, u64) {
        let RateLimits { min, start, max } = self.limits;
        (min.as_bps(), start.as_bps(), max.as_bps())
    }

    /// What names the call in tables: number, controller, trace, clip, encoder, seed.
    #[getter]
    fn labels<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        describe_labels(py, &self.labels)
    }

    /// The answer, as a session description.
    #[getter]
    fn answer(&self) -> PyResult<&str> {
        Ok(self.call()?.answer())
    }

    /// What the peer's rate control aims at from now on, in bit/s; of interest where none of ours decides.
    fn aims_at(&self, target_bps: u64) -> PyResult<()> {
        self.call()?.aims_at(DataRate::from_bps(target_bps));
        Ok(())
    }

    /// The call's time in ms; before media began, since it was set up.
    fn now_ms(&self) -> PyResult<f64> {
        Ok(self.call()?.now().as_millis_f64())
    }

    /// How far it is: `reached`, `connected`, `over`, `time_s`, `target_bps`, `sent_bytes`, `arrived_bytes`, `shown_frames`.
    fn progress<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        describe_progress(py, self.call()?.progress())
    }

    /// End it before its time.
    fn stop(&self) {
        if let Some(call) = &self.call {
            call.stop();
        }
    }

    /// Wait for the end, write the call's part of the folder, and tell how the machine did, and of each picture that
    /// came.
    fn finish<'py>(&mut self, py: Python<'py>) -> PyResult<(Bound<'py, PyDict>, Vec<Seen>)> {
        let call = self.call.take().ok_or_else(|| call_error("the call was finished before"))?;
        let labels = std::slice::from_ref(&self.labels);
        let mut told = finish_seen(py, &self.folder, labels, || Ok(vec![call.finish()?]))?;
        told.pop().ok_or_else(|| call_error("one call makes one report"))
    }
}

impl ReceivedCall {
    fn call(&self) -> PyResult<&ReceivingCall> {
        self.call.as_ref().ok_or_else(|| call_error("the call is finished"))
    }
}

/// The codecs of real calls, by name: why this build cannot code them, or `None` where it can.
#[pyfunction]
pub fn codecs(py: Python<'_>) -> PyResult<Bound<'_, PyDict>> {
    let dict = PyDict::new(py);
    for codec in Codec::ALL {
        dict.set_item(codec.name(), codec.check().err().map(|error| error.to_string()))?;
    }
    Ok(dict)
}

/// Write the first pictures of the generated scene as a Y4M file; all of them, so that it can be played in a loop without
/// a cut, unless told how many.
#[pyfunction]
#[pyo3(signature = (path, width, height, fps, frames = None))]
pub fn write_scene(
    py: Python<'_>,
    path: PathBuf,
    width: u16,
    height: u16,
    fps: u32,
    frames: Option<u64>,
) -> PyResult<()> {
    let frames = frames.unwrap_or_else(|| scene_period(width, height));
    py.detach(|| write_y4m(&generated(width, height, fps)?, frames, &path).map_err(call_error))
}

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

/// A plan with everything it names.
pub(crate) fn load(plan_json: &str) -> PyResult<LoadedPlan> {
    Plan::parse(plan_json).and_then(|plan| plan.load()).map_err(sim_error)
}

/// The place of a session's only call.
fn alone(loaded: &LoadedPlan, session: u64) -> PyResult<Place> {
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

/// How the machine did, as Python is told, and each picture.
pub(crate) type Told<'py> = (Bound<'py, PyDict>, Vec<Seen>);

/// Finish a session whose pictures came to ends of ours, write it, and tell of the machine and of each picture. `labels`:
/// of each of its calls.
pub(crate) fn finish_seen<'py>(
    py: Python<'py>,
    folder: &Path,
    labels: &[CallLabels],
    finish: impl FnOnce() -> Result<Vec<(Finished, Vec<SeenPicture>)>, EndpointError> + Send,
) -> PyResult<Vec<Told<'py>>> {
    let (reports, seen) = py.detach(|| {
        let (finished, seen): (Vec<_>, Vec<_>) = finish().map_err(call_error)?.into_iter().unzip();
        Ok::<_, PyErr>((write(folder, labels, finished)?, seen))
    })?;
    let told =
        reports.iter().zip(seen).map(|(report, seen)| Ok((describe(py, report)?, seen.iter().map(seen_row).collect())));
    told.collect()
}

/// Two calls end together: wait for the other of one that is over, or stop it.
pub(crate) fn settle(all_over: impl Fn() -> bool, stop: impl FnOnce()) {
    for _ in 0..100 {
        if all_over() {
            return;
        }
        thread::sleep(Duration::from_millis(10));
    }
    stop();
}

fn generated(width: u16, height: u16, fps: u32) -> PyResult<PictureSource> {
    let refused = || call_error(format!("fps = {fps}: outside 1 to 60"));
    let frame_rate = FrameRate::new(fps, 1).filter(|_| fps <= 60).ok_or_else(refused)?;
    Ok(PictureSource::Generated { width, height, frame_rate })
}

pub(crate) fn shown_frames(shown_ms: Vec<Shown>) -> Vec<ShownFrame> {
    let at = |ms: f64| Timestamp::ZERO + TimeDelta::from_millis_f64(ms);
    shown_ms
        .into_iter()
        .map(|(rtp_timestamp, received_ms, shown_ms)| ShownFrame {
            rtp_timestamp,
            received: received_ms.map(at),
            shown: at(shown_ms),
        })
        .collect()
}

/// Write the calls of a session, whose labels those are.
pub(crate) fn write(folder: &Path, labels: &[CallLabels], finished: Vec<Finished>) -> PyResult<Vec<CallReport>> {
    let named = labels.iter().cloned().zip(finished);
    let (calls, reports): (Vec<_>, Vec<_>) =
        named.map(|(labels, (summary, recorder, report))| ((labels, summary, recorder), report)).unzip();
    write_live(folder, &calls).map_err(sim_error)?;
    Ok(reports)
}

fn write_one(folder: &Path, labels: &CallLabels, finished: Finished) -> PyResult<CallReport> {
    let mut reports = write(folder, std::slice::from_ref(labels), vec![finished])?;
    reports.pop().ok_or_else(|| call_error("one call makes one report"))
}

pub(crate) fn describe_labels<'py>(py: Python<'py>, labels: &CallLabels) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    dict.set_item("call", labels.call)?;
    dict.set_item("controller", &*labels.controller)?;
    dict.set_item("trace", &*labels.trace)?;
    dict.set_item("clip", &*labels.clip)?;
    dict.set_item("encoder", &*labels.encoder)?;
    dict.set_item("seed", labels.seed)?;
    Ok(dict)
}

pub(crate) fn describe_progress(py: Python<'_>, progress: Progress) -> PyResult<Bound<'_, PyDict>> {
    let dict = PyDict::new(py);
    dict.set_item("reached", progress.reached)?;
    dict.set_item("connected", progress.connected)?;
    dict.set_item("over", progress.over)?;
    dict.set_item("time_s", progress.time.as_secs_f64())?;
    dict.set_item("target_bps", progress.target.as_bps())?;
    dict.set_item("sent_bytes", progress.sent_bytes)?;
    dict.set_item("arrived_bytes", progress.arrived_bytes)?;
    dict.set_item("shown_frames", progress.shown_frames)?;
    Ok(dict)
}

pub(crate) fn describe<'py>(py: Python<'py>, report: &CallReport) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    let lateness = &report.lateness;
    dict.set_item("valid", lateness.valid() && report.misnumbered == 0)?;
    dict.set_item("stopped", report.stopped)?;
    dict.set_item("compared", report.compared)?;
    dict.set_item("end_s", report.end.as_secs_f64())?;
    dict.set_item("connecting_s", report.connecting.as_secs_f64())?;
    dict.set_item("link_packets", lateness.packets)?;
    dict.set_item("lateness_p50_ms", lateness.p50_ms)?;
    dict.set_item("lateness_p99_ms", lateness.p99_ms)?;
    dict.set_item("lateness_p999_ms", lateness.p999_ms)?;
    dict.set_item("lateness_max_ms", lateness.max_ms)?;
    dict.set_item("odd_sizes", report.odd_sizes)?;
    dict.set_item("misnumbered", report.misnumbered)?;
    dict.set_item("misread", report.misread)?;
    dict.set_item("unreadable", report.unreadable)?;
    Ok(dict)
}
