//! The gap between TFRC's smooth rate and what TCP would send at this instant, and the share of it
//! that a complex frame gets: equations 1 to 4 and 7 to 9 of [vtfrc].

use legato_control::estimate::loss_intervals::LossIntervals;
use legato_control::estimate::tcp_equation::TcpEquation;

/// R_instant in bit/s: the equation at the last two loss intervals and the latest round trip. `None`
/// before the first loss. `count_open`: the open interval is one of the two if TFRC's own rule counts
/// it.
pub fn instantaneous_bps(
    intervals: &LossIntervals,
    packet_bytes: f64,
    (smoothed_rtt_s, rtt_s): (f64, f64),
    packets_per_ack: f64,
    count_open: bool,
) -> Option<f64> {
    // [vtfrc] eq. (2): s_avg = (s_1 + s_2) / 2.
    let average = if count_open { intervals.mean_of_last_two_or_open()? } else { intervals.mean_of_last_two()? };
    // [vtfrc] eq. (3): p = 1 / s_avg.
    let p = 1.0 / average.max(1.0);
    // [vtfrc] eq. (1): s / (RTT(t) sqrt(2p/3) + RTO (3 sqrt(3p/8)) p (1 + 32 p^2)), with the unsmoothed RTT(t).
    let equation = TcpEquation { segment_bytes: packet_bytes, rtt_s, rto_s: 4.0 * smoothed_rtt_s, packets_per_ack };
    Some(8.0 * equation.bytes_per_s(p))
}

/// R_add in bit/s, set when a frame begins; negative for a simpler frame, or a negative gap. `most`: of the complexity.
pub fn additional_bps(complexity: f64, most: f64, trans_bps: f64, instant_bps: Option<f64>) -> f64 {
    // [vtfrc] eq. (4): R_gap(t) = R_instant(t) - R_trans(t); zero before R_instant exists.
    let gap = instant_bps.map_or(0.0, |instant| instant - trans_bps);
    // [vtfrc] eq. (7): R_add(k, t) = C(k) R_gap(t).
    complexity.min(most) * gap
}

/// R_target in bit/s, what the encoder would get for the frame.
pub fn target_bps(trans_bps: f64, additional_bps: f64) -> f64 {
    // [vtfrc] eq. (8): R_target(k, t) = R_trans(t) + R_add(k, t).
    trans_bps + additional_bps
}

/// R_neg in bit/s, the sending rate, with the R_add of the latest frame.
pub fn negotiated_bps(trans_bps: f64, additional_bps: f64, instant_bps: Option<f64>) -> f64 {
    // [vtfrc] eq. (9): R_neg(t) = min(R_trans(t) + R_add(k, t - i), R_instant(t)).
    let wanted = trans_bps + additional_bps;
    instant_bps.map_or(wanted, |instant| wanted.min(instant))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Loss events 100 and 150 packets apart after one with a synthetic interval of 60.
    fn intervals() -> LossIntervals {
        let mut intervals = LossIntervals::new(0.5);
        intervals.begin(1_000, 60.0);
        intervals.push(1_150);
        intervals.push(1_250);
        intervals.on_reported(1_900);
        intervals
    }

    /// [vtfrc] eq. (2) and eq. (3), worked by hand: (100 + 150) / 2 = 125, p = 0.008. [vtfrc] eq. (1): s = 1000, RTT 0.1, RTO = 4 ·
    /// 0.08: 0.1 sqrt(0.0053333) = 0.0073030; 0.32 · 3 · sqrt(0.003) · 0.008 · 1.002048 = 0.00042151; 1000 / 0.0077245 = 129,458 B/s.
    #[test]
    fn the_instantaneous_rate_is_of_the_last_two_intervals_and_the_latest_round_trip() {
        let rate = instantaneous_bps(&intervals(), 1_000.0, (0.08, 0.1), 1.0, false).unwrap();
        assert!((rate - 8.0 * 129_458.0).abs() < 80.0, "{rate}");
        assert_eq!(instantaneous_bps(&LossIntervals::new(0.5), 1_000.0, (0.08, 0.1), 1.0, false), None);
    }

    /// [vtfrc] eq. (2), worked by hand with the open interval of 651 packets: (651 + 100) / 2 = 375.5.
    #[test]
    fn an_open_interval_that_has_become_long_is_one_of_the_two() {
        let rate = instantaneous_bps(&intervals(), 1_000.0, (0.1, 0.1), 1.0, true).unwrap();
        let equation = TcpEquation::new(1_000.0, 0.1, 1.0);
        assert!((rate - 8.0 * equation.bytes_per_s(1.0 / 375.5)).abs() < 1e-6);
    }

    /// [vtfrc] eq. (4) and eq. (7), worked by hand: a gap of 200, a quarter more complex: 50.
    #[test]
    fn a_complex_frame_gets_its_share_of_the_gap() {
        assert_eq!(additional_bps(0.25, 1.0, 300.0, Some(500.0)), 50.0);
        assert_eq!(additional_bps(-0.5, 1.0, 300.0, Some(500.0)), -100.0);
        assert_eq!(additional_bps(0.25, 1.0, 300.0, Some(100.0)), -50.0);
        assert_eq!(additional_bps(0.25, 1.0, 300.0, None), 0.0);
        // A hundred times as complex: the whole gap, down as well as up; or all of it as it is written.
        assert_eq!(additional_bps(99.0, 1.0, 300.0, Some(500.0)), 200.0);
        assert_eq!(additional_bps(99.0, 1.0, 300.0, Some(100.0)), -200.0);
        assert_eq!(additional_bps(99.0, f64::INFINITY, 300.0, Some(500.0)), 19_800.0);
    }

    /// [vtfrc] eq. (8) and eq. (9), worked by hand.
    #[test]
    fn what_is_sent_never_exceeds_the_instantaneous_rate() {
        assert_eq!(target_bps(300.0, 50.0), 350.0);
        assert_eq!(negotiated_bps(300.0, 50.0, Some(500.0)), 350.0);
        assert_eq!(negotiated_bps(300.0, 50.0, Some(320.0)), 320.0);
        assert_eq!(negotiated_bps(300.0, -50.0, Some(320.0)), 250.0);
        assert_eq!(negotiated_bps(300.0, 0.0, None), 300.0);
    }
}
