//! p_loss and p_mark: a ratio over LOGWIN, smoothed once for each media packet that arrives.

/// An exponentially smoothed ratio.
#[derive(Clone, Copy, Debug, Default)]
pub struct SmoothedRatio(f64);

impl SmoothedRatio {
    /// A media packet arrived: take the window's ratio with `weight`, ALPHA.
    // [rfc8698] eq. (10): p = ALPHA p_inst + (1 − ALPHA) p. [rfc8698] §4.2 updates it on receiving a media packet,
    // not on sending feedback: with ALPHA = 0.1 it remembers ten packets, not ten feedback intervals.
    #[inline]
    pub fn push(&mut self, weight: f64, instantaneous: f64) {
        self.0 += weight * (instantaneous - self.0);
    }

    /// p.
    pub fn value(self) -> f64 {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::nada::config::{ALPHA, Config, DLOSS_MS};
    use crate::nada::signal;

    /// How many updates at p_inst = 0 until the loss term is below DLOSS (10 ms), after `updates` at 0.2.
    fn updates_until_forgotten(updates: u32) -> u32 {
        let config = Config::default();
        let mut ratio = SmoothedRatio::default();
        for _ in 0..updates {
            ratio.push(ALPHA, 0.2);
        }
        let mut count = 0;
        while signal::aggregate(&config, 0.0, ratio.value(), 0.0) >= DLOSS_MS {
            ratio.push(ALPHA, 0.0);
            count += 1;
        }
        count
    }

    /// [rfc8698] eq. (10), worked by hand: 0.5 s of p_inst = 0.2, then 0, at 100 packets/s. p must fall to PLRREF =
    /// 0.01: 0.2 × 0.9^n < 0.01 at n = 29 packets, 0.3 s, since 50 packets have taken p to 0.199.
    #[test]
    fn a_burst_of_losses_is_forgotten_after_29_packets() {
        assert_eq!(updates_until_forgotten(50), 29);
    }

    /// [rfc8698] eq. (10), worked by hand for the reading not taken, one update per feedback (DELTA = 100 ms): five
    /// updates take p to 0.2 (1 − 0.9^5) = 0.082, and 20 more, 2 s, back to 0.01; 30, 3 s, from the full 0.2.
    #[test]
    fn once_per_feedback_it_would_take_seconds() {
        assert_eq!(updates_until_forgotten(5), 20);
        assert_eq!(updates_until_forgotten(1_000), 29);
        let mut ratio = SmoothedRatio(0.2);
        (0..29).for_each(|_| ratio.push(0.1, 0.0));
        assert!(ratio.value() < 0.01, "29 of the 30 updates suffice: {}", ratio.value());
    }
}
