//! A real call between two ends of ours: set up and connected in one go, since nobody else has to answer.

use crate::call::{Seen, describe_labels, describe_progress, filmed, finish_seen};
use crate::error::{call_error, sim_error};
use crate::vmaf::Interrupt;
use legato_endpoint::{CallSetup, Codec, Datagram, PairCall, PairSetup};
use legato_sim::{LiveCall, LiveLink, LiveReceiver, Plan};
use legato_trace::CallLabels;
use legato_units::TimeDelta;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::path::PathBuf;

/// One call of ours with us.
#[pyclass(module = "legato._core")]
pub struct OwnCall {
    /// Until it is finished.
    call: Option<PairCall>,
    interrupt: Interrupt,
    labels: CallLabels,
    duration: TimeDelta,
    folder: PathBuf,
}

#[pymethods]
impl OwnCall {
    /// Set up call `session` of a plan and begin. Pictures, codec and `ffmpeg` as of `RealCall`.
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
            let loaded = Plan::parse(plan_json).and_then(|plan| plan.load()).map_err(sim_error)?;
            ffmpeg.into_iter().for_each(|ffmpeg| camera.measure_vmaf(interrupt.ends(ffmpeg)));
            let (live, receiver) = loaded.live_pair::<Datagram>(session, video).map_err(sim_error)?;
            let LiveCall { sender, turns, adapt_resolution, link } = live;
            camera.adapt_resolution(adapt_resolution);
            let LiveLink { forward, reverse, duration, level, labels, .. } = link;
            let LiveReceiver { controller, playout, nack } = receiver;
            let call = CallSetup { sender, camera, forward, reverse, duration, turns, level };
            let call = PairCall::open(PairSetup { call, controller, playout, nack }).map_err(call_error)?;
            Ok(Self { call: Some(call), interrupt, labels, duration, folder: out_dir })
        })
    }

    /// How long media flow, in s.
    #[getter]
    fn duration_s(&self) -> f64 {
        self.duration.as_secs_f64()
    }

    /// What names the call in tables: number, controller, trace, seed.
    #[getter]
    fn labels<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        describe_labels(py, &self.labels)
    }

    /// The call's time in ms; before media began, since it was set up.
    fn now_ms(&self) -> PyResult<f64> {
        Ok(self.call()?.now().as_millis_f64())
    }

    /// How far it is: `connected`, `over`, `time_s`, `target_bps`, `sent_bytes`, `arrived_bytes`, `shown_frames`.
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
        let told = finish_seen(py, &self.folder, &self.labels, || call.finish());
        self.interrupt.result()?;
        told
    }
}

impl OwnCall {
    fn call(&self) -> PyResult<&PairCall> {
        self.call.as_ref().ok_or_else(|| call_error("the call is finished"))
    }
}
