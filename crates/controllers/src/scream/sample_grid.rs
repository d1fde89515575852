//! Samples of a queue delay at equal steps of time, however often feedback comes. The sample counts of [rfc8298] (20 of
//! the trend, 50 and 200 of the queue target) mean a span of time, but feedback comes as often as the receiver has
//! bandwidth for it. So a delay is repeated for every step since the last.

use legato_units::{TimeDelta, Timestamp};

/// When samples are due.
#[derive(Clone, Copy, Debug)]
pub struct SampleGrid {
    step: TimeDelta,
    next: Option<Timestamp>,
}

impl SampleGrid {
    /// A sample every `step`, the first with the first delay.
    pub const fn new(step: TimeDelta) -> Self {
        Self { step, next: None }
    }

    /// How many samples the delay reported at `now` stands for, at most `max`. ([rfc8298] §4.1.2: "the same
    /// qdelay may be sampled several times; this does not pose any problem".)
    pub fn due(&mut self, now: Timestamp, max: usize) -> usize {
        let due = self.next.unwrap_or(now);
        if now < due {
            return 0;
        }
        let samples = ((now - due).as_nanos() / self.step.as_nanos() + 1).min(max as i64);
        // Stays on the grid unless the silence was longer than `max` samples.
        let next = due + self.step * samples;
        self.next = Some(if next > now { next } else { now + self.step });
        samples as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// [rfc8298] §4.1.2, worked by hand: steps of 50 ms.
    #[test]
    fn a_delay_stands_for_every_step_since_the_last() {
        let at = Timestamp::from_millis;
        let mut grid = SampleGrid::new(TimeDelta::from_millis(50));
        assert_eq!([0, 10, 49, 50, 51].map(|ms| grid.due(at(ms), 20)), [1, 0, 0, 1, 0]);
        // 100, 150 and 200 ms; the grid stays where it was.
        assert_eq!([220, 249, 250].map(|ms| grid.due(at(ms), 20)), [3, 0, 1]);
        // More than there is room for: the grid restarts.
        assert_eq!([60_010, 60_059, 60_060].map(|ms| grid.due(at(ms), 20)), [20, 0, 1]);
    }
}
