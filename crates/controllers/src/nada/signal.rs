//! The aggregate congestion signal: delay, loss and marks as one number in milliseconds, so that
//! one law responds to all three.

use super::config::{Config, DLOSS_MS, DMARK_MS, LAMBDA, PLRREF, PMRREF, QTH_MS};

/// Queuing delay as congestion, once losses show that a loss-driven flow fills the queue: beyond QTH,
/// more delay counts for less, so that NADA does not give way without end.
// [rfc8698] eq. (1): d_tilde = d_queue below QTH, else QTH exp(−LAMBDA (d_queue − QTH) / QTH).
pub fn warp(queuing_ms: f64) -> f64 {
    if queuing_ms < QTH_MS {
        return queuing_ms;
    }
    QTH_MS * libm::exp(-LAMBDA * (queuing_ms - QTH_MS) / QTH_MS)
}

/// The delay that counts, in ms: warped by a share from 0 to 1, which falls to 0 as losses grow old.
// [rfc8698] §4.2: a linear interpolation between d_tilde and d_queue. Without it the signal would step by d_queue −
// d_tilde when losses expire.
pub fn blend(queuing_ms: f64, warp_share: f64) -> f64 {
    warp_share * warp(queuing_ms) + (1.0 - warp_share) * queuing_ms
}

/// The signal, in ms: `delay_ms` is d_tilde, the ratios are from 0 to 1.
// [rfc8698] eq. (2): x_curr = d_tilde + DMARK (p_mark / PMRREF)² + DLOSS (p_loss / PLRREF)².
pub fn aggregate(config: &Config, delay_ms: f64, loss_ratio: f64, mark_ratio: f64) -> f64 {
    let mark = mark_ratio / PMRREF;
    let loss = loss_ratio / PLRREF;
    // Deviates from [rfc8698] §4.2, where nothing bounds it: the authors' simulator ends it at XMAX = 500 ms.
    // A signal that has risen with the square of a burst of losses takes the rate up again as it
    // decays, by e^(fall / TAU): without a bound, far beyond where it came from.
    (delay_ms + DMARK_MS * mark * mark + DLOSS_MS * loss * loss).min(config.max_signal_ms)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::nada::reference_rate::{self, GradualInput};

    fn close(value: f64, expected: f64) {
        assert!((value - expected).abs() < 0.005, "{value}, not {expected}");
    }

    /// [rfc8698] eq. (1), worked by hand: 100 ms are one threshold above it, 50 e^−0.5 = 30.33.
    #[test]
    fn delay_beyond_the_threshold_counts_less_the_longer_it_is() {
        let warped =
            [(10.0, 10.0), (49.0, 49.0), (50.0, 50.0), (75.0, 38.94), (100.0, 30.33), (200.0, 11.16), (300.0, 4.10)];
        for (delay_ms, expected) in warped {
            close(warp(delay_ms), expected);
        }
    }

    /// [rfc8698] §4.2, worked by hand: 300 ms warp to 4.1, so leaving the warp in one step would take KAPPA ETA 296 /
    /// TAU = 59 % off the rate in one update. Halfway through the transition 152 ms count.
    #[test]
    fn delay_leaves_the_warp_linearly() {
        let config = Config::default();
        close(blend(300.0, 1.0), 4.10);
        close(blend(300.0, 0.5), 152.05);
        close(blend(300.0, 0.0), 300.0);
        let step = blend(300.0, 0.0) - blend(300.0, 1.0);
        close(step, 295.90);
        let input = GradualInput { signal_ms: 300.0, previous_ms: 300.0 - step, elapsed_ms: 0.0, max_rate_bps: 1.5e6 };
        close(1.0 - reference_rate::gradual(&config, 1e6, input) / 1e6, 0.59);
    }

    /// [rfc8698] eq. (2), worked by hand: 5 % loss is five references, 10 ms × 25; 10 % marks are
    /// ten, 2 ms × 100.
    #[test]
    fn loss_and_marks_count_with_the_square_of_their_ratio() {
        let config = Config::default();
        close(aggregate(&config, 10.0, 0.0, 0.0), 10.0);
        close(aggregate(&config, 10.0, 0.01, 0.0), 20.0);
        close(aggregate(&config, 10.0, 0.05, 0.0), 260.0);
        close(aggregate(&config, 10.0, 0.0, 0.1), 210.0);
    }

    /// [rfc8698] §4.2 with the authors' bound: 10 % loss would count as 1,000 ms.
    #[test]
    fn the_signal_is_bounded() {
        let config = Config::default();
        assert_eq!(aggregate(&config, 0.0, 0.1, 0.0), 500.0);
        let unbounded = Config { max_signal_ms: 3_276.7, ..config };
        close(aggregate(&unbounded, 0.0, 0.1, 0.0), 1_000.0);
    }
}
