//! Maps the errors of the crates to the classes of python/legato/errors.py.

use legato_sim::SimError;
use pyo3::PyErr;

mod classes {
    #![allow(missing_docs, reason = "documented in python/legato/errors.py")]
    use pyo3::import_exception;
    import_exception!(legato.errors, CallError);
    import_exception!(legato.errors, ControllerError);
    import_exception!(legato.errors, Error);
    import_exception!(legato.errors, PolicyError);
    import_exception!(legato.errors, ProfileError);
    import_exception!(legato.errors, RunFolderError);
    import_exception!(legato.errors, ScenarioError);
    import_exception!(legato.errors, TraceError);
}

/// An error of the class for its kind, with its message.
pub(crate) fn sim_error(error: SimError) -> PyErr {
    let message = error.to_string();
    match error {
        SimError::Controller(_) => classes::ControllerError::new_err(message),
        SimError::Profile(_) => classes::ProfileError::new_err(message),
        SimError::RunFolder(_) => classes::RunFolderError::new_err(message),
        SimError::Scenario { .. } => classes::ScenarioError::new_err(message),
        SimError::Trace(_) => classes::TraceError::new_err(message),
        _ => classes::Error::new_err(message),
    }
}

/// `legato.ProfileError`.
#[cfg(any(feature = "encoders", feature = "hybrid"))]
pub(crate) fn profile_error(message: impl Into<String>) -> PyErr {
    classes::ProfileError::new_err(message.into())
}

/// `legato.ControllerError`.
pub(crate) fn controller_error(message: String) -> PyErr {
    classes::ControllerError::new_err(message)
}

/// `legato.PolicyError`.
pub(crate) fn policy_error(problem: impl ToString) -> PyErr {
    classes::PolicyError::new_err(problem.to_string())
}

/// `legato.TraceError`.
pub(crate) fn trace_error(message: impl Into<String>) -> PyErr {
    classes::TraceError::new_err(message.into())
}

/// `legato.CallError`.
#[cfg(feature = "calls")]
pub(crate) fn call_error(problem: impl ToString) -> PyErr {
    classes::CallError::new_err(problem.to_string())
}
