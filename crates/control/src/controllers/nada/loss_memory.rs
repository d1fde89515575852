//! Whether a loss is recent: the number of packets since, against the mean number of packets
//! between losses.

use legato_units::{TimeDelta, Timestamp};

/// The intervals between the last losses, in packets.
#[derive(Clone, Debug, Default)]
pub struct LossMemory {
    /// Closed intervals, the newest first.
    intervals: [u64; INTERVALS],
    known: usize,
    /// The packet that began the last loss event, and when it left.
    event: Option<(u64, Timestamp)>,
    last_loss: u64,
}

// [rfc5348] §5.4: n = 8; the four newest intervals count in full, older ones less.
const INTERVALS: usize = 8;
const WEIGHTS: [f64; INTERVALS] = [1.0, 1.0, 1.0, 1.0, 0.8, 0.6, 0.4, 0.2];

impl LossMemory {
    /// The packet `seq` that left at `departure` is lost. Losses within a round trip of the first are
    /// one event.
    pub fn push_loss(&mut self, seq: u64, departure: Timestamp, rtt: TimeDelta) {
        self.last_loss = self.last_loss.max(seq);
        match self.event {
            Some((_, begin)) if departure <= begin.saturating_add(rtt) => return,
            Some((first, _)) => {
                self.intervals.rotate_right(1);
                self.intervals[0] = seq.saturating_sub(first);
                self.known = (self.known + 1).min(INTERVALS);
            }
            // [rfc5348] has a synthetic interval for the first; without two losses there is no interval yet.
            None => {}
        }
        self.event = Some((seq, departure));
    }

    /// loss_int: the weighted mean of the closed intervals, in packets; `None` before the second
    /// loss event.
    // [rfc8698] §4.2 refers to [rfc5348] §5.4 for it.
    pub fn mean_interval(&self) -> Option<f64> {
        let pairs = self.intervals[..self.known].iter().zip(WEIGHTS);
        let (sum, weights) = pairs
            .fold((0.0, 0.0), |(sum, weights), (&interval, weight)| (sum + weight * interval as f64, weights + weight));
        (weights > 0.0).then(|| sum / weights)
    }

    /// Whether the last loss lies within `memory` mean intervals of the packet `newest`. One loss
    /// event alone has no interval and does not recur: not recent.
    // [rfc8698] §4.2: loss_exp = MULTILOSS loss_int, in packets.
    pub fn is_recent(&self, newest: u64, memory: f64) -> bool {
        self.mean_interval().is_some_and(|mean| (newest.saturating_sub(self.last_loss) as f64) < memory * mean)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lose(memory: &mut LossMemory, seq: u64) {
        // Packets leave every 10 ms.
        memory.push_loss(seq, Timestamp::from_millis(10 * seq as i64), TimeDelta::from_millis(95));
    }

    /// [rfc5348] §5.4, worked by hand: 100, 50, 200, 80, 120 weigh 1, 1, 1, 1, 0.8: 526 / 4.8.
    #[test]
    fn the_mean_interval_weighs_old_ones_less() {
        let mut memory = LossMemory::default();
        let mut seq = 1_000;
        lose(&mut memory, seq);
        assert_eq!(memory.mean_interval(), None);
        for interval in [120, 80, 200, 50, 100] {
            seq += interval;
            lose(&mut memory, seq);
        }
        assert!((memory.mean_interval().unwrap() - 526.0 / 4.8).abs() < 1e-9);
    }

    /// [rfc8698] §4.2, worked by hand: intervals of 100 packets, a memory of 7: 700 packets.
    #[test]
    fn a_loss_is_recent_for_a_number_of_intervals() {
        let mut memory = LossMemory::default();
        lose(&mut memory, 100);
        assert!(!memory.is_recent(101, 7.0), "no interval is known");
        lose(&mut memory, 200);
        assert!(memory.is_recent(899, 7.0));
        assert!(!memory.is_recent(900, 7.0));
    }

    #[test]
    fn losses_of_one_round_trip_are_one_event() {
        let mut memory = LossMemory::default();
        lose(&mut memory, 100);
        for seq in 150..160 {
            lose(&mut memory, seq);
        }
        assert_eq!(memory.mean_interval(), Some(50.0));
        assert!(memory.is_recent(159 + 349, 7.0), "counted from the last of them");
    }
}
