//! Why a call cannot be simulated: one line that names file, key and value.

use legato_control::BuildError;
use legato_path::trace_file;

/// The kinds of errors.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum SimError {
    /// A controller is unknown, its parameters are wrong, or it lacks something.
    #[error("{0}")]
    Controller(String),
    /// A file cannot be written or read.
    #[error("{0}")]
    Io(String),
    /// The lists that a sweep crosses.
    #[error("{0}")]
    Plan(String),
    /// A clip's profile.
    #[error("{0}")]
    Profile(String),
    /// The run folder holds something else.
    #[error("{0}")]
    RunFolder(String),
    /// The scenario file.
    #[error("{file}{}: {message}", place(.line, .key))]
    Scenario {
        /// Its path.
        file: String,
        /// The line, from 1, if the text itself is at fault.
        line: Option<usize>,
        /// The dotted key, if one is at fault.
        key: Option<String>,
        /// The fault, with the value.
        message: String,
    },
    /// A trace file.
    #[error("{0}")]
    Trace(String),
}

impl From<BuildError> for SimError {
    fn from(error: BuildError) -> Self {
        Self::Controller(error.to_string())
    }
}

impl From<trace_file::Error> for SimError {
    fn from(error: trace_file::Error) -> Self {
        Self::Trace(error.to_string())
    }
}

/// The line and the key at fault, if available.
fn place(line: &Option<usize>, key: &Option<String>) -> String {
    let (line, key) = (line.map(|line| format!(":{line}")), key.as_ref().map(|key| format!(": {key}")));
    line.into_iter().chain(key).collect()
}
