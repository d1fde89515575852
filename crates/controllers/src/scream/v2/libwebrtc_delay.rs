//! Queue delay and round trip as libwebrtc measures them for its second version of SCReAM: the minimum delay of a
//! feedback, and the lower of that and the previous one. Then its minimum and the spread of delays within a feedback,
//! both slowly averaged, and whether the queue has drained recently. DelayBasedCongestionControl [libwebrtc-m150].

use super::QDELAY_AVG_GAIN;
use super::config::Config;
use crate::scream::feedback::Acknowledged;
use crate::scream::queue_delay::QueueDelay;
use crate::scream::round_trip::{self, SmoothedRtt};
use legato_units::{TimeDelta, Timestamp};

/// The path, by its delays.
#[derive(Clone, Debug)]
pub struct LibwebrtcDelay {
    queue: QueueDelay,
    rtt: SmoothedRtt,
    hold_s: Option<f64>,
    /// The queue delay of the previous feedback, in seconds.
    last_s: Option<f64>,
    average_s: Option<f64>,
    min_average_s: f64,
    spread_average_s: f64,
    /// Since when the queue has been above the drain threshold.
    filled: Option<Timestamp>,
}

impl Default for LibwebrtcDelay {
    fn default() -> Self {
        Self {
            // [libwebrtc-m150] BaseDelayWindowLength 10, BaseDelayHistoryUpdateInterval 1 minute.
            queue: QueueDelay::new(10, TimeDelta::from_secs(60)),
            rtt: SmoothedRtt::default(),
            hold_s: None,
            last_s: None,
            average_s: None,
            min_average_s: 0.0,
            spread_average_s: 0.0,
            filled: None,
        }
    }
}

impl LibwebrtcDelay {
    /// Take a feedback; `application_limited` slows the round trip's average and leaves the hold time.
    pub fn update(&mut self, now: Timestamp, said: &Acknowledged, application_limited: bool) {
        if let Some(round_trip) = said.round_trip {
            self.rtt.update(round_trip, if application_limited { RTT_ALR_GAIN } else { round_trip::GAIN });
        }
        if let Some(delays) = said.one_way {
            let queue = self.queue.update(now, delays, delays.min);
            self.update_queue(now, queue);
            let spread_s = (delays.max - delays.min).as_secs_f64();
            average(&mut self.spread_average_s, spread_s);
        }
        if !application_limited {
            let hold_s = said.arrival_span.as_secs_f64();
            let held_s = self.hold_s.unwrap_or(hold_s);
            self.hold_s = Some(held_s + FEEDBACK_HOLD_GAIN * (hold_s - held_s));
        }
    }

    fn update_queue(&mut self, now: Timestamp, queue: TimeDelta) {
        let queue_s = queue.as_secs_f64();
        if queue_s * 1e3 > DRAIN_THRESHOLD_MS {
            self.filled.get_or_insert(now);
        } else {
            self.filled = None;
        }
        // The lower of two feedbacks; falls at once, rises by QDelayAvgG.
        let sample_s = self.last_s.map_or(queue_s, |last_s| last_s.min(queue_s));
        self.last_s = Some(queue_s);
        self.average_s = Some(match self.average_s {
            Some(average_s) if sample_s >= average_s => average_s + QDELAY_AVG_GAIN * (sample_s - average_s),
            _ => sample_s,
        });
        average(&mut self.min_average_s, queue_s);
    }

    /// Round trip, smoothed.
    pub fn round_trip(&self) -> TimeDelta {
        self.rtt.get()
    }

    /// Round trip plus the time feedback is held, in seconds; what the window covers.
    pub fn round_trip_and_hold_s(&self) -> f64 {
        self.rtt.get().as_secs_f64() + self.hold_s.unwrap_or(0.0)
    }

    /// queue_delay_avg in seconds.
    pub fn average_s(&self) -> f64 {
        self.average_s.unwrap_or(0.0)
    }

    /// The queue delay is above half its target.
    pub fn is_detected(&self, config: &Config) -> bool {
        self.average_s() > f64::from(config.qdelay_target_lo_ms) / 2e3
    }

    /// l4s_alpha_v: 0 at half the target, 1 at the target.
    pub fn virtual_alpha(&self, config: &Config) -> f64 {
        let half_s = f64::from(config.qdelay_target_lo_ms) / 2e3;
        ((self.average_s() - half_s) / half_s).clamp(0.0, 1.0)
    }

    /// 1 at a minimum delay of a quarter of its threshold, 0.1 at the threshold, and at least `floor`.
    pub fn min_delay_scale(&self, floor: f64) -> f64 {
        scale(self.min_average_s, floor)
    }

