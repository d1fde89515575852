//! The receiving end of TCP connections: takes segments in any order, delivers bytes in order and once, and reports the
//! received ones. Acknowledgments are delayed as in [rfc5681] section 4.2, carry the SACK blocks of [rfc2018] and the
//! timestamps of [rfc7323], and echo marks as in [rfc3168].
//!
//! Not here: a window that fills (the application reads at once), D-SACK, and the acknowledgment of every
//! segment with which some receivers start.

use super::config::TcpConfig;
use super::packet::{Ack, MAX_SACK_BLOCKS, Segment};
use legato_units::{DataSize, TimeDelta, Timestamp};
use std::collections::VecDeque;

/// A TCP receiver. After each [`TcpReceiver::on_segment`] and at [`TcpReceiver::next_deadline`], send what
/// [`TcpReceiver::poll_ack`] returns.
#[derive(Clone, Debug)]
pub struct TcpReceiver {
    ack_delay: TimeDelta,
    ack_every: u8,
    connection: u32,
    /// The next byte expected.
    next: u64,
    /// Bytes of earlier connections.
    delivered_before: u64,
    /// The ranges above a gap, ascending, not adjacent.
    ranges: VecDeque<(u64, u64)>,
    /// A byte of each of the latest ranges, latest first.
    latest: [u64; MAX_SACK_BLOCKS],
    latest_count: usize,
    /// The timestamp that the next acknowledgment echoes.
    echo: Timestamp,
    /// `next` when the last acknowledgment left.
    last_acked: u64,
    /// Segments in order since then.
    unacked: u8,
    /// When the next acknowledgment is due, if one is.
    ack_at: Option<Timestamp>,
    /// A mark that the sender has not confirmed.
    echo_congestion: bool,
}

impl TcpReceiver {
    /// A receiver for a sender of that configuration.
    pub fn new(config: &TcpConfig) -> Self {
        Self {
            ack_delay: TimeDelta::from_millis(i64::from(config.delayed_ack_ms)),
            ack_every: config.ack_every_segments,
            connection: 0,
            next: 0,
            delivered_before: 0,
            ranges: VecDeque::with_capacity(16),
            latest: [0; MAX_SACK_BLOCKS],
            latest_count: 0,
            echo: Timestamp::ZERO,
            last_acked: 0,
            unacked: 0,
            ack_at: None,
            echo_congestion: false,
        }
    }

    /// All bytes delivered in order so far.
    #[inline]
    pub fn delivered(&self) -> DataSize {
        DataSize::from_bytes(self.delivered_before + self.next)
    }

    /// A segment arrived; `ce` means that its packet was marked.
    pub fn on_segment(&mut self, now: Timestamp, segment: &Segment, ce: bool) {
        if segment.connection != self.connection {
            if segment.connection < self.connection {
                return;
            }
            self.accept(segment.connection);
        }
        // [rfc3168] §6.1.3: echo marks until the sender confirms one.
        self.echo_congestion = ce || (self.echo_congestion && !segment.cwr);
        // [rfc7323] §4.3: of the segments not yet acknowledged, the first in order is echoed.
        if segment.seq <= self.last_acked && segment.sent >= self.echo {
            self.echo = segment.sent;
        }
        let gap_before = !self.ranges.is_empty();
        if segment.seq <= self.next && segment.end() > self.next {
            self.advance(segment.end());
            self.unacked += 1;
            // [rfc5681] §4.2: at least every second segment, and at once if a gap is filled.
            let due = gap_before || self.unacked >= self.ack_every;
            let at = if due { now } else { now.saturating_add(self.ack_delay) };
            self.ack_at = Some(self.ack_at.map_or(at, |earlier| earlier.min(at)));
        } else {
            // [rfc5681] §4.2: at once if a segment is out of order.
            if segment.seq > self.next {
                self.insert(segment.seq, segment.end());
            }
            self.ack_at = Some(now);
        }
    }

