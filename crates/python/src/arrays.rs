//! Arrays of numpy as slices of the right length.

use numpy::PyReadonlyArray1;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

/// One action for each of `number` calls.
pub fn actions<'a>(actions: &'a PyReadonlyArray1<'_, f32>, number: usize) -> PyResult<&'a [f32]> {
    match actions.as_slice() {
        Ok(actions) if actions.len() == number => Ok(actions),
        _ => Err(PyValueError::new_err(format!("actions: {number} numbers in a row are wanted"))),
    }
}

/// A contiguous array of `length` values.
pub fn whole<'a, T, E>(slice: Result<&'a mut [T], E>, name: &str, length: usize) -> PyResult<&'a mut [T]> {
    match slice {
        Ok(slice) if slice.len() == length => Ok(slice),
        _ => Err(PyValueError::new_err(format!("{name}: a contiguous array of {length} numbers is wanted"))),
    }
}
