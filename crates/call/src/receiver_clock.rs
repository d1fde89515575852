//! The receiver's clock: it has an offset and a drift in every scenario, so that a controller that
//! mixes clocks fails here and not in the field.

use legato_units::{TimeDelta, Timestamp};

/// Maps true time (the sender's clock) to the receiver's and back.
#[derive(Clone, Copy, Debug)]
pub struct ReceiverClock {
    offset: TimeDelta,
    /// Drift in units of 2^-40: a product and a shift instead of a division.
    drift_q40: i64,
}

impl ReceiverClock {
    /// A clock ahead by `offset` at time zero, that gains `drift_ppm` microseconds per second.
    pub fn new(offset: TimeDelta, drift_ppm: f64) -> Self {
        Self { offset, drift_q40: (drift_ppm * 1e-6 * (1u64 << 40) as f64).round_ties_even() as i64 }
    }

    /// The time it shows at `at`.
    #[inline]
    pub fn local(&self, at: Timestamp) -> Timestamp {
        at + self.offset + TimeDelta::from_nanos(self.gain(at.as_nanos()))
    }

    /// The first instant at which it shows `local` or later.
    #[inline]
    pub fn true_time(&self, local: Timestamp) -> Timestamp {
        if local == Timestamp::MAX {
            return local;
        }
        let shown = (local - self.offset).as_nanos();
        let gain = self.gain(shown);
        let mut at = Timestamp::from_nanos(shown - gain + self.gain(gain));
        // The series is off by rounding and its third term: a few nanoseconds per hour.
        while self.local(at) < local {
            at += TimeDelta::from_nanos(1);
        }
        while self.local(at - TimeDelta::from_nanos(1)) >= local {
            at = at - TimeDelta::from_nanos(1);
        }
        at
    }

    #[inline]
    fn gain(&self, ns: i64) -> i64 {
        ((i128::from(ns) * i128::from(self.drift_q40)) >> 40) as i64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_and_back_is_the_first_instant_that_shows_it() {
        for drift_ppm in [-100.0, -20.0, 0.0, 35.5, 100.0] {
            let clock = ReceiverClock::new(TimeDelta::from_millis(-12_345), drift_ppm);
            for at in [0, 1, 999, 1_000_000_007, 60_000_000_000, 86_400_000_000_000] {
                let local = clock.local(Timestamp::from_nanos(at));
                let back = clock.true_time(local);
                assert!(clock.local(back) >= local && clock.local(back - TimeDelta::from_nanos(1)) < local);
                assert!((back.as_nanos() - at).abs() <= 1, "{drift_ppm} {at}");
            }
        }
    }

    #[test]
    fn twenty_parts_per_million_are_1200_microseconds_per_minute() {
        let clock = ReceiverClock::new(TimeDelta::ZERO, 20.0);
        let gained = clock.local(Timestamp::from_secs(60)) - Timestamp::from_secs(60);
        assert_eq!(gained.as_micros(), 1_200);
    }
}
