//! The results of real calls: written as a part of their run folder, and reported to Python.

use crate::error::sim_error;
use legato_endpoint::{CallReport, Finished, Progress, SeenPicture, ShownFrame};
use legato_sim::write_live;
use legato_trace::CallLabels;
use legato_units::{TimeDelta, Timestamp};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::path::Path;

/// A frame as another's end reports it: RTP time, when its last packet came and when it was shown, in ms of the
/// call's time.
pub(crate) type Shown = (u32, Option<f64>, f64);

/// A picture as Legato's receiving end saw it. It has RTP time, and the times at which it was whole, was shown and was
/// due, in ms of the call's time. Then decoding time in ms, columns, rows, and the number in it.
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

/// How the machine did in one direction, as Python gets it, and each picture that a Legato end received.
pub(crate) type Report<'py> = (Bound<'py, PyDict>, Vec<Seen>);

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
    dict.set_item("vmaf_problem", report.vmaf_problem.as_deref())?;
    Ok(dict)
}
