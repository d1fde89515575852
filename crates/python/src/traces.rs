//! Traces of capacity: read in any format, looked at, written in our own.

use crate::error::trace_error;
use legato_path::trace_file::{self, Format, Profile};
use legato_units::{DataRate, TimeDelta};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use std::fmt::Write;
use std::path::PathBuf;

/// Rates that were recorded as delivery opportunities are written as means over this.
const SAVED_STEP: TimeDelta = TimeDelta::from_millis(100);

/// The recorded capacity of a link. `load_trace` makes them.
#[pyclass(frozen, module = "legato._core")]
pub struct Trace(trace_file::Trace);

/// The trace in a file, gzipped or not, in any format we know. Where a file holds several, `path#part`
/// names one, and without a part the longest is taken. `format` settles what the content leaves open.
#[pyfunction]
#[pyo3(signature = (path, format = None))]
pub fn load_trace(py: Python<'_>, path: &str, format: Option<&str>) -> PyResult<Trace> {
    let format = format.map(format_named).transpose()?;
    let read = py.detach(|| trace_file::read(path, format));
    read.map(Trace).map_err(|error| trace_error(error.to_string()))
}

/// Every trace in a file, at least one.
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
    /// The file's name without folders and `.gz`, with `#part` where the file holds several.
    #[getter]
    fn name(&self) -> &str {
        &self.0.name
    }

    /// The data set it is of, or else its format.
    #[getter]
    fn family(&self) -> &str {
        &self.0.family
    }

    /// How the file is written.
    #[getter]
    fn format(&self) -> &'static str {
        self.0.format.name()
    }

    /// How long it lasts, in seconds.
    #[getter]
    fn duration_s(&self) -> f64 {
        self.0.duration().as_secs_f64()
    }

    /// Its mean rate in bit/s.
    #[getter]
    fn mean_rate_bps(&self) -> u64 {
        self.0.mean_rate().as_bps()
    }

    /// Times in s and mean rates in bit/s, as two numpy arrays; each rate is the mean of the
    /// `interval_s` that begin at its time.
    fn rates<'py>(&self, py: Python<'py>, interval_s: f64) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyAny>)> {
        if !(interval_s.is_finite() && interval_s > 0.0) {
            return Err(trace_error(format!("interval_s = {interval_s}: has to be above 0")));
        }
        let rates = py.detach(|| self.0.rates(TimeDelta::from_secs_f64(interval_s)));
        let interval_s = interval_s.max(self.duration_s() / 1e6);
        let times = array(py, (0..rates.len()).map(|n| n as f64 * interval_s))?;
        Ok((times, array(py, rates.iter().map(|rate| rate.as_bps_f64()))?))
    }

    /// Write it as CSV, `time_s,rate_bps`: a rate holds from its time to the next. Delivery
    /// opportunities become means over 100 ms.
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
    fn text(&self) -> String {
        let mut rows: Vec<(TimeDelta, DataRate)> = match &self.0.profile {
            Profile::Opportunities(_) => {
                let starts = (0..).map(|n| TimeDelta::from_nanos(n * SAVED_STEP.as_nanos()));
                starts.zip(self.0.rates(SAVED_STEP)).collect()
            }
            Profile::Rates(table) => table.steps().collect(),
        };
        // The last row of a file is taken to last as long as the one before it: two halves say how long.
        if let Some(&(start, rate)) = rows.last() {
            let half = (self.0.duration() - start).as_nanos() / 2;
            rows.push((start + TimeDelta::from_nanos(half.max(1)), rate));
        }
        let mut text = String::from("time_s,rate_bps\n");
        for (start, rate) in rows {
            writeln!(text, "{},{}", start.as_secs_f64(), rate.as_bps()).expect("a String takes all");
        }
        text
    }
}

/// A numpy array of float64.
fn array<'py>(py: Python<'py>, values: impl Iterator<Item = f64>) -> PyResult<Bound<'py, PyAny>> {
    let bytes: Vec<u8> = values.flat_map(f64::to_ne_bytes).collect();
    let flat = py.import("numpy")?.call_method1("frombuffer", (PyBytes::new(py, &bytes), "float64"))?;
    flat.call_method0("copy") // a buffer of `bytes` cannot be written to
}
