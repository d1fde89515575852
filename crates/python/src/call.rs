//! Real calls: a plan's session put together by `legato_sim`, driven by `legato_endpoint`, written as a part of a run
//! folder. Python carries the session descriptions of foreign ends, and their reports of frames.

use crate::call_parts::{Ends, Others, Parts, Pictures, generated};
use crate::call_report::{Report, Shown, describe, describe_labels, describe_progress, seen_row, shown_frames, write};
use crate::error::{call_error, sim_error};
use crate::learning::LiveExchange;
use crate::tun::TunPair;
use crate::vmaf::Interrupt;
use legato_codec::{find, names, remedy};
use legato_control::RateLimits;
use legato_endpoint::{Session, scene_period, write_y4m};
use legato_sim::{Plan, open_live_folder};
use legato_trace::CallLabels;
use legato_units::{DataRate, TimeDelta};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::path::PathBuf;

/// One session of real calls, with media in one direction or two, between Legato's ends and ends that Python brings.
#[pyclass(module = "legato._core")]
pub struct RealCall {
    /// Until it is finished.
    session: Option<Session>,
    interrupt: Interrupt,
    labels: Vec<CallLabels>,
    limits: Vec<RateLimits>,
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
    /// Set up session `number` of a plan. `session` is a `legato.call.ends.Session`; by default Legato's end sends to a
    /// browser. `pictures` is a `legato.call.Pictures`; `others` a `legato.call.ends.Others`, needed where a foreign
    /// end sends. With `tuns` the network is between these namespaces, else on the loopback interface. `ffmpeg` is the
    /// one that measures VMAF. `learning` sets the actions of the sending end's controller, with weights from a
    /// learner. Directions between two Legato ends connect at once.
    #[new]
    #[pyo3(signature = (
        plan_json, number, out_dir, session = None, *, pictures = None, others = None, tuns = None, ffmpeg = None,
        learning = None
    ))]
    #[expect(clippy::too_many_arguments, reason = "Python names them")]
    fn new(
        py: Python<'_>,
        plan_json: &str,
        number: u64,
        out_dir: PathBuf,
        session: Option<Ends>,
        pictures: Option<Pictures>,
        others: Option<Others>,
        tuns: Option<&TunPair>,
        ffmpeg: Option<PathBuf>,
        learning: Option<&LiveExchange>,
    ) -> PyResult<Self> {
        let interrupt = Interrupt::default();
        let (ends, pictures) = (session.unwrap_or_default(), pictures.unwrap_or_default());
        let hosts = tuns.map(TunPair::pair).transpose()?;
        py.detach(|| {
            let (plan, session, interrupt) = (plan_json, number, &interrupt);
            let ways = Parts { plan, session, ends, pictures, others, hosts, ffmpeg, learning, interrupt }.ways()?;
            let duration = ways.first().map_or(TimeDelta::ZERO, |way| way.duration);
            let (labels, limits) = ways.iter().map(|way| (way.labels.clone(), way.limits)).unzip();
            let opened = Session::open(ways.into_iter().map(|way| way.setup)).map_err(call_error)?;
            let (session, interrupt) = (Some(opened), interrupt.clone());
            Ok(Self { session, interrupt, labels, limits, duration, folder: out_dir })
        })
    }

    /// How long media flow, in s.
    #[getter]
    fn duration_s(&self) -> f64 {
        self.duration.as_secs_f64()
    }

    /// What names each way in tables: number, controller, trace, clip, encoder, seed.
    #[getter]
    fn labels<'py>(&self, py: Python<'py>) -> PyResult<Vec<Bound<'py, PyDict>>> {
        self.labels.iter().map(|labels| describe_labels(py, labels)).collect()
    }

    /// Minimum, first and maximum target of each way in the scenario, in bit/s.
    #[getter]
    fn limits_bps(&self) -> Vec<(u64, u64, u64)> {
        self.limits.iter().map(|limits| (limits.min.as_bps(), limits.start.as_bps(), limits.max.as_bps())).collect()
    }

    /// The offer of a way, as its receiving end is to see it. `theirs`: the sending end's own, unless that is ours.
    #[pyo3(signature = (way = 0, theirs = None))]
    fn offer(&mut self, py: Python<'_>, way: usize, theirs: Option<&str>) -> PyResult<String> {
        let session = self.under_way_mut()?;
        py.detach(|| session.offer(way, theirs)).map_err(call_error)
    }

    /// The answer, as the sending end is to see it. `theirs`: the receiving end's own, unless that is ours.
    #[pyo3(signature = (way = 0, theirs = None))]
    fn answer(&mut self, way: usize, theirs: Option<&str>) -> PyResult<String> {
        self.under_way_mut()?.answer(way, theirs).map_err(call_error)
    }

    /// The present target, in bit/s, of a foreign sending end's rate control; of interest where no controller of Legato
    /// decides.
    fn aims_at(&self, way: usize, target_bps: u64) -> PyResult<()> {
        self.under_way()?.aims_at(way, DataRate::from_bps(target_bps));
        Ok(())
    }

    /// The session's time in ms; before media began, since it was set up.
    fn now_ms(&self) -> PyResult<f64> {
        Ok(self.under_way()?.now().as_millis_f64())
    }

    /// How far the first way is, `over` where any is: `reached`, `connected`, `over`, `time_s`, `target_bps`,
    /// `sent_bytes`, `arrived_bytes`, `shown_frames`.
    fn progress<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        describe_progress(py, self.under_way()?.progress())
    }

    /// End it early.
    fn stop(&self) {
        if let Some(session) = &self.session {
            session.stop();
        }
    }

    /// Waits for the end and writes the session's part of the folder. Returns how the machine did on each direction,
    /// and each picture that a Legato end received. `shown_ms`: the frames of each way as another's receiving end
    /// reports them.
    #[pyo3(signature = (shown_ms = Vec::new()))]
    fn finish<'py>(&mut self, py: Python<'py>, shown_ms: Vec<Vec<Shown>>) -> PyResult<Vec<Report<'py>>> {
        let session = self.session.take().ok_or_else(|| call_error("the call was finished before"))?;
        let finished = py.detach(|| {
            let shown: Vec<_> = shown_ms.into_iter().map(shown_frames).collect();
            let finished = session.finish(&shown).map_err(call_error)?;
            let (finished, seen): (Vec<_>, Vec<_>) = finished.into_iter().unzip();
            Ok::<_, PyErr>((write(&self.folder, &self.labels, finished)?, seen))
        });
        self.interrupt.result()?;
        let (reports, seen) = finished?;
        let rows = seen.iter().map(|seen| seen.iter().map(seen_row).collect());
        reports.iter().zip(rows).map(|(report, rows)| Ok((describe(py, report)?, rows))).collect()
    }
}

