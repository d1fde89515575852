//! Scenarios and sweeps: text in, a run folder out. A sweep runs on threads of its own; Python
//! polls it.

use crate::error::sim_error;
use legato_sim::{Plan, Scenario};
use pyo3::prelude::*;
use std::path::PathBuf;

/// A scenario with every default written out, as TOML. `path` is where `text` comes from, for messages.
#[pyfunction]
pub fn resolve_scenario(text: &str, path: &str) -> PyResult<String> {
    Scenario::parse(text, path).map(|scenario| scenario.to_toml()).map_err(sim_error)
}

/// The calls of a plan, made into a run folder on threads of its own.
#[pyclass(module = "legato._core")]
pub struct Sweep(legato_sim::Sweep);

#[pymethods]
impl Sweep {
    /// Load all that the plan names and open the folder: what cannot be run is refused here, and nothing
    /// is written. `threads` 0 is one a core.
    #[new]
    fn new(py: Python<'_>, plan_json: &str, out_dir: PathBuf, threads: usize) -> PyResult<Self> {
        let made = py.detach(|| legato_sim::Sweep::new(&Plan::parse(plan_json)?, &out_dir, threads));
        made.map(Self).map_err(sim_error)
    }

    /// How many calls the plan makes.
    #[getter]
    fn total_calls(&self) -> u64 {
        self.0.total_calls()
    }

    /// Whether everything is done, failed or cancelled; `join` tells which.
    #[getter]
    fn finished(&self) -> bool {
        self.0.is_finished()
    }

    /// Begin, in the background.
    fn start(&mut self) {
        self.0.start();
    }

    /// Calls done, those of earlier sessions included, and seconds simulated in this one.
    fn progress(&self) -> (u64, f64) {
        self.0.progress()
    }

    /// Stop after the calls in hand; files that are whole stay.
    fn cancel(&self) {
        self.0.cancel();
    }

    /// Wait for the end; whether every call was made. Raises what went wrong.
    fn join(&mut self, py: Python<'_>) -> PyResult<bool> {
        py.detach(|| self.0.join()).map_err(sim_error)
    }
}
