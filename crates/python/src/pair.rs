//! A real call between two ends of ours: set up and connected in one go, since nobody else has to answer. Or two whose
//! media go opposite ways, where the plan has two.

use crate::call_parts::{filmed, load, places, sending};
use crate::call_told::{Told, describe_labels, describe_progress, finish_seen, settle};
use crate::error::{call_error, sim_error};
use crate::vmaf::Interrupt;
use legato_endpoint::{Codec, PairCall, PairSetup, Progress};
use legato_sim::LiveReceiver;
use legato_trace::CallLabels;
use legato_units::TimeDelta;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::path::PathBuf;

/// One call of ours with us, one way or both.
#[pyclass(module = "legato._core")]
pub struct OwnCall {
    /// One for each way, until it is finished.
    ways: Vec<PairCall>,
    interrupt: Interrupt,
    labels: Vec<CallLabels>,
    duration: TimeDelta,
    folder: PathBuf,
}

#[pymethods]
impl OwnCall {
    /// Set up session `session` of a plan and begin. Pictures, codec and `ffmpeg` as of `RealCall`.
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
            let loaded = load(plan_json)?;
            let (ways, labels, duration) = (Vec::new(), Vec::new(), TimeDelta::ZERO);
            let mut own = Self { ways, interrupt, labels, duration, folder: out_dir };
            for (n, place) in places(&loaded, session)?.into_iter().enumerate() {
                let (mut camera, video) = filmed(clip.clone(), (width, height), fps, codec)?;
                ffmpeg.iter().for_each(|ffmpeg| camera.measure_vmaf(own.interrupt.ends(ffmpeg.clone())));
                let (live, receiver) = loaded.live_pair(session, n, video).map_err(sim_error)?;
                let LiveReceiver { controller, playout, nack } = receiver;
                let (call, labels) = sending(live, camera, place);
                own.duration = call.duration;
                own.labels.push(labels);
                own.ways.push(PairCall::open(PairSetup { call, controller, playout, nack }).map_err(call_error)?);
            }
            Ok(own)
        })
    }

    /// How long media flow, in s.
    #[getter]
    fn duration_s(&self) -> f64 {
        self.duration.as_secs_f64()
    }

    /// What names each way in tables: number, controller, trace, seed.
    #[getter]
    fn labels<'py>(&self, py: Python<'py>) -> PyResult<Vec<Bound<'py, PyDict>>> {
        self.labels.iter().map(|labels| describe_labels(py, labels)).collect()
    }

    /// The call's time in ms; before media began, since it was set up.
    fn now_ms(&self) -> PyResult<f64> {
        Ok(self.first()?.now().as_millis_f64())
    }

    /// How far its first way is, `over` where any is: `reached`, `connected`, `over`, `time_s`, `target_bps`, `sent_bytes`, `arrived_bytes`, `shown_frames`.
    fn progress<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let over = self.ways.iter().any(|way| way.progress().over);
        describe_progress(py, Progress { over, ..self.first()?.progress() })
    }

    /// End it before its time.
    fn stop(&self) {
        self.ways.iter().for_each(PairCall::stop);
    }

    /// Wait for the end, write the session's part of the folder, and tell of each way how the machine did, and of each
    /// picture that came.
    fn finish<'py>(&mut self, py: Python<'py>) -> PyResult<Vec<Told<'py>>> {
        self.first()?;
        let ways = std::mem::take(&mut self.ways);
        let told = finish_seen(py, &self.folder, &self.labels, || {
            if ways.iter().any(|way| way.progress().over) {
                settle(|| ways.iter().all(|way| way.progress().over), || ways.iter().for_each(PairCall::stop));
            }
            ways.into_iter().map(PairCall::finish).collect()
        });
        self.interrupt.result()?;
        told
    }
}

impl OwnCall {
    fn first(&self) -> PyResult<&PairCall> {
        self.ways.first().ok_or_else(|| call_error("the call is finished"))
    }
}
