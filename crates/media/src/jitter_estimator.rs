//! How long to hold frames back so that late ones are in time.
//!
//! Follows the estimator of libwebrtc's receiver ([libwebrtc-m150] JitterEstimator): the difference of frame sizes
//! explains the delay variation between frames (a Kalman filter over the path's milliseconds per byte and an offset),
//! with noise around it. The delay to keep is the extra time of the largest frame over the average one, plus a multiple
//! of the noise.

use legato_units::TimeDelta;

/// State of the estimator, in milliseconds and bytes.
#[derive(Clone, Debug)]
pub struct JitterEstimator {
    ms_per_byte: f64,
    offset_ms: f64,
    /// Covariance of (ms_per_byte, offset_ms).
    covariance: [[f64; 2]; 2],
    mean_size: f64,
    var_size: f64,
    max_size: f64,
    noise_mean_ms: f64,
    noise_var_ms2: f64,
    frames: u32,
    previous_size: f64,
}

/// Process noise of the two states; measurement noise is estimated.
const PROCESS_NOISE: [f64; 2] = [2.5e-10, 1e-10];
/// Forgetting of mean and variance of frame sizes, and of their maximum.
const SIZE_FORGETTING: f64 = 0.97;
const MAX_SIZE_FORGETTING: f64 = 0.9999;
/// Noise forgets over at most this many frames.
const NOISE_FRAMES: u32 = 400;
/// Deviations beyond this many standard deviations are outliers, in delay and in size.
const DELAY_OUTLIER_DEVIATIONS: f64 = 15.0;
const SIZE_OUTLIER_DEVIATIONS: f64 = 3.0;
/// Noise counts as this many standard deviations (the normal 99 % quantile) minus a constant.
const NOISE_DEVIATIONS: f64 = 2.33;
const NOISE_OFFSET_MS: f64 = 30.0;
/// What the machine itself adds.
const OPERATING_SYSTEM_JITTER_MS: f64 = 10.0;

impl Default for JitterEstimator {
    fn default() -> Self {
        Self {
            ms_per_byte: 1.0 / (512e3 / 8.0),
            offset_ms: 0.0,
            covariance: [[1e-4, 0.0], [0.0, 1e2]],
            mean_size: 500.0,
            var_size: 100.0,
            max_size: 500.0,
            noise_mean_ms: 0.0,
            noise_var_ms2: 4.0,
            frames: 0,
            previous_size: 0.0,
        }
    }
}

impl JitterEstimator {
    /// Take a frame of `size_bytes` whose arrival was `variation` later after its predecessor's
    /// than its capture. Repaired frames do not belong here: their delay is the repair's.
    pub fn update(&mut self, variation: TimeDelta, size_bytes: f64) {
        let delta_ms = variation.as_millis_f64();
        // Averages cover ordinary frames, not key frames.
        let deviation = self.var_size.sqrt();
        if size_bytes < self.mean_size + 2.0 * deviation || self.frames < 5 {
            self.mean_size = SIZE_FORGETTING * self.mean_size + (1.0 - SIZE_FORGETTING) * size_bytes;
        }
        let off = size_bytes - self.mean_size;
        self.var_size = (SIZE_FORGETTING * self.var_size + (1.0 - SIZE_FORGETTING) * off * off).max(1.0);
        self.max_size = (MAX_SIZE_FORGETTING * self.max_size).max(size_bytes);
        let delta_size = size_bytes - self.previous_size;
        self.previous_size = size_bytes;
        self.frames += 1;
        if self.frames == 1 {
            return;
        }
        let unexplained = delta_ms - (self.ms_per_byte * delta_size + self.offset_ms);
        let noise = self.noise_var_ms2.sqrt();
        let large = size_bytes > self.mean_size + SIZE_OUTLIER_DEVIATIONS * deviation;
        if unexplained.abs() < DELAY_OUTLIER_DEVIATIONS * noise || large {
            self.learn_noise(unexplained);
            // A frame much smaller than its predecessor drains a queue: it says nothing about the slope.
            if delta_size > -0.25 * self.max_size {
                self.learn_slope(delta_ms, delta_size);
            }
        } else {
            self.learn_noise(unexplained.signum() * DELAY_OUTLIER_DEVIATIONS * noise);
        }
    }

    /// The delay to keep.
    pub fn estimate(&self) -> TimeDelta {
        let slope = self.ms_per_byte * (self.max_size - self.mean_size).max(0.0);
        let noise = (NOISE_DEVIATIONS * self.noise_var_ms2.sqrt() - NOISE_OFFSET_MS).max(1.0);
        TimeDelta::from_millis_f64((slope + noise).clamp(1.0, 10_000.0) + OPERATING_SYSTEM_JITTER_MS)
    }

    fn learn_noise(&mut self, unexplained_ms: f64) {
        let frames = f64::from(self.frames.min(NOISE_FRAMES));
        let keep = (frames - 1.0) / frames;
        let off = unexplained_ms - self.noise_mean_ms;
        self.noise_mean_ms = keep * self.noise_mean_ms + (1.0 - keep) * unexplained_ms;
        self.noise_var_ms2 = (keep * self.noise_var_ms2 + (1.0 - keep) * off * off).max(1.0);
    }

    /// One step of the Kalman filter for `delta_ms = ms_per_byte * delta_size + offset`.
    fn learn_slope(&mut self, delta_ms: f64, delta_size: f64) {
        let [[mut p00, p01], [p10, mut p11]] = self.covariance;
        p00 += PROCESS_NOISE[0];
        p11 += PROCESS_NOISE[1];
        let (h0, h1) = (p00 * delta_size + p01, p10 * delta_size + p11);
        // Frames of similar size count as noisier: they hardly show the slope.
        let weight = 300.0 * libm::exp(-delta_size.abs() / self.max_size) + 1.0;
        let measurement = (weight * self.noise_var_ms2.sqrt()).max(1.0);
        let innovation = delta_size * h0 + h1 + measurement;
        let (k0, k1) = (h0 / innovation, h1 / innovation);
        let error = delta_ms - (delta_size * self.ms_per_byte + self.offset_ms);
        self.ms_per_byte = (self.ms_per_byte + k0 * error).max(1e-6);
        self.offset_ms += k1 * error;
        self.covariance = [
            [(1.0 - k0 * delta_size) * p00 - k0 * p10, (1.0 - k0 * delta_size) * p01 - k0 * p11],
            [p10 - k1 * delta_size * p00 - k1 * p10, p11 - k1 * delta_size * p01 - k1 * p11],
        ];
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after(variations_ms: impl Iterator<Item = f64>) -> f64 {
        let mut estimator = JitterEstimator::default();
        variations_ms.for_each(|ms| estimator.update(TimeDelta::from_millis_f64(ms), 4_000.0));
        estimator.estimate().as_millis_f64()
    }

    #[test]
    fn a_quiet_path_needs_little_more_than_the_machine_itself() {
        assert!(after((0..300).map(|_| 0.0)) < 25.0);
    }

    #[test]
    fn a_jittery_path_needs_a_multiple_of_its_jitter() {
        let quiet = after((0..300).map(|_| 0.0));
        let jittery = after((0..300).map(|n| if n % 2 == 0 { 60.0 } else { -60.0 }));
        assert!(jittery > quiet + 80.0 && jittery < 250.0, "{quiet} {jittery}");
    }

    #[test]
    fn one_outlier_does_not_move_it_far() {
        let quiet = after((0..300).map(|_| 0.0));
        let once = after((0..300).map(|n| if n == 150 { 5_000.0 } else { 0.0 }));
        assert!(once < quiet + 20.0, "{quiet} {once}");
    }
}
