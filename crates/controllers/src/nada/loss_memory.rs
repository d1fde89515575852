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
    // [rfc8698] §4.2 refers to [rfc5348] §5.4 for it, which averages the open interval as well once it is long. Deviates:
    // taken literally, no loss would ever expire. The n packets since the last loss are the open interval, whose
    // weight is 1 of 6, so loss_exp ≥ MULTILOSS n / 6 = 7/6 n > n for every n.
    pub fn mean_interval(&self) -> Option<f64> {
        let pairs = self.intervals[..self.known].iter().zip(WEIGHTS);
        let (sum, weights) = pairs
            .fold((0.0, 0.0), |(sum, weights), (&interval, weight)| (sum + weight * interval as f64, weights + weight));
        (weights > 0.0).then(|| sum / weights)
    }

    /// How much of the warp of delay still holds at the packet `newest`, from 1 to 0: all of it within `memory` mean
    /// intervals of the last loss, then less and less over one more. One loss event alone has no interval and does
    /// not recur: 0.
    // [rfc8698] §4.2: loss_exp = MULTILOSS loss_int, in packets, and a transition of loss_int. The text does not say
    // whether the transition lies before or after loss_exp; after it, the warp holds as long as eq. (1) has it.
    pub fn warp_share(&self, newest: u64, memory: f64) -> f64 {
        let Some(mean) = self.mean_interval() else { return 0.0 };
        let since = newest.saturating_sub(self.last_loss) as f64;
        (1.0 - (since - memory * mean) / mean).clamp(0.0, 1.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use legato_control::estimate::loss_intervals::LossIntervals;

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

    /// [rfc8698] §4.2, worked by hand: intervals of 100 packets, a memory of 7: the warp holds for 700 packets and is
    /// gone after 800.
    #[test]
    fn the_warp_ends_over_one_mean_interval() {
        let mut memory = LossMemory::default();
        lose(&mut memory, 100);
        assert_eq!(memory.warp_share(101, 7.0), 0.0, "no interval is known");
        lose(&mut memory, 200);
        let shares = [200, 900, 925, 950, 975, 1_000, 5_000].map(|newest| memory.warp_share(newest, 7.0));
        assert_eq!(shares, [1.0, 1.0, 0.75, 0.5, 0.25, 0.0, 0.0]);
    }

    /// [rfc5348] §5.4, worked by hand: eight closed intervals of 100 and n packets since, n long: (n + 5 × 100) / 6
    /// is at least n / 6, and MULTILOSS / 6 > 1. Without the open interval losses expire.
    #[test]
    fn with_the_open_interval_no_loss_would_expire() {
        let mut literal = LossIntervals::new(1.0);
        let mut memory = LossMemory::default();
        literal.begin(0, 100.0);
        lose(&mut memory, 0);
        for event in 1..=8 {
            literal.push(100 * event);
            lose(&mut memory, 100 * event);
        }
        for since in [1_000, 100_000, 10_000_000] {
            literal.on_reported(800 + since);
            assert!(7.0 * literal.mean().unwrap() > since as f64, "{since} packets later the warp would still hold");
            assert_eq!(memory.warp_share(800 + since, 7.0), 0.0);
        }
    }

    #[test]
    fn losses_of_one_round_trip_are_one_event() {
        let mut memory = LossMemory::default();
        lose(&mut memory, 100);
        for seq in 150..160 {
            lose(&mut memory, seq);
        }
        assert_eq!(memory.mean_interval(), Some(50.0));
        assert_eq!(memory.warp_share(159 + 350, 7.0), 1.0, "counted from the last of them");
        assert!(memory.warp_share(159 + 351, 7.0) < 1.0);
    }
}
