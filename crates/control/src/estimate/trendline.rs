//! Is the queue growing? A straight line through the smoothed one-way delay variation of the last 20
//! groups: its slope is about (sending rate − capacity) / capacity. Scaled by the number of groups
//! seen and a gain, it is what [`super::overuse`] compares with its threshold. As libwebrtc's
//! `TrendlineEstimator` [libwebrtc-m150].

use super::arrival_groups::GroupDelta;
use super::overuse::{BandwidthUsage, OveruseConfig, OveruseDetector};
use legato_units::{PeerTimestamp, TimeDelta};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Parameters of the trend line.
// [libwebrtc-m150] trendline_estimator.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct TrendlineConfig {
    /// Number of groups that the line is fitted through; no verdict before there are as many.
    #[schemars(range(min = 2, max = MAX_WINDOW))]
    pub window_groups: usize,
    /// Weight of the sum of delay variations so far against the newest, in the delay that the line is fitted to.
    #[schemars(range(min = 0, max = 0.999))]
    pub smoothing_weight: f64,
    /// The slope counts times this, in milliseconds per group.
    #[schemars(range(min = 0.01, max = 1_000))]
    pub slope_gain: f64,
}

impl Default for TrendlineConfig {
    fn default() -> Self {
        Self { window_groups: 20, smoothing_weight: 0.9, slope_gain: 4.0 }
    }
}

/// The line and the detector of over-use.
#[derive(Clone, Debug)]
pub struct Trendline {
    config: TrendlineConfig,
    history: History,
    deltas: u32,
    accumulated_delay_ms: f64,
    smoothed_delay_ms: f64,
    trend: f64,
    detector: OveruseDetector,
}

impl Default for Trendline {
    fn default() -> Self {
        Self::new(TrendlineConfig::default(), OveruseConfig::default())
    }
}

impl Trendline {
    /// Nothing seen. The window is at most [`MAX_WINDOW`].
    pub fn new(config: TrendlineConfig, overuse: OveruseConfig) -> Self {
        Self {
            config,
            history: History::new(config.window_groups),
            deltas: 0,
            accumulated_delay_ms: 0.0,
            smoothed_delay_ms: 0.0,
            trend: 0.0,
            detector: OveruseDetector::new(overuse),
        }
    }

    /// Forget all samples.
    pub fn restart(&mut self) {
        *self = Self::new(self.config, self.detector.config());
    }

    /// Take one delta; `arrival` is when the packet that closed the second group arrived.
    #[inline]
    pub fn update(&mut self, delta: &GroupDelta, arrival: PeerTimestamp) {
        self.deltas = (self.deltas + 1).min(MAX_DELTAS);
        let weight = self.config.smoothing_weight;
        self.accumulated_delay_ms += (delta.arrival - delta.departure).as_nanos() as f64 * MS_PER_NS;
        self.smoothed_delay_ms = weight * self.smoothed_delay_ms + (1.0 - weight) * self.accumulated_delay_ms;
        self.history.push(arrival, self.smoothed_delay_ms);
        let trend = self.history.slope().unwrap_or(self.trend);
        self.detect(trend, delta.departure, arrival);
    }

    /// The verdict.
    #[inline]
    pub fn usage(&self) -> BandwidthUsage {
        self.detector.usage()
    }

    /// Slope of the line, ms of delay per ms of time.
    pub fn trend(&self) -> f64 {
        self.trend
    }

    /// The slope as compared with the threshold.
    pub fn modified_trend_ms(&self) -> f64 {
        self.detector.signal_ms()
    }

    /// The threshold for the modified trend.
    pub fn threshold_ms(&self) -> f64 {
        self.detector.threshold_ms()
    }

    fn detect(&mut self, trend: f64, departure_delta: TimeDelta, arrival: PeerTimestamp) {
        if self.deltas < 2 {
            return self.detector.hold();
        }
        let modified_trend_ms = self.detector.scale(self.deltas) * trend * self.config.slope_gain;
        self.detector.detect(modified_trend_ms, trend >= self.trend, departure_delta, arrival);
        self.trend = trend;
    }
}

/// The last points with the sums of the least-squares line, updated as points come and
/// go. Times are whole microseconds since `base`, so their sums are exact; the sums over delays are
/// recomputed once a window, so rounding cannot accumulate.
#[derive(Clone, Debug)]
struct History {
    /// The first `window` are used.
    points: [Point; MAX_WINDOW],
    window: usize,
    len: usize,
    /// Where the next point goes.
    next: usize,
    base: PeerTimestamp,
    sum_x: i64,
    sum_xx: i64,
    sum_y: f64,
    sum_xy: f64,
}

#[derive(Clone, Copy, Debug, Default)]
struct Point {
    x_us: i64,
    y_ms: f64,
}

impl History {
    fn new(window: usize) -> Self {
        Self {
            points: [Point::default(); MAX_WINDOW],
            window: window.clamp(2, MAX_WINDOW),
            len: 0,
            next: 0,
            base: PeerTimestamp::from_nanos(0),
            sum_x: 0,
            sum_xx: 0,
            sum_y: 0.0,
            sum_xy: 0.0,
        }
    }

