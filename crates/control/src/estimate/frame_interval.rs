//! The time between two captures, smoothed.

use legato_units::{Seconds, Timestamp};

/// 30 pictures a second until two have come.
const FIRST: Seconds = Seconds::new(1.0 / 30.0);
/// 250 pictures a second to 5: a longer interval is a pause.
const SHORTEST: Seconds = Seconds::from_millis(4.0);
/// See [`SHORTEST`].
const LONGEST: Seconds = Seconds::from_millis(200.0);
/// About the last eight count.
const GAIN: f64 = 0.125;

/// Follows a source's frame rate.
#[derive(Clone, Copy, Debug)]
pub struct FrameInterval {
    last: Option<Timestamp>,
    mean: Seconds,
}

impl Default for FrameInterval {
    fn default() -> Self {
        Self { last: None, mean: FIRST }
    }
}

impl FrameInterval {
    /// That of a source with a given rate.
    pub fn of_secs(seconds: f64) -> Self {
        Self { last: None, mean: Seconds::new(seconds) }
    }

    /// A picture was captured.
    pub fn on_capture(&mut self, now: Timestamp) {
        if let Some(last) = self.last.replace(now) {
            let measured = Seconds::from(now - last).clamp(SHORTEST, LONGEST);
            self.mean += (measured - self.mean) * GAIN;
        }
    }

    /// As it is known.
    pub fn mean(&self) -> Seconds {
        self.mean
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_follows_the_source_and_takes_a_pause_for_one_picture_left_out() {
        let mut interval = FrameInterval::default();
        assert_eq!(interval.mean(), FIRST);
        (0..100).for_each(|n| interval.on_capture(Timestamp::from_millis(20 * n)));
        assert!((interval.mean().get() - 0.02).abs() < 1e-6);
        interval.on_capture(Timestamp::from_secs(60));
        // (0.2 - 0.02) / 8 more.
        assert!((interval.mean().get() - 0.0425).abs() < 1e-6);
    }
}