    /// The acknowledgment due by `now`, if any.
    #[inline]
    pub fn poll_ack(&mut self, now: Timestamp) -> Option<Ack> {
        self.ack_at.take_if(|at| *at <= now)?;
        self.unacked = 0;
        self.last_acked = self.next;
        let mut ack = Ack::new(self.connection, self.next, self.echo, self.echo_congestion);
        for &byte in &self.latest[..self.latest_count] {
            if let Some((from, to)) = self.range_of(byte) {
                ack.push_sack(from, to);
            }
        }
        Some(ack)
    }

    /// When [`TcpReceiver::poll_ack`] next returns one.
    #[inline]
    pub fn next_deadline(&self) -> Option<Timestamp> {
        self.ack_at
    }

    /// A new connection; the rest of the last one is forgotten.
    fn accept(&mut self, connection: u32) {
        self.delivered_before += self.next;
        self.connection = connection;
        self.ranges.clear();
        (self.next, self.last_acked, self.unacked, self.latest_count) = (0, 0, 0, 0);
        (self.ack_at, self.echo_congestion, self.echo) = (None, false, Timestamp::ZERO);
    }

    /// Bytes up to `end` are complete, and perhaps ranges after them.
    fn advance(&mut self, end: u64) {
        self.next = end;
        while let Some(&(from, to)) = self.ranges.front() {
            if from > self.next {
                break;
            }
            self.next = self.next.max(to);
            self.ranges.pop_front();
        }
        if self.ranges.is_empty() {
            self.latest_count = 0;
        }
    }

    /// Record a segment above a gap. [rfc2018] §4: the block of the latest segment comes first, then those
    /// reported most recently.
    fn insert(&mut self, from: u64, to: u64) {
        let place = self.ranges.partition_point(|&(_, end)| end < from);
        let (mut start, mut end) = (from, to);
        let mut touched = place;
        while let Some(&(other_start, other_end)) = self.ranges.get(touched).filter(|range| range.0 <= end) {
            (start, end) = (start.min(other_start), end.max(other_end));
            touched += 1;
        }
        match touched - place {
            0 => self.ranges.insert(place, (start, end)),
            1 => self.ranges[place] = (start, end),
            _ => {
                self.ranges[place] = (start, end);
                self.ranges.drain(place + 1..touched);
            }
        }
        let mut latest = [from; MAX_SACK_BLOCKS];
        let mut count = 1;
        for &byte in &self.latest[..self.latest_count] {
            if count < MAX_SACK_BLOCKS && byte >= self.next && !(start..end).contains(&byte) {
                latest[count] = byte;
                count += 1;
            }
        }
        (self.latest, self.latest_count) = (latest, count);
    }

