//! Delivery opportunities, as in Mahimahi's link emulator (Netravali et al., USENIX ATC 2015).
//!
//! A trace lists milliseconds; at each a link may send 1,500 bytes. Several small packets share one opportunity, a
//! large packet takes several, and unused bytes are lost. After its last millisecond the trace starts again. A packet
//! that arrives at the very instant of an opportunity may use it.

use super::{Capacity, CapacityError, Cut, MAX_DURATION, MAX_RATE, MAX_SEGMENTS, wire_bytes};
use legato_units::{DataRate, DataSize, TimeDelta, Timestamp};
use std::sync::Arc;

/// The bytes of one opportunity.
pub const OPPORTUNITY: DataSize = DataSize::from_bytes(1_500);

/// A list of delivery opportunities. Immutable; share it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Opportunities {
    /// The milliseconds with opportunities, ascending.
    at_ms: Vec<u32>,
    /// The number of opportunities before each of them, and, at the end, in total.
    before: Vec<u32>,
    period_ms: u32,
}

impl Opportunities {
    /// From a list of milliseconds that never decreases; the last is the period.
    ///
    /// # Errors
    /// An empty list, times that go back, a period of zero or above 24 hours, more than 100 Gbit/s.
    pub fn new(times_ms: impl IntoIterator<Item = u64>) -> Result<Self, CapacityError> {
        let mut table = Self { at_ms: Vec::new(), before: Vec::new(), period_ms: 0 };
        let mut count: u32 = 0;
        for (index, ms) in times_ms.into_iter().enumerate() {
            let ms = u32::try_from(ms).ok().filter(|ms| *ms <= MAX_PERIOD_MS).ok_or(CapacityError::Duration)?;
            table.add(index, ms, &mut count, 1)?;
        }
        let period = *table.at_ms.last().ok_or(CapacityError::Empty)?;
        table.close(count, period)
    }

    fn add(&mut self, index: usize, ms: u32, count: &mut u32, more: u32) -> Result<(), CapacityError> {
        match self.at_ms.last() {
            Some(&last) if ms < last => return Err(CapacityError::NotIncreasing { index }),
            Some(&last) if ms == last => {}
            _ if self.at_ms.len() >= MAX_MILLISECONDS => return Err(CapacityError::TooMany),
            _ => {
                self.at_ms.push(ms);
                self.before.push(*count);
            }
        }
        *count = count.checked_add(more).ok_or(CapacityError::TooMany)?;
        if u64::from(*count - self.before[self.before.len() - 1]) > MAX_PER_MS {
            return Err(CapacityError::TooFast { index });
        }
        Ok(())
    }

    fn close(mut self, count: u32, period_ms: u32) -> Result<Self, CapacityError> {
        if period_ms == 0 {
            return Err(CapacityError::Duration);
        }
        if count == 0 {
            return Err(CapacityError::NeverSends);
        }
        self.before.push(count);
        self.period_ms = period_ms;
        Ok(self)
    }

    /// A window of it (to the millisecond), with more or fewer opportunities: the n-th is kept when
    /// `n / scale` passes a whole number, so that their rhythm and size stay the same.
    ///
    /// # Errors
    /// A window outside the list, a scale that is not a positive number, or no opportunity left.
    pub fn cut(&self, cut: &Cut) -> Result<Self, CapacityError> {
        let (from, length) = cut.within(self.duration())?;
        let (from, length) = ((from / MS) as u32, ((length + MS - 1) / MS) as u32);
        let mut part = Self { at_ms: Vec::new(), before: Vec::new(), period_ms: 0 };
        let first = self.at_ms.partition_point(|&ms| ms < from);
        // The opportunity at the very end belongs to a window that reaches it, as in the original.
        let whole = from == 0 && length == self.period_ms;
        let mut count: u32 = 0;
        for slot in first..self.at_ms.len() {
            let at = self.at_ms[slot] - from;
            if at > length || (at == length && !whole) {
                break;
            }
            let seen = f64::from(self.before[slot + 1] - self.before[first]);
            let kept = seen * cut.scale + 1e-9;
            if kept >= f64::from(u32::MAX) {
                return Err(CapacityError::TooMany);
            }
            let more = kept as u32 - count;
            if more > 0 {
                part.add(slot, at, &mut count, more)?;
            }
        }
        part.close(count, length)
    }

