//! How many pictures a second a camera really brings, for the encoder's rate control: it shares the bitrate out among
//! the pictures of a second, and a camera that leaves every other one out would get half of it otherwise. libwebrtc
//! tells its encoders the same.

use std::collections::VecDeque;

/// Measures over the last second.
#[derive(Debug)]
pub struct PictureRate {
    /// What the camera promises, in pictures a second.
    nominal: f32,
    /// When the pictures of the last second were captured, ms.
    times_ms: VecDeque<i64>,
}

/// The rate is measured over this long …
const WINDOW_MS: i64 = 1_000;
/// … once pictures span this much of it.
const LEAST_SPAN_MS: i64 = 500;

impl PictureRate {
    /// Of a camera that promises so many pictures a second.
    pub fn new(nominal: f32) -> Self {
        Self { nominal, times_ms: VecDeque::new() }
    }

    /// Pictures a second, up to the one captured at `time_ms`; the nominal rate while too few have come.
    pub fn measure(&mut self, time_ms: i64) -> f32 {
        self.times_ms.push_back(time_ms);
        while self.times_ms.front().is_some_and(|&first| time_ms - first > WINDOW_MS) {
            self.times_ms.pop_front();
        }
        let span_ms = time_ms - self.times_ms.front().copied().unwrap_or(time_ms);
        if span_ms < LEAST_SPAN_MS {
            return self.nominal;
        }
        let measured = (self.times_ms.len() - 1) as f32 * 1_000.0 / span_ms as f32;
        measured.clamp(1.0, self.nominal)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_other_picture_is_half_the_rate_and_the_first_ones_are_the_nominal_rate() {
        let mut rate = PictureRate::new(30.0);
        let measured: Vec<_> = (0..40).map(|n| rate.measure(n * 67)).collect();
        assert_eq!(measured[..8], [30.0; 8]);
        assert!(measured[8..].iter().all(|rate| (14.9..15.0).contains(rate)), "{measured:?}");
    }

    #[test]
    fn no_camera_brings_more_than_it_promises() {
        let mut rate = PictureRate::new(30.0);
        assert!((0..100).all(|n| rate.measure(n * 20) <= 30.0));
    }
}
