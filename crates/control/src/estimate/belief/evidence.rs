//! What one feedback says of the rate that the link passes: measured, bounded from below, or from above.

use super::distribution::Belief;
use crate::estimate::arrivals::Arrival;
use legato_units::{ByteRate, Bytes, DataSize, Seconds, Timestamp};

/// Gathered from the reports of one feedback.
#[derive(Clone, Copy, Debug, Default)]
pub struct Evidence {
    /// Packets right behind another packet of this call: their bytes, and how long the link worked on them.
    behind: (Bytes, Seconds),
    arrived: Bytes,
    lost: Bytes,
    /// The queue that the first packet met, and the newest.
    waits: Option<(Seconds, Seconds)>,
}

impl Evidence {
    /// Count an arrival.
    pub fn arrived(&mut self, arrival: &Arrival, size: DataSize) {
        self.arrived += size.into();
        let wait = arrival.queuing.into();
        self.waits = Some((self.waits.map_or(wait, |(first, _)| first), wait));
        if !arrival.found_idle {
            self.behind.0 += size.into();
            self.behind.1 += arrival.service.into();
        }
    }

    /// Count a packet that is missing.
    pub fn lost(&mut self, size: DataSize) {
        self.lost += size.into();
    }

    /// Bring it into a belief; the feedback came so long after the one before, and frames come an `interval` apart.
    pub fn update(&self, belief: &mut Belief, now: Timestamp, gap: Seconds, interval: Seconds) {
        belief.advance(now);
        belief.got_through(ByteRate::ZERO);
        let (amount, span) = self.behind;
        let measured = span > MIN_SPAN;
        if measured {
            belief.measured(amount / span, span);
        }
        let Some((first_wait, last_wait)) = self.waits else { return };
        let over = gap.max(interval).max(MIN_SPAN);
        if self.lost > Bytes::ZERO && first_wait > STANDING {
            // The queue in front of the burst had no room for it.
            belief.at_most((self.arrived + self.lost) / over);
        }
        // All was through before the next frame came: the link was asked for no more.
        if self.lost == Bytes::ZERO && last_wait < interval {
            let rate = self.arrived / over;
            if !measured {
                belief.at_least(rate);
            }
            belief.got_through(rate);
        }
    }
}

/// Shorter services say nothing.
const MIN_SPAN: Seconds = Seconds::from_millis(1.0);
/// A burst that finds as much in front of it meets a queue.
const STANDING: Seconds = Seconds::from_millis(10.0);

#[cfg(test)]
mod tests {
    use super::*;
    use legato_units::{PeerTimestamp, TimeDelta};

    const MBIT: ByteRate = ByteRate::new(125e3);
    const FRAME: Seconds = Seconds::new(0.033);

    /// A packet of 1,250 bytes: how long it waited in all, and how long behind one of the call.
    fn packet(waited_ms: i64, behind_ms: Option<i64>) -> Arrival {
        Arrival {
            departure: Timestamp::ZERO,
            arrival: PeerTimestamp::from_nanos(0),
            queuing: TimeDelta::from_millis(waited_ms),
            service: TimeDelta::from_millis(behind_ms.unwrap_or(waited_ms)),
            found_idle: behind_ms.is_none(),
        }
    }

    /// In Mbit/s.
    fn believed(evidence: &Evidence, times: i64) -> [f64; 3] {
        let mut belief = Belief::new(Timestamp::ZERO, MBIT);
        (1..=times).for_each(|n| evidence.update(&mut belief, Timestamp::from_millis(33 * n), FRAME, FRAME));
        belief.quantiles(Timestamp::from_millis(33 * times), [0.1, 0.5, 0.9]).map(|rate| rate / MBIT)
    }

    /// Three packets, the second and third 5 ms behind another of the call: 2,500 bytes in 10 ms are 2 Mbit/s.
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
