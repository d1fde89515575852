//! When a receiver's reports leave: at random intervals, so that the receivers of one link do not report in step.

use legato_units::{TimeDelta, Timestamp};
use rand_chacha::ChaCha8Rng;
use rand_core::RngCore;

/// The time of the next report, drawn anew with each.
#[derive(Clone, Debug)]
pub(crate) struct ReportTimes {
    min: TimeDelta,
    max: TimeDelta,
    rng: ChaCha8Rng,
    next: Timestamp,
}

impl ReportTimes {
    /// Intervals from `min` to `max`, uniform, from `start` on.
    pub fn new(start: Timestamp, (min, max): (TimeDelta, TimeDelta), rng: ChaCha8Rng) -> Self {
        let mut times = Self { min, max, rng, next: start };
        times.advance();
        times
    }

    /// When the next report is due.
    pub fn next(&self) -> Timestamp {
        self.next
    }

    /// The due report leaves.
    pub fn advance(&mut self) {
        let steps = (self.max - self.min).as_micros().max(0).unsigned_abs();
        let drawn = if steps == 0 { 0 } else { self.rng.next_u64() % (steps + 1) };
        self.next += self.min + TimeDelta::from_micros(drawn.cast_signed());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand_core::SeedableRng;

    fn intervals_ms(min_ms: i64, max_ms: i64, seed: u64) -> Vec<f64> {
        let range = (TimeDelta::from_millis(min_ms), TimeDelta::from_millis(max_ms));
        let mut times = ReportTimes::new(Timestamp::ZERO, range, ChaCha8Rng::seed_from_u64(seed));
        let mut last = Timestamp::ZERO;
        let mut interval = || {
            let found = (times.next() - last).as_millis_f64();
            last = times.next();
            times.advance();
            found
        };
        (0..1_000).map(|_| interval()).collect()
    }

    #[test]
    fn intervals_fill_their_range_and_differ_by_seed() {
        let drawn = intervals_ms(500, 1_500, 1);
        assert!(drawn.iter().all(|ms| (500.0..=1_500.0).contains(ms)));
        let mean = drawn.iter().sum::<f64>() / 1_000.0;
        assert!((970.0..1_030.0).contains(&mean), "{mean}");
        assert!(drawn.iter().any(|ms| *ms < 520.0) && drawn.iter().any(|ms| *ms > 1_480.0));
        assert_ne!(drawn, intervals_ms(500, 1_500, 2));
    }

    #[test]
    fn a_range_of_one_value_is_a_fixed_interval() {
        assert!(intervals_ms(1_000, 1_000, 1).iter().all(|ms| *ms == 1_000.0));
    }
}
