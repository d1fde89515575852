//! Rate over time, constant between changes.

use super::{Capacity, CapacityError, Cut, MAX_DURATION, MAX_RATE, MAX_SEGMENTS, wire_bytes};
use legato_units::{DataRate, DataSize, TimeDelta, Timestamp};
use std::sync::Arc;

/// The rule after the last step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AfterLast {
    /// The last rate, forever.
    Hold,
    /// The whole table again, from the start.
    Repeat,
}

/// A table of rates over time, at least one of them positive if it repeats. Immutable; share it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RateSteps {
    /// When each step begins, in ns; the first is 0.
    starts: Vec<i64>,
    /// Its rate, in bit/s.
    rates: Vec<u64>,
    /// Delivered before it, in bit/s × ns.
    before: Vec<u128>,
    duration: i64,
    after: AfterLast,
}

impl RateSteps {
    /// A table of `(beginning, rate)`, the first at zero, that lasts `duration`.
    ///
    /// # Errors
    /// Times that do not increase, rates above 100 Gbit/s, more than 24 hours or a million steps,
    /// or a table that repeats and never sends.
    pub fn new(
        steps: impl IntoIterator<Item = (TimeDelta, DataRate)>,
        duration: TimeDelta,
        after: AfterLast,
    ) -> Result<Self, CapacityError> {
        let steps = steps.into_iter();
        let expected = steps.size_hint().0.min(MAX_SEGMENTS);
        let mut table = Self {
            starts: Vec::with_capacity(expected),
            rates: Vec::with_capacity(expected),
            before: Vec::with_capacity(expected),
            duration: duration.as_nanos(),
            after,
        };
        for (index, (start, rate)) in steps.enumerate() {
            if index >= MAX_SEGMENTS {
                return Err(CapacityError::TooMany);
            }
            if rate > MAX_RATE {
                return Err(CapacityError::TooFast { index });
            }
            table.append(index, start, rate)?;
        }
        let last = *table.starts.last().ok_or(CapacityError::Empty)?;
        if duration > MAX_DURATION || table.duration <= last {
            return Err(CapacityError::Duration);
        }
        if after == AfterLast::Repeat && table.lap_work() == 0 {
            return Err(CapacityError::NeverSends);
        }
        Ok(table)
    }

    fn append(&mut self, index: usize, start: TimeDelta, rate: DataRate) -> Result<(), CapacityError> {
        let start = start.as_nanos();
        let before = match (self.starts.last(), self.rates.last(), self.before.last()) {
            (Some(&s), Some(&r), Some(&b)) if start > s => b + u128::from(r) * (start - s) as u128,
            (None, ..) if start == 0 => 0,
            (None, ..) => return Err(CapacityError::FirstNotAtZero),
            _ => return Err(CapacityError::NotIncreasing { index }),
        };
        self.starts.push(start);
        self.rates.push(rate.as_bps());
        self.before.push(before);
        Ok(())
    }

    /// A window of it, faster or slower; neighbours of equal rate are merged.
    ///
    /// # Errors
    /// A window outside the table, a scale that is not a positive number, or no positive rate left.
    pub fn cut(&self, cut: &Cut, after: AfterLast) -> Result<Self, CapacityError> {
        let (from, length) = cut.within(self.duration())?;
        let first = self.index_at(from);
        let mut steps: Vec<(TimeDelta, DataRate)> = Vec::new();
        for index in first..self.starts.len() {
            if self.starts[index] >= from + length {
                break;
            }
            let rate = DataRate::from_bps(self.rates[index]).scale(cut.scale);
            if steps.last().is_none_or(|&(_, before)| before != rate) {
                steps.push((TimeDelta::from_nanos((self.starts[index] - from).max(0)), rate));
            }
        }
        Self::new(steps, TimeDelta::from_nanos(length), after)
    }

