//! The congestion window of [rfc8298] §4.1.2.1, §4.1.2.2, §4.1.2.5 and §4.1.2.7: it grows by everything acknowledged
//! until the queue shows a trend ("fast increase"), then like LEDBAT's, by how far the queue is from its target. Loss
//! and marks cut it; the bytes in flight in the last five seconds bound it.

use super::max_in_flight::MaxInFlight;
use legato_units::{TimeDelta, Timestamp};

/// cwnd and the state of fast increase.
#[derive(Clone, Debug)]
pub struct CongestionWindow {
    bytes: f64,
    in_fast_increase: bool,
    /// When the trend was last at QDELAY_TREND_LO or above.
    trended: Timestamp,
    max_in_flight: MaxInFlight,
}

/// The window's inputs from one feedback.
#[derive(Clone, Copy, Debug)]
pub struct WindowInput {
    /// bytes_newly_acked.
    pub newly_acked: u64,
    /// Bytes in flight, minus those newly acknowledged.
    pub in_flight: u64,
    /// The queue delay …
    pub queue_delay: TimeDelta,
    /// … and its target.
    pub target: TimeDelta,
    /// qdelay_trend.
    pub trend: f64,
}

impl CongestionWindow {
    /// The minimum window, in fast increase.
    pub fn new(start: Timestamp) -> Self {
        Self { bytes: MIN_CWND_BYTES, in_fast_increase: true, trended: start, max_in_flight: MaxInFlight::default() }
    }

    /// cwnd in bytes.
    #[inline]
    pub fn bytes(&self) -> f64 {
        self.bytes
    }

    /// Whether the window and the target grow fast.
    #[inline]
    pub fn in_fast_increase(&self) -> bool {
        self.in_fast_increase
    }

    /// A packet left; now `in_flight` bytes are in flight.
    #[inline]
    pub fn sent(&mut self, now: Timestamp, in_flight: u64) {
        self.max_in_flight.update(now, in_flight);
    }

    /// A loss or ECN event: cut by `beta`.
    pub fn cut(&mut self, beta: f64) {
        // [rfc8298] §4.1.2.1: in_fast_increase = false; cwnd = max(MIN_CWND, cwnd × BETA).
        self.in_fast_increase = false;
        self.bytes = (self.bytes * beta).max(MIN_CWND_BYTES);
    }

    /// Feedback without loss or marks. Returns whether it ended fast increase.
    pub fn acknowledged(&mut self, now: Timestamp, input: &WindowInput) -> bool {
        if input.trend >= QDELAY_TREND_LO {
            self.trended = now;
        }
        let (newly_acked, in_flight) = (input.newly_acked as f64, input.in_flight as f64);
        let mut left = false;
        if self.in_fast_increase {
            if input.trend < QDELAY_TREND_TH {
                // [rfc8298] §4.1.2.2: if in_flight × 1.5 + newly_acked > cwnd: cwnd += newly_acked.
                if in_flight * 1.5 + newly_acked > self.bytes {
                    self.bytes += newly_acked;
                }
                return false;
            }
            self.in_fast_increase = false;
            left = true;
        }
        // [rfc8298] §4.1.2.2: off = (target - qdelay) / target;
        // cwnd += GAIN × off × newly_acked × MSS / cwnd, up only if in_flight × 1.25 + newly_acked > cwnd.
        let target_s = input.target.as_secs_f64();
        let off_target = (target_s - input.queue_delay.as_secs_f64()) / target_s;
        let used = in_flight * 1.25 + newly_acked > self.bytes;
        if off_target <= 0.0 || used {
            self.bytes += GAIN * off_target * newly_acked * MSS_BYTES / self.bytes;
        }
        // cwnd <= max_bytes_in_flight × MAX_BYTES_IN_FLIGHT_HEAD_ROOM; cwnd >= MIN_CWND.
        let limit = self.max_in_flight.get() as f64 * MAX_BYTES_IN_FLIGHT_HEAD_ROOM;
        self.bytes = self.bytes.min(limit).max(MIN_CWND_BYTES);
        left
    }

    /// Return to fast increase after a calm period.
    pub fn resume(&mut self, now: Timestamp) {
        // [rfc8298] §4.1.2.7: qdelay_trend below QDELAY_TREND_LO for T_RESUME_FAST_INCREASE, whatever was lost.
        if now - self.trended >= T_RESUME_FAST_INCREASE {
            self.in_fast_increase = true;
        }
    }

    /// The maximum in flight while the queue is `queue_delay` and should be `target`.
    pub fn in_flight_limit(&self, queue_delay: TimeDelta, target: TimeDelta) -> f64 {
        // [rfc8298] §4.1.2.5: send_wnd = cwnd + MSS - in_flight if qdelay <= target, else cwnd - in_flight.
        if queue_delay <= target { self.bytes + MSS_BYTES } else { self.bytes }
    }
}

