//! The text of an event file while it is written.

use super::Line;
use std::sync::{Arc, Mutex, PoisonError};

/// An event file as it is written; clones write the same one.
#[derive(Clone, Default)]
pub struct EventLog(Arc<Mutex<String>>);

impl EventLog {
    /// The file so far.
    pub fn text(&self) -> String {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(super) fn write(&self, line: &Line) {
        let line = serde_json::to_string(line).expect("a line is plain values") + "\n";
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push_str(&line);
    }
}
