//! Whether more in flight means more delay ([liu2026]): the slope of a line through the delays of the last frames over
//! the bytes in flight.

use legato_units::{TimeDelta, Timestamp};
use std::collections::VecDeque;

/// gamma, by the frames of five seconds.
#[derive(Clone, Debug)]
pub struct Slope {
    threshold_us_per_byte: f64,
    min_gamma: f64,
    gamma: f64,
    slope_us_per_byte: f64,
    frames: VecDeque<(Timestamp, f64, f64)>,
}

impl Slope {
    /// Nothing is congested yet.
    pub fn new(threshold_us_per_byte: f64, min_gamma: f64) -> Self {
        Self { threshold_us_per_byte, min_gamma, gamma: 1.0, slope_us_per_byte: 0.0, frames: VecDeque::new() }
    }

    /// Take a frame; returns gamma.
    // [liu2026]: S = dD / d(inflight); congested if S > threshold: gamma <- 0.95 gamma, else gamma <- 1
    pub fn add(&mut self, now: Timestamp, in_flight_bytes: f64, delay_us: f64) -> f64 {
        self.frames.push_back((now, in_flight_bytes, delay_us));
        while self.frames.len() > MOST_FRAMES || self.frames.front().is_some_and(|(at, ..)| now - *at > WINDOW) {
            self.frames.pop_front();
        }
        self.slope_us_per_byte = self.regression();
        self.gamma = if self.slope_us_per_byte > self.threshold_us_per_byte {
            (DECREASE * self.gamma).max(self.min_gamma)
        } else {
            1.0
        };
        self.gamma
    }

    fn regression(&self) -> f64 {
        let count = self.frames.len() as f64;
        let sums = self.frames.iter().fold((0.0, 0.0), |(x, y), frame| (x + frame.1, y + frame.2));
        let (mean_x, mean_y) = (sums.0 / count, sums.1 / count);
        let (mut xx, mut xy) = (0.0, 0.0);
        for (_, x, y) in &self.frames {
            xx += (x - mean_x) * (x - mean_x);
            xy += (x - mean_x) * (y - mean_y);
        }
        if xx > 0.0 { xy / xx } else { 0.0 }
    }

    /// The last slope.
    pub fn slope_us_per_byte(&self) -> f64 {
        self.slope_us_per_byte
    }
}

// [liu2026]'s public code.
const DECREASE: f64 = 0.95;
const WINDOW: TimeDelta = TimeDelta::from_secs(5);
const MOST_FRAMES: usize = 1_024;

#[cfg(test)]
mod tests {
    use super::*;

    /// [liu2026], worked by hand: 1,000 bytes more and 2,000 µs more are 2 µs a byte: 0.95, then 0.9025 with a third
    /// frame on the line. Frames without more delay make 1 again once the old ones are forgotten.
    #[test]
    fn gamma_falls_while_delay_grows_with_what_is_in_flight() {
        let at = Timestamp::from_millis;
        let mut slope = Slope::new(0.5, 0.2);
        assert_eq!(slope.add(at(0), 1_000.0, 20_000.0), 1.0);
        assert!((slope.add(at(33), 2_000.0, 22_000.0) - 0.95).abs() < 1e-12);
        assert!((slope.slope_us_per_byte() - 2.0).abs() < 1e-9);
        assert!((slope.add(at(66), 3_000.0, 24_000.0) - 0.9025).abs() < 1e-12);
        assert_eq!(slope.add(at(5_100), 1_000.0, 20_000.0), 1.0);
        for turn in 0..100 {
            slope.add(at(5_200 + turn), 1_000.0 * (turn % 2) as f64, 5_000.0 * (turn % 2) as f64);
        }
        assert_eq!(slope.gamma, 0.2);
    }
}
