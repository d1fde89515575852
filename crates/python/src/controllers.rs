//! The registry and the meaning of parameters, as lists of dicts.

use crate::error::sim_error;
use legato_controllers::{REGISTRY, entry};
use legato_sim::SimError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::fmt::Display;
use std::str::FromStr;

/// Every controller, sorted by name, with `name`, `side` ("sender" or "receiver"), `learned` (a trained policy decides)
/// and `for_study` (that policy loses to `gcc` on a shipped family of links, docs/measured/generalisation.md). Also
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
            dict.set_item("for_study", entry.for_study)?;
            dict.set_item("summary", entry.summary)?;
            dict.set_item("cites", entry.cites)?;
            dict.set_item("defaults_toml", entry.default_config().to_string())?;
            Ok(dict)
        })
        .collect()
}

/// The parameters of a controller, in the order of its documents: `key` (dotted), `value_toml` with `config_toml`
/// given, `default_toml` (either is None if the parameter is absent), `unit` (empty for text and switches), `range`
/// (accepted values, None if it is not a number) and `meaning`.
#[pyfunction]
#[pyo3(signature = (name, config_toml = ""))]
pub fn controller_parameters<'py>(py: Python<'py>, name: &str, config_toml: &str) -> PyResult<Vec<Bound<'py, PyDict>>> {
    let entry = entry(name).ok_or_else(|| refused(format!("no controller is called {name:?}")))?;
    let parameters = entry.parameters(&parsed(config_toml)?).map_err(refused)?;
    let dict = |parameter: legato_control::Parameter| {
        let dict = PyDict::new(py);
        dict.set_item("key", parameter.key)?;
        dict.set_item("value_toml", parameter.value.map(|value| value.to_string()))?;
        dict.set_item("default_toml", parameter.default.map(|value| value.to_string()))?;
        dict.set_item("unit", parameter.unit)?;
        dict.set_item("range", parameter.range.map(|range| range.to_string()))?;
        dict.set_item("meaning", parameter.meaning)?;
        Ok(dict)
    };
    parameters.into_iter().map(dict).collect()
}

fn refused(problem: impl Display) -> PyErr {
    sim_error(SimError::Controller(problem.to_string()))
}

fn parsed<T: FromStr<Err: Display>>(text: &str) -> PyResult<T> {
    text.parse().map_err(refused)
}
