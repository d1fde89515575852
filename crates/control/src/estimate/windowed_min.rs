//! The minimum of all values over a window of time.

use legato_units::{TimeDelta, Timestamp};
use std::collections::VecDeque;

/// Keeps only values that may still become the minimum: they ascend from the front to the back.
#[derive(Clone, Debug, Default)]
pub struct WindowedMin<T = f64> {
    kept: VecDeque<(Timestamp, T)>,
}

impl<T: Copy + PartialOrd> WindowedMin<T> {
    /// Add a value seen at `at`, not before the last one, and return the minimum of the last `window`.
    pub fn after(&mut self, at: Timestamp, value: T, window: TimeDelta) -> T {
        while self.kept.back().is_some_and(|(_, last)| *last >= value) {
            self.kept.pop_back();
        }
        self.kept.push_back((at, value));
        while self.kept.len() > 1 && at - self.kept[0].0 > window {
            self.kept.pop_front();
        }
        self.kept[0].1
    }

    /// The minimum as of the last value.
    pub fn min(&self) -> Option<T> {
        self.kept.front().map(|(_, value)| *value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_minimum_is_that_of_the_window() {
        let mut min = WindowedMin::default();
        assert_eq!(min.min(), None);
        let mut after = |ms, value| min.after(Timestamp::from_millis(ms), value, TimeDelta::from_millis(100));
        let seen = [after(0, 5.0), after(50, 7.0), after(100, 9.0), after(120, 9.0), after(160, 9.0), after(170, 2.0)];
        assert_eq!(seen, [5.0, 5.0, 5.0, 7.0, 9.0, 2.0]);
        assert_eq!(min.kept.len(), 1);
    }
}
