//! Scenarios and sweeps: text in, a run folder out. A sweep runs on its own threads; Python polls it.

use crate::error::{controller_error, sim_error};
use crate::estimator;
use legato_sim::{LoadedClip, Plan, Scenario, Seed};
use legato_units::DataRate;
use pyo3::prelude::*;
use std::path::{Path, PathBuf};

/// A scenario as TOML with every default written out. `path` is the file of `text`, for messages.
#[pyfunction]
pub fn resolve_scenario(text: &str, path: &str) -> PyResult<String> {
    Scenario::parse(text, path).map(|scenario| scenario.to_toml()).map_err(sim_error)
}

/// The picture heights that a clip's profile holds, in rows. Refuses anything but a profile.
#[pyfunction]
pub fn profile_heights(path: &str) -> PyResult<Vec<u16>> {
    let clip = LoadedClip::load(path, None).map_err(sim_error)?;
    Ok(clip.profile.iter().flat_map(|profile| profile.rungs.iter().map(|rung| rung.height)).collect())
}

/// What a scenario's source makes of a target in bit/s for each frame, without a call; returns (capture in s, size in
/// bytes, whether it is a key frame, rows) of each. `path` is the file of `text`: the clip is relative to its folder.
#[pyfunction]
#[pyo3(signature = (text, path, targets_bps, seed = 1))]
pub fn code_alone(
    py: Python<'_>,
    text: &str,
    path: PathBuf,
    targets_bps: Vec<u64>,
    seed: u64,
) -> PyResult<Vec<(f64, u64, bool, u16)>> {
    let targets: Vec<_> = targets_bps.into_iter().map(DataRate::from_bps).collect();
    let coded = py.detach(|| {
        let scenario = Scenario::parse(text, &path.to_string_lossy())?;
        legato_sim::code_alone(&scenario, path.parent().unwrap_or(Path::new("")), Seed(seed), &targets)
    });
    let rows = coded.map_err(sim_error)?.into_iter();
    Ok(rows.map(|f| (f.capture.as_secs_f64(), f.size.as_bytes(), f.keyframe, f.height)).collect())
}

/// Makes the calls of a plan and writes their run folder, on its own threads.
#[pyclass(module = "legato._core")]
pub struct Sweep(legato_sim::Sweep);

#[pymethods]
impl Sweep {
    /// Load all that the plan names and open the folder. A plan that cannot be run is refused here, before anything is
    /// written. `threads` 0 means one per core.
    #[new]
    fn new(py: Python<'_>, plan_json: &str, out_dir: PathBuf, threads: usize) -> PyResult<Self> {
        legato_sim::host_guests(&estimator::Estimators);
        estimator::take_failure();
        let made = py.detach(|| legato_sim::Sweep::new(&Plan::parse(plan_json)?, &out_dir, threads));
        made.map(Self).map_err(sim_error)
    }

    /// Number of calls of the plan.
    #[getter]
    fn total_calls(&self) -> u64 {
        self.0.total_calls()
    }

    /// Whether it has ended: complete, failed or cancelled, which `join` reports.
    #[getter]
    fn finished(&self) -> bool {
        self.0.is_finished()
    }

    /// Start in the background.
    fn start(&mut self) {
        self.0.start();
    }

    /// Calls made, including those of an earlier, interrupted sweep, and seconds simulated by this one.
    fn progress(&self) -> (u64, f64) {
        self.0.progress()
    }

    /// Stop after the calls in progress; complete files are kept.
    fn cancel(&self) {
        self.0.cancel();
    }

    /// Wait for the end; returns whether every call was made. Raises the error of a call that failed.
    fn join(&mut self, py: Python<'_>) -> PyResult<bool> {
        let complete = py.detach(|| self.0.join()).map_err(sim_error)?;
        match estimator::take_failure() {
            Some(message) => Err(controller_error(format!("opennetlab: {message}"))),
            None => Ok(complete),
        }
    }
}