    fn push(&mut self, arrival: PeerTimestamp, y_ms: f64) {
        if self.len == 0 {
            self.base = arrival;
        }
        let mut x_us = (arrival - self.base).as_micros();
        if x_us.abs() > MAX_SPAN_US {
            // Beyond this the exact sums would overflow; points that far apart mean nothing.
            *self = Self { base: arrival, ..Self::new(self.window) };
            x_us = 0;
        }
        if self.len == self.window {
            let old = self.points[self.next];
            self.sum_x -= old.x_us;
            self.sum_xx -= old.x_us * old.x_us;
            self.sum_y -= old.y_ms;
            self.sum_xy -= old.x_us as f64 * old.y_ms;
        } else {
            self.len += 1;
        }
        self.points[self.next] = Point { x_us, y_ms };
        self.next += 1;
        if self.next == self.window {
            self.next = 0;
            self.rebase();
        } else {
            self.sum_x += x_us;
            self.sum_xx += x_us * x_us;
            self.sum_y += y_ms;
            self.sum_xy += x_us as f64 * y_ms;
        }
    }

    /// Count time from the oldest point and recompute the sums.
    fn rebase(&mut self) {
        let shift_us = self.points[0].x_us;
        self.base += TimeDelta::from_micros(shift_us);
        (self.sum_x, self.sum_xx, self.sum_y, self.sum_xy) = (0, 0, 0.0, 0.0);
        for point in &mut self.points[..self.window] {
            point.x_us -= shift_us;
            self.sum_x += point.x_us;
            self.sum_xx += point.x_us * point.x_us;
            self.sum_y += point.y_ms;
            self.sum_xy += point.x_us as f64 * point.y_ms;
        }
    }

    /// Σ(x−x̄)(y−ȳ) / Σ(x−x̄)², in ms per ms; `None` before the window is full or if all times are equal.
    #[inline]
    fn slope(&self) -> Option<f64> {
        if self.len < self.window {
            return None;
        }
        let spread = self.window as i64 * self.sum_xx - self.sum_x * self.sum_x;
        if spread == 0 {
            return None;
        }
        Some((self.window as f64 * self.sum_xy - self.sum_x as f64 * self.sum_y) * 1e3 / spread as f64)
    }
}

/// The longest window.
pub const MAX_WINDOW: usize = 40;
// [libwebrtc-m150] trendline_estimator: kDeltaCounterMax.
const MAX_DELTAS: u32 = 1000;
/// 2²⁶ µs, a minute: 40 times the sum of 40 squares of that stays below 2⁶³.
const MAX_SPAN_US: i64 = 1 << 26;
/// A product where a quotient would take five times as long.
const MS_PER_NS: f64 = 1e-6;

#[cfg(test)]
mod tests {
    use super::*;

    const WINDOW: usize = 20;

    fn at(us: i64) -> PeerTimestamp {
        PeerTimestamp::from_nanos(us * 1_000)
    }

    /// 25 groups that leave every 20 ms and arrive every `arrival_us`.
    fn usage_after_25(arrival_us: i64, size_bytes: i64) -> BandwidthUsage {
        let mut line = Trendline::default();
        let delta = GroupDelta {
            departure: TimeDelta::from_millis(20),
            arrival: TimeDelta::from_micros(arrival_us),
            size_bytes,
        };
        for n in 1..=25 {
            line.update(&delta, at(n * arrival_us));
        }
        line.usage()
    }

    #[test]
    fn a_steady_path_is_normal() {
        assert_eq!(usage_after_25(20_000, 0), BandwidthUsage::Normal);
    }

    #[test]
    fn arrivals_ten_percent_slower_are_overuse() {
        assert_eq!(usage_after_25(22_000, 0), BandwidthUsage::Overusing);
    }

    #[test]
    fn arrivals_fifteen_percent_faster_are_underuse() {
        assert_eq!(usage_after_25(17_000, 0), BandwidthUsage::Underusing);
    }

    #[test]
    fn small_packets_count_as_well() {
        assert_eq!(usage_after_25(22_000, -1_100), BandwidthUsage::Overusing);
    }

    #[test]
    fn there_is_no_verdict_before_the_window_is_full() {
        let mut line = Trendline::default();
        let delta =
            GroupDelta { departure: TimeDelta::from_millis(20), arrival: TimeDelta::from_millis(40), size_bytes: 0 };
        for n in 1..20 {
            line.update(&delta, at(n * 40_000));
            assert_eq!((line.usage(), line.trend()), (BandwidthUsage::Normal, 0.0));
        }
        line.update(&delta, at(800_000));
        assert!(line.trend() > 0.0);
    }

    #[test]
    fn the_running_sums_give_the_slope_of_the_plain_formula() {
        let mut history = History::new(WINDOW);
        let mut points: Vec<(f64, f64)> = Vec::new();
        let (mut arrival_us, mut state) = (-7_000_000_000_i64, 12345_u64);
        for _ in 0..5_000 {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            arrival_us += (state >> 48) as i64;
            let y_ms = 150.0 + (state >> 20 & 0xffff) as f64 / 1e3;
            history.push(at(arrival_us), y_ms);
            points.push(((arrival_us + 7_000_000_000) as f64 / 1e3, y_ms));
            let Some(slope) = history.slope() else { continue };
            let window = &points[points.len() - WINDOW..];
            let mean = |pick: fn(&(f64, f64)) -> f64| window.iter().map(pick).sum::<f64>() / WINDOW as f64;
            let (x, y) = (mean(|p| p.0), mean(|p| p.1));
            let up: f64 = window.iter().map(|p| (p.0 - x) * (p.1 - y)).sum();
            let down: f64 = window.iter().map(|p| (p.0 - x) * (p.0 - x)).sum();
            assert!((slope - up / down).abs() < 1e-10, "{slope} is not {}", up / down);
        }
    }

    #[test]
    fn points_a_minute_apart_start_the_window_over() {
        let mut history = History::new(WINDOW);
        history.push(at(0), 1.0);
        history.push(at(MAX_SPAN_US + 1), 1.0);
        assert_eq!(history.len, 1);
    }
}