    /// The same for the spread of delays in a feedback.
    pub fn spread_scale(&self) -> f64 {
        scale(self.spread_average_s, 0.1)
    }

    /// The queue has not been short for too long.
    pub fn must_drain(&self, now: Timestamp) -> bool {
        self.filled.is_some_and(|filled| now - filled >= DRAIN_AFTER)
    }

    /// Forget queue and base; the round trip stays.
    pub fn reset_queue(&mut self) {
        *self = Self { rtt: self.rtt, hold_s: self.hold_s, ..Self::default() };
    }
}

/// Slowly towards `value_s`, which counts up to twice the threshold.
fn average(average_s: &mut f64, value_s: f64) {
    *average_s += DELAY_SPREAD_GAIN * (value_s.min(2.0 * THRESHOLD_S) - *average_s);
}

fn scale(average_s: f64, floor: f64) -> f64 {
    (0.1 + 1.2 * (THRESHOLD_S - average_s) / THRESHOLD_S).clamp(floor, 1.0)
}

// [libwebrtc-m150] ScreamV2Parameters and DelayBasedCongestionControl.
/// The weight of a round trip in the average while the application limits itself.
const RTT_ALR_GAIN: f64 = 1.0 / 128.0;
/// The weight of a feedback in the average time that feedback is held at the receiver.
const FEEDBACK_HOLD_GAIN: f64 = 1.0 / 8.0;
/// The weight of a feedback in the averages of the minimum queue delay and of the spread of delays.
const DELAY_SPREAD_GAIN: f64 = 1.0 / 32.0;
/// Minimum queue delays, and spreads, from here on slow growth to a tenth.
const THRESHOLD_S: f64 = 0.010;
/// A queue that stays above this for `DRAIN_AFTER` is drained.
const DRAIN_THRESHOLD_MS: f64 = 5.0;
const DRAIN_AFTER: TimeDelta = TimeDelta::from_secs(20);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scream::feedback::OneWayDelays;

    fn reported(delay: &mut LibwebrtcDelay, ms: i64, delays_ms: (i64, i64)) {
        let [min, max] = [delays_ms.0, delays_ms.1].map(TimeDelta::from_millis);
        let said = Acknowledged {
            round_trip: Some(TimeDelta::from_millis(100)),
            one_way: Some(OneWayDelays { min, max, last: max }),
            arrival_span: TimeDelta::from_millis(40),
            ..Acknowledged::default()
        };
        delay.update(Timestamp::from_millis(ms), &said, false);
    }

    /// [libwebrtc-m150], worked by hand: 0, 40, 40 ms: samples 0, 0, 40: the average is a quarter of 40.
    #[test]
    fn a_single_late_feedback_is_not_a_queue() {
        let mut delay = LibwebrtcDelay::default();
        reported(&mut delay, 0, (50, 50));
        reported(&mut delay, 50, (90, 90));
        assert_eq!(delay.average_s(), 0.0);
        reported(&mut delay, 100, (90, 90));
        assert!((delay.average_s() - 0.010).abs() < 1e-12);
        // The minimum delay counts at most 20 ms: 20 / 32, then × 31/32 + 20 / 32.
        let min_ms = 20.0 / 32.0 * 31.0 / 32.0 + 20.0 / 32.0;
        assert!((delay.min_average_s * 1e3 - min_ms).abs() < 1e-9);
        assert_eq!(delay.min_delay_scale(0.0), 1.0, "below 2.5 ms");
        assert!((delay.round_trip_and_hold_s() - 0.140).abs() < 1e-12);
    }

    /// [libwebrtc-m150]: 0.1 at the threshold, and 0 a twelfth beyond it if that is allowed.
    #[test]
    fn the_scale_is_a_tenth_at_the_threshold() {
        assert!((scale(0.010, 0.0) - 0.1).abs() < 1e-12);
        assert_eq!((scale(0.002, 0.0), scale(0.011, 0.0), scale(0.011, 0.1)), (1.0, 0.0, 0.1));
    }

    /// [libwebrtc-m150]: above 5 ms for 20 s.
    #[test]
    fn a_queue_that_stands_for_twenty_seconds_must_drain() {
        let mut delay = LibwebrtcDelay::default();
        reported(&mut delay, 0, (50, 50));
        reported(&mut delay, 1_000, (56, 56));
        reported(&mut delay, 20_999, (56, 56));
        assert!(!delay.must_drain(Timestamp::from_millis(20_999)));
        assert!(delay.must_drain(Timestamp::from_secs(21)));
        delay.reset_queue();
        assert!(!delay.must_drain(Timestamp::from_secs(21)));
    }
}
