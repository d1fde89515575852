//! The pauses of a call that its scenario declares: no picture is missed in them.

use legato_units::{TimeDelta, Timestamp};

/// When the sender paused.
#[derive(Debug, Default)]
pub(crate) struct Pauses {
    /// From, to; the end of one that has not ended is [`Timestamp::MAX`].
    spans: Vec<(Timestamp, Timestamp)>,
}

impl Pauses {
    pub fn clear(&mut self) {
        self.spans.clear();
    }

    /// The sender pauses or resumes at `now`.
    pub fn turn(&mut self, now: Timestamp, paused: bool) {
        if paused {
            self.spans.push((now, Timestamp::MAX));
        } else if let Some((_, end)) = self.spans.last_mut() {
            *end = now;
        }
    }

    /// The pauses, in order.
    pub fn spans(&self) -> &[(Timestamp, Timestamp)] {
        &self.spans
    }

    /// The time from `from` to `to` outside the pauses.
    #[inline]
    pub fn active(&self, from: Timestamp, to: Timestamp) -> TimeDelta {
        if self.spans.is_empty() {
            return to - from;
        }
        let inside = |&(start, end): &(Timestamp, Timestamp)| (end.min(to) - start.max(from)).max(TimeDelta::ZERO);
        (to - from) - self.spans.iter().map(inside).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn active_time_leaves_out_what_a_span_shares_with_pauses() {
        let at = Timestamp::from_millis;
        let mut pauses = Pauses::default();
        for (ms, paused) in [(100, true), (300, false), (500, true)] {
            pauses.turn(at(ms), paused);
        }
        let active = |from, to| pauses.active(at(from), at(to)).as_millis();
        assert_eq!((active(0, 100), active(0, 200), active(0, 350), active(150, 250)), (100, 100, 150, 0));
        // The last has not ended.
        assert_eq!((active(400, 900), active(90, 900), active(600, 900)), (100, 210, 0));
    }
}
