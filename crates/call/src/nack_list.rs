//! Which packets of the video stream are missing, and when to request them again ([libwebrtc-m150]
//! NackRequester).

use legato_units::{TimeDelta, Timestamp};
use std::collections::VecDeque;

/// Missing packets by sequence number, and which of the recent ones came.
#[derive(Clone, Debug)]
pub struct NackList {
    missing: VecDeque<Missing>,
    /// One past the highest number seen.
    next: u32,
    /// One bit per number: seen. A ring over the last [`SEEN`] numbers.
    seen: Box<[u64; SEEN as usize / 64]>,
    round_trip_time: TimeDelta,
    /// Re-requests at a fixed interval, without limit, for receivers that never learn the round-trip time.
    interval: Option<TimeDelta>,
}

#[derive(Clone, Copy, Debug)]
struct Missing {
    seq: u32,
    /// First and last time it was requested.
    first_asked: Option<Timestamp>,
    asked: Option<Timestamp>,
    retries: u8,
}

/// Number of sequence numbers kept to recognise duplicates.
const SEEN: u32 = 16_384;
/// [libwebrtc-m150] the maximum requests per packet, and missing packets, before a key frame is the better way.
const MAX_RETRIES: u8 = 10;
const MAX_MISSING: usize = 1_000;
/// Ten requests must not leave at one instant.
const LEAST_ROUND_TRIP_TIME: TimeDelta = TimeDelta::from_millis(1);
/// [libwebrtc-m150] until a repair has shown how long one takes.
const DEFAULT_ROUND_TRIP_TIME: TimeDelta = TimeDelta::from_millis(100);

impl Default for NackList {
    fn default() -> Self {
        Self {
            missing: VecDeque::new(),
            next: 0,
            seen: Box::new([0; SEEN as usize / 64]),
            round_trip_time: DEFAULT_ROUND_TRIP_TIME,
            interval: None,
        }
    }
}

impl NackList {
    /// Re-requests every `interval` without limit, for a receiver that never learns the round-trip time; `None`: once per
    /// round trip, at most ten times.
    pub fn asking_each(interval: Option<TimeDelta>) -> Self {
        let Self { missing, next, seen, round_trip_time, .. } = Self::default();
        Self { missing, next, seen, round_trip_time, interval }
    }

    /// A packet with this number came, for the first time or again. False: a duplicate.
    #[inline]
    pub fn insert(&mut self, now: Timestamp, seq: u32) -> bool {
        if seq == self.next {
            self.next += 1;
            self.mark(seq);
            return true;
        }
        self.insert_out_of_turn(now, seq)
    }

    #[cold]
    fn insert_out_of_turn(&mut self, now: Timestamp, seq: u32) -> bool {
        if seq > self.next {
            let first = self.next.max(seq.saturating_sub(SEEN - 1));
            for missing in first..seq {
                self.unmark(missing);
                self.missing.push_back(Missing { seq: missing, first_asked: None, asked: None, retries: 0 });
            }
            self.next = seq + 1;
            self.mark(seq);
            return true;
        }
        if self.next - seq > SEEN || self.is_marked(seq) {
            return false;
        }
        self.mark(seq);
        if let Ok(place) = self.missing.binary_search_by_key(&seq, |missing| missing.seq) {
            let missing = self.missing.remove(place).expect("just found");
            if let Some(asked) = missing.first_asked {
                // Which of several requests it answers is unknown; counted from the first it is at most a
                // doubling, so that a long round trip is learned and one lost repair is not mistaken for it.
                let took = (now - asked).min(self.round_trip_time * 2);
                self.round_trip_time = ((self.round_trip_time * 7 + took) / 8).max(LEAST_ROUND_TRIP_TIME);
            }
        }
        true
    }

    /// Packets before this number are no longer needed.
    pub fn forget_below(&mut self, seq: u32) {
        while self.missing.front().is_some_and(|missing| missing.seq < seq) {
            self.missing.pop_front();
        }
    }

    /// Whether so many packets are missing, or one was requested so often, that only a key frame helps.
    pub fn is_hopeless(&self) -> bool {
        self.missing.len() > MAX_MISSING
    }

    /// Give up on everything.
    pub fn clear(&mut self) {
        self.missing.clear();
    }

    /// The next `packets` numbers came in order.
    #[inline]
    pub fn insert_next(&mut self, packets: u32) {
        // By words of 64 numbers: a run mostly lies in one.
        let end = self.next + packets;
        while self.next < end {
            let (word, bit) = ((self.next % SEEN / 64) as usize, self.next % 64);
            let here = (64 - bit).min(end - self.next);
            self.seen[word] |= (u64::MAX >> (64 - here)) << bit;
            self.next += here;
        }
    }

    /// One past the highest number seen.
    #[inline]
    pub fn next_seq(&self) -> u32 {
        self.next
    }

    /// The number of missing packets.
    #[inline]
    pub fn missing(&self) -> usize {
        self.missing.len()
    }

    /// Whether anything is missing.
    #[inline]
    pub fn has_gaps(&self) -> bool {
        !self.missing.is_empty()
    }

    /// When to send the next request.
    #[inline]
    pub fn next_deadline(&self) -> Option<Timestamp> {
        if self.missing.is_empty() {
            return None;
        }
        self.missing.iter().filter_map(|missing| self.due(missing)).min()
    }

    /// Whether to send a request now.
    #[inline]
    pub fn is_due(&self, now: Timestamp) -> bool {
        !self.missing.is_empty() && self.next_deadline().is_some_and(|due| due <= now)
    }

    /// The duration of a repair, as far as known.
    pub fn round_trip_time(&self) -> TimeDelta {
        self.interval.unwrap_or(self.round_trip_time)
    }

