//! Why a call cannot be simulated: one line that names file, key and value.

use legato_control::BuildError;
use legato_path::trace_file;
use std::fmt;

/// The kinds of errors.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum SimError {
    /// A controller is unknown, its parameters are wrong, or it lacks something.
    Controller(String),
    /// A file cannot be written or read.
    Io(String),
    /// The lists that a sweep crosses.
    Plan(String),
    /// A clip's profile.
    Profile(String),
    /// The run folder holds something else.
    RunFolder(String),
    /// The scenario file.
    Scenario {
        /// Its path.
        file: String,
        /// The line, from 1, if the text itself is at fault.
        line: Option<usize>,
        /// The dotted key, if one is at fault.
        key: Option<String>,
        /// What is wrong, with the value.
        message: String,
    },
    /// A trace file.
    Trace(String),
}

impl fmt::Display for SimError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Scenario { file, line, key, message } => {
                f.write_str(file)?;
                if let Some(line) = line {
                    write!(f, ":{line}")?;
                }
                if let Some(key) = key {
                    write!(f, ": {key}")?;
                }
                write!(f, ": {message}")
            }
            Self::Controller(message)
            | Self::Io(message)
            | Self::Plan(message)
            | Self::Profile(message)
            | Self::RunFolder(message)
            | Self::Trace(message) => f.write_str(message),
        }
    }
}

impl std::error::Error for SimError {}

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
