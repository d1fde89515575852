//! From the crates' errors to the classes of python/legato/errors.py: the one place they meet.

use pyo3::prelude::*;

/// A `legato.ProfileError`: a clip or its profile.
pub(crate) fn profile_error(message: impl Into<String>) -> PyErr {
    raise("ProfileError", message.into())
}

/// A `legato.TraceError`: a trace of capacity.
pub(crate) fn trace_error(message: impl Into<String>) -> PyErr {
    raise("TraceError", message.into())
}

fn raise(class: &str, message: String) -> PyErr {
    Python::attach(|py| {
        let made =
            py.import("legato.errors").and_then(|errors| errors.getattr(class)).and_then(|kind| kind.call1((message,)));
        made.map_or_else(|error| error, PyErr::from_value)
    })
}
