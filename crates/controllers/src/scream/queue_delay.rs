//! Queue delay: the one-way delay minus its minimum over the last ten minutes, so that the clocks' offset
//! cancels out and their drift is forgotten. [rfc8298] takes it from LEDBAT (RFC 6817), and so do the
//! drafts of its second version.
//!
//! Which packet of a feedback is sampled is up to the caller: [rfc8298] §4.1.2 feeds back the arrival of the one
//! with the highest number. RFC 6817 filters the latest delays by their minimum: the last packet of a frame that
//! leaves as a burst has waited for the frame, the first one only for the queue.

use super::feedback::OneWayDelays;
use legato_units::{TimeDelta, Timestamp};

/// The minimum one-way delay of each of the last minutes, and the latest queue delay.
#[derive(Clone, Debug)]
pub struct QueueDelay {
    /// Minimum one-way delay of a window, the current one at `current`.
    min: [TimeDelta; MAX_WINDOWS],
    windows: usize,
    window: TimeDelta,
    current: usize,
    window_end: Timestamp,
    delay: TimeDelta,
    /// The minimum queue delay since the base was last reset or read.
    seen: bool,
}

impl QueueDelay {
    /// A base over `windows` spans of `window` each; at most ten.
    pub fn new(windows: usize, window: TimeDelta) -> Self {
        Self {
            min: [TimeDelta::MAX; MAX_WINDOWS],
            windows: windows.clamp(1, MAX_WINDOWS),
            window,
            current: 0,
            window_end: Timestamp::MAX,
            delay: TimeDelta::ZERO,
            seen: false,
        }
    }

    /// Take the delays of one feedback, and `sample`, the one that counts; returns the queue delay.
    pub fn update(&mut self, now: Timestamp, delays: OneWayDelays, sample: TimeDelta) -> TimeDelta {
        if !self.seen {
            self.seen = true;
            self.window_end = now + self.window;
        }
        if now >= self.window_end {
            self.current = (self.current + 1) % self.windows;
            self.min[self.current] = TimeDelta::MAX;
            self.window_end = now + self.window;
        }
        let min = &mut self.min[self.current];
        *min = (*min).min(delays.min);
        self.delay = TimeDelta::from_nanos(sample.as_nanos().saturating_sub(self.base().as_nanos()));
        self.delay
    }

    /// The queue delay of the latest feedback; zero before the first.
    #[inline]
    pub fn get(&self) -> TimeDelta {
        self.delay
    }

    /// Forget the base: the next delay counts as one without a queue.
    pub fn reset(&mut self) {
        *self = Self::new(self.windows, self.window);
    }

    fn base(&self) -> TimeDelta {
        self.min[..self.windows].iter().fold(TimeDelta::MAX, |min, &delay| min.min(delay))
    }
}

/// The longest base history of a version: [rfc8298]'s, ten windows of a minute.
const MAX_WINDOWS: usize = 10;

#[cfg(test)]
mod tests {
    use super::*;

    fn update(queue: &mut QueueDelay, s: i64, ms: i64) -> i64 {
        let delay = TimeDelta::from_millis(ms);
        queue.update(Timestamp::from_secs(s), OneWayDelays::all(delay), delay).as_millis()
    }

    #[test]
    fn the_queue_is_the_delay_minus_its_minimum() {
        let mut queue = QueueDelay::new(10, TimeDelta::from_secs(60));
        assert_eq!(update(&mut queue, 1, -500), 0);
        assert_eq!(update(&mut queue, 2, -470), 30);
        assert_eq!(update(&mut queue, 3, -510), 0);
    }

    #[test]
    fn a_minimum_older_than_all_windows_is_forgotten() {
        let mut queue = QueueDelay::new(2, TimeDelta::from_secs(60));
        update(&mut queue, 0, 50);
        assert_eq!(update(&mut queue, 61, 80), 30);
        assert_eq!(update(&mut queue, 122, 85), 5);
    }

    #[test]
    fn after_a_reset_the_next_delay_is_the_base() {
        let mut queue = QueueDelay::new(10, TimeDelta::from_secs(60));
        update(&mut queue, 1, 50);
        queue.reset();
        assert_eq!(update(&mut queue, 2, 90), 0);
    }
}