impl RealCall {
    fn under_way(&self) -> PyResult<&Session> {
        self.session.as_ref().ok_or_else(|| call_error("the call is finished"))
    }

    fn under_way_mut(&mut self) -> PyResult<&mut Session> {
        self.session.as_mut().ok_or_else(|| call_error("the call is finished"))
    }
}

/// A codec of real calls, in this build.
#[pyclass(module = "legato._core", frozen, get_all)]
pub struct CallCodec {
    /// Why this build cannot code it; `None` where it can.
    why_not: Option<String>,
    /// How to build Legato so that it can; `None` where every build can.
    remedy: Option<String>,
    /// No one but Legato knows it.
    ours_alone: bool,
    /// How it recovers from losses: by itself the first.
    recoveries: Vec<String>,
}

/// The codecs of real calls, by name.
#[pyfunction]
pub fn codecs(py: Python<'_>) -> PyResult<Bound<'_, PyDict>> {
    let dict = PyDict::new(py);
    for name in names() {
        let found = find(name);
        let checked = found.clone().and_then(|codec| (codec.check)());
        let why_not = checked.err().map(|error| error.to_string());
        let streams = found.as_ref().map_or(&[][..], |codec| codec.streams);
        let recoveries = streams.iter().map(|stream| stream.recovery.to_string()).collect();
        let ours_alone = found.is_ok_and(|codec| codec.ours_alone);
        dict.set_item(name, Py::new(py, CallCodec { why_not, remedy: remedy(name), ours_alone, recoveries })?)?;
    }
    Ok(dict)
}

/// Write the first pictures of the generated scene as a Y4M file; by default all of them, so that it can be played in a
/// loop without a cut.
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
