//! [rfc5681]: believes that only loss means congestion. It doubles the window each round trip until the
//! first loss (slow start), then adds a segment per round trip (congestion avoidance), halves at a loss, and
//! starts again from one segment after a timeout. Recovery itself, and with it the window's inflation by
//! duplicate acknowledgments, is up to the connection, by SACK ([rfc6675]).

use super::{AckSample, Cause, Congestion, CongestionControl, Phase};

/// Windows in bytes.
#[derive(Clone, Debug)]
pub(super) struct Reno {
    /// SMSS.
    segment: u64,
    initial: u64,
    window: u64,
    /// Slow start below this, congestion avoidance above.
    threshold: u64,
    /// Acknowledged since the window last grew in congestion avoidance.
    counted: u64,
}

impl Reno {
    pub fn new(segment_bytes: u16, initial_window_bytes: u64) -> Self {
        Self {
            segment: u64::from(segment_bytes),
            initial: initial_window_bytes,
            window: initial_window_bytes,
            // [rfc5681] §3.1: arbitrarily high at first.
            threshold: u64::MAX,
            counted: 0,
        }
    }

    /// [rfc5681] eq. (4): ssthresh = max(FlightSize / 2, 2 SMSS).
    fn halve(&mut self, flight: u64) {
        self.threshold = (flight / 2).max(2 * self.segment);
        self.counted = 0;
    }
}

impl CongestionControl for Reno {
    fn on_ack(&mut self, ack: &AckSample) {
        // [rfc3168] §6.1.2: acknowledgments that echo marks do not grow the window.
        if ack.phase == Phase::Recovery || ack.acked_bytes == 0 || !ack.window_limited || ack.marked {
            return;
        }
        if self.window < self.threshold {
            // [rfc5681] eq. (2): cwnd += min(N, SMSS).
            self.window += ack.acked_bytes.min(self.segment);
        } else {
            // [rfc5681] §3.1, recommended in place of its eq. (3): a full segment once cwnd bytes have been acknowledged.
            self.counted += ack.acked_bytes;
            if self.counted >= self.window {
                self.counted -= self.window;
                self.window += self.segment;
            }
        }
    }

    fn on_congestion(&mut self, congestion: &Congestion) {
        self.halve(congestion.prior_in_flight_bytes);
        self.window = match congestion.cause {
            // [rfc6675] §5 (4.2): cwnd = ssthresh = FlightSize / 2.
            Cause::Loss => self.threshold,
            // [rfc3168] §6.1.2: halved as well, but down to one segment.
            Cause::Mark => (congestion.prior_in_flight_bytes / 2).max(self.segment),
        };
    }

    fn on_timeout(&mut self, in_flight_bytes: u64, again: bool) {
        if !again {
            self.halve(in_flight_bytes);
        }
        // [rfc5681] §3.1: the loss window, one segment.
        self.window = self.segment;
    }

    fn on_idle_restart(&mut self) {
        // [rfc5681] §4.1: RW = min(IW, cwnd).
        self.window = self.window.min(self.initial);
    }

    fn window_bytes(&self) -> u64 {
        self.window
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{ack, congestion};
    use super::*;

    /// [rfc5681] eq. (2): each acknowledgment adds the acknowledged bytes, at most a segment; [rfc3168] §6.1.2: not one
    /// that echoes a mark.
    #[test]
    fn slow_start_adds_a_segment_per_acknowledgment() {
        let mut reno = Reno::new(1_000, 3_000);
        reno.on_ack(&ack(1_000));
        assert_eq!(reno.window_bytes(), 4_000);
        reno.on_ack(&ack(2_000));
        assert_eq!(reno.window_bytes(), 5_000);
        reno.on_ack(&ack(300));
        assert_eq!(reno.window_bytes(), 5_300);
        reno.on_ack(&AckSample { window_limited: false, ..ack(1_000) });
        reno.on_ack(&AckSample { marked: true, ..ack(1_000) });
        assert_eq!(reno.window_bytes(), 5_300);
    }

    /// [rfc5681] §3.1, by hand at ten segments: one more after 10,000 bytes.
    #[test]
    fn congestion_avoidance_adds_a_segment_per_round_trip() {
        let mut counting = Reno { threshold: 10_000, ..Reno::new(1_000, 10_000) };
        (0..4).for_each(|_| counting.on_ack(&ack(2_000)));
        assert_eq!(counting.window_bytes(), 10_000);
        counting.on_ack(&ack(2_000));
        assert_eq!(counting.window_bytes(), 11_000);
    }

    /// [rfc5681] eq. (4), §3.1 and §4.1; [rfc6675] §5: half of the bytes in flight, after a loss never below two
    /// segments; a timeout leaves one, and a second one for the same data does not halve again; [rfc3168] §6.1.2: a
    /// mark leaves one.
    #[test]
    fn losses_halve_and_timeouts_leave_one_segment() {
        let mut reno = Reno::new(1_000, 20_000);
        reno.on_congestion(&congestion(Cause::Loss, 18_000));
        assert_eq!((reno.window_bytes(), reno.threshold), (9_000, 9_000));
        reno.on_ack(&AckSample { phase: Phase::Recovery, ..ack(9_000) });
        assert_eq!(reno.window_bytes(), 9_000);
        reno.on_timeout(8_000, false);
        assert_eq!((reno.window_bytes(), reno.threshold), (1_000, 4_000));
        reno.on_timeout(1_000, true);
        assert_eq!((reno.window_bytes(), reno.threshold), (1_000, 4_000));
        reno.on_congestion(&congestion(Cause::Loss, 1_000));
        assert_eq!((reno.window_bytes(), reno.threshold), (2_000, 2_000));
        reno.on_congestion(&congestion(Cause::Mark, 1_000));
        assert_eq!((reno.window_bytes(), reno.threshold), (1_000, 2_000));
        let mut idle = Reno { window: 50_000, ..Reno::new(1_000, 3_000) };
        idle.on_idle_restart();
        assert_eq!(idle.window_bytes(), 3_000);
    }
}
