//! Silence: packets leave and no feedback comes back. No controller may then keep its rate
//! ([rfc8836]: work without feedback for a while, stop if it stays absent), and each lowers it in
//! its own way; this detects when.

use legato_units::{TimeDelta, Timestamp};

/// Reports each second for which feedback is overdue.
#[derive(Clone, Copy, Debug, Default)]
pub struct Silence {
    /// When the second ends; `None`: everything sent has been reported on.
    ends: Option<Timestamp>,
}

impl Silence {
    /// A packet left.
    #[inline]
    pub fn on_packet_sent(&mut self, now: Timestamp) {
        if self.ends.is_none() {
            self.ends = Some(now + PATIENCE);
        }
    }

    /// Feedback came.
    #[inline]
    pub fn on_feedback(&mut self) {
        self.ends = None;
    }

    /// Whether another second has passed without feedback; called at every event.
    #[inline]
    pub fn is_over(&mut self, now: Timestamp) -> bool {
        let over = self.ends.is_some_and(|ends| ends <= now);
        if over {
            self.ends = Some(now + PATIENCE);
        }
        over
    }

    /// When to call again.
    #[inline]
    pub fn next_deadline(&self) -> Option<Timestamp> {
        self.ends
    }
}

/// Ours: longer than any round trip of a usable call, and three halvings fit within the 3 s by which
/// the rate must have halved.
const PATIENCE: TimeDelta = TimeDelta::from_secs(1);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_seconds_without_feedback_are_three_silences() {
        let mut silence = Silence::default();
        let at = Timestamp::from_millis;
        assert_eq!(silence.next_deadline(), None);
        silence.on_packet_sent(at(500));
        silence.on_packet_sent(at(900));
        let over: Vec<bool> = [1_000, 1_500, 1_600, 2_500, 3_500].map(|ms| silence.is_over(at(ms))).into();
        assert_eq!(over, [false, true, false, true, true]);
        silence.on_feedback();
        assert!(!silence.is_over(at(9_000)));
        assert_eq!(silence.next_deadline(), None);
    }
}
