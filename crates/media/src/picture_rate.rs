//! How many pictures a second an encoder really gets, for its rate control: it shares the bitrate out among the
//! pictures of a second, and where every other one is left out it would send half of it otherwise. libwebrtc tells its
//! encoders the same.

use legato_units::{TimeDelta, Timestamp};
use std::collections::VecDeque;

/// Measures over the last second.
#[derive(Clone, Debug)]
pub struct PictureRate {
    /// What the camera promises, in pictures a second.
    nominal: f32,
    /// When the pictures of the last second were captured.
    times: VecDeque<Timestamp>,
    /// What was told last.
    told: f32,
}

/// The rate is measured over this long …
const WINDOW: TimeDelta = TimeDelta::from_millis(1_000);
/// … once pictures span this much of it.
const LEAST_SPAN: TimeDelta = TimeDelta::from_millis(500);
/// What was told stands while it is off by less than this share: encoders would be set anew for nothing. It must be
/// little: what it is off by goes to each picture for as long as that stays so.
const SLACK: f32 = 0.005;

impl PictureRate {
    /// Of a camera that promises so many pictures a second.
    pub fn new(nominal: f32) -> Self {
        Self { nominal, times: VecDeque::with_capacity(32), told: nominal }
    }

    /// Pictures a second, up to the one that is coded now; the nominal rate while too few were.
    pub fn measure(&mut self, capture: Timestamp) -> f32 {
        self.times.push_back(capture);
        while self.times.front().is_some_and(|&first| capture - first > WINDOW) {
            self.times.pop_front();
        }
        let span = capture - self.times.front().copied().unwrap_or(capture);
        let measured = match span < LEAST_SPAN {
            true => self.nominal,
            false => ((self.times.len() - 1) as f32 / span.as_secs_f64() as f32).clamp(1.0, self.nominal),
        };
        if (measured - self.told).abs() > SLACK * self.told {
            self.told = measured;
        }
        self.told
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_other_picture_is_half_the_rate_and_the_first_ones_are_the_nominal_rate() {
        let mut rate = PictureRate::new(30.0);
        let measured: Vec<_> = (0..40).map(|n| rate.measure(Timestamp::from_millis(n * 67))).collect();
        assert_eq!(measured[..8], [30.0; 8]);
        assert!(measured[8..].iter().all(|rate| (14.9..15.0).contains(rate)), "{measured:?}");
    }

    #[test]
    fn a_picture_left_out_is_forgotten_after_a_second() {
        let mut rate = PictureRate::new(30.0);
        let coded = (0..90).filter(|&n| n != 40).map(|n| (n, rate.measure(Timestamp::from_nanos(n * 33_333_333))));
        for (n, told) in coded {
            let expected = if (41..70).contains(&n) { 29.0 } else { 30.0 };
            assert!((told - expected).abs() < 0.2, "picture {n}: {told}");
        }
    }

    #[test]
    fn no_camera_brings_more_than_it_promises() {
        let mut rate = PictureRate::new(30.0);
        assert!((0..100).all(|n| rate.measure(Timestamp::from_millis(n * 20)) <= 30.0));
    }
}
