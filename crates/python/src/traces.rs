//! Capacity traces: read in any format, written as CSV.

use crate::error::trace_error;
use legato_path::OverTime;
use legato_path::capacity::Cut;
use legato_path::trace_file::{self, Conditions, Format, Profile, Sample, Series};
use legato_units::{DataRate, DataSize, TimeDelta};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use std::collections::BTreeSet;
use std::fmt::Write;
use std::path::PathBuf;

/// Recorded delivery opportunities are written as mean rates over this.
const SAVED_STEP: TimeDelta = TimeDelta::from_millis(100);

/// The recorded capacity of a link. `load_trace` makes them.
#[pyclass(frozen, module = "legato._core")]
pub struct Trace(trace_file::Trace);

/// The trace in a file, gzipped or not, in any known format. Where a file holds several, `path#part` names one; without
/// a part the longest is taken. `format` names the format where the content is ambiguous.
#[pyfunction]
#[pyo3(signature = (path, format = None))]
pub fn load_trace(py: Python<'_>, path: &str, format: Option<&str>) -> PyResult<Trace> {
    let format = format.map(format_named).transpose()?;
    let read = py.detach(|| trace_file::read(path, format));
    read.map(Trace).map_err(|error| trace_error(error.to_string()))
}

/// All traces of a file, one or more.
#[pyfunction]
#[pyo3(signature = (path, format = None))]
pub fn load_traces(py: Python<'_>, path: &str, format: Option<&str>) -> PyResult<Vec<Trace>> {
    let format = format.map(format_named).transpose()?;
    let read = py.detach(|| trace_file::read_all(path, format));
    read.map(|traces| traces.into_iter().map(Trace).collect()).map_err(|error| trace_error(error.to_string()))
}

fn format_named(name: &str) -> PyResult<Format> {
    let known = || Format::ALL.map(Format::name).join(", ");
    Format::by_name(name).ok_or_else(|| trace_error(format!("format = {name}: not one of {}", known())))
}

#[pymethods]
impl Trace {
    /// Name of the file without folders and `.gz`, with `#part` where the file holds several.
    #[getter]
    fn name(&self) -> &str {
        &self.0.name
    }

    /// The data set it belongs to, or else its format.
    #[getter]
    fn family(&self) -> &str {
        &self.0.family
    }

    /// Format of the file.
    #[getter]
    fn format(&self) -> &'static str {
        self.0.format.name()
    }

    /// Duration in seconds.
    #[getter]
    fn duration_s(&self) -> f64 {
        self.0.duration().as_secs_f64()
    }

    /// Mean rate in bit/s.
    #[getter]
    fn mean_rate_bps(&self) -> u64 {
        self.0.mean_rate().as_bps()
    }

    /// Times in s and mean rates in bit/s, as two numpy arrays; each rate is the mean over the `interval_s` that
    /// start at its time.
    fn rates<'py>(&self, py: Python<'py>, interval_s: f64) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyAny>)> {
        if !(interval_s.is_finite() && interval_s > 0.0) {
            return Err(trace_error(format!("interval_s = {interval_s}: has to be above 0")));
        }
        let rates = py.detach(|| self.0.rates(TimeDelta::from_secs_f64(interval_s)));
        let interval_s = interval_s.max(self.duration_s() / 1e6);
        let times = array(py, (0..rates.len()).map(|n| n as f64 * interval_s))?;
        Ok((times, array(py, rates.iter().map(|rate| rate.as_bps_f64()))?))
    }

    /// Means of its other records, each over the `interval_s` that start at the times of `rates`; `None` where it has
    /// none: one-way propagation delay in ms (half of a round-trip time).
    fn propagation_ms<'py>(&self, py: Python<'py>, interval_s: f64) -> PyResult<Option<Bound<'py, PyAny>>> {
        self.means(py, interval_s, self.conditions().propagation.as_ref(), TimeDelta::as_millis_f64)
    }

    /// The same of the random loss, 0 to 1.
    fn loss_ratio<'py>(&self, py: Python<'py>, interval_s: f64) -> PyResult<Option<Bound<'py, PyAny>>> {
        self.means(py, interval_s, self.conditions().loss_ratio.as_ref(), |ratio| ratio)
    }

    /// The same of the cross traffic in bit/s.
    fn cross_traffic_bps<'py>(&self, py: Python<'py>, interval_s: f64) -> PyResult<Option<Bound<'py, PyAny>>> {
        self.means(py, interval_s, self.conditions().cross_traffic.as_ref(), DataRate::as_bps_f64)
    }

    /// The bottleneck's buffer, where it was fitted.
    #[getter]
    fn queue_bytes(&self) -> Option<u64> {
        self.conditions().queue.map(DataSize::as_bytes)
    }

    /// The minimum rate in bit/s and the share of the time at it; `None` for delivery opportunities. Where a log has a
    /// floor, that is it.
    #[getter]
    fn minimum(&self) -> Option<(u64, f64)> {
        self.0.minimum().map(|(rate, share)| (rate.as_bps(), share))
    }

    /// Write it as CSV, `time_s,rate_bps` and, where it records them, `rtt_ms` and `loss_ratio`: each row holds until the
    /// next time. Delivery opportunities become mean rates over 100 ms.
    fn save(&self, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        py.detach(|| std::fs::write(&path, self.text()))
            .map_err(|error| trace_error(format!("{}: {error}", path.display())))
    }

    fn __repr__(&self) -> String {
        let mbps = self.0.mean_rate().as_bps_f64() / 1e6;
        format!("<Trace {} ({}): {:.0} s, mean {mbps:.2} Mbit/s>", self.0.name, self.0.family, self.duration_s())
    }
}