    /// Its duration.
    pub fn duration(&self) -> TimeDelta {
        TimeDelta::from_nanos(self.duration)
    }
    /// Its mean rate over its duration.
    pub fn mean_rate(&self) -> DataRate {
        DataRate::from_bps((self.lap_work() / self.duration as u128) as u64)
    }
    /// The steps: the start and the rate of each.
    pub fn steps(&self) -> impl ExactSizeIterator<Item = (TimeDelta, DataRate)> + '_ {
        self.starts.iter().zip(&self.rates).map(|(&s, &r)| (TimeDelta::from_nanos(s), DataRate::from_bps(r)))
    }

    /// The step at `position`, in ns from the start.
    fn index_at(&self, position: i64) -> usize {
        self.starts.partition_point(|&start| start <= position) - 1
    }
    /// What one pass delivers, in bit/s × ns: at most 1e11 × 8.64e13.
    fn lap_work(&self) -> u128 {
        self.work_before(self.duration)
    }
    fn work_before(&self, position: i64) -> u128 {
        let index = self.index_at(position);
        self.before[index] + u128::from(self.rates[index]) * (position - self.starts[index]) as u128
    }
    /// Start of the lap that `at` lies in.
    fn lap_start(&self, at: i64) -> i64 {
        match self.after {
            AfterLast::Hold => 0,
            AfterLast::Repeat => at - at % self.duration,
        }
    }
    /// The amount delivered in `[0, at)`.
    fn total_work(&self, at: i64) -> u128 {
        // Most calls are shorter than the table, and need no division by its length.
        if at < self.duration {
            return self.work_before(at);
        }
        let lap_start = self.lap_start(at);
        (lap_start / self.duration) as u128 * self.lap_work() + self.work_before(at - lap_start)
    }
}

/// A bottleneck that follows a table of rates.
#[derive(Clone, Debug)]
pub struct Steps {
    table: Arc<RateSteps>,
    /// The step the cursor is in, its start and end, and its rate.
    index: usize,
    since: i64,
    until: i64,
    rate: u64,
    lap_start: i64,
}

impl Steps {
    /// A cursor at the table's start.
    pub fn new(table: Arc<RateSteps>) -> Self {
        let mut cursor = Self { table, index: 0, since: 0, until: 0, rate: 0, lap_start: 0 };
        cursor.settle();
        cursor
    }

    /// The table it follows.
    pub fn table(&self) -> &Arc<RateSteps> {
        &self.table
    }

    fn settle(&mut self) {
        self.rate = self.table.rates[self.index];
        self.since = self.lap_start + self.table.starts[self.index];
        self.until = match self.table.starts.get(self.index + 1) {
            Some(next) => self.lap_start + next,
            None if self.table.after == AfterLast::Repeat => self.lap_start + self.table.duration,
            None => i64::MAX,
        };
    }

    fn next_step(&mut self) {
        self.index += 1;
        if self.index == self.table.starts.len() {
            self.index = 0;
            self.lap_start += self.table.duration;
        }
        self.settle();
    }

    /// Move to the step at `at`; one step is the common case, a search the rare one.
    #[cold]
    fn seek(&mut self, at: i64) {
        if at >= self.until {
            self.next_step();
        }
        if at < self.since || at >= self.until {
            self.lap_start = self.table.lap_start(at);
            self.index = self.table.index_at(at - self.lap_start);
            self.settle();
        }
    }

    /// The rest of a transmission that outlasts its step: `work` is in bit/s × ns.
    #[cold]
    fn transmit_across(&mut self, mut at: i64, mut work: u64) -> Timestamp {
        loop {
            if self.rate > 0 {
                let needed = work.div_ceil(self.rate);
                if needed <= (self.until - at) as u64 {
                    return Timestamp::from_nanos(at.saturating_add(needed as i64));
                }
                // needed > span, hence work > rate × span: no overflow, no underflow.
                work -= self.rate * (self.until - at) as u64;
            }
            if self.until > i64::MAX / 2 {
                return Timestamp::MAX;
            }
            at = self.until;
            self.next_step();
            // Slow links may need many laps for one packet.
            if self.index == 0 && self.table.lap_work() < u128::from(work) {
                let laps = u128::from(work - 1) / self.table.lap_work();
                work -= (laps * self.table.lap_work()) as u64;
                let skipped = i64::try_from(laps).ok().and_then(|n| n.checked_mul(self.table.duration));
                let Some(lap_start) = skipped.and_then(|s| self.lap_start.checked_add(s)).filter(|s| *s < i64::MAX / 2)
                else {
                    return Timestamp::MAX;
                };
                self.lap_start = lap_start;
                self.settle();
                at = self.since;
            }
        }
    }
}

