//! Whether the queue is about to grow: the autocorrelation of the last second of queue delays, times
//! how large they are. [rfc8298] §4.1.2.

use crate::scream::sample_grid::SampleGrid;
use legato_units::{TimeDelta, Timestamp};

/// qdelay_trend and its peak hold.
#[derive(Clone, Debug)]
pub struct DelayTrend {
    /// The last queue delays, each over the target at its time.
    history: [f64; HISTORY],
    next: usize,
    average: f64,
    trend: f64,
    peak: f64,
    grid: SampleGrid,
}

impl Default for DelayTrend {
    fn default() -> Self {
        Self { history: [0.0; HISTORY], next: 0, average: 0.0, trend: 0.0, peak: 0.0, grid: SampleGrid::new(SAMPLING) }
    }
}

impl DelayTrend {
    /// The queue delay over its target is `fraction` at `now`; it is sampled for every 50 ms since the
    /// last call.
    pub fn update(&mut self, now: Timestamp, fraction: f64, weight: f64) {
        for _ in 0..self.grid.due(now, HISTORY) {
            self.sample(fraction, weight);
        }
    }

    /// 0 (no congestion) to 1.
    #[inline]
    pub fn get(&self) -> f64 {
        self.trend
    }

    /// The trend with a memory of a few seconds.
    #[inline]
    pub fn peak(&self) -> f64 {
        self.peak
    }

    fn sample(&mut self, fraction: f64, weight: f64) {
        self.average = (1.0 - weight) * self.average + weight * fraction;
        self.history[self.next] = fraction;
        self.next = (self.next + 1) % HISTORY;
        // [rfc8298] §4.1.1.2: qdelay_fraction_hist has "the last 20 fractional qdelay samples"; the average is apart.
        // [rfc8298] §4.1.2: a = R(x - mean, 1) / R(x - mean, 0); trend = min(1, max(0, a × average));
        // memory = max(0.99 memory, trend).
        let mean = self.history.iter().sum::<f64>() / HISTORY as f64;
        let (mut lag_0, mut lag_1) = (0.0, 0.0);
        let mut previous = 0.0;
        for step in 0..HISTORY {
            let value = self.history[(self.next + step) % HISTORY] - mean;
            lag_0 += value * value;
            lag_1 += previous * value;
            previous = value;
        }
        // For a constant delay only rounding is left, and that correlates with itself.
        let correlation = if lag_0 > 1e-9 { lag_1 / lag_0 } else { 0.0 };
        self.trend = (correlation * self.average).clamp(0.0, 1.0);
        self.peak = (0.99 * self.peak).max(self.trend);
    }
}

/// [rfc8298] §4.1.2: 20 samples, 50 ms apart.
const HISTORY: usize = 20;
const SAMPLING: TimeDelta = TimeDelta::from_millis(50);

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(ms: i64) -> Timestamp {
        Timestamp::from_millis(ms)
    }

    #[test]
    fn a_constant_delay_has_no_trend() {
        let mut trend = DelayTrend::default();
        (0..400).for_each(|n| trend.update(ms(n * 50), 0.5, 0.1));
        assert!(trend.get() < 1e-6, "{}", trend.get());
    }

    /// [rfc8298] §4.1.2, worked by hand: with weight 1, nineteen zeros and a one have mean 0.05;
    /// R(0) = 19 × 0.0025 + 0.9025 = 0.95, R(1) = 18 × 0.0025 - 0.05 × 0.95 = -0.0025: no trend. A
    /// second one: mean 0.1, R(0) = 18 × 0.01 + 2 × 0.81 = 1.8, R(1) = 17 × 0.01 - 0.09 + 0.81 = 0.89.
    #[test]
    fn the_trend_is_the_correlation_of_neighbours_times_the_average() {
        let mut trend = DelayTrend::default();
        (0..20).for_each(|n| trend.update(ms(n * 50), 0.0, 1.0));
        trend.update(ms(1_000), 1.0, 1.0);
        assert!(trend.get().abs() < 1e-12);
        trend.update(ms(1_050), 1.0, 1.0);
        assert!((trend.get() - 0.89 / 1.8).abs() < 1e-12, "{}", trend.get());
        assert!((trend.peak() - 0.89 / 1.8).abs() < 1e-12);
    }

    /// [rfc8298] §4.1.1.2, worked by hand: in samples that alternate between 0 and 1, neighbours are opposite
    /// (R(1) is negative), so there is no trend; their averages hardly move and would correlate.
    #[test]
    fn jitter_is_not_a_trend() {
        let mut trend = DelayTrend::default();
        (0..200).for_each(|n| trend.update(ms(n * 50), (n % 2) as f64, 0.1));
        assert_eq!(trend.get(), 0.0);
        assert!((trend.average - 0.5).abs() < 0.03, "{}", trend.average);
    }

    #[test]
    fn sparse_feedback_is_sampled_as_often_as_time_passed() {
        let (mut dense, mut sparse) = (DelayTrend::default(), DelayTrend::default());
        (0..=4).for_each(|n| dense.update(ms(n * 50), 0.7, 0.1));
        sparse.update(ms(0), 0.7, 0.1);
        sparse.update(ms(200), 0.7, 0.1);
        assert_eq!(dense.history, sparse.history);
        // 3 of 5 samples alike after half the time.
        sparse.update(ms(201), 0.7, 0.1);
        assert_eq!(dense.history, sparse.history);
    }
}
