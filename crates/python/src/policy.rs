//! A policy as the controllers run it, for trainers and tests that need its outputs without a call.

use crate::error::policy_error;
use legato_control::policy::{Manifest, NetworkPolicy, Policy as _};
use pyo3::buffer::PyBuffer;
use pyo3::prelude::*;

/// A trained policy, evaluated by the same code as in calls: one observation at a time.
#[pyclass(module = "legato._core")]
pub(crate) struct Policy {
    policy: NetworkPolicy,
    observation: Vec<f32>,
}

#[pymethods]
impl Policy {
    /// From the text of a policy.toml and the bytes of its weights; `file` names it in errors.
    #[new]
    #[pyo3(signature = (toml, weights, file = "policy.toml"))]
    fn new(py: Python<'_>, toml: &str, weights: &[u8], file: &str) -> PyResult<Self> {
        let model = py.detach(|| Manifest::parse(toml, file).and_then(|manifest| manifest.load(weights)));
        let policy = NetworkPolicy::new(model.map_err(policy_error)?);
        let observation = vec![0.0; policy.model().manifest().inputs()];
        Ok(Self { policy, observation })
    }

    /// The action for an observation of float32, NaN where the outputs are not finite.
    fn act(&mut self, observation: PyBuffer<f32>, py: Python<'_>) -> PyResult<f32> {
        self.take(&observation, py)?;
        Ok(self.policy.act(&self.observation))
    }

    /// The outputs of the last layer for an observation of float32; a recurrent network advances one step.
    fn outputs(&mut self, observation: PyBuffer<f32>, py: Python<'_>) -> PyResult<Vec<f32>> {
        self.take(&observation, py)?;
        Ok(self.policy.outputs(&self.observation).to_vec())
    }

    /// Clear the memory of a recurrent network, for a new call.
    fn reset(&mut self) {
        self.policy.reset();
    }

    /// Values per observation.
    #[getter]
    fn inputs(&self) -> usize {
        self.observation.len()
    }

    /// Number of weights of all layers.
    #[getter]
    fn parameters(&self) -> usize {
        self.policy.model().manifest().parameters()
    }
}

impl Policy {
    fn take(&mut self, observation: &PyBuffer<f32>, py: Python<'_>) -> PyResult<()> {
        let (given, needed) = (observation.item_count(), self.observation.len());
        if given != needed {
            let file = self.policy.model().manifest().file();
            return Err(policy_error(format!("{file}: an observation of {given} values, {needed} are needed")));
        }
        observation.copy_to_slice(py, &mut self.observation)
    }
}