impl Capacity for Steps {
    #[inline]
    fn transmit_end(&mut self, start: Timestamp, size: DataSize) -> Timestamp {
        let at = start.as_nanos().max(0);
        if at > i64::MAX / 2 {
            return Timestamp::MAX;
        }
        if at >= self.until || at < self.since {
            self.seek(at);
        }
        let work = wire_bytes(size) * 8_000_000_000;
        if self.rate > 0 {
            let end = at.saturating_add(work.div_ceil(self.rate) as i64);
            if end <= self.until {
                return Timestamp::from_nanos(end);
            }
        }
        self.transmit_across(at, work)
    }

    #[inline]
    fn transmit_run(&mut self, start: Timestamp, size: DataSize, at: &mut [Timestamp]) -> Timestamp {
        let (mut last, mut next) = (start, 0);
        while let Some(first) = at.get_mut(next) {
            last = self.transmit_end(last, size);
            *first = last;
            next += 1;
            if self.rate == 0 {
                continue;
            }
            // Within a step each takes as long as the one before: one division for all of them.
            let each = (wire_bytes(size) * 8_000_000_000).div_ceil(self.rate) as i64;
            let begins_by = self.until.min(i64::MAX / 2).saturating_sub(each);
            for at in &mut at[next..] {
                if last.as_nanos() > begins_by {
                    break;
                }
                last = Timestamp::from_nanos(last.as_nanos() + each);
                *at = last;
                next += 1;
            }
        }
        last
    }

    fn rate_at(&self, at: Timestamp) -> DataRate {
        let at = at.as_nanos().max(0);
        if at >= self.since && at < self.until {
            return DataRate::from_bps(self.rate);
        }
        let position = at - self.table.lap_start(at);
        DataRate::from_bps(self.table.rates[self.table.index_at(position)])
    }

