//! The number of packets between loss events: the history of [rfc5348], section 5, kept at the
//! sender. The mean weighs the last eight intervals; the open one counts if it lengthens the mean,
//! and once it is much longer, older ones are discounted.

/// The last eight closed loss intervals and the open one.
#[derive(Clone, Debug)]
pub struct LossIntervals {
    /// Newest first: I_1 ... I_8; the first `len` are in use.
    closed: [Interval; HISTORY],
    len: usize,
    /// First sequence number of the newest event; I_0 begins here.
    open_from: u64,
    /// Highest sequence number reported on.
    highest: u64,
    /// Discount older intervals once the open one has become long.
    discounting: bool,
    /// The minimum discount.
    min_discount: f64,
}

#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Interval {
    /// From the first packet of an event to the one before the first of the next.
    packets: f64,
    /// The product of the discounts applied to this interval.
    discount: f64,
    /// First sequence number of the event that began it.
    from: u64,
}

impl LossIntervals {
    /// No loss yet. `min_discount` is the floor of the discounting, 1 turns it off.
    pub fn new(min_discount: f64) -> Self {
        Self {
            closed: [Interval::default(); HISTORY],
            len: 0,
            open_from: 0,
            highest: 0,
            discounting: min_discount < 1.0,
            min_discount,
        }
    }

    /// Whether any loss event was seen.
    #[inline]
    pub fn any(&self) -> bool {
        self.len > 0
    }

    /// A packet was reported on.
    #[inline]
    pub fn on_reported(&mut self, seq: u64) {
        self.highest = self.highest.max(seq);
    }

    /// The first loss event begins with packet `seq`. It has no interval before it: `packets`
    /// stands for what the rate so far would imply.
    pub fn begin(&mut self, seq: u64, packets: f64) {
        self.closed[0] = Interval { packets, discount: 1.0, from: seq };
        self.len = 1;
        self.open_from = seq;
        self.highest = self.highest.max(seq);
    }

    /// A further loss event begins with packet `seq`: the open interval closes.
    pub fn push(&mut self, seq: u64) {
        debug_assert!(self.any(), "the first event comes with a synthetic interval");
        let discount = self.discount();
        for interval in &mut self.closed[..self.len] {
            // [rfc5348] §5.5: the discount in force becomes part of every interval before the event.
            interval.discount *= discount;
        }
        self.closed.rotate_right(1);
        self.len = (self.len + 1).min(HISTORY);
        // [rfc5348] §5.3: an interval begun by packet S_A and ended by the event of S_B has S_B - S_A packets.
        let packets = seq.saturating_sub(self.open_from).max(1) as f64;
        self.closed[0] = Interval { packets, discount: 1.0, from: self.open_from };
        self.open_from = seq;
    }

    /// Nothing of the event that began with packet `seq` was lost after all: the intervals before
    /// and after it become one. Events whose intervals were forgotten stay.
    pub fn merge(&mut self, seq: u64) {
        if seq == self.open_from {
            if self.len <= 1 {
                self.len = 0;
                return;
            }
            self.open_from = self.closed[0].from;
            self.closed.copy_within(1..self.len, 0);
            self.len -= 1;
            return;
        }
        let Some(place) = self.closed[..self.len].iter().position(|interval| interval.from == seq) else { return };
        if place + 1 < self.len {
            // The synthetic interval before the first event gives way to the counted one.
            let before = self.closed[place + 1];
            let made_up = place + 2 == self.len && before.from == seq;
            if !made_up {
                self.closed[place].packets += before.packets;
                self.closed[place].from = before.from;
            }
            self.closed.copy_within(place + 2..self.len, place + 1);
            self.len -= 1;
        }
    }

    /// The average loss interval in packets; `None` before the first loss event.
    pub fn mean(&self) -> Option<f64> {
        if !self.any() {
            return None;
        }
        let discount = self.discount();
        let (mut total, mut weights) = (self.open_packets() * WEIGHTS[0], WEIGHTS[0]);
        // [rfc5348] §5.4: I_tot0 over I_0 ... I_(k-1), k closed intervals: the oldest is left out, also of a history
        // that is not yet full. [rfc5348] §5.5: all but I_0 take the discount in force.
        for (interval, weight) in self.closed[..self.len - 1].iter().zip(&WEIGHTS[1..]) {
            let weight = weight * interval.discount * discount;
            total += interval.packets * weight;
            weights += weight;
        }
        // [rfc5348] §5.4: I_mean = max(I_tot0, I_tot1) / W_tot; with discounts the two have different weights.
        Some((total / weights).max(self.closed_mean()))
    }

