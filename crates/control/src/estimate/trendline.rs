//! Is the queue growing? A straight line through the smoothed one-way delay variation of the last 20
//! groups: its slope is about (sending rate − capacity) / capacity. Scaled by the number of groups
//! seen and a gain, it is compared with a threshold that follows it slowly, so that a path with
//! inherent jitter is not taken for one that is filling. As libwebrtc's `TrendlineEstimator`
//! [libwebrtc-m150]; the adaptive threshold is [carlucci2016]'s idea.

use super::arrival_groups::GroupDelta;
use legato_units::{PeerTimestamp, TimeDelta};

/// What the delay indicates about the path.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum BandwidthUsage {
    /// Queues neither grow nor drain.
    #[default]
    Normal,
    /// Queues grow.
    Overusing,
    /// Queues drain.
    Underusing,
}

/// The line, the threshold and the verdict.
#[derive(Clone, Debug)]
pub struct Trendline {
    history: History,
    deltas: u32,
    accumulated_delay_ms: f64,
    smoothed_delay_ms: f64,
    trend: f64,
    modified_trend_ms: f64,
    threshold_ms: f64,
    last_arrival: Option<PeerTimestamp>,
    /// `None`: not above the threshold.
    overusing_ms: Option<f64>,
    overusing_count: u32,
    usage: BandwidthUsage,
}

impl Default for Trendline {
    fn default() -> Self {
        Self {
            history: History::default(),
            deltas: 0,
            accumulated_delay_ms: 0.0,
            smoothed_delay_ms: 0.0,
            trend: 0.0,
            modified_trend_ms: 0.0,
            threshold_ms: INITIAL_THRESHOLD_MS,
            last_arrival: None,
            overusing_ms: None,
            overusing_count: 0,
            usage: BandwidthUsage::Normal,
        }
    }
}

impl Trendline {
    /// Take one delta; `arrival` is when the packet that closed the second group arrived.
    #[inline]
    pub fn update(&mut self, delta: &GroupDelta, arrival: PeerTimestamp) {
        self.deltas = (self.deltas + 1).min(MAX_DELTAS);
        self.accumulated_delay_ms += (delta.arrival - delta.departure).as_nanos() as f64 * MS_PER_NS;
        self.smoothed_delay_ms = SMOOTHING * self.smoothed_delay_ms + (1.0 - SMOOTHING) * self.accumulated_delay_ms;
        self.history.push(arrival, self.smoothed_delay_ms);
        let trend = self.history.slope().unwrap_or(self.trend);
        self.detect(trend, delta.departure, arrival);
    }

    /// The verdict.
    #[inline]
    pub fn usage(&self) -> BandwidthUsage {
        self.usage
    }

    /// Slope of the line, ms of delay per ms of time.
    pub fn trend(&self) -> f64 {
        self.trend
    }

    /// The slope as compared with the threshold.
    pub fn modified_trend_ms(&self) -> f64 {
        self.modified_trend_ms
    }

    /// The threshold for the modified trend.
    pub fn threshold_ms(&self) -> f64 {
        self.threshold_ms
    }

    fn detect(&mut self, trend: f64, departure_delta: TimeDelta, arrival: PeerTimestamp) {
        if self.deltas < 2 {
            self.usage = BandwidthUsage::Normal;
            return;
        }
        self.modified_trend_ms = f64::from(self.deltas.min(MIN_DELTAS)) * trend * GAIN;
        if self.modified_trend_ms > self.threshold_ms {
            let span = departure_delta.as_millis_f64();
            // Initially assume that the over-use began half-way since the last sample.
            let overusing_ms = self.overusing_ms.map_or(span / 2.0, |before| before + span);
            self.overusing_ms = Some(overusing_ms);
            self.overusing_count += 1;
            if overusing_ms > OVERUSING_TIME_MS && self.overusing_count > 1 && trend >= self.trend {
                self.overusing_ms = Some(0.0);
                self.overusing_count = 0;
                self.usage = BandwidthUsage::Overusing;
            }
        } else {
            self.overusing_ms = None;
            self.overusing_count = 0;
            self.usage = if self.modified_trend_ms < -self.threshold_ms {
                BandwidthUsage::Underusing
            } else {
                BandwidthUsage::Normal
            };
        }
        self.trend = trend;
        self.adapt_threshold(arrival);
    }

