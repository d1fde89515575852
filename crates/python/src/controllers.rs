//! The registry, as a list of dicts.

use legato_control::REGISTRY;
use pyo3::prelude::*;
use pyo3::types::PyDict;

/// Every controller, sorted by name: `name`, `side` ("sender" or "receiver"), `learned` (a trained policy decides),
/// `summary` (one line), `cites` (keys of docs/references.bib) and `defaults_toml` (its parameters, as TOML).
#[pyfunction]
pub fn controllers(py: Python<'_>) -> PyResult<Vec<Bound<'_, PyDict>>> {
    REGISTRY
        .iter()
        .map(|entry| {
            let dict = PyDict::new(py);
            dict.set_item("name", entry.name)?;
            dict.set_item("side", entry.side.name())?;
            dict.set_item("learned", entry.learned)?;
            dict.set_item("summary", entry.summary)?;
            dict.set_item("cites", entry.cites)?;
            dict.set_item("defaults_toml", entry.default_config().to_string())?;
            Ok(dict)
        })
        .collect()
}