    /// p: one event per average interval, 0 before the first.
    pub fn loss_event_ratio(&self) -> f64 {
        // [rfc5348] §5.4: p = 1 / I_mean.
        self.mean().map_or(0.0, |mean| 1.0 / mean)
    }

    /// The plain mean of the last two closed intervals, or of the only one there is.
    pub fn mean_of_last_two(&self) -> Option<f64> {
        let count = self.len.min(2);
        (count > 0).then(|| self.closed[..count].iter().map(|interval| interval.packets).sum::<f64>() / count as f64)
    }

    /// The same by the rule of the long mean: the open interval counts if it lengthens it, in place of the older of
    /// the two, or of the only one.
    pub fn mean_of_last_two_or_open(&self) -> Option<f64> {
        let closed = self.mean_of_last_two()?;
        let with_open = match self.len {
            1 => self.open_packets(),
            _ => (self.open_packets() + self.closed[0].packets) / 2.0,
        };
        Some(closed.max(with_open))
    }

    /// Packets since the newest event began, that event's first included.
    pub fn open_packets(&self) -> f64 {
        (self.highest.saturating_sub(self.open_from) + 1) as f64
    }

    /// I_tot1 over W_tot1: the mean without the open interval.
    fn closed_mean(&self) -> f64 {
        let (mut total, mut weights) = (0.0, 0.0);
        for (interval, weight) in self.closed[..self.len].iter().zip(&WEIGHTS) {
            total += interval.packets * weight * interval.discount;
            weights += weight * interval.discount;
        }
        total / weights
    }

    /// The weight factor of older intervals, given how long the open one has become.
    fn discount(&self) -> f64 {
        let (open, twice) = (self.open_packets(), 2.0 * self.closed_mean());
        // [rfc5348] §5.5: if I_0 > 2 I_mean, DF = max(2 I_mean / I_0, THRESHOLD).
        if self.discounting && open > twice { (twice / open).max(self.min_discount) } else { 1.0 }
    }
}

/// n
const HISTORY: usize = 8;

// [rfc5348] §5.4: w_i = 1 for i < n/2, else 2 (n - i) / (n + 2).
const WEIGHTS: [f64; HISTORY] = [1.0, 1.0, 1.0, 1.0, 0.8, 0.6, 0.4, 0.2];

#[cfg(test)]
mod tests {
    use super::*;

    /// A history whose intervals are, newest first, `open` and `closed`.
    fn history(min_discount: f64, open: u64, closed: &[u64]) -> LossIntervals {
        let mut intervals = LossIntervals::new(min_discount);
        let mut seq = 1_000;
        for (place, packets) in closed.iter().rev().enumerate() {
            if place == 0 {
                intervals.begin(seq, *packets as f64);
            } else {
                intervals.on_reported(seq + packets - 1);
                seq += packets;
                intervals.push(seq);
            }
        }
        intervals.on_reported(seq + open - 1);
        intervals
    }

    #[track_caller]
    fn assert_mean(intervals: &LossIntervals, expected: f64) {
        let mean = intervals.mean().expect("there was loss");
        assert!((mean - expected).abs() < 1e-9, "{mean} is not {expected}");
    }

    /// [rfc5348] §5.4, worked by hand: I_0..I_8 = 100 50 200 80 120 60 90 70 40. I_tot0 = 100 + 50 + 200 + 80 + 96 + 36
    /// + 36 + 14 = 612, I_tot1 = 50 + 200 + 80 + 120 + 48 + 54 + 28 + 8 = 588, W_tot = 6: 102.
    #[test]
    fn the_mean_of_nine_intervals_is_102() {
        let intervals = history(1.0, 100, &[50, 200, 80, 120, 60, 90, 70, 40]);
        assert_mean(&intervals, 102.0);
        assert!((intervals.loss_event_ratio() - 0.009_804).abs() < 1e-6);
    }

    /// The same closed intervals: 588 / 6 = 98 while the open one is short.
    #[test]
    fn the_open_interval_counts_only_where_it_lengthens_the_mean() {
        assert_mean(&history(1.0, 5, &[50, 200, 80, 120, 60, 90, 70, 40]), 98.0);
    }

