//! Where the link filled up before: a slow mean, with its deviation, of the delivered rates at which
//! over-use was detected [libwebrtc-m150].

use legato_units::DataRate;

/// Mean and deviation of the capacity in kbit/s.
#[derive(Clone, Debug)]
pub struct LinkCapacity {
    estimate_kbps: Option<f64>,
    /// Variance over mean, kbit/s.
    deviation_kbps: f64,
}

impl Default for LinkCapacity {
    fn default() -> Self {
        Self { estimate_kbps: None, deviation_kbps: MIN_DEVIATION_KBPS }
    }
}

impl LinkCapacity {
    /// Over-use was detected while `acknowledged` was delivered.
    pub fn on_overuse(&mut self, acknowledged: DataRate) {
        let (sample_kbps, weight) = (acknowledged.as_kbps_f64(), OVERUSE_WEIGHT);
        let mean = self.estimate_kbps.map_or(sample_kbps, |mean| (1.0 - weight) * mean + weight * sample_kbps);
        let error = mean - sample_kbps;
        let deviation = (1.0 - weight) * self.deviation_kbps + weight * error * error / mean.max(1.0);
        self.deviation_kbps = deviation.clamp(MIN_DEVIATION_KBPS, MAX_DEVIATION_KBPS);
        self.estimate_kbps = Some(mean);
    }

    /// Forget the mean; the deviation stays.
    pub fn reset(&mut self) {
        self.estimate_kbps = None;
    }

    /// The mean, if there is one.
    pub fn estimate(&self) -> Option<DataRate> {
        self.estimate_kbps.map(rate_of)
    }

    /// Three deviations above the mean.
    pub fn upper_bound(&self) -> Option<DataRate> {
        self.estimate_kbps.map(|mean| rate_of(mean + 3.0 * self.deviation(mean)))
    }

    /// Three deviations below the mean.
    pub fn lower_bound(&self) -> Option<DataRate> {
        self.estimate_kbps.map(|mean| rate_of(mean - 3.0 * self.deviation(mean)))
    }

    fn deviation(&self, mean_kbps: f64) -> f64 {
        (self.deviation_kbps * mean_kbps).sqrt()
    }
}

fn rate_of(kbps: f64) -> DataRate {
    DataRate::from_bps_f64(kbps * 1e3)
}

// [libwebrtc-m150] link_capacity_estimator. At 500 kbit/s the clamps are deviations of 14 and 35 kbit/s.
const OVERUSE_WEIGHT: f64 = 0.05;
const MIN_DEVIATION_KBPS: f64 = 0.4;
const MAX_DEVIATION_KBPS: f64 = 2.5;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bounds_lie_three_deviations_around_the_mean() {
        let mut link = LinkCapacity::default();
        assert_eq!((link.estimate(), link.upper_bound(), link.lower_bound()), (None, None, None));
        link.on_overuse(DataRate::from_kbps(500));
        // sqrt(0.4 · 500) = 14.142 kbit/s.
        assert_eq!(link.estimate(), Some(DataRate::from_kbps(500)));
        assert_eq!(link.upper_bound(), Some(DataRate::from_bps(542_426)));
        assert_eq!(link.lower_bound(), Some(DataRate::from_bps(457_574)));
    }

    #[test]
    fn a_sample_moves_the_mean_by_its_weight() {
        let mut link = LinkCapacity::default();
        link.on_overuse(DataRate::from_kbps(500));
        link.on_overuse(DataRate::from_kbps(600));
        assert_eq!(link.estimate(), Some(DataRate::from_kbps(505)));
        link.on_overuse(DataRate::from_kbps(1_505));
        assert_eq!(link.estimate(), Some(DataRate::from_kbps(555)));
        // Error 950 kbit/s at mean 555: the deviation hits its clamp of 2.5.
        assert!((link.deviation_kbps - 2.5).abs() < 1e-9);
        link.reset();
        assert_eq!(link.estimate(), None);
    }

    #[test]
    fn the_lower_bound_of_a_tiny_rate_is_not_negative() {
        let mut link = LinkCapacity::default();
        link.on_overuse(DataRate::from_bps(1));
        assert_eq!(link.lower_bound(), Some(DataRate::ZERO));
    }
}
