//! Silence: packets leave and nothing comes back. No controller may go on at its rate then
//! ([rfc8836]: work without feedback for a while, stop if it stays absent), and each has its own
//! way to say less; this tells when.

use legato_units::{TimeDelta, Timestamp};

/// Tells of each second that feedback is overdue.
#[derive(Clone, Copy, Debug, Default)]
pub struct Silence {
    /// When the second ends; `None`: all that left is answered.
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

    /// Whether another second has passed without feedback; asked with every event.
    #[inline]
    pub fn is_over(&mut self, now: Timestamp) -> bool {
        let over = self.ends.is_some_and(|ends| ends <= now);
        if over {
            self.ends = Some(now + PATIENCE);
        }
        over
    }

    /// When to be asked again.
    #[inline]
    pub fn next_deadline(&self) -> Option<Timestamp> {
        self.ends
    }
}

/// Ours: longer than any round trip of a call worth having, and three halvings within the 3 s after
/// which half the rate must be gone.
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
        let told: Vec<bool> = [1_000, 1_500, 1_600, 2_500, 3_500].map(|ms| silence.is_over(at(ms))).into();
        assert_eq!(told, [false, true, false, true, true]);
        silence.on_feedback();
        assert!(!silence.is_over(at(9_000)));
        assert_eq!(silence.next_deadline(), None);
    }
}
