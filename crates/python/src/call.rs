//! Real calls: a plan's session put together by `legato_sim`, driven by `legato_endpoint`, written as a part of a
//! run folder. Python plays the signalling between the two ends, and brings what the other end tells of frames.

use crate::error::{call_error, sim_error};
use legato_endpoint::{Call, CallReport, CallSetup, Camera, Datagram, PictureSource, ShownFrame};
use legato_media::FrameRate;
use legato_sim::{LiveCall, LiveVideo, Plan, open_live_folder, write_live};
use legato_trace::CallLabels;
use legato_units::{TimeDelta, Timestamp};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::path::PathBuf;

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
type Shown = (u32, Option<f64>, f64);

/// Open the run folder of a plan's real calls; how many there are.
#[pyfunction]
pub fn open_call_folder(py: Python<'_>, plan_json: &str, out_dir: PathBuf) -> PyResult<u64> {
    py.detach(|| {
        let plan = Plan::parse(plan_json)?;
        let loaded = plan.load()?;
        open_live_folder(&plan, &loaded, &out_dir)?;
        Ok(loaded.calls())
    })
    .map_err(sim_error)
}

#[pymethods]
impl RealCall {
    /// Set up call `session` of a plan: a socket on the loopback interface, an offer. Pictures are those of the
    /// Y4M file `clip`, or generated at `width`, `height` and `fps`.
    #[new]
    #[pyo3(signature = (plan_json, session, out_dir, *, clip = None, width = 1280, height = 720, fps = 30))]
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
    ) -> PyResult<Self> {
        py.detach(|| {
            let source = match clip {
                Some(path) => PictureSource::Y4m(path),
                None => {
                    let refused = || call_error(format!("fps = {fps}: outside 1 to 60"));
                    let frame_rate = FrameRate::new(fps, 1).filter(|_| fps <= 60).ok_or_else(refused)?;
                    PictureSource::Generated { width, height, frame_rate }
                }
            };
            let (camera, encoder) = Camera::open(&source).map_err(call_error)?;
            let video = LiveVideo {
                content: camera.content(),
                encoder,
                clip: camera.label().to_owned(),
                encoder_name: "openh264 (real)".to_owned(),
            };
            let loaded = Plan::parse(plan_json).and_then(|plan| plan.load()).map_err(sim_error)?;
            let live: LiveCall<Datagram> = loaded.live(session, video).map_err(sim_error)?;
            let LiveCall { sender, forward, reverse, duration, turns, level, labels } = live;
            let setup = CallSetup { sender, camera, forward, reverse, duration, turns, level };
            let call = Some(Call::open(setup).map_err(call_error)?);
            Ok(Self { call, labels, duration, folder: out_dir })
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
        let labels = PyDict::new(py);
        labels.set_item("call", self.labels.call)?;
        labels.set_item("controller", &*self.labels.controller)?;
        labels.set_item("trace", &*self.labels.trace)?;
        labels.set_item("clip", &*self.labels.clip)?;
        labels.set_item("seed", self.labels.seed)?;
        Ok(labels)
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

    /// How far it is: `connected`, `over`, `time_s`, `target_bps`, `sent_bytes`, `arrived_bytes`.
    fn progress<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let progress = self.call()?.progress();
        let dict = PyDict::new(py);
        dict.set_item("connected", progress.connected)?;
        dict.set_item("over", progress.over)?;
        dict.set_item("time_s", progress.time.as_secs_f64())?;
        dict.set_item("target_bps", progress.target.as_bps())?;
        dict.set_item("sent_bytes", progress.sent_bytes)?;
        dict.set_item("arrived_bytes", progress.arrived_bytes)?;
        Ok(dict)
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
            let at = |ms: f64| Timestamp::ZERO + TimeDelta::from_millis_f64(ms);
            let shown: Vec<_> = shown_ms
                .into_iter()
                .map(|(rtp_timestamp, received_ms, shown_ms)| ShownFrame {
                    rtp_timestamp,
                    received: received_ms.map(at),
                    shown: at(shown_ms),
                })
                .collect();
            let (summary, recorder, report) = call.finish(&shown).map_err(call_error)?;
            write_live(&self.folder, self.labels.clone(), summary, &recorder).map_err(sim_error)?;
            Ok::<_, PyErr>(report)
        })?;
        describe(py, &report)
    }
}

impl RealCall {
    fn call(&self) -> PyResult<&Call> {
        self.call.as_ref().ok_or_else(|| call_error("the call is finished"))
    }
}

fn describe<'py>(py: Python<'py>, report: &CallReport) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    let lateness = &report.lateness;
    dict.set_item("valid", lateness.valid() && report.misnumbered == 0)?;
    dict.set_item("stopped", report.stopped)?;
    dict.set_item("end_s", report.end.as_secs_f64())?;
    dict.set_item("connecting_s", report.connecting.as_secs_f64())?;
    dict.set_item("link_packets", lateness.packets)?;
    dict.set_item("lateness_p50_ms", lateness.p50_ms)?;
    dict.set_item("lateness_p99_ms", lateness.p99_ms)?;
    dict.set_item("lateness_p999_ms", lateness.p999_ms)?;
    dict.set_item("lateness_max_ms", lateness.max_ms)?;
    dict.set_item("odd_sizes", report.odd_sizes)?;
    dict.set_item("misnumbered", report.misnumbered)?;
    Ok(dict)
}
