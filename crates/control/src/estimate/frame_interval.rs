//! The time between two captures, smoothed.

use legato_units::Timestamp;

/// 30 pictures a second until two have come.
const FIRST_S: f64 = 1.0 / 30.0;
/// 250 pictures a second to 5: what is longer is a pause.
const SHORTEST_S: f64 = 0.004;
/// See [`SHORTEST_S`].
const LONGEST_S: f64 = 0.2;
/// About the last eight count.
const GAIN: f64 = 0.125;

/// Follows a source's frame rate.
#[derive(Clone, Copy, Debug)]
pub struct FrameInterval {
    last: Option<Timestamp>,
    seconds: f64,
}

impl Default for FrameInterval {
    fn default() -> Self {
        Self { last: None, seconds: FIRST_S }
    }
}

impl FrameInterval {
    /// That of a source whose rate is known.
    pub fn of_secs(seconds: f64) -> Self {
        Self { last: None, seconds }
    }

    /// A picture was captured.
    pub fn on_capture(&mut self, now: Timestamp) {
        if let Some(last) = self.last.replace(now) {
            let measured = (now - last).as_secs_f64().clamp(SHORTEST_S, LONGEST_S);
            self.seconds += (measured - self.seconds) * GAIN;
        }
    }

    /// In seconds.
    pub fn as_secs_f64(&self) -> f64 {
        self.seconds
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_follows_the_source_and_takes_a_pause_for_one_picture_left_out() {
        let mut interval = FrameInterval::default();
        assert_eq!(interval.as_secs_f64(), FIRST_S);
        (0..100).for_each(|n| interval.on_capture(Timestamp::from_millis(20 * n)));
        assert!((interval.as_secs_f64() - 0.02).abs() < 1e-6);
        interval.on_capture(Timestamp::from_secs(60));
        // (0.2 - 0.02) / 8 more.
        assert!((interval.as_secs_f64() - 0.0425).abs() < 1e-6);
    }
}
