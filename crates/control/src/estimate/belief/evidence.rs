//! What one feedback says of the rate that the link passes: measured, bounded from below, or from above.

use super::distribution::Belief;
use crate::estimate::arrivals::Arrival;
use legato_units::{DataSize, Timestamp};

/// Gathered from the reports of one feedback.
#[derive(Clone, Copy, Debug, Default)]
pub struct Evidence {
    /// Of packets right behind others of ours, in bytes and seconds.
    behind: (f64, f64),
    /// Bytes that arrived.
    arrived: f64,
    /// Bytes that are missing.
    lost: f64,
    /// The queue that the first packet met, and the newest.
    waits_s: Option<(f64, f64)>,
}

impl Evidence {
    /// Count an arrival.
    pub fn arrived(&mut self, arrival: &Arrival, size: DataSize) {
        self.arrived += size.as_bytes_f64();
        let wait_s = arrival.queuing.as_secs_f64();
        self.waits_s = Some((self.waits_s.map_or(wait_s, |(first, _)| first), wait_s));
        if !arrival.found_idle {
            self.behind.0 += size.as_bytes_f64();
            self.behind.1 += arrival.service.as_secs_f64();
        }
    }

    /// Count a packet that is missing.
    pub fn lost(&mut self, size: DataSize) {
        self.lost += size.as_bytes_f64();
    }

    /// Bring it into a belief; the feedback came `gap_s` after the one before, and frames come every `interval_s`.
    pub fn update(&self, belief: &mut Belief, now: Timestamp, gap_s: f64, interval_s: f64) {
        belief.advance(now);
        belief.got_through(0.0);
        let (bytes, span_s) = self.behind;
        let measured = span_s > MIN_SPAN_S;
        if measured {
            belief.measured(bytes / span_s, span_s);
        }
        let Some((first_wait_s, last_wait_s)) = self.waits_s else { return };
        let over_s = gap_s.max(interval_s).max(MIN_SPAN_S);
        if self.lost > 0.0 && first_wait_s > STANDING_S {
            // The queue in front of the burst had no room for it.
            belief.at_most((self.arrived + self.lost) / over_s);
        }
        // All was through before the next frame came: the link was asked for no more.
        if self.lost == 0.0 && last_wait_s < interval_s {
            let rate = self.arrived / over_s;
            if !measured {
                belief.at_least(rate);
            }
            belief.got_through(rate);
        }
    }
}

/// Shorter services say nothing.
const MIN_SPAN_S: f64 = 1e-3;
/// A burst that finds as much in front of it meets a queue.
const STANDING_S: f64 = 0.01;

#[cfg(test)]
mod tests {
    use super::*;
    use legato_units::{PeerTimestamp, TimeDelta};

    const MBIT: f64 = 125e3;
    const FRAME_S: f64 = 0.033;

    /// A packet of 1,250 bytes: how long it waited in all, and how long behind one of ours.
    fn packet(waited_ms: i64, behind_ms: Option<i64>) -> Arrival {
        Arrival {
            departure: Timestamp::ZERO,
            arrival: PeerTimestamp::from_nanos(0),
            queuing: TimeDelta::from_millis(waited_ms),
            service: TimeDelta::from_millis(behind_ms.unwrap_or(waited_ms)),
            found_idle: behind_ms.is_none(),
        }
    }

    fn believed(evidence: &Evidence, times: i64) -> [f64; 3] {
        let mut belief = Belief::new(Timestamp::ZERO, MBIT);
        (1..=times).for_each(|n| evidence.update(&mut belief, Timestamp::from_millis(33 * n), FRAME_S, FRAME_S));
        belief.quantiles(Timestamp::from_millis(33 * times), [0.1, 0.5, 0.9]).map(|rate| rate / MBIT)
    }

    /// Three packets, the second and third 5 ms behind one of ours: 2,500 bytes in 10 ms are 2 Mbit/s.
    #[test]
    fn packets_behind_each_other_measure() {
        let mut evidence = Evidence::default();
        for (waited_ms, behind_ms) in [(0, None), (5, Some(5)), (10, Some(5))] {
            evidence.arrived(&packet(waited_ms, behind_ms), DataSize::from_bytes(1_250));
        }
        let [p10, p50, p90] = believed(&evidence, 30);
        assert!((p50 - 2.0).abs() < 0.1 && p10 > 1.7 && p90 < 2.3, "{p10}, {p50}, {p90}");
    }

    /// A packet per frame that waits for nothing, 9,900 bytes in 33 ms: 2.4 Mbit/s got through, and more may.
    #[test]
    fn where_the_call_asks_for_no_more_nothing_below_what_got_through_is_believed() {
        let mut evidence = Evidence::default();
        evidence.arrived(&packet(1, None), DataSize::from_bytes(9_900));
        let few = believed(&evidence, 1);
        assert!(few[0] >= 2.4 - 1e-9, "a single frame: {few:?}");
        let [p10, p50, p90] = believed(&evidence, 60);
        assert!(p10 >= 2.4 - 1e-9 && p50 > 2.6 && p90 > 2.0 * p10, "how much more is not known: {p10}, {p50}, {p90}");
    }

    /// 3,000 of 6,000 bytes in 33 ms are lost behind a queue of 20 ms: the link passes less than 1.45 Mbit/s.
    #[test]
    fn a_queue_that_has_no_room_bounds_from_above() {
        let mut evidence = Evidence::default();
        evidence.arrived(&packet(20, None), DataSize::from_bytes(3_000));
        evidence.lost(DataSize::from_bytes(3_000));
        let [.., p90] = believed(&evidence, 10);
        assert!(p90 < 1.5, "{p90}");
        // Without a queue in front of it a burst may be lost on a link of any rate.
        let mut clean = Evidence::default();
        clean.arrived(&packet(0, None), DataSize::from_bytes(3_000));
        clean.lost(DataSize::from_bytes(3_000));
        assert!(believed(&clean, 10)[2] > 1.5);
    }
}
