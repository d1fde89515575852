//! Real calls: a plan's session put together by `legato_sim`, driven by `legato_endpoint`, written as a part of a
//! run folder. Python plays the signalling between the two ends, and brings what the other end tells of frames.

use crate::call_parts::{Theirs, alone, filmed, generated, load, receiving, sending};
use crate::call_told::{
    Seen, Shown, describe, describe_labels, describe_progress, finish_seen, shown_frames, write_one,
};
use crate::error::{call_error, sim_error};
use crate::tun::TunPair;
use crate::vmaf::Interrupt;
use legato_control::RateLimits;
use legato_endpoint::{Between, Call, Codec, Datagram, ReceivingCall, Relay, RelaySetup, scene_period, write_y4m};
use legato_sim::{LiveFlow, LiveNetwork, Plan, open_live_folder};
use legato_trace::CallLabels;
use legato_units::{DataRate, TimeDelta};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::path::PathBuf;

/// One call with a peer that Python brings.
#[pyclass(module = "legato._core")]
pub struct RealCall {
    /// Until it is finished.
    call: Option<Call>,
    interrupt: Interrupt,
    labels: CallLabels,
    duration: TimeDelta,
    folder: PathBuf,
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
    /// Y4M file `clip`, or generated at `width`, `height` and `fps`; `codec` is one of `codecs`; `ffmpeg`: one to measure VMAF with.
    #[new]
    #[pyo3(signature = (
        plan_json, session, out_dir, *, clip = None, width = 1280, height = 720, fps = 30, codec = "h264", ffmpeg = None
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
        ffmpeg: Option<PathBuf>,
    ) -> PyResult<Self> {
        let interrupt = Interrupt::default();
        py.detach(|| {
            let codec: Codec = codec.parse().map_err(call_error)?;
            let (mut camera, video) = filmed(clip, (width, height), fps, codec)?;
            ffmpeg.into_iter().for_each(|ffmpeg| camera.measure_vmaf(interrupt.ends(ffmpeg)));
            let loaded = load(plan_json)?;
            let live = loaded.live(session, 0, video).map_err(sim_error)?;
            let (setup, labels) = sending(live, camera, alone(&loaded, session)?);
            let duration = setup.duration;
            let call = Some(Call::open(setup).map_err(call_error)?);
            Ok(Self { call, interrupt, labels, duration, folder: out_dir })
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
        });
        self.interrupt.result()?;
        describe(py, &report?)
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
