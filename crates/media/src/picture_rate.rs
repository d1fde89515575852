//! The actual picture rate of an encoder, for its rate control. An encoder shares the bitrate out among the pictures of
//! a second; if every other one is skipped it would otherwise send half of it. As in libwebrtc, the encoder learns this
//! rate.

use legato_units::{TimeDelta, Timestamp};
use std::collections::VecDeque;

/// Measures over the last second.
#[derive(Clone, Debug)]
pub struct PictureRate {
    /// The camera's nominal rate, in pictures per second.
    nominal: f32,
    /// When the pictures of the last second were captured.
    times: VecDeque<Timestamp>,
    /// The rate last returned.
    stated: f32,
}

/// The rate is measured over this long …
const WINDOW: TimeDelta = TimeDelta::from_millis(1_000);
/// … once pictures span this much of it.
const LEAST_SPAN: TimeDelta = TimeDelta::from_millis(500);
/// The last returned rate holds while it is off by less than this share: encoders would be reconfigured for nothing. It
/// must be small: each picture gets that error for as long as it lasts.
const SLACK: f32 = 0.005;

impl PictureRate {
    /// For a camera with this nominal rate in pictures per second.
    pub fn new(nominal: f32) -> Self {
        Self { nominal, times: VecDeque::with_capacity(32), stated: nominal }
    }

    /// Pictures per second, up to the one being coded; the nominal rate until there are enough.
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
        if (measured - self.stated).abs() > SLACK * self.stated {
            self.stated = measured;
        }
        self.stated
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_other_picture_is_half_the_rate_and_the_first_have_the_nominal_rate() {
        let mut rate = PictureRate::new(30.0);
        let measured: Vec<_> = (0..40).map(|n| rate.measure(Timestamp::from_millis(n * 67))).collect();
        assert_eq!(measured[..8], [30.0; 8]);
        assert!(measured[8..].iter().all(|rate| (14.9..15.0).contains(rate)), "{measured:?}");
    }

    #[test]
    fn a_picture_left_out_is_forgotten_after_a_second() {
        let mut rate = PictureRate::new(30.0);
        let coded = (0..90).filter(|&n| n != 40).map(|n| (n, rate.measure(Timestamp::from_nanos(n * 33_333_333))));
        for (n, stated) in coded {
            let expected = if (41..70).contains(&n) { 29.0 } else { 30.0 };
            assert!((stated - expected).abs() < 0.2, "picture {n}: {stated}");
        }
    }

    #[test]
    fn no_camera_exceeds_its_nominal_rate() {
        let mut rate = PictureRate::new(30.0);
        assert!((0..100).all(|n| rate.measure(Timestamp::from_millis(n * 20)) <= 30.0));
    }
}