    /// The duration of one pass.
    pub fn duration(&self) -> TimeDelta {
        TimeDelta::from_millis(i64::from(self.period_ms))
    }
    /// The mean rate of one pass.
    pub fn mean_rate(&self) -> DataRate {
        OPPORTUNITY * u64::from(self.count()) / self.duration()
    }
    /// The number of opportunities in one pass.
    pub fn count(&self) -> u32 {
        self.before[self.before.len() - 1]
    }
    /// The milliseconds with opportunities, and the number of each.
    pub fn slots(&self) -> impl ExactSizeIterator<Item = (u32, u32)> + '_ {
        self.at_ms.iter().zip(self.before.windows(2)).map(|(&ms, pair)| (ms, pair[1] - pair[0]))
    }

    /// Opportunities in `[0, at)`, over all laps.
    fn count_before(&self, at: i64) -> u64 {
        let period = i64::from(self.period_ms) * MS;
        // An opportunity at the end of a lap coincides with the next lap's zero: not before it.
        let lap = (at - 1).max(0) / period;
        let position = at - lap * period;
        let slot = self.at_ms.partition_point(|&ms| i64::from(ms) * MS < position);
        lap as u64 * u64::from(self.count()) + u64::from(self.before[slot])
    }
}

/// A bottleneck that sends at delivery opportunities.
#[derive(Clone, Debug)]
pub struct Mahimahi {
    table: Arc<Opportunities>,
    slot: usize,
    lap_start: i64,
    /// The time of the current millisecond's opportunities, and the bytes left of them.
    at: i64,
    left: u64,
}

impl Mahimahi {
    /// A cursor at the list's start.
    pub fn new(table: Arc<Opportunities>) -> Self {
        let mut cursor = Self { table, slot: 0, lap_start: 0, at: 0, left: 0 };
        cursor.settle();
        cursor
    }

    /// The list it follows.
    pub fn table(&self) -> &Arc<Opportunities> {
        &self.table
    }

    #[inline]
    fn settle(&mut self) {
        self.at = self.lap_start + i64::from(self.table.at_ms[self.slot]) * MS;
        let count = self.table.before[self.slot + 1] - self.table.before[self.slot];
        self.left = u64::from(count) * OPPORTUNITY.as_bytes();
    }

    #[inline]
    fn next_slot(&mut self) {
        self.slot += 1;
        if self.slot == self.table.at_ms.len() {
            self.slot = 0;
            self.lap_start += i64::from(self.table.period_ms) * MS;
        }
        self.settle();
    }

    /// Jump to the first slot at or after `at`, which is far ahead.
    #[cold]
    fn seek(&mut self, at: i64) {
        let period = i64::from(self.table.period_ms) * MS;
        self.lap_start = (at - 1).max(0) / period * period;
        self.slot = self.table.at_ms.partition_point(|&ms| self.lap_start + i64::from(ms) * MS < at);
        if self.slot == self.table.at_ms.len() {
            self.slot -= 1;
            self.next_slot();
        } else {
            self.settle();
        }
    }
}

impl Capacity for Mahimahi {
    #[inline]
    fn transmit_end(&mut self, start: Timestamp, size: DataSize) -> Timestamp {
        let start = start.as_nanos().max(0);
        if start > i64::MAX / 2 {
            return Timestamp::MAX;
        }
        if start - self.at > FAR_NS {
            self.seek(start);
        }
        while self.at < start {
            self.next_slot();
        }
        let mut bytes = wire_bytes(size);
        while self.left < bytes || self.left == 0 {
            bytes -= self.left;
            self.next_slot();
        }
        self.left -= bytes;
        Timestamp::from_nanos(self.at)
    }

    /// The mean over the 200 ms around the instant: a single opportunity has no rate.
    fn rate_at(&self, at: Timestamp) -> DataRate {
        let from = Timestamp::from_nanos((at.as_nanos() - 100 * MS).max(0));
        self.mean_rate(from, from.saturating_add(TimeDelta::from_millis(200)))
    }

    fn mean_rate(&self, from: Timestamp, to: Timestamp) -> DataRate {
        let (from, to) = (from.as_nanos().max(0), to.as_nanos().max(0));
        if to <= from {
            return DataRate::ZERO;
        }
        let count = self.table.count_before(to) - self.table.count_before(from);
        OPPORTUNITY * count / TimeDelta::from_nanos(to - from)
    }
}

const MS: i64 = 1_000_000;
/// Below this distance, walking the list is faster than searching it.
const FAR_NS: i64 = 200 * MS;
const MAX_PERIOD_MS: u32 = (MAX_DURATION.as_nanos() / MS) as u32;
/// A 24-hour trace may have opportunities in each of its milliseconds, but lists in practice are
/// below 20 minutes; this is ten times the limit on table segments.
const MAX_MILLISECONDS: usize = MAX_SEGMENTS * 10;
const MAX_PER_MS: u64 = MAX_RATE.as_bps() / 1_000 / OPPORTUNITY.as_bits() + 1;