    fn adapt_threshold(&mut self, arrival: PeerTimestamp) {
        let since = arrival - self.last_arrival.unwrap_or(arrival);
        self.last_arrival = Some(arrival);
        let magnitude_ms = self.modified_trend_ms.abs();
        if magnitude_ms > self.threshold_ms + MAX_ADAPT_OFFSET_MS {
            // A sudden drop of capacity must not raise the bar.
            return;
        }
        let gain_per_ms = if magnitude_ms < self.threshold_ms { K_DOWN_PER_MS } else { K_UP_PER_MS };
        let step_ms = since.min(MAX_ADAPT_STEP).as_nanos() as f64 * MS_PER_NS;
        self.threshold_ms += gain_per_ms * (magnitude_ms - self.threshold_ms) * step_ms;
        self.threshold_ms = self.threshold_ms.clamp(MIN_THRESHOLD_MS, MAX_THRESHOLD_MS);
    }
}

/// The last [`WINDOW`] points with the sums of the least-squares line, updated as points come and
/// go. Times are whole microseconds since `base`, so their sums are exact; the sums over delays are
/// recomputed once a window, so rounding cannot accumulate.
#[derive(Clone, Debug)]
struct History {
    points: [Point; WINDOW],
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

impl Default for History {
    fn default() -> Self {
        Self {
            points: [Point::default(); WINDOW],
            len: 0,
            next: 0,
            base: PeerTimestamp::from_nanos(0),
            sum_x: 0,
            sum_xx: 0,
            sum_y: 0.0,
            sum_xy: 0.0,
        }
    }
}

impl History {
    fn push(&mut self, arrival: PeerTimestamp, y_ms: f64) {
        if self.len == 0 {
            self.base = arrival;
        }
        let mut x_us = (arrival - self.base).as_micros();
        if x_us.abs() > MAX_SPAN_US {
            // Beyond this the exact sums would overflow; points that far apart mean nothing.
            *self = Self { base: arrival, ..Self::default() };
            x_us = 0;
        }
        if self.len == WINDOW {
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
        if self.next == WINDOW {
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
        for point in &mut self.points {
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
        if self.len < WINDOW {
            return None;
        }
        let spread = WINDOW as i64 * self.sum_xx - self.sum_x * self.sum_x;
        if spread == 0 {
            return None;
        }
        Some((WINDOW as f64 * self.sum_xy - self.sum_x as f64 * self.sum_y) * 1e3 / spread as f64)
    }
}

// [libwebrtc-m150] trendline_estimator. The gains act on the modified trend; [draft-ietf-rmcat-gcc-02]
// has K_u > K_d because it thresholds another quantity: do not mix the two pairs.
const WINDOW: usize = 20;
const SMOOTHING: f64 = 0.9;
const GAIN: f64 = 4.0;
const MIN_DELTAS: u32 = 60;
const MAX_DELTAS: u32 = 1000;
const INITIAL_THRESHOLD_MS: f64 = 12.5;
const MIN_THRESHOLD_MS: f64 = 6.0;
const MAX_THRESHOLD_MS: f64 = 600.0;
const K_UP_PER_MS: f64 = 0.0087;
const K_DOWN_PER_MS: f64 = 0.039;
const MAX_ADAPT_OFFSET_MS: f64 = 15.0;
const MAX_ADAPT_STEP: TimeDelta = TimeDelta::from_millis(100);
const OVERUSING_TIME_MS: f64 = 10.0;
/// 2²⁶ µs, a minute: 20 times the sum of 20 squares of that stays below 2⁶³.
const MAX_SPAN_US: i64 = 1 << 26;
/// A product where a quotient would take five times as long.
const MS_PER_NS: f64 = 1e-6;

#[cfg(test)]
mod tests {
    use super::*;

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
        let mut history = History::default();
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
        let mut history = History::default();
        history.push(at(0), 1.0);
        history.push(at(MAX_SPAN_US + 1), 1.0);
        assert_eq!(history.len, 1);
    }

    #[test]
    fn the_threshold_falls_to_its_floor_on_a_calm_path_and_rises_with_a_noisy_one() {
        let mut line = Trendline::default();
        line.adapt_threshold(at(0));
        // One step of 100 ms with no trend: 12.5 − 0.039 · 12.5 · 100 < 6.
        line.adapt_threshold(at(100_000));
        assert_eq!(line.threshold_ms(), 6.0);
        // 10 ms at 16: 6 + 0.0087 · 10 · 10 = 6.87.
        line.modified_trend_ms = 16.0;
        line.adapt_threshold(at(110_000));
        assert!((line.threshold_ms() - 6.87).abs() < 1e-12);
        // More than 15 ms above is a spike and moves nothing.
        line.modified_trend_ms = 22.0;
        line.adapt_threshold(at(120_000));
        assert!((line.threshold_ms() - 6.87).abs() < 1e-12);
    }
}
