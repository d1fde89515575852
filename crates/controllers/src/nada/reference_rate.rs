//! The reference rate r_ref: its growth while nothing queues, and the law it follows otherwise.
//! Both in bit/s and milliseconds.

use super::config::{Config, DELTA, DFILT, ETA, GAMMA_MAX, KAPPA, QBOUND_MS, TAU_MS};

/// How much more than the receiver rate may be sent while nothing queues, as a ratio. The queue this
/// may build before its own feedback arrives stays below QBOUND.
// [rfc8698] eq. (3): gamma = min(GAMMA_MAX, QBOUND / (rtt + DELTA + DFILT)).
pub fn ramp_up_ratio(rtt_ms: f64) -> f64 {
    let span_ms = rtt_ms + DELTA.as_millis_f64() + DFILT.as_millis_f64();
    (QBOUND_MS / span_ms).min(GAMMA_MAX)
}

/// Accelerated ramp-up: never down.
// [rfc8698] eq. (4): r_ref = max(r_ref, (1 + gamma) r_recv).
pub fn ramp_up(rate_bps: f64, received_bps: f64, rtt_ms: f64) -> f64 {
    rate_bps.max((1.0 + ramp_up_ratio(rtt_ms)) * received_bps)
}

/// The input of a gradual update.
#[derive(Clone, Copy, Debug)]
pub struct GradualInput {
    /// The signal now, and at the update before.
    pub signal_ms: f64,
    /// x_prev.
    pub previous_ms: f64,
    /// Since the update before.
    pub elapsed_ms: f64,
    /// RMAX.
    pub max_rate_bps: f64,
}

/// Gradual update: towards the rate at which r_ref x_curr = PRIO XREF RMAX, and against any change
/// of the signal.
// [rfc8698] eq. (5): x_offset = x_curr − PRIO XREF RMAX / r_ref.
// [rfc8698] eq. (6): x_diff = x_curr − x_prev.
// [rfc8698] eq. (7): r_ref −= KAPPA (delta / TAU) (x_offset / TAU) r_ref + KAPPA ETA (x_diff / TAU) r_ref.
pub fn gradual(config: &Config, rate_bps: f64, input: GradualInput) -> f64 {
    // x_offset r_ref: written so that a rate of zero can rise.
    let offset = input.signal_ms * rate_bps - config.priority * config.reference_signal_ms * input.max_rate_bps;
    let difference = (input.signal_ms - input.previous_ms) * rate_bps;
    rate_bps - KAPPA * (input.elapsed_ms / TAU_MS) * (offset / TAU_MS) - KAPPA * ETA * (difference / TAU_MS)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// [rfc8698] eq. (3), worked by hand: 50 / (50 + 100 + 120) = 0.1852, and so on.
    #[test]
    fn long_paths_ramp_up_more_slowly() {
        for (rtt_ms, gamma) in [(50.0, 0.1852), (100.0, 0.1562), (200.0, 0.1190), (400.0, 0.0806)] {
            let ratio = ramp_up_ratio(rtt_ms);
            assert!((ratio - gamma).abs() < 0.000_06, "{ratio}, not {gamma}");
        }
    }

    /// [rfc8698] eq. (4), worked by hand: 1 Mbit/s arrives at a round trip of 280 ms, 50/500 more is 1.1.
    #[test]
    fn ramping_up_goes_from_what_arrives_and_never_down() {
        assert!((ramp_up(0.9e6, 1e6, 280.0) - 1.1e6).abs() < 1e-3);
        assert_eq!(ramp_up(2e6, 1e6, 280.0), 2e6);
    }

    fn updated(rate_bps: f64, signal_ms: f64, previous_ms: f64) -> f64 {
        let input = GradualInput { signal_ms, previous_ms, elapsed_ms: 100.0, max_rate_bps: 1.5e6 };
        gradual(&Config::default(), rate_bps, input)
    }

    /// [rfc8698] eq. (5) and eq. (6) and eq. (7), worked by hand for 1 Mbit/s of at most 1.5: x goes
    /// from 15 to 30 ms, so the offset is 15 and takes 0.5 × 0.2 × 0.03 = 0.3 %, the change 0.5 × 2 × 0.03 = 3 %.
    #[test]
    fn a_signal_that_rises_takes_its_offset_and_its_change() {
        assert!((updated(1e6, 30.0, 15.0) - 967_000.0).abs() < 1e-3);
    }

    /// [rfc8698] eq. (7): r x = PRIO XREF RMAX = 15e6 moves no more.
    #[test]
    fn the_rate_is_steady_at_the_reference_product() {
        for (rate_bps, signal_ms) in [(1e6, 15.0), (1.5e6, 10.0), (0.5e6, 30.0)] {
            assert!((updated(rate_bps, signal_ms, signal_ms) - rate_bps).abs() < 1e-6);
        }
    }

    #[test]
    fn a_rate_of_zero_can_rise() {
        // 0.5 × 0.2 × 10 × 1.5e6 / 500.
        assert!((updated(0.0, 0.0, 0.0) - 3_000.0).abs() < 1e-6);
    }
}
