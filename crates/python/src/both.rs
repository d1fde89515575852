//! A real call with a browser, media both ways: we send and it sends, in two connections over one emulated network.

use crate::call_parts::{Theirs, filmed, load, places, receiving, sending};
use crate::call_told::{
    Seen, Shown, Told, describe, describe_labels, describe_progress, seen_row, settle, shown_frames, write,
};
use crate::error::{call_error, sim_error};
use crate::vmaf::Interrupt;
use legato_control::RateLimits;
use legato_endpoint::{Call, Codec, Progress, ReceivingCall};
use legato_trace::CallLabels;
use legato_units::{DataRate, TimeDelta};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::path::PathBuf;

/// One call with a peer that Python brings, in which both send.
#[pyclass(module = "legato._core")]
pub struct BothCall {
    /// What we send and what we are sent, until it is finished.
    ways: Option<(Call, ReceivingCall)>,
    interrupt: Interrupt,
    labels: [CallLabels; 2],
    duration: TimeDelta,
    limits: RateLimits,
    folder: PathBuf,
}

#[pymethods]
impl BothCall {
    /// Set up session `session` of a plan of two calls: two sockets on the loopback interface, an offer of what we send,
    /// and the answer to the peer's `offer`. Pictures, codec and `ffmpeg` as of `RealCall`; `their_clip`, `their_encoder` and
    /// `their_width` as of `ReceivedCall`.
    #[new]
    #[pyo3(signature = (
        plan_json, session, out_dir, offer, *, their_clip, their_encoder, their_width, clip = None, width = 1280,
        height = 720, fps = 30, codec = "h264", ffmpeg = None
    ))]
    #[expect(clippy::too_many_arguments, reason = "Python names them")]
    fn new(
        py: Python<'_>,
        plan_json: &str,
        session: u64,
        out_dir: PathBuf,
        offer: &str,
        their_clip: String,
        their_encoder: String,
        their_width: u16,
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
            let places = <[_; 2]>::try_from(places(&loaded, session)?);
            let [ours, back] = places.map_err(|_| call_error("calls: two are needed for media both ways"))?;
            let live = loaded.live(session, 0, video).map_err(sim_error)?;
            let (setup, own_labels) = sending(live, camera, ours);
            let theirs = Theirs { clip: their_clip, encoder: their_encoder, width: their_width, codec };
            let (back, flow) = receiving(&loaded, session, 1, theirs, back)?;
            let sent = Call::open(setup).map_err(call_error)?;
            let received = ReceivingCall::open(back, offer).map_err(call_error)?;
            let (labels, duration, limits) = ([own_labels, flow.labels], flow.duration, flow.limits);
            Ok(Self { ways: Some((sent, received)), interrupt, labels, duration, limits, folder: out_dir })
        })
    }

    /// How long media flow, in s.
    #[getter]
    fn duration_s(&self) -> f64 {
        self.duration.as_secs_f64()
    }

    /// Least, first and greatest target of what the peer sends, in bit/s.
    #[getter]
    fn limits_bps(&self) -> (u64, u64, u64) {
        let RateLimits { min, start, max } = self.limits;
        (min.as_bps(), start.as_bps(), max.as_bps())
    }

    /// What names each way in tables, ours first.
    #[getter]
    fn labels<'py>(&self, py: Python<'py>) -> PyResult<Vec<Bound<'py, PyDict>>> {
        self.labels.iter().map(|labels| describe_labels(py, labels)).collect()
    }

    /// The offer of what we send, as a session description.
    #[getter]
    fn offer(&self) -> PyResult<&str> {
        Ok(self.ways()?.0.offer())
    }

    /// The answer to the peer's offer, to be given once `reached`: what the peer sends begins the call.
    #[getter]
    fn own_answer(&self) -> PyResult<&str> {
        Ok(self.ways()?.1.answer())
    }

    /// Take the other end's answer to our offer.
    fn answer(&self, sdp: &str) -> PyResult<()> {
        self.ways()?.0.answer(sdp).map_err(call_error)
    }

    /// What the peer's rate control aims at from now on, in bit/s; of interest where none of ours decides.
    fn aims_at(&self, target_bps: u64) -> PyResult<()> {
        self.ways()?.1.aims_at(DataRate::from_bps(target_bps));
        Ok(())
    }

    /// The call's time in ms; before media began, since it was set up.
    fn now_ms(&self) -> PyResult<f64> {
        Ok(self.ways()?.0.now().as_millis_f64())
    }

    /// How far what we send is, `over` where either way is: as of `RealCall`; `shown_frames` are the peer's.
    fn progress<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let (sent, received) = self.ways()?;
        let (sent, received) = (sent.progress(), received.progress());
        let over = sent.over || received.over;
        describe_progress(py, Progress { over, shown_frames: received.shown_frames, ..sent })
    }

    /// End it before its time.
    fn stop(&self) {
        if let Some((sent, received)) = &self.ways {
            sent.stop();
            received.stop();
        }
    }

    /// Wait for the end, write the session's part of the folder, and tell of each way how the machine did, and of each
    /// picture of the peer's. `shown_ms`: ours, as the peer tells of them.
    fn finish<'py>(&mut self, py: Python<'py>, shown_ms: Vec<Shown>) -> PyResult<Vec<Told<'py>>> {
        let (sent, received) = self.ways.take().ok_or_else(|| call_error("the call was finished before"))?;
        let finished = py.detach(|| {
            let all_over = || sent.progress().over && received.progress().over;
            if sent.progress().over || received.progress().over {
                settle(all_over, || {
                    sent.stop();
                    received.stop();
                });
            }
            let sent = sent.finish(&shown_frames(shown_ms)).map_err(call_error)?;
            let (received, seen) = received.finish().map_err(call_error)?;
            Ok::<_, PyErr>((write(&self.folder, &self.labels, vec![sent, received])?, seen))
        });
        self.interrupt.result()?;
        let (reports, seen) = finished?;
        let pictures: [Vec<Seen>; 2] = [Vec::new(), seen.iter().map(seen_row).collect()];
        reports.iter().zip(pictures).map(|(report, pictures)| Ok((describe(py, report)?, pictures))).collect()
    }
}

impl BothCall {
    fn ways(&self) -> PyResult<&(Call, ReceivingCall)> {
        self.ways.as_ref().ok_or_else(|| call_error("the call is finished"))
    }
}
