//! What a TCP flow would send at a given loss event rate and round-trip time: the throughput equation
//! of [rfc5348], and its inverse. The simpler form without time-outs is left out.

/// The equation with all inputs but the loss event rate set.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TcpEquation {
    /// Segment size, bytes.
    pub segment_bytes: f64,
    /// Round-trip time, s.
    pub rtt_s: f64,
    /// Retransmission time-out, s.
    pub rto_s: f64,
    /// Packets acknowledged by one ACK.
    pub packets_per_ack: f64,
}

impl TcpEquation {
    /// With the time-out of four round trips that RFC 5348 uses.
    pub fn new(segment_bytes: f64, rtt_s: f64, packets_per_ack: f64) -> Self {
        // [rfc5348] §3.1: t_RTO = 4 R.
        Self { segment_bytes, rtt_s, rto_s: 4.0 * rtt_s, packets_per_ack }
    }

    /// Bytes per second at the loss event rate `p`, above 0 and at most 1.
    pub fn bytes_per_s(&self, p: f64) -> f64 {
        let &Self { segment_bytes: s, rtt_s: r, rto_s: t_rto, packets_per_ack: b } = self;
        // [rfc5348] §3.1: X_Bps = s / (R sqrt(2bp/3) + t_RTO (3 sqrt(3bp/8) p (1 + 32 p^2))).
        s / (r * (2.0 * b * p / 3.0).sqrt() + t_rto * (3.0 * (3.0 * b * p / 8.0).sqrt() * p * (1.0 + 32.0 * p * p)))
    }

    /// The loss event rate at which the equation gives `bytes_per_s`, to a thousandth; clamped to
    /// 1e-8 to 1.
    pub fn loss_event_ratio(&self, bytes_per_s: f64) -> f64 {
        // The equation falls in p. Halve the range on a logarithmic scale: 8 decades / 2^14.
        let (mut low, mut high) = (MIN_RATIO, 1.0_f64);
        for _ in 0..BISECTIONS {
            let middle = (low * high).sqrt();
            if self.bytes_per_s(middle) > bytes_per_s {
                low = middle;
            } else {
                high = middle;
            }
        }
        (low * high).sqrt()
    }
}

/// Below any loss event rate that a call is long enough to measure.
const MIN_RATIO: f64 = 1e-8;
/// Halvings of eight decades: to a factor of 10^(8 / 2^16), closer than a thousandth.
const BISECTIONS: u32 = 16;

#[cfg(test)]
mod tests {
    use super::*;

    fn kbps(rtt_s: f64, b: f64, p: f64) -> f64 {
        TcpEquation::new(1_200.0, rtt_s, b).bytes_per_s(p) * 8e-3
    }

    #[track_caller]
    fn assert_row(rtt_s: f64, b: f64, row: &[(f64, f64)]) {
        for &(p, expected) in row {
            let got = kbps(rtt_s, b, p);
            assert!((got - expected).abs() < 0.06, "p {p}: {got} is not {expected}");
        }
    }

    /// [rfc5348] §3.1, worked by hand: s = 1200 B, t_RTO = 4 R, in kbit/s.
    #[test]
    fn the_equation_gives_the_golden_numbers() {
        let ps = [1e-4, 1e-3, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2];
        let rows = [
            (0.02, [58_734.9, 18_424.5, 7_955.6, 5_391.9, 3_516.0, 1_769.2, 849.6, 257.5]),
            (0.1, [11_747.0, 3_684.9, 1_591.1, 1_078.4, 703.2, 353.8, 169.9, 51.5]),
            (0.3, [3_915.7, 1_228.3, 530.4, 359.5, 234.4, 117.9, 56.6, 17.2]),
        ];
        for (rtt_s, rates) in rows {
            let row: Vec<_> = ps.into_iter().zip(rates).collect();
            assert_row(rtt_s, 1.0, &row);
        }
        assert_row(0.1, 2.0, &[(0.001, 2_605.6), (0.01, 762.5), (0.05, 250.2), (0.1, 120.2)]);
    }

    /// R sqrt(2p/3) = 0.1 · 0.081650 = 0.0081650; 0.4 · 3 · 0.061237 · 0.01 · 1.0032 = 0.00073720;
    /// 1200 / 0.0089022 = 134,798 B/s.
    #[test]
    fn one_percent_loss_at_100_ms_gives_135_kilobytes_per_second() {
        let rate = TcpEquation::new(1_200.0, 0.1, 1.0).bytes_per_s(0.01);
        assert!((rate - 134_798.0).abs() < 5.0, "{rate}");
    }

    #[test]
    fn the_inverse_leads_back_to_the_loss_event_rate() {
        let equation = TcpEquation::new(1_000.0, 0.08, 1.0);
        for p in [1e-6, 1e-4, 3e-3, 0.02, 0.3, 0.9] {
            let found = equation.loss_event_ratio(equation.bytes_per_s(p));
            assert!((found / p - 1.0).abs() < 1e-3, "{found} is not {p}");
        }
    }

    #[test]
    fn rates_beyond_the_equations_range_are_clamped() {
        let equation = TcpEquation::new(1_000.0, 0.1, 1.0);
        assert!(equation.loss_event_ratio(f64::MAX) < 2e-8);
        assert!(equation.loss_event_ratio(0.0) > 0.99);
    }
}