// [rfc8298] §4.1.1.1.
/// The minimum window.
const MIN_CWND_BYTES: f64 = 3_000.0;
/// MSS: the maximum segment size, the unit in which the window grows.
const MSS_BYTES: f64 = 1_000.0;
/// Of the window beyond fast increase.
const GAIN: f64 = 1.0;
/// The window over the maximum in flight in 5 s.
const MAX_BYTES_IN_FLIGHT_HEAD_ROOM: f64 = 1.1;
/// A trend above ends fast increase.
const QDELAY_TREND_TH: f64 = 0.2;
/// A trend that stays below it resumes fast increase.
const QDELAY_TREND_LO: f64 = 0.2;
/// How long the trend must stay below QDELAY_TREND_LO to resume fast increase.
const T_RESUME_FAST_INCREASE: TimeDelta = TimeDelta::from_secs(5);

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(ms: i64) -> TimeDelta {
        TimeDelta::from_millis(ms)
    }

    fn input(newly_acked: u64, in_flight: u64, queue_ms: i64, trend: f64) -> WindowInput {
        WindowInput { newly_acked, in_flight, queue_delay: ms(queue_ms), target: ms(100), trend }
    }

    fn window(bytes: f64, in_fast_increase: bool, max_in_flight: u64) -> CongestionWindow {
        let mut window = CongestionWindow::new(Timestamp::ZERO);
        (window.bytes, window.in_fast_increase) = (bytes, in_fast_increase);
        window.sent(Timestamp::ZERO, max_in_flight);
        window
    }

    /// [rfc8298] §4.1.2.2, fast increase worked by hand: 1.5 × 6,000 + 2,000 = 11,000 > 10,000.
    #[test]
    fn fast_increase_adds_what_is_acknowledged_while_the_window_is_used() {
        let mut window = window(10_000.0, true, 10_000);
        assert!(!window.acknowledged(Timestamp::ZERO, &input(2_000, 6_000, 10, 0.0)));
        assert_eq!(window.bytes(), 12_000.0);
        // 1.5 × 6,000 + 2,000 = 11,000 is not more than 12,000.
        window.acknowledged(Timestamp::ZERO, &input(2_000, 6_000, 10, 0.0));
        assert_eq!(window.bytes(), 12_000.0);
    }

    /// [rfc8298] §4.1.2.2, worked by hand: off = (100 - 50) / 100 = 0.5; 0.5 × 4,000 × 1,000 / 10,000 = 200.
    #[test]
    fn beyond_fast_increase_the_distance_to_the_target_moves_the_window() {
        let mut window = window(10_000.0, true, 20_000);
        assert!(window.acknowledged(Timestamp::ZERO, &input(4_000, 8_000, 50, 0.2)), "a trend ends it");
        assert_eq!(window.bytes(), 10_200.0);
        // off = -1: down by 1,020,000 × … = 4,000 × 1,000 / 10,200.
        window.acknowledged(Timestamp::ZERO, &input(4_000, 0, 200, 0.2));
        assert!((window.bytes() - (10_200.0 - 4_000_000.0 / 10_200.0)).abs() < 1e-9);
        let before = window.bytes();
        // Not used: 1.25 × 2,000 + 4,000 is less than the window.
        window.acknowledged(Timestamp::ZERO, &input(4_000, 2_000, 50, 0.2));
        assert_eq!(window.bytes(), before);
    }

    /// [rfc8298] §4.1.2.2, with the values of [rfc8298] §4.1.1.1: at most 1.1 × 5,000 bytes of the last five seconds, at
    /// least 3,000.
    #[test]
    fn bytes_in_flight_bound_the_window() {
        let mut window = window(10_000.0, false, 5_000);
        window.acknowledged(Timestamp::ZERO, &input(1_000, 10_000, 100, 0.0));
        assert_eq!(window.bytes(), 5_500.0);
        window.cut(0.1);
        assert_eq!(window.bytes(), 3_000.0);
    }

    /// [rfc8298] §4.1.2.1, worked by hand: 10,000 × 0.8, and fast increase is over. §4.1.2.7: until the trend has been
    /// below 0.2 for 5 s, which a loss does not interrupt.
    #[test]
    fn loss_cuts_the_window_and_a_calm_trend_resumes_fast_increase() {
        let mut window = window(10_000.0, true, 20_000);
        window.acknowledged(Timestamp::from_secs(10), &input(0, 0, 50, 0.2));
        window.cut(0.8);
        assert_eq!((window.bytes(), window.in_fast_increase()), (8_000.0, false));
        window.resume(Timestamp::from_millis(14_999));
        window.cut(1.0);
        assert!(!window.in_fast_increase());
        window.resume(Timestamp::from_secs(15));
        assert!(window.in_fast_increase());
    }

    /// [rfc8298] §4.1.2.5: one segment more while the queue is not above its target.
    #[test]
    fn a_short_queue_allows_one_more_segment_in_flight() {
        let window = window(10_000.0, true, 20_000);
        assert_eq!(window.in_flight_limit(ms(100), ms(100)), 11_000.0);
        assert_eq!(window.in_flight_limit(ms(101), ms(100)), 10_000.0);
    }
}
