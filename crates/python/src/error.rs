//! From the crates' errors to the classes of python/legato/errors.py: the one place they meet.

use pyo3::PyErr;

mod classes {
    #![allow(missing_docs, reason = "documented in python/legato/errors.py")]
    pyo3::import_exception!(legato.errors, ProfileError);
    pyo3::import_exception!(legato.errors, TraceError);
}

/// A `legato.ProfileError`: a clip or its profile.
pub(crate) fn profile_error(message: impl Into<String>) -> PyErr {
    classes::ProfileError::new_err(message.into())
}

/// A `legato.TraceError`: a trace of capacity.
pub(crate) fn trace_error(message: impl Into<String>) -> PyErr {
    classes::TraceError::new_err(message.into())
}