    /// Append the numbers to request now.
    pub fn take_due(&mut self, now: Timestamp, out: &mut Vec<u16>) {
        let (again, tires) = (self.round_trip_time(), self.interval.is_none());
        let spent = |missing: &Missing| tires && missing.retries >= MAX_RETRIES;
        for missing in &mut self.missing {
            if !spent(missing) && missing.asked.is_none_or(|asked| asked + again <= now) {
                missing.first_asked.get_or_insert(now);
                missing.asked = Some(now);
                missing.retries = missing.retries.saturating_add(1);
                out.push(missing.seq as u16);
            }
        }
        while self.missing.front().is_some_and(|m| spent(m) && m.asked.is_some_and(|at| at + again < now)) {
            self.missing.pop_front();
        }
    }

    fn due(&self, missing: &Missing) -> Option<Timestamp> {
        match missing.asked {
            None => Some(Timestamp::from_nanos(i64::MIN)),
            Some(_) if self.interval.is_none() && missing.retries >= MAX_RETRIES => None,
            Some(asked) => Some(asked + self.round_trip_time()),
        }
    }

    #[inline]
    fn mark(&mut self, seq: u32) {
        self.seen[(seq % SEEN / 64) as usize] |= 1 << (seq % 64);
    }
    fn unmark(&mut self, seq: u32) {
        self.seen[(seq % SEEN / 64) as usize] &= !(1 << (seq % 64));
    }
    fn is_marked(&self, seq: u32) -> bool {
        self.seen[(seq % SEEN / 64) as usize] & (1 << (seq % 64)) != 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn due(list: &mut NackList, ms: i64) -> Vec<u16> {
        let mut out = Vec::new();
        list.take_due(Timestamp::from_millis(ms), &mut out);
        out
    }

    #[test]
    fn a_gap_is_requested_at_once_and_again_after_a_round_trip() {
        let mut list = NackList::default();
        for seq in [0, 1, 4] {
            assert!(list.insert(Timestamp::ZERO, seq));
        }
        assert_eq!(due(&mut list, 0), [2, 3]);
        assert_eq!(list.next_deadline(), Some(Timestamp::from_millis(100)));
        assert_eq!(due(&mut list, 99), [0u16; 0]);
        assert_eq!(due(&mut list, 100), [2, 3]);
        assert!(list.insert(Timestamp::from_millis(120), 2));
        assert_eq!(due(&mut list, 203), [3]);
    }

    #[test]
    fn without_a_round_trip_time_requests_repeat_at_a_fixed_interval() {
        let mut list = NackList::asking_each(Some(TimeDelta::from_millis(100)));
        for seq in [0, 2, 4] {
            assert!(list.insert(Timestamp::ZERO, seq));
        }
        assert_eq!(due(&mut list, 0), [1, 3]);
        assert!(list.insert(Timestamp::from_millis(50), 3));
        let asked: Vec<_> = (51..50_000).filter(|&ms| due(&mut list, ms) == [1]).collect();
        assert_eq!(asked, (1..500).map(|n| 100 * n).collect::<Vec<_>>());
    }

    #[test]
    fn duplicates_are_distinguished_from_repairs() {
        let mut list = NackList::default();
        for (seq, fresh) in [(0, true), (0, false), (2, true), (1, true), (1, false), (2, false)] {
            assert_eq!(list.insert(Timestamp::ZERO, seq), fresh, "{seq}");
        }
    }

    #[test]
    fn consecutive_numbers_count_like_single_ones_around_the_ring_too() {
        let (mut rows, mut singles) = (NackList::default(), NackList::default());
        for packets in (0..300).map(|n| n % 150) {
            rows.insert_next(packets);
            (0..packets).for_each(|_| assert!(singles.insert(Timestamp::ZERO, singles.next)));
            assert_eq!((rows.next, &rows.seen), (singles.next, &singles.seen));
        }
        assert!(rows.next > SEEN, "once around");
    }

    #[test]
    fn a_repair_gives_the_round_trip_time() {
        let mut list = NackList::default();
        list.insert(Timestamp::ZERO, 0);
        list.insert(Timestamp::ZERO, 2);
        due(&mut list, 0);
        list.insert(Timestamp::from_millis(20), 1);
        assert_eq!(list.round_trip_time, TimeDelta::from_millis(90));
    }

    #[test]
    fn a_round_trip_longer_than_the_first_guess_is_learned() {
        let mut list = NackList::default();
        list.insert(Timestamp::ZERO, 0);
        for n in 0..60 {
            let (lost, at) = (2 * n + 1, i64::from(n) * 1_000);
            list.insert(Timestamp::from_millis(at), lost + 1);
            for ms in (at..at + 300).step_by(10) {
                due(&mut list, ms);
            }
            list.insert(Timestamp::from_millis(at + 300), lost);
        }
        assert!((290..=310).contains(&list.round_trip_time.as_millis()), "{}", list.round_trip_time);
    }

    #[test]
    fn requests_end_after_ten_times() {
        let mut list = NackList::default();
        list.insert(Timestamp::ZERO, 0);
        list.insert(Timestamp::ZERO, 2);
        let asked: usize = (0..30).map(|n| due(&mut list, n * 100).len()).sum();
        assert_eq!(asked, 10);
        assert_eq!(list.next_deadline(), None);
    }

    #[test]
    fn packets_no_longer_needed_are_forgotten() {
        let mut list = NackList::default();
        list.insert(Timestamp::ZERO, 0);
        list.insert(Timestamp::ZERO, 5);
        list.forget_below(4);
        assert_eq!(due(&mut list, 0), [4]);
    }
}
