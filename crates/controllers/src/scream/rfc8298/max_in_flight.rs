//! The maximum bytes in flight over the last five seconds ([rfc8298] §4.1.1.2), in steps of half a second.

use legato_units::{TimeDelta, Timestamp};

/// max_bytes_in_flight.
#[derive(Clone, Debug, Default)]
pub struct MaxInFlight {
    /// The maximum of every half second; the current one at `current`.
    maximum: [u64; STEPS],
    current: usize,
    step_end: Option<Timestamp>,
    max: u64,
}

impl MaxInFlight {
    /// `bytes` are in flight at `now`.
    #[inline]
    pub fn update(&mut self, now: Timestamp, bytes: u64) {
        if self.step_end.is_none_or(|end| now >= end) {
            self.step(now);
        }
        if bytes > self.maximum[self.current] {
            self.maximum[self.current] = bytes;
            self.max = self.max.max(bytes);
        }
    }

    /// The maximum of the last five seconds, in bytes.
    #[inline]
    pub fn get(&self) -> u64 {
        self.max
    }

    fn step(&mut self, now: Timestamp) {
        let end = self.step_end.unwrap_or(now);
        let passed = (now - end).as_nanos() / STEP.as_nanos() + 1;
        for _ in 0..passed.min(STEPS as i64) {
            self.current = (self.current + 1) % STEPS;
            self.maximum[self.current] = 0;
        }
        self.step_end = Some(end + STEP * passed);
        self.max = self.maximum.iter().copied().max().unwrap_or(0);
    }
}

// [rfc8298] §4.1.1.2: the maximum over the last five seconds; steps of half a second are ours.
const STEPS: usize = 10;
const STEP: TimeDelta = TimeDelta::from_millis(500);

#[cfg(test)]
mod tests {
    use super::*;

    /// [rfc8298] §4.1.1.2: a sliding window of 5 s.
    #[test]
    fn the_maximum_of_the_last_five_seconds_counts() {
        let mut max = MaxInFlight::default();
        max.update(Timestamp::from_millis(0), 9_000);
        max.update(Timestamp::from_millis(600), 5_000);
        max.update(Timestamp::from_millis(4_900), 1_000);
        assert_eq!(max.get(), 9_000);
        max.update(Timestamp::from_millis(5_000), 1_000);
        assert_eq!(max.get(), 5_000);
        max.update(Timestamp::from_secs(60), 700);
        assert_eq!(max.get(), 700);
    }
}