#[cfg(test)]
mod tests {
    use super::*;

    fn link(times: &[u64]) -> Mahimahi {
        Mahimahi::new(Arc::new(Opportunities::new(times.iter().copied()).expect("valid")))
    }
    fn size(bytes: u64) -> DataSize {
        DataSize::from_bytes(bytes)
    }
    fn ms(ms: i64) -> Timestamp {
        Timestamp::from_millis(ms)
    }

    #[test]
    fn small_packets_share_an_opportunity_and_large_ones_span_several() {
        let mut link = link(&[5, 7, 7, 20]);
        assert_eq!(link.transmit_end(ms(0), size(500)), ms(5));
        assert_eq!(link.transmit_end(ms(5), size(1_000)), ms(5));
        assert_eq!(link.transmit_end(ms(5), size(1)), ms(7));
        // 2,999 bytes are left at 7 ms: one more than that waits for 20 ms.
        assert_eq!(link.transmit_end(ms(7), size(3_000)), ms(20));
    }

    #[test]
    fn unused_opportunities_are_lost_and_so_is_the_rest_of_a_used_one() {
        let mut link = link(&[5, 7, 7, 20]);
        assert_eq!(link.transmit_end(Timestamp::from_nanos(5_000_001), size(100)), ms(7));
        assert_eq!(link.transmit_end(ms(8), size(100)), ms(20));
    }

    #[test]
    fn the_last_millisecond_is_the_period() {
        let mut link = link(&[5, 20]);
        assert_eq!(link.transmit_end(ms(0), size(4_500)), ms(25));
        assert_eq!(link.transmit_end(ms(25), size(1_500)), ms(40));
        assert_eq!(link.transmit_end(ms(20_001), size(1_500)), ms(20_005));
        assert_eq!(link.transmit_end(ms(40_006), size(1_500)), ms(40_020));
        assert_eq!(link.transmit_end(ms(60_020), size(1_500)), ms(60_020));
    }

    #[test]
    fn an_opportunity_at_zero_and_one_at_the_end_of_a_lap_are_two() {
        let mut link = link(&[0, 10]);
        assert_eq!(link.transmit_end(ms(0), size(1_500)), ms(0));
        assert_eq!(link.transmit_end(ms(0), size(3_000)), ms(10));
        assert_eq!(link.transmit_end(ms(10), size(1)), ms(20));
    }

    #[test]
    fn mean_rates_count_opportunities() {
        let link = link(&[0, 10]);
        // [0, 10): one; [0, 20): 0, 10, 10.
        assert_eq!(link.mean_rate(ms(0), ms(10)).as_bps(), 1_200_000);
        assert_eq!(link.mean_rate(ms(0), ms(20)).as_bps(), 1_800_000);
        assert_eq!(link.mean_rate(ms(1_000), ms(2_000)).as_bps(), 2_400_000);
        assert_eq!(link.table().mean_rate().as_bps(), 2_400_000);
    }

    #[test]
    fn scaling_thins_or_repeats_opportunities_and_a_window_moves_them() {
        let table = Opportunities::new((1..=100).map(|n| n * 10)).expect("valid");
        let quarter = table.cut(&Cut { scale: 0.25, ..Cut::default() }).expect("valid");
        assert_eq!(quarter.count(), 25);
        assert_eq!(quarter.slots().next(), Some((40, 1)));
        assert_eq!(quarter.duration(), TimeDelta::from_secs(1));
        let double = table.cut(&Cut { scale: 2.0, ..Cut::default() }).expect("valid");
        assert_eq!(double.mean_rate().as_bps(), 2 * table.mean_rate().as_bps());
        let window = Cut { start: TimeDelta::from_millis(15), duration: Some(TimeDelta::from_millis(50)), scale: 1.0 };
        let window = table.cut(&window).expect("valid");
        assert_eq!(window.slots().collect::<Vec<_>>(), [(5, 1), (15, 1), (25, 1), (35, 1), (45, 1)]);
        assert_eq!(window.duration(), TimeDelta::from_millis(50));
    }

    #[test]
    fn invalid_lists_are_refused() {
        let refused = |times: &[u64]| Opportunities::new(times.iter().copied()).expect_err("refused");
        assert_eq!(refused(&[]), CapacityError::Empty);
        assert_eq!(refused(&[0]), CapacityError::Duration);
        assert_eq!(refused(&[3, 2]), CapacityError::NotIncreasing { index: 1 });
        assert_eq!(refused(&[u64::MAX]), CapacityError::Duration);
        assert_eq!(refused(&[1; 9_000]), CapacityError::TooFast { index: 8_334 });
    }
}
