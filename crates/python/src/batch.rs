//! Steered calls for a vector environment: arrays of numpy in, filled in place, with the interpreter
//! released meanwhile.

use crate::error::sim_error;
use legato_control::action::ActionSpace;
use legato_sim::Plan;
use legato_sim::episode::{Batch, COLUMNS};
use numpy::{PyReadonlyArray1, PyReadwriteArray1, PyReadwriteArray2};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

/// Calls side by side, each stopped before its learned controller's next decision.
#[pyclass(module = "legato._core", unsendable)]
pub struct CallBatch(Batch);

#[pymethods]
impl CallBatch {
    /// `plan_json` is a sweep's; its first controller is steered, its traces and clips are drawn from.
    #[new]
    fn new(py: Python<'_>, plan_json: &str, num_envs: usize, seed: u64, threads: usize) -> PyResult<Self> {
        let made = py.detach(|| Batch::new(Plan::parse(plan_json)?.load()?, num_envs, seed, threads));
        made.map(Self).map_err(sim_error)
    }

    /// The names of an interval's numbers.
    #[staticmethod]
    fn columns() -> Vec<&'static str> {
        COLUMNS.to_vec()
    }

    /// One interval's features by name.
    #[getter]
    fn features(&self) -> Vec<&'static str> {
        self.0.layout().features.to_vec()
    }

    /// Numbers a feature.
    #[getter]
    fn feature_width(&self) -> usize {
        self.0.layout().width
    }

    /// How many intervals an observation holds.
    #[getter]
    fn history(&self) -> usize {
        self.0.layout().history
    }

    /// Numbers of an observation.
    #[getter]
    fn width(&self) -> usize {
        self.0.layout().len()
    }

    /// `(low, high)` of a continuous answer, `None` for a choice.
    #[getter]
    fn action_range(&self) -> Option<(f32, f32)> {
        action_range(self.0.actions())
    }

    /// How many answers there are to choose from, `None` where the answer is continuous.
    #[getter]
    fn choices(&self) -> Option<u32> {
        choices(self.0.actions())
    }

    /// Begin all calls anew and observe; `staggered` cuts the first ones off at random ages.
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

    /// Answer each and run to its next decision; every array is written, but the last observations only
    /// where a call was cut off.
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
        let actions = answers(&actions, slots)?;
        let observations = whole(observations.as_slice_mut(), "observations", slots * width)?;
        let last_observations = whole(last_observations.as_slice_mut(), "last_observations", slots * width)?;
        let rows = whole(rows.as_slice_mut(), "rows", slots * COLUMNS.len())?;
        let truncated = whole(truncated.as_slice_mut(), "truncated", slots)?;
        let batch = &mut self.0;
        py.detach(|| batch.step(actions, observations, last_observations, rows, truncated)).map_err(sim_error)
    }
}

/// `(low, high)` of a continuous answer.
pub fn action_range(actions: ActionSpace) -> Option<(f32, f32)> {
    match actions {
        ActionSpace::Continuous { low, high } => Some((low, high)),
        ActionSpace::Discrete(_) => None,
    }
}

/// How many answers there are to choose from.
pub fn choices(actions: ActionSpace) -> Option<u32> {
    match actions {
        ActionSpace::Continuous { .. } => None,
        ActionSpace::Discrete(choices) => Some(choices),
    }
}

/// One answer for each.
pub fn answers<'a>(actions: &'a PyReadonlyArray1<'_, f32>, number: usize) -> PyResult<&'a [f32]> {
    match actions.as_slice() {
        Ok(actions) if actions.len() == number => Ok(actions),
        _ => Err(PyValueError::new_err(format!("actions: {number} numbers in a row are wanted"))),
    }
}

/// An array that is contiguous and of the right size.
pub fn whole<'a, T, E>(slice: Result<&'a mut [T], E>, name: &str, length: usize) -> PyResult<&'a mut [T]> {
    match slice {
        Ok(slice) if slice.len() == length => Ok(slice),
        _ => Err(PyValueError::new_err(format!("{name}: a contiguous array of {length} numbers is wanted"))),
    }
}