    fn mean_rate(&self, from: Timestamp, to: Timestamp) -> DataRate {
        let (from, to) = (from.as_nanos().max(0), to.as_nanos().max(0));
        if to <= from {
            return DataRate::ZERO;
        }
        if from >= self.since && to <= self.until {
            return DataRate::from_bps(self.rate);
        }
        let work = self.table.total_work(to) - self.table.total_work(from);
        // 128-bit division is an order of magnitude slower and almost never needed.
        DataRate::from_bps(match u64::try_from(work) {
            Ok(work) => work / (to - from) as u64,
            Err(_) => (work / (to - from) as u128) as u64,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(steps: &[(i64, u64)], ms: i64, after: AfterLast) -> Arc<RateSteps> {
        let steps = steps.iter().map(|&(ms, kbps)| (TimeDelta::from_millis(ms), DataRate::from_kbps(kbps)));
        Arc::new(RateSteps::new(steps, TimeDelta::from_millis(ms), after).expect("valid"))
    }
    fn size(bytes: u64) -> DataSize {
        DataSize::from_bytes(bytes)
    }

    #[test]
    fn packets_in_a_run_leave_as_they_would_alone() {
        for after in [AfterLast::Hold, AfterLast::Repeat] {
            let mut single = Steps::new(table(&[(0, 1_000), (10, 3_000), (13, 0), (30, 700)], 40, after));
            let mut run = single.clone();
            let (mut begin, mut at) = (Timestamp::from_millis(1), [Timestamp::ZERO; 9]);
            for bytes in (1..30).map(|n| n * 97) {
                let mut last = begin;
                let each = at.map(|_| {
                    last = single.transmit_end(last, size(bytes));
                    last
                });
                assert_eq!((run.transmit_run(begin, size(bytes), &mut at), at), (last, each), "{bytes}");
                // Sometimes the link falls idle between two.
                begin = last + TimeDelta::from_millis(i64::from(bytes % 2 == 0) * 4);
            }
        }
    }

    #[test]
    fn a_packet_across_a_boundary_is_sent_at_both_rates() {
        let mut link = Steps::new(table(&[(0, 1_000), (10, 2_000)], 20, AfterLast::Hold));
        // Starts at 4 ms: 6 ms at 1 Mbit/s send 6,000 bits, the other 6,000 take 3 ms at 2 Mbit/s.
        assert_eq!(link.transmit_end(Timestamp::from_millis(4), size(1_500)), Timestamp::from_millis(13));
        assert_eq!(link.transmit_end(Timestamp::from_millis(13), size(1_500)), Timestamp::from_millis(19));
        // Held after the end.
        assert_eq!(link.transmit_end(Timestamp::from_secs(9), size(250)), Timestamp::from_millis(9_001));
    }

    #[test]
    fn an_outage_interrupts_a_transmission() {
        let mut link = Steps::new(table(&[(0, 1_000), (10, 0), (500, 1_000)], 1_000, AfterLast::Repeat));
        // 8,000 bits before the outage at 10 ms, the other 4,000 after 500 ms.
        assert_eq!(link.transmit_end(Timestamp::from_millis(2), size(1_500)), Timestamp::from_millis(504));
        assert_eq!(link.rate_at(Timestamp::from_millis(1_100)), DataRate::ZERO);
        // The second lap.
        assert_eq!(link.transmit_end(Timestamp::from_millis(1_002), size(1_500)), Timestamp::from_millis(1_504));
    }

    #[test]
    fn a_packet_may_take_many_laps() {
        // 1 kbit/s for 1 ms of every 10 ms: one bit per lap.
        let mut link = Steps::new(table(&[(0, 1), (1, 0)], 10, AfterLast::Repeat));
        // 1,500 bytes = 12,000 bits: the last one ends 1 ms into lap 11,999.
        assert_eq!(link.transmit_end(Timestamp::ZERO, size(1_500)), Timestamp::from_millis(119_991));
        assert_eq!(link.transmit_end(Timestamp::from_millis(119_991), size(1)), Timestamp::from_millis(120_071));
    }

    #[test]
    fn a_link_held_at_zero_never_sends() {
        let mut link = Steps::new(table(&[(0, 1), (1, 0)], 10, AfterLast::Hold));
        assert_eq!(link.transmit_end(Timestamp::ZERO, size(1_500)), Timestamp::MAX);
        assert_eq!(link.transmit_end(Timestamp::MAX, size(1_500)), Timestamp::MAX);
    }

    #[test]
    fn mean_rates_come_from_prefix_sums_over_laps() {
        let link = Steps::new(table(&[(0, 1_000), (10, 3_000), (20, 0)], 40, AfterLast::Repeat));
        let mean = |a, b| link.mean_rate(Timestamp::from_millis(a), Timestamp::from_millis(b)).as_bps();
        assert_eq!(mean(0, 40), 1_000_000);
        assert_eq!(mean(5, 15), 2_000_000);
        assert_eq!(mean(10, 400_010), 1_000_000);
        assert_eq!(mean(30, 50), 500_000);
        assert_eq!(mean(7, 7), 0);
    }

    #[test]
    fn a_window_keeps_the_rates_in_it_and_scales_them() {
        let whole = table(&[(0, 1_000), (10, 3_000), (20, 0), (30, 2_000)], 40, AfterLast::Repeat);
        let cut = Cut { scale: 0.5, start: TimeDelta::from_millis(15), duration: Some(TimeDelta::from_millis(20)) };
        let part = whole.cut(&cut, AfterLast::Repeat).expect("valid");
        let steps: Vec<_> = part.steps().map(|(t, r)| (t.as_millis(), r.as_bps())).collect();
        assert_eq!(steps, [(0, 1_500_000), (5, 0), (15, 1_000_000)]);
        assert_eq!(part.duration(), TimeDelta::from_millis(20));
    }

    #[test]
    fn invalid_tables_are_refused() {
        let build = |steps: &[(i64, u64)], ms, after| {
            let steps = steps.iter().map(|&(ms, bps)| (TimeDelta::from_millis(ms), DataRate::from_bps(bps)));
            RateSteps::new(steps, TimeDelta::from_millis(ms), after).expect_err("refused")
        };
        assert_eq!(build(&[], 1, AfterLast::Hold), CapacityError::Empty);
        assert_eq!(build(&[(1, 1)], 2, AfterLast::Hold), CapacityError::FirstNotAtZero);
        assert_eq!(build(&[(0, 1), (0, 2)], 2, AfterLast::Hold), CapacityError::NotIncreasing { index: 1 });
        assert_eq!(build(&[(0, 1)], 0, AfterLast::Hold), CapacityError::Duration);
        assert_eq!(build(&[(0, 0)], 5, AfterLast::Repeat), CapacityError::NeverSends);
        assert_eq!(build(&[(0, 1 << 40)], 5, AfterLast::Hold), CapacityError::TooFast { index: 0 });
    }
}
