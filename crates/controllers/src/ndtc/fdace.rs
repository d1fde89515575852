//! Frame dithering available capacity estimation ([draft-ageneau-ccwg-ndtc] §4.3): a regression of the time in which
//! frames arrive on the time in which they were sent, both by the byte. Where the line meets the identity, a frame sent
//! so would just be received so: that is the capacity left to us.

/// The draft's dual-variable exponential averages.
#[derive(Clone, Copy, Debug, Default)]
pub struct Fdace {
    count: u32,
    mean_send: f64,
    mean_receive: f64,
    variance_send: f64,
    variance_receive: f64,
    covariance: f64,
}

/// What the regression says.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// The share of the capacity that others have, where there is one queue; 1 also where nothing limits us.
    pub slope: f64,
    /// In bytes per second.
    pub available: f64,
}

/// The weights.
#[derive(Clone, Copy, Debug)]
pub struct Weights {
    /// LAMBDA.
    pub lambda: f64,
    /// ITERATIONS.
    pub iterations: u32,
    /// KMARGIN.
    pub margin: f64,
}

impl Fdace {
    /// Take a frame's send and receive time in seconds per byte.
    // [draft-ageneau-ccwg-ndtc] §A: weight = max(lambda, 1 / count); averages, variances and covariance move by it
    pub fn add(&mut self, send: f64, receive: f64, weights: Weights) -> Estimate {
        self.count = self.count.saturating_add(1);
        let weight = weights.lambda.max(1.0 / f64::from(self.count));
        let (delta_send, delta_receive) = (send - self.mean_send, receive - self.mean_receive);
        self.mean_send += weight * delta_send;
        self.mean_receive += weight * delta_receive;
        let moved = |old: f64, product: f64| (1.0 - weight) * (old + weight * product);
        self.variance_send = moved(self.variance_send, delta_send * delta_send);
        self.variance_receive = moved(self.variance_receive, delta_receive * delta_receive);
        self.covariance = moved(self.covariance, delta_send * delta_receive);
        self.estimate(weights)
    }

    // [draft-ageneau-ccwg-ndtc] §4.3: slope = cov / var, within 0 and 1; intercept = mean_receive - slope mean_send;
    // estimate = slope estimate + intercept, a few times from mean_receive; margin = k sd_receive (1 - R2)
    fn estimate(&self, weights: Weights) -> Estimate {
        let slope = if self.variance_send > 0.0 && self.covariance > 0.0 {
            (self.covariance / self.variance_send).min(1.0)
        } else {
            0.0
        };
        let intercept = (self.mean_receive - slope * self.mean_send).max(0.0);
        let mut time = self.mean_receive;
        for _ in 0..weights.iterations {
            time = slope * time + intercept;
        }
        let margin = if self.variance_send > 0.0 && self.variance_receive > 0.0 {
            let r2 = self.covariance * self.covariance / (self.variance_send * self.variance_receive);
            weights.margin * self.variance_receive.sqrt() * (1.0 - r2).max(0.0)
        } else {
            0.0
        };
        // A frame of no duration at all says as little as one that took a nanosecond a byte.
        Estimate { slope, available: 1.0 / (time + margin).max(1e-9) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WEIGHTS: Weights = Weights { lambda: 0.04, iterations: 3, margin: 0.25 };

    /// [draft-ageneau-ccwg-ndtc] §A, worked by hand: of (1, 3) and (3, 4) the means are 2 and 3.5, the variances 1 and
    /// 0.25 and the covariance 0.5: (1 - 1/2)(0 + 1/2 x 2 x 1). By §4.3 the slope is 0.5 and the intercept 2.5. It is
    /// 3.5, 4.25, 4.625, 4.8125 after three rounds; R2 is 1, so there is no margin.
    #[test]
    fn two_frames_make_a_line() {
        let mut fdace = Fdace::default();
        fdace.add(1.0, 3.0, WEIGHTS);
        let estimate = fdace.add(3.0, 4.0, WEIGHTS);
        assert_eq!((fdace.mean_send, fdace.mean_receive), (2.0, 3.5));
        assert_eq!((fdace.variance_send, fdace.variance_receive, fdace.covariance), (1.0, 0.25, 0.5));
        assert_eq!(estimate, Estimate { slope: 0.5, available: 1.0 / 4.8125 });
    }

    /// [draft-ageneau-ccwg-ndtc] §4.3, worked by hand: if the receive time equals the send time, the slope is 1 and
    /// only the mean is certain. If the receive time is constant, the slope is 0 and that is the capacity.
    #[test]
    fn an_unlimited_path_has_slope_one_and_a_bottleneck_of_our_own_slope_zero() {
        let mut free = Fdace::default();
        let mut alone = Fdace::default();
        for turn in 0..100 {
            let send = if turn % 2 == 0 { 1.0 } else { 3.0 };
            let estimate = free.add(send, send, WEIGHTS);
            assert!(turn == 0 || (estimate.slope - 1.0).abs() < 1e-9);
            assert_eq!(alone.add(send, 4.0, WEIGHTS), Estimate { slope: 0.0, available: 0.25 });
        }
        assert!((free.estimate(WEIGHTS).available - 0.5).abs() < 0.02);
    }

    /// [draft-ageneau-ccwg-ndtc] §4.3: of (1, 2), (3, 2), (1, 4), (3, 4) the covariance is 0, R2 with it; the margin is
    /// a quarter of the deviation, which is about 1.
    #[test]
    fn what_the_line_does_not_explain_is_a_margin() {
        let mut fdace = Fdace::default();
        for (send, receive) in [(1.0, 2.0), (3.0, 2.0), (1.0, 4.0)] {
            fdace.add(send, receive, WEIGHTS);
        }
        let estimate = fdace.add(3.0, 4.0, WEIGHTS);
        assert!((fdace.mean_receive - 3.0).abs() < 1e-9 && (fdace.variance_receive - 1.0).abs() < 1e-9, "{fdace:?}");
        assert!((estimate.slope).abs() < 1e-9 && (estimate.available - 1.0 / 3.25).abs() < 1e-9, "{estimate:?}");
    }
}
