//! How much longer than before do packets wait? The delay variation between two groups of packets is the time that the
//! size difference takes on the link, plus the growth of the queue, plus noise. A Kalman filter estimates the first
//! two: the inverse of the capacity and the *offset*, the delay that a queue adds per group. It is libwebrtc's
//! `OveruseEstimator`, the receiver's estimator until transport-wide feedback replaced it
//! [libwebrtc-overuse-estimator]. The filter of [draft-ietf-rmcat-gcc-02] §5.3 is the same without the sizes.

use super::arrival_groups::GroupDelta;
use super::overuse::BandwidthUsage;
use std::collections::VecDeque;

/// The state of the filter: slope and offset, their covariance, and the noise.
#[derive(Clone, Debug)]
pub struct DelayFilter {
    deltas: u32,
    slope_ms_per_byte: f64,
    offset_ms: f64,
    previous_offset_ms: f64,
    covariance: [[f64; 2]; 2],
    mean_noise_ms: f64,
    noise_variance: f64,
    /// Departure deltas of the last groups, in ms: the shortest is the period of frames.
    periods_ms: VecDeque<f64>,
}

impl Default for DelayFilter {
    /// Nothing seen.
    fn default() -> Self {
        Self {
            deltas: 0,
            slope_ms_per_byte: INITIAL_SLOPE_MS_PER_BYTE,
            offset_ms: 0.0,
            previous_offset_ms: 0.0,
            covariance: [[INITIAL_SLOPE_VARIANCE, 0.0], [0.0, INITIAL_OFFSET_VARIANCE]],
            mean_noise_ms: 0.0,
            noise_variance: INITIAL_NOISE_VARIANCE,
            periods_ms: VecDeque::with_capacity(PERIODS + 1),
        }
    }
}

impl DelayFilter {
    /// What the queue adds to the delay from group to group.
    #[inline]
    pub fn offset_ms(&self) -> f64 {
        self.offset_ms
    }

    /// The offset is not below the one before the last group.
    #[inline]
    pub fn has_risen(&self) -> bool {
        self.offset_ms >= self.previous_offset_ms
    }

    /// Groups seen, up to 1,000.
    #[inline]
    pub fn deltas(&self) -> u32 {
        self.deltas
    }

    /// The variance of the measured delay variation, in ms².
    pub fn noise_variance(&self) -> f64 {
        self.noise_variance
    }

    /// Take one delta; `usage` is the detector's verdict so far.
    pub fn update(&mut self, delta: &GroupDelta, usage: BandwidthUsage) {
        let departure_ms = delta.departure.as_millis_f64();
        let variation_ms = delta.arrival.as_millis_f64() - departure_ms;
        let size = delta.size_bytes as f64;
        let period_ms = self.period_ms(departure_ms);
        self.deltas = (self.deltas + 1).min(MAX_DELTAS);
        // [draft-ietf-rmcat-gcc-02] §5.3: the state is assumed to wander by Q per group; faster once the offset turns.
        self.covariance[0][0] += SLOPE_NOISE;
        self.covariance[1][1] += OFFSET_NOISE;
        let turning = match usage {
            BandwidthUsage::Overusing => self.offset_ms < self.previous_offset_ms,
            BandwidthUsage::Underusing => self.offset_ms > self.previous_offset_ms,
            BandwidthUsage::Normal => false,
        };
        if turning {
            self.covariance[1][1] += TURNING_FACTOR * OFFSET_NOISE;
        }
        let [[a, b], [c, d]] = self.covariance;
        let gain_base = [a * size + b, c * size + d];
        let residual_ms = variation_ms - self.slope_ms_per_byte * size - self.offset_ms;
        self.learn_noise(residual_ms, period_ms, usage == BandwidthUsage::Normal);
        // [draft-ietf-rmcat-gcc-02] §5.3: k_bar = E h / (var_v_hat + h^T E h), theta = theta + z k_bar
        let denominator = self.noise_variance + size * gain_base[0] + gain_base[1];
        let gain = [gain_base[0] / denominator, gain_base[1] / denominator];
        let (keep, cross) = ([1.0 - gain[0] * size, -gain[0]], [-gain[1] * size, 1.0 - gain[1]]);
        self.covariance = [
            [a * keep[0] + c * keep[1], b * keep[0] + d * keep[1]],
            [a * cross[0] + c * cross[1], b * cross[0] + d * cross[1]],
        ];
        self.slope_ms_per_byte += gain[0] * residual_ms;
        self.previous_offset_ms = self.offset_ms;
        self.offset_ms += gain[1] * residual_ms;
    }

    /// The shortest departure delta of the last 60 groups and this one.
    fn period_ms(&mut self, departure_ms: f64) -> f64 {
        if self.periods_ms.len() >= PERIODS {
            self.periods_ms.pop_front();
        }
        let period_ms = self.periods_ms.iter().copied().fold(departure_ms, f64::min);
        self.periods_ms.push_back(departure_ms);
        period_ms
    }

    /// Late frames, as key frames are, count as three deviations at most; over-use is no noise.
    fn learn_noise(&mut self, residual_ms: f64, period_ms: f64, stable: bool) {
        if !stable {
            return;
        }
        let most_ms = OUTLIER_DEVIATIONS * self.noise_variance.sqrt();
        let residual_ms = residual_ms.clamp(-most_ms, most_ms);
        let settled = self.deltas > SETTLED_DELTAS;
        let gain = if settled { NOISE_GAIN } else { INITIAL_NOISE_GAIN };
        // [draft-ietf-rmcat-gcc-02] §5.3: alpha = (1-chi)^(30/(1000 * f_max)), var = max(alpha var + (1-alpha) z^2, 1)
        let keep = libm::pow(1.0 - gain, period_ms * GROUPS_PER_MS);
        self.mean_noise_ms = keep * self.mean_noise_ms + (1.0 - keep) * residual_ms;
        let error_ms = self.mean_noise_ms - residual_ms;
        self.noise_variance = (keep * self.noise_variance + (1.0 - keep) * error_ms * error_ms).max(1.0);
    }
}

// [libwebrtc-overuse-estimator] OverUseDetectorOptions and the constants next to them. Variances are in ms².
/// 1/64 ms per byte is 512 kbit/s.
const INITIAL_SLOPE_MS_PER_BYTE: f64 = 8.0 / 512.0;
const INITIAL_OFFSET_VARIANCE: f64 = 0.1;
/// By this the variance of the offset grows per group.
const OFFSET_NOISE: f64 = 1e-3;
/// Of the measured delay variation.
const INITIAL_NOISE_VARIANCE: f64 = 50.0;
/// The weight of a group in the measured noise, at 30 groups per second, in the first `SETTLED_DELTAS` groups.
const INITIAL_NOISE_GAIN: f64 = 0.01;
const NOISE_GAIN: f64 = 0.002;
const INITIAL_SLOPE_VARIANCE: f64 = 100.0;
const SLOPE_NOISE: f64 = 1e-13;
const TURNING_FACTOR: f64 = 10.0;
const OUTLIER_DEVIATIONS: f64 = 3.0;
const PERIODS: usize = 60;
const MAX_DELTAS: u32 = 1_000;
const SETTLED_DELTAS: u32 = 300;
/// 30 groups per second.
const GROUPS_PER_MS: f64 = 30.0 / 1_000.0;

#[cfg(test)]
#[path = "delay_filter_tests.rs"]
mod tests;