    /// The range that contains a byte.
    fn range_of(&self, byte: u64) -> Option<(u64, u64)> {
        let place = self.ranges.partition_point(|&(_, end)| end <= byte);
        self.ranges.get(place).copied().filter(|&(from, _)| from <= byte)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn segment(number: u64, sent_ms: i64) -> Segment {
        Segment {
            seq: number * 1_000,
            sent: Timestamp::from_millis(sent_ms),
            connection: 0,
            bytes: 1_000,
            retransmission: false,
            ect: true,
            cwr: false,
        }
    }
    fn receiver() -> TcpReceiver {
        TcpReceiver::new(&TcpConfig::default())
    }
    fn ms(ms: i64) -> Timestamp {
        Timestamp::from_millis(ms)
    }
    fn blocks(ack: &Ack) -> Vec<(u64, u64)> {
        ack.sacks().map(|(from, to)| (from / 1_000, to / 1_000)).collect()
    }

    /// [rfc5681] §4.2: every second segment at once, a single one after the delay, gaps at once.
    /// [rfc7323] §4.3: the earlier of the two is echoed.
    #[test]
    fn every_second_segment_is_acknowledged_at_once_and_a_single_one_after_a_delay() {
        let mut receiver = receiver();
        receiver.on_segment(ms(10), &segment(0, 1), false);
        assert_eq!((receiver.poll_ack(ms(10)), receiver.next_deadline()), (None, Some(ms(50))));
        receiver.on_segment(ms(20), &segment(1, 2), false);
        let ack = receiver.poll_ack(ms(20)).expect("the second");
        assert_eq!((ack.cumulative, ack.echo, receiver.next_deadline()), (2_000, ms(1), None));
        receiver.on_segment(ms(30), &segment(2, 3), false);
        assert_eq!(receiver.poll_ack(ms(69)), None);
        assert_eq!(receiver.poll_ack(ms(70)).map(|ack| (ack.cumulative, ack.echo)), Some((3_000, ms(3))));
        assert_eq!(receiver.poll_ack(ms(71)), None);
    }

    /// [rfc2018] §4, by hand: 1, 3, 5, 7 arrive without 0, 2, 4, 6: the latest three blocks, the latest
    /// first; a block that grows comes first again; 0 moves the cumulative acknowledgment over 1.
    #[test]
    fn sack_blocks_are_those_of_the_latest_segments_the_latest_first() {
        let mut receiver = receiver();
        let mut hear = |number: u64| {
            receiver.on_segment(ms(0), &segment(number, 0), false);
            let ack = receiver.poll_ack(ms(0)).expect("out of order is acknowledged at once");
            (ack.cumulative / 1_000, blocks(&ack))
        };
        assert_eq!(hear(1), (0, vec![(1, 2)]));
        assert_eq!(hear(3), (0, vec![(3, 4), (1, 2)]));
        assert_eq!(hear(5), (0, vec![(5, 6), (3, 4), (1, 2)]));
        assert_eq!(hear(7), (0, vec![(7, 8), (5, 6), (3, 4)]));
        assert_eq!(hear(4), (0, vec![(3, 6), (7, 8)]));
        assert_eq!(hear(0), (2, vec![(3, 6), (7, 8)]));
        assert_eq!(hear(2), (6, vec![(7, 8)]));
        assert_eq!(hear(6), (8, vec![]));
    }

    #[test]
    fn duplicates_deliver_nothing_and_are_acknowledged_at_once() {
        let mut receiver = receiver();
        for number in [0, 1, 3, 3, 0, 1, 2, 3, 2] {
            receiver.on_segment(ms(0), &segment(number, 0), false);
        }
        assert_eq!(receiver.delivered(), DataSize::from_bytes(4_000));
        assert_eq!(receiver.poll_ack(ms(0)).map(|ack| ack.cumulative), Some(4_000));
    }

    /// [rfc3168] §6.1.3.
    #[test]
    fn a_mark_is_echoed_until_the_sender_confirms_it() {
        let mut receiver = receiver();
        let mut hear = |number: u64, ce: bool, cwr: bool| {
            receiver.on_segment(ms(0), &Segment { cwr, ..segment(number, 0) }, ce);
            receiver.on_segment(ms(0), &segment(number + 1, 0), false);
            receiver.poll_ack(ms(0)).expect("two segments").ece
        };
        assert_eq!([hear(0, false, false), hear(2, true, false), hear(4, false, false)], [false, true, true]);
        assert_eq!([hear(6, false, true), hear(8, true, true), hear(10, false, true)], [false, true, false]);
    }

    #[test]
    fn a_new_connection_begins_at_zero_and_the_old_one_is_ignored() {
        let mut receiver = receiver();
        receiver.on_segment(ms(0), &segment(0, 0), false);
        receiver.on_segment(ms(0), &segment(2, 0), false);
        receiver.on_segment(ms(1), &Segment { connection: 1, ..segment(0, 1) }, false);
        receiver.on_segment(ms(2), &segment(1, 2), false);
        assert_eq!(receiver.delivered(), DataSize::from_bytes(2_000));
        let ack = receiver.poll_ack(ms(41)).expect("the delay is over");
        assert_eq!((ack.connection, ack.cumulative, ack.sacks().count()), (1, 1_000, 0));
    }
}