    /// [rfc5348] §5.4, worked by hand for k = 2: I_tot0 = 100 + 10, I_tot1 = 10 + 20, W_tot = 2: 55. With one closed
    /// interval I_tot0 is the open one alone.
    #[test]
    fn a_short_history_leaves_out_its_oldest_interval_for_the_open_one() {
        assert_mean(&history(1.0, 100, &[10, 20]), 55.0);
        assert_mean(&history(1.0, 30, &[10, 20]), 20.0);
        assert_mean(&history(1.0, 1, &[10, 20]), 15.0);
        assert_mean(&history(1.0, 100, &[10]), 100.0);
        assert_mean(&history(1.0, 4, &[10]), 10.0);
        assert_eq!(history(1.0, 100, &[10]).mean_of_last_two_or_open(), Some(100.0));
    }

    /// [rfc5348] §5.5, worked by hand: eight intervals of 100, I_0 = 400: DF = 200/400 = 0.5. I_tot0 = 400 + 0.5 · 100 · 4.8
    /// = 640 (the weights after w_0, but the last, sum to 5), W_tot0 = 1 + 0.5 · 5.
    #[test]
    fn a_long_open_interval_discounts_the_past() {
        let intervals = history(0.25, 400, &[100; 8]);
        assert_mean(&intervals, (400.0 + 0.5 * 500.0) / (1.0 + 0.5 * 5.0));
        assert_mean(&history(1.0, 400, &[100; 8]), (400.0 + 500.0) / 6.0);
        // The floor: 2 · 100 / 8000 is below a quarter.
        assert_mean(&history(0.25, 8_000, &[100; 8]), (8_000.0 + 0.25 * 500.0) / (1.0 + 0.25 * 5.0));
        assert_mean(&history(0.5, 8_000, &[100; 8]), (8_000.0 + 0.5 * 500.0) / (1.0 + 0.5 * 5.0));
    }

    /// [rfc5348] §5.5: after the event the discount stays with the old intervals.
    #[test]
    fn a_discount_lasts_beyond_the_next_event() {
        let mut intervals = history(0.25, 400, &[100; 8]);
        intervals.push(intervals.highest + 1);
        // I_1 = 400, whole; I_2 ... I_8 = 100, half: (400 + 50 · 5) / (1 + 0.5 · 5); the open one is 1 packet.
        assert_mean(&intervals, 650.0 / 3.5);
    }

    /// [rfc5348] §5.3: between events at 100 and 160 lie 60 packets.
    #[test]
    fn an_interval_is_the_distance_of_first_losses() {
        let mut intervals = LossIntervals::new(0.25);
        assert_eq!((intervals.mean(), intervals.loss_event_ratio()), (None, 0.0));
        intervals.begin(100, 500.0);
        intervals.on_reported(165);
        intervals.push(160);
        assert_eq!(intervals.mean_of_last_two(), Some(280.0));
        // (6 + 60) / 2 is less; after 1000 packets (1000 + 60) / 2 is not.
        assert_eq!(intervals.mean_of_last_two_or_open(), Some(280.0));
        assert!((intervals.open_packets() - 6.0).abs() < 1e-9);
        intervals.on_reported(1_159);
        assert_eq!(intervals.mean_of_last_two_or_open(), Some(530.0));
    }

    #[test]
    fn undoing_an_event_joins_the_intervals_around_it() {
        // Events at 1000 (synthetic: 10), 1020, 1050, 1090; highest 1099.
        let whole = history(1.0, 10, &[40, 30, 20, 10]);
        let packets = |intervals: &LossIntervals| -> Vec<f64> {
            std::iter::once(intervals.open_packets())
                .chain(intervals.closed[..intervals.len].iter().map(|interval| interval.packets))
                .collect()
        };
        assert_eq!(packets(&whole), [10.0, 40.0, 30.0, 20.0, 10.0]);
        let merged = |seq| {
            let mut intervals = whole.clone();
            intervals.merge(seq);
            packets(&intervals)
        };
        assert_eq!(merged(1_090), [50.0, 30.0, 20.0, 10.0]);
        assert_eq!(merged(1_050), [10.0, 70.0, 20.0, 10.0]);
        assert_eq!(merged(1_020), [10.0, 40.0, 50.0, 10.0]);
        // The first event is undone: its synthetic interval goes, and the history begins with the second.
        assert_eq!(merged(1_000), [10.0, 40.0, 30.0, 20.0]);
        assert_eq!(merged(1_234), packets(&whole));
        let mut only = history(1.0, 10, &[77]);
        only.merge(1_000);
        assert_eq!(only.mean(), None);
    }
}
