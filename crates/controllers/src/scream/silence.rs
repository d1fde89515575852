//! Packets leave and no feedback comes back. SCReAM is clocked by feedback and leaves open what happens
//! to the target without it; RFC 8836 requires a sender to go on for a while and then reduce. Here: after
//! every second of silence the window and the target are halved. Ours, not the RFC's.

use legato_units::{TimeDelta, Timestamp};

/// Since when no feedback came although packets left.
#[derive(Clone, Copy, Debug)]
pub struct Silence {
    patience: TimeDelta,
    due: Option<Timestamp>,
}

impl Silence {
    /// Silence counts after `patience`.
    pub fn new(patience: TimeDelta) -> Self {
        Self { patience, due: None }
    }

    /// A packet left: feedback is due.
    #[inline]
    pub fn sent(&mut self, now: Timestamp) {
        if self.due.is_none() {
            self.due = Some(now + self.patience);
        }
    }

    /// Feedback came.
    pub fn heard(&mut self) {
        self.due = None;
    }

    /// When the silence will have lasted too long.
    #[inline]
    pub fn deadline(&self) -> Option<Timestamp> {
        self.due
    }

    /// Whether the silence has lasted too long, counted anew each time.
    pub fn broken(&mut self, now: Timestamp) -> bool {
        let broken = self.due.is_some_and(|due| now >= due);
        if broken {
            self.due = Some(now + self.patience);
        }
        broken
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_second_without_feedback_counts_once_and_idleness_does_not() {
        let at = Timestamp::from_millis;
        let mut silence = Silence::new(TimeDelta::from_secs(1));
        assert!(!silence.broken(at(60_000)), "nothing was sent");
        silence.sent(at(60_000));
        silence.sent(at(60_900));
        assert!(!silence.broken(at(60_999)));
        assert!(silence.broken(at(61_000)));
        assert!(!silence.broken(at(61_999)));
        assert!(silence.broken(at(62_000)));
        silence.heard();
        assert_eq!(silence.deadline(), None);
    }
}
