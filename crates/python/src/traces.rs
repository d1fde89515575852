//! Capacity traces: read in any format, written as CSV.

use crate::error::trace_error;
use legato_path::trace_file::{self, Format, Profile};
use legato_units::{DataRate, TimeDelta};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
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

    /// Write it as CSV, `time_s,rate_bps`: each rate holds until the next time. Delivery opportunities become mean rates
    /// over 100 ms.
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
        // Readers take the last row to last as long as the one before it: it is written in two halves of equal length.
        if let Some(&(start, rate)) = rows.last() {
            let half = (self.0.duration() - start).as_nanos() / 2;
            rows.push((start + TimeDelta::from_nanos(half.max(1)), rate));
        }
        let mut text = String::from("time_s,rate_bps\n");
        for (start, rate) in rows {
            writeln!(text, "{},{}", start.as_secs_f64(), rate.as_bps()).expect("writing to a String cannot fail");
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
