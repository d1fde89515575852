//! The fault of a trace file, in one line: file, line, key and value.

use crate::capacity::CapacityError;
use core::fmt;

/// Not a valid trace file.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The whole file.
    #[error("{file} {reason}")]
    File {
        /// Its path.
        file: String,
        /// The fault, as the end of a sentence about the file.
        reason: String,
    },
    /// It could not be read.
    #[error("{file}: {reason}")]
    Io {
        /// Its path.
        file: String,
        /// The system's message.
        reason: String,
    },
    /// One value in it.
    #[error("{file}{}: {key} = {value:?} {reason}", .line.map_or_else(String::new, |line| format!(":{line}")))]
    Value {
        /// Its path.
        file: String,
        /// The line, from 1; absent if the format has no lines.
        line: Option<u64>,
        /// The column's or key's name.
        key: String,
        /// The value found, cut to 40 characters.
        value: String,
        /// The fault, as the end of a sentence about the value.
        reason: String,
    },
}

/// An [`Error`] that does not name its file yet.
#[derive(Debug)]
pub(super) struct Fault {
    line: Option<u64>,
    /// Key and value; absent if the whole file is meant.
    at: Option<(String, String)>,
    reason: String,
}

impl Fault {
    pub(super) fn new(key: &str, value: impl fmt::Display, reason: impl Into<String>) -> Self {
        // Written into a bound, so that a file of one long line is not copied a second time.
        let mut short = Short(String::new());
        let _ = fmt::write(&mut short, format_args!("{value}"));
        Self { line: None, at: Some((key.to_owned(), short.0)), reason: reason.into() }
    }

    pub(super) fn whole(reason: impl Into<String>) -> Self {
        Self { line: None, at: None, reason: reason.into() }
    }

    pub(super) fn on(mut self, line: u64) -> Self {
        self.line = Some(line);
        self
    }

    pub(super) fn within(self, file: &str) -> Error {
        let file = file.to_owned();
        match self.at {
            Some((key, value)) => Error::Value { file, line: self.line, key, value, reason: self.reason },
            None => Error::File { file, reason: self.reason },
        }
    }
}

impl From<CapacityError> for Fault {
    fn from(error: CapacityError) -> Self {
        Self::whole(format!("is not a valid capacity: {error}"))
    }
}

struct Short(String);

impl fmt::Write for Short {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let room = MAX_VALUE.saturating_sub(self.0.chars().count());
        self.0.extend(text.chars().take(room));
        if room == 0 { Err(fmt::Error) } else { Ok(()) }
    }
}

const MAX_VALUE: usize = 40;