impl Trace {
    fn conditions(&self) -> Conditions {
        self.0.conditions(&Cut::default())
    }

    fn means<'py, T: Copy + PartialEq>(
        &self,
        py: Python<'py>,
        interval_s: f64,
        values: Option<&OverTime<T>>,
        number: impl Fn(T) -> f64,
    ) -> PyResult<Option<Bound<'py, PyAny>>> {
        if !(interval_s.is_finite() && interval_s > 0.0) {
            return Err(trace_error(format!("interval_s = {interval_s}: has to be above 0")));
        }
        let step = TimeDelta::from_secs_f64(interval_s);
        values.map(|values| array(py, values.means(step, self.0.duration(), number).into_iter())).transpose()
    }

    fn text(&self) -> String {
        let mut rows: Vec<(TimeDelta, DataRate)> = match &self.0.profile {
            Profile::Opportunities(_) => {
                let starts = (0..).map(|n| TimeDelta::from_nanos(n * SAVED_STEP.as_nanos()));
                starts.zip(self.0.rates(SAVED_STEP)).collect()
            }
            Profile::Rates(table) => table.steps().collect(),
        };
        // Readers take the last row to last as long as the one before it: it is written in two halves of equal length.
        if let Some(&(start, rate)) = rows.last() {
            let half = (self.0.duration() - start).as_nanos() / 2;
            rows.push((start + TimeDelta::from_nanos(half.max(1)), rate));
        }
        let Series { rtt, loss_ratio, .. } = &self.0.series;
        // Each row has all columns: where only one of them changes, the others are repeated.
        let times = rtt.iter().map(|sample| sample.at).chain(loss_ratio.iter().map(|sample| sample.at));
        let starts: BTreeSet<TimeDelta> = rows.iter().map(|&(start, _)| start).collect();
        let between: BTreeSet<TimeDelta> = times.filter(|at| !starts.contains(at)).collect();
        let rate_at = |at| rows[rows.partition_point(|&(start, _)| start <= at).max(1) - 1].1;
        let between: Vec<_> = between.into_iter().map(|at| (at, rate_at(at))).collect();
        rows.extend(between);
        rows.sort_by_key(|&(start, _)| start);
        let columns = [("rtt_ms", !rtt.is_empty()), ("loss_ratio", !loss_ratio.is_empty())];
        let named: String =
            columns.into_iter().filter(|column| column.1).map(|column| format!(",{}", column.0)).collect();
        let mut text = format!("time_s,rate_bps{named}\n");
        for (start, rate) in rows {
            let rtt = held(rtt, start).map_or_else(String::new, |rtt| format!(",{}", rtt.as_millis_f64()));
            let lost = held(loss_ratio, start).map_or_else(String::new, |ratio| format!(",{ratio}"));
            let start = start.as_secs_f64();
            writeln!(text, "{start},{}{rtt}{lost}", rate.as_bps()).expect("writing to a String cannot fail");
        }
        text
    }
}

/// The sample of a time; the first holds before its time.
fn held<T: Copy>(samples: &[Sample<T>], at: TimeDelta) -> Option<T> {
    let place = samples.partition_point(|sample| sample.at <= at).max(1) - 1;
    samples.get(place).map(|sample| sample.value)
}

/// A numpy array of float64.
fn array<'py>(py: Python<'py>, values: impl Iterator<Item = f64>) -> PyResult<Bound<'py, PyAny>> {
    let bytes: Vec<u8> = values.flat_map(f64::to_ne_bytes).collect();
    let flat = py.import("numpy")?.call_method1("frombuffer", (PyBytes::new(py, &bytes), "float64"))?;
    flat.call_method0("copy") // a buffer of `bytes` cannot be written to
}
