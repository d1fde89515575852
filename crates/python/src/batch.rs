//! Steered calls for a vector environment. Arrays of numpy are filled in place while the interpreter is released.

use crate::arrays::{self, whole};
use crate::error::sim_error;
use crate::spaces::Spaces;
use legato_sim::Plan;
use legato_sim::episode::{Batch, COLUMNS};
use numpy::{PyReadonlyArray1, PyReadwriteArray1, PyReadwriteArray2};
use pyo3::prelude::*;

/// Calls side by side, each stopped before its learned controller's next decision.
#[pyclass(module = "legato._core", unsendable)]
pub struct CallBatch(Batch);

#[pymethods]
impl CallBatch {
    /// The plan is that of a sweep: its first controller is steered, its traces and clips are drawn at random.
    #[new]
    fn new(py: Python<'_>, plan_json: &str, num_envs: usize, seed: u64, threads: usize) -> PyResult<Self> {
        let made = py.detach(|| Batch::new(Plan::parse(plan_json)?.load()?, num_envs, seed, threads));
        made.map(Self).map_err(sim_error)
    }

    /// Names of the columns of an interval's row.
    #[staticmethod]
    fn columns() -> Vec<&'static str> {
        COLUMNS.to_vec()
    }

    /// The observations of its controller and its action range.
    #[getter]
    fn spaces(&self) -> Spaces {
        Spaces::new(self.0.layout(), self.0.actions())
    }

    /// Restart all calls and write their observations; `staggered` truncates the first ones at random ages.
    #[pyo3(signature = (seed, observations, staggered=false))]
    fn reset(
        &mut self,
        py: Python<'_>,
        seed: u64,
        mut observations: PyReadwriteArray2<'_, f32>,
        staggered: bool,
    ) -> PyResult<()> {
        let observations = whole(observations.as_slice_mut(), "observations", self.0.slots() * self.0.layout().len())?;
        let batch = &mut self.0;
        py.detach(|| {
            batch.reset(seed, staggered)?;
            batch.observe_into(observations);
            Ok(())
        })
        .map_err(sim_error)
    }

    /// Apply each action and run to the next decision. Every array is written, `last_observations` only where a call was
    /// truncated.
    #[allow(clippy::too_many_arguments)]
    fn step(
        &mut self,
        py: Python<'_>,
        actions: PyReadonlyArray1<'_, f32>,
        mut observations: PyReadwriteArray2<'_, f32>,
        mut last_observations: PyReadwriteArray2<'_, f32>,
        mut rows: PyReadwriteArray2<'_, f32>,
        mut truncated: PyReadwriteArray1<'_, bool>,
    ) -> PyResult<()> {
        let (slots, width) = (self.0.slots(), self.0.layout().len());
        let actions = arrays::actions(&actions, slots)?;
        let observations = whole(observations.as_slice_mut(), "observations", slots * width)?;
        let last_observations = whole(last_observations.as_slice_mut(), "last_observations", slots * width)?;
        let rows = whole(rows.as_slice_mut(), "rows", slots * COLUMNS.len())?;
        let truncated = whole(truncated.as_slice_mut(), "truncated", slots)?;
        let batch = &mut self.0;
        py.detach(|| batch.step(actions, observations, last_observations, rows, truncated)).map_err(sim_error)
    }
}
