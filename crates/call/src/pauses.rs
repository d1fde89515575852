//! When the application stops capturing media, and when it goes on.

use legato_units::Timestamp;

/// The application stops capturing media, or goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PauseChange {
    /// From here on …
    pub at: Timestamp,
    /// … media is paused.
    pub paused: bool,
}

/// The changes to come.
#[derive(Clone, Debug, Default)]
pub struct Pauses {
    /// The next one last.
    changes: Vec<PauseChange>,
}

impl Pauses {
    /// Changes in the order of time.
    pub fn new(mut changes: Vec<PauseChange>) -> Self {
        changes.reverse();
        Self { changes }
    }

    /// When the next change is due; [`Timestamp::MAX`] where there is none.
    #[inline]
    pub fn due(&self) -> Timestamp {
        self.changes.last().map_or(Timestamp::MAX, |change| change.at)
    }

    /// Whether media is paused from the next change on, where it is due at `now`.
    pub fn pop(&mut self, now: Timestamp) -> Option<bool> {
        if self.due() > now {
            return None;
        }
        self.changes.pop().map(|change| change.paused)
    }
}
