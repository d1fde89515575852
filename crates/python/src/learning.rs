//! A real call whose policy goes on learning: what the call and the learner in Python hand each other.

use crate::error::policy_error;
use legato_control::policy::{Manifest, Model};
use legato_sim::{Exchange, Explored, Explorer};
use numpy::{PyArray1, PyArray2};
use pyo3::prelude::*;
use std::sync::{Arc, Mutex, PoisonError};

/// Finished intervals of one call out, weights in; neither waits for the other.
#[pyclass(frozen, module = "legato._core")]
pub(crate) struct LiveExchange {
    manifest: Manifest,
    first: Mutex<Option<(Arc<Model>, f32)>>,
    exchange: Arc<Exchange>,
}

type Taken<'py> =
    (Bound<'py, PyArray2<f32>>, Bound<'py, PyArray1<f32>>, Bound<'py, PyArray1<u64>>, Bound<'py, PyArray2<f32>>);

#[pymethods]
impl LiveExchange {
    /// For a call that begins with a policy: the text of a policy.toml and the bytes of its weights; `file` names it in
    /// errors. `std`: of a continuous action's noise.
    #[new]
    #[pyo3(signature = (toml, weights, std, file = "policy.toml"))]
    fn new(py: Python<'_>, toml: &str, weights: &[u8], std: f32, file: &str) -> PyResult<Self> {
        let manifest = Manifest::parse(toml, file).map_err(policy_error)?;
        let model = py.detach(|| manifest.load(weights)).map_err(policy_error)?;
        Ok(Self { manifest, first: Mutex::new(Some((model, std))), exchange: Arc::default() })
    }

    /// Let the call decide with these weights, number `version`, from its next decision on.
    fn give(&self, py: Python<'_>, version: u64, weights: &[u8], std: f32) -> PyResult<()> {
        py.detach(|| self.manifest.load(weights).map(|model| self.exchange.give(version, model, std)))
            .map_err(policy_error)
    }

    /// The intervals finished since the last time, the oldest first. Each has observations, the actions taken at its
    /// end, the version of the weights that drew these, and the interval before as a row of figures.
    fn take<'py>(&self, py: Python<'py>) -> PyResult<Taken<'py>> {
        let done = py.detach(|| self.exchange.take());
        let matrix = |rows: Vec<Vec<f32>>| PyArray2::from_vec2(py, &rows).map_err(policy_error);
        let actions = done.iter().map(|one| one.action).collect();
        let versions = done.iter().map(|one| one.version).collect();
        let (seen, rows) = done.into_iter().map(|Explored { observation, row, .. }| (observation, row)).unzip();
        Ok((matrix(seen)?, PyArray1::from_vec(py, actions), PyArray1::from_vec(py, versions), matrix(rows)?))
    }
}

impl LiveExchange {
    /// What decides in the call. An exchange is for one call.
    pub fn explorer(&self, seed: u64) -> PyResult<Explorer> {
        let first = self.first.lock().unwrap_or_else(PoisonError::into_inner).take();
        let (model, std) = first.ok_or_else(|| policy_error("an exchange is for one call"))?;
        Ok(Explorer::new(model, std, seed, Arc::clone(&self.exchange)))
    }
}
