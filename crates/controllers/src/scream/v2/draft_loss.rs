//! How often packets are lost, so that the link's inherent loss does not count as congestion.
//! [draft-johansson-ccwg-rfc8298bis-screamv2] §4.5.2.

use super::draft_window::{LOSS_RATE_THRESHOLD, MSS_BYTES};

/// loss_rate.
#[derive(Clone, Copy, Debug, Default)]
pub struct LossRate(f64);

impl LossRate {
    /// Packets were lost, others arrived, while the window was `ref_wnd_bytes`.
    pub fn update(&mut self, lost: u32, arrived: u32, ref_wnd_bytes: f64) {
        // [draft-johansson-ccwg-rfc8298bis-screamv2] §4.5.2: alpha = min(LOSS_RATE_THRESHOLD / 4, MSS /
        // ref_wnd / 2); a packet at a time. Their order hardly matters: arrivals are taken first.
        let alpha = (LOSS_RATE_THRESHOLD / 4.0).min(MSS_BYTES / ref_wnd_bytes / 2.0);
        for _ in 0..arrived.min(MAX) {
            self.0 *= 1.0 - alpha;
        }
        for _ in 0..lost.min(MAX) {
            self.0 = (1.0 - alpha) * self.0 + alpha;
        }
    }

    /// 0 to 1.
    #[inline]
    pub fn get(&self) -> f64 {
        self.0
    }
}

/// Packets of one feedback that count: enough to forget everything before.
const MAX: u32 = 10_000;

#[cfg(test)]
mod tests {
    use super::*;

    /// [draft-johansson-ccwg-rfc8298bis-screamv2] §4.5.2, worked by hand: alpha = 0.0025 with a window of
    /// 10 segments; with one of 1,000 segments 0.0005.
    #[test]
    fn four_losses_in_a_row_nearly_reach_one_percent() {
        let mut rate = LossRate::default();
        rate.update(1, 0, 10_000.0);
        assert_eq!(rate.get(), 0.0025);
        rate.update(1, 1, 10_000.0);
        assert!((rate.get() - (0.0025 * 0.9975 * 0.9975 + 0.0025)).abs() < 1e-15);
        let mut rate = LossRate::default();
        rate.update(1, 0, 1e6);
        assert_eq!(rate.get(), 0.0005);
    }
}
