//! How long a link was dead: too slow for any video, or passing nothing at all.

use legato_units::{DataRate, TimeDelta, Timestamp};

/// A link is dead in each second whose mean capacity is below 50 kbit/s. At 30 frames per second the headers of one
/// packet per frame take a third of that, and the rest is too little for video.
pub const DEAD_BELOW: DataRate = DataRate::from_kbps(50);
/// The capacity is taken in means over this.
pub const DEAD_TIME_BIN: TimeDelta = TimeDelta::from_millis(100);

const BINS_PER_SECOND: usize = 10;

/// Dead time from `start` to `end` of a link with this mean capacity over `[from, to)`.
pub fn dead_time(start: Timestamp, end: Timestamp, mean: impl Fn(Timestamp, Timestamp) -> DataRate) -> TimeDelta {
    let means = |step: TimeDelta| {
        let starts = (0..(end - start).as_nanos() / step.as_nanos()).map(move |place| start + step * place);
        starts.map(move |from| (from, from + step)).map(|(from, to)| mean(from, to))
    };
    // Each second contains a whole half of a second, counted from the start: that would carry at most all its bits.
    if means(DEAD_TIME_BIN * 5).all(|half| half.as_bps() >= 2 * DEAD_BELOW.as_bps()) && (end - start).as_nanos() > 0 {
        return TimeDelta::ZERO;
    }
    let mut dead = DeadTime::default();
    means(DEAD_TIME_BIN).for_each(|capacity| dead.take(capacity));
    dead.total()
}

/// Adds up the dead seconds, which may begin at any bin and overlap.
#[derive(Clone, Debug, Default)]
pub struct DeadTime {
    /// The capacity of the last bins, in bit/s.
    bins: [u64; BINS_PER_SECOND],
    place: usize,
    sum_bps: u64,
    /// The bins of the last second that are there and not yet counted as dead.
    alive: usize,
    filled: usize,
    dead: i64,
}

impl DeadTime {
    /// The next bin, with its mean capacity.
    pub fn take(&mut self, capacity: DataRate) {
        let bps = capacity.as_bps();
        self.sum_bps = self.sum_bps + bps - self.bins[self.place];
        self.bins[self.place] = bps;
        self.place = (self.place + 1) % BINS_PER_SECOND;
        self.filled = (self.filled + 1).min(BINS_PER_SECOND);
        self.alive = (self.alive + 1).min(BINS_PER_SECOND);
        if self.filled == BINS_PER_SECOND && self.sum_bps < DEAD_BELOW.as_bps() * BINS_PER_SECOND as u64 {
            self.dead += self.alive as i64;
            self.alive = 0;
        }
    }

    /// Dead time so far.
    pub fn total(&self) -> TimeDelta {
        DEAD_TIME_BIN * self.dead
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The dead time in ms of these capacities in kbit/s, with the number of bins of each.
    fn dead_ms(bins: &[(usize, u64)]) -> i64 {
        let mut dead = DeadTime::default();
        for &(count, kbps) in bins {
            (0..count).for_each(|_| dead.take(DataRate::from_kbps(kbps)));
        }
        dead.total().as_millis()
    }

    #[test]
    fn a_second_is_dead_if_its_mean_is_below_50_kbps() {
        assert_eq!((dead_ms(&[(30, 50)]), dead_ms(&[(30, 49)])), (0, 3_000));
        // Nine bins of nothing and one of 499 kbit/s; with 500 it is 50 on average.
        assert_eq!((dead_ms(&[(9, 0), (1, 499)]), dead_ms(&[(9, 0), (1, 500)])), (1_000, 0));
        // There is no whole second.
        assert_eq!(dead_ms(&[(9, 0)]), 0);
    }

    #[test]
    fn a_look_at_half_seconds_misses_no_dead_one() {
        // 1.0 s of 49 kbit/s from anywhere, in a link that is fast before it and after it.
        for first in 0..15 {
            let bins: Vec<_> = (0..40).map(|bin| if (first..first + 10).contains(&bin) { 49 } else { 9_000 }).collect();
            let at = |time: Timestamp| ((time - Timestamp::ZERO).as_millis() / 100) as usize;
            let mean = |from, to| {
                let within = &bins[at(from)..at(to)];
                DataRate::from_kbps(within.iter().sum::<u64>() / within.len() as u64)
            };
            let dead = dead_time(Timestamp::ZERO, Timestamp::from_secs(4), mean);
            assert_eq!(dead, TimeDelta::from_secs(1), "from bin {first}");
        }
    }

    #[test]
    fn dead_seconds_begin_at_any_bin_and_count_once_where_they_overlap() {
        assert_eq!(dead_ms(&[(7, 1_000), (10, 0), (7, 1_000)]), 1_000);
        assert_eq!(dead_ms(&[(7, 1_000), (9, 0), (7, 1_000)]), 0);
        assert_eq!(dead_ms(&[(7, 1_000), (14, 0), (7, 1_000), (12, 0)]), 2_600);
    }
}
