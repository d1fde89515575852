//! The outstanding segments, and which of them were SACKed, lost or retransmitted: the scoreboard of
//! [rfc6675]. It counts `pipe`, the bytes believed to be in the network, as marks change instead of
//! walking the window, and visits each segment a bounded number of times in its life.
//!
//! Segments are numbered: all but the last of a transfer are full, so that number times size is the
//! sequence. Three SACKed segments above one are then [rfc6675]'s condition for calling it lost: more
//! than two full segments' bytes. Not here: a receiver that discards SACKed data (ours does not), and
//! losses of retransmissions, which as in the RFC only the retransmission timer finds.

use super::delivery_rate::Stamp;
use super::packet::{Ack, MAX_SACK_BLOCKS};
use legato_units::Timestamp;
use std::collections::VecDeque;

/// An outstanding segment.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sent {
    /// When it left, last.
    pub sent: Timestamp,
    /// Its record then.
    pub stamp: Stamp,
    /// Payload.
    pub bytes: u16,
    sacked: bool,
    lost: bool,
    /// Retransmitted since it was marked lost, or by the rules for possibly lost segments.
    resent: bool,
    /// Sent more than once, ever.
    pub ambiguous: bool,
}

impl Sent {
    /// One that just left for the first time.
    #[inline]
    pub fn new(sent: Timestamp, bytes: u16, stamp: Stamp) -> Self {
        Self { sent, stamp, bytes, sacked: false, lost: false, resent: false, ambiguous: false }
    }

    /// Its part of `pipe`: [rfc6675] §4, SetPipe (a) counts it unless it is lost, (b) its
    /// retransmission.
    #[inline]
    fn in_pipe(&self) -> u64 {
        if self.sacked { 0 } else { u64::from(self.bytes) * (u64::from(!self.lost) + u64::from(self.resent)) }
    }
}

/// What an acknowledgment newly revealed.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct News {
    /// Bytes that the cumulative acknowledgment moved over.
    pub acked_bytes: u64,
    /// Bytes that are acknowledged or SACKed for the first time.
    pub delivered_bytes: u64,
    /// Bytes now marked lost.
    pub lost_bytes: u64,
    /// Of the segments delivered, the one that left last.
    pub newest: Option<Sent>,
}

/// The outstanding segments of a connection.
#[derive(Clone, Debug)]
pub(super) struct Scoreboard {
    segment_bytes: u64,
    /// From the first unacknowledged on.
    segments: VecDeque<Sent>,
    /// The number of the first of them: HighACK.
    first: u64,
    /// Its first byte.
    first_seq: u64,
    /// HighData, in bytes.
    next_seq: u64,
    pipe_bytes: u64,
    /// Marked lost and not SACKed.
    lost: u32,
    /// Numbers of the three highest SACKed segments, the highest first, plus one; 0: none.
    highest_sacked: [u64; DUP_THRESHOLD],
    /// Unsacked segments below this number are marked lost.
    lost_below: u64,
    /// HighRxt: for those below this number, this recovery has decided whether to retransmit.
    resent_below: u64,
    /// SACK blocks of the last acknowledgment, already marked.
    known: [(u64, u64); MAX_SACK_BLOCKS],
}

impl Scoreboard {
    /// An empty one for segments of this size.
    pub fn new(segment_bytes: u16) -> Self {
        Self {
            segment_bytes: u64::from(segment_bytes),
            segments: VecDeque::with_capacity(64),
            first: 0,
            first_seq: 0,
            next_seq: 0,
            pipe_bytes: 0,
            lost: 0,
            highest_sacked: [0; DUP_THRESHOLD],
            lost_below: 0,
            resent_below: 0,
            known: [(0, 0); MAX_SACK_BLOCKS],
        }
    }

    /// Start again, reusing the memory.
    pub fn reset(&mut self) {
        let mut segments = core::mem::take(&mut self.segments);
        segments.clear();
        *self = Self { segments, ..Self::new(self.segment_bytes as u16) };
    }

    /// The first byte not yet acknowledged.
    #[inline]
    pub fn acked_to(&self) -> u64 {
        self.first_seq
    }

    /// The first byte not yet sent: HighData.
    #[inline]
    pub fn next_seq(&self) -> u64 {
        self.next_seq
    }

    /// Bytes believed to be in the network.
    #[inline]
    pub fn pipe_bytes(&self) -> u64 {
        self.pipe_bytes
    }

    /// Nothing is outstanding.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.segments.is_empty()
    }

    /// A loss has been detected.
    #[inline]
    pub fn has_loss(&self) -> bool {
        self.lost > 0
    }

    /// New data left. All segments but the last of a transfer are full.
    #[inline]
    pub fn push(&mut self, sent: Sent) {
        self.next_seq += u64::from(sent.bytes);
        self.pipe_bytes += u64::from(sent.bytes);
        self.segments.push_back(sent);
    }

    /// Segment `number` left again; its first byte and its size.
    pub fn resend(&mut self, number: u64, now: Timestamp, stamp: Stamp) -> (u64, u16) {
        let segment = &mut self.segments[(number - self.first) as usize];
        let before = segment.in_pipe();
        *segment = Sent { sent: now, stamp, resent: true, ambiguous: true, ..*segment };
        self.pipe_bytes += segment.in_pipe() - before;
        self.resent_below = self.resent_below.max(number + 1);
        (number * self.segment_bytes, segment.bytes)
    }

    /// The same for a rescue: [rfc6675] §4, NextSeg (4): HighRxt stays, so that SetPipe (b) does not count it, and holes
    /// below it that are found later are still repaired.
    pub fn rescue(&mut self, number: u64, now: Timestamp, stamp: Stamp) -> (u64, u16) {
        let segment = &mut self.segments[(number - self.first) as usize];
        *segment = Sent { sent: now, stamp, ambiguous: true, ..*segment };
        (number * self.segment_bytes, segment.bytes)
    }

    /// Process an acknowledgment.
    pub fn on_ack(&mut self, ack: &Ack) -> News {
        let mut news = News::default();
        while let Some(front) = self.segments.front() {
            if self.first_seq + u64::from(front.bytes) > ack.cumulative {
                break;
            }
            let bytes = u64::from(front.bytes);
            self.pipe_bytes -= front.in_pipe();
            if !front.sacked {
                self.lost -= u32::from(front.lost);
                deliver(&mut news, front);
            }
            self.first += 1;
            self.first_seq += bytes;
            news.acked_bytes += bytes;
            self.segments.pop_front();
        }
        self.mark_sacked(ack, &mut news);
        self.mark_lost(&mut news);
        news
    }

    fn mark_sacked(&mut self, ack: &Ack, news: &mut News) {
        let mut seen = [(0, 0); MAX_SACK_BLOCKS];
        for (slot, (from, to)) in seen.iter_mut().zip(ack.sacks()) {
            *slot = (from, to);
            // Blocks repeat, most of them longer by one segment: visit only the new part.
            match self.known.iter().find(|&&(start, end)| start <= to && from <= end && start < end) {
                Some(&(start, end)) => {
                    self.mark_range(from, start.min(to), news);
                    self.mark_range(end.max(from), to, news);
                }
                None => self.mark_range(from, to, news),
            }
        }
        self.known = seen;
    }

    /// Mark the segments within these bytes SACKed.
    fn mark_range(&mut self, from: u64, to: u64, news: &mut News) {
        if from >= to || to <= self.first_seq {
            return;
        }
        let place = |seq: u64| seq.saturating_sub(self.first_seq).div_ceil(self.segment_bytes) as usize;
        for index in place(from)..place(to).min(self.segments.len()) {
            let segment = &mut self.segments[index];
            if segment.sacked {
                continue;
            }
            self.pipe_bytes -= segment.in_pipe();
            self.lost -= u32::from(segment.lost);
            deliver(news, segment);
            segment.sacked = true;
            let mut number = self.first + index as u64 + 1;
            for highest in &mut self.highest_sacked {
                if number > *highest {
                    core::mem::swap(&mut number, highest);
                }
            }
        }
    }

    /// [rfc6675] §4, IsLost: three segments above it have been SACKed.
    fn mark_lost(&mut self, news: &mut News) {
        let below = self.highest_sacked[DUP_THRESHOLD - 1].saturating_sub(1);
        for number in self.lost_below.max(self.first)..below {
            self.mark_one_lost(number, news);
        }
        self.lost_below = self.lost_below.max(below);
    }

    fn mark_one_lost(&mut self, number: u64, news: &mut News) {
        let segment = &mut self.segments[(number - self.first) as usize];
        if segment.sacked || segment.lost {
            return;
        }
        let before = segment.in_pipe();
        segment.lost = true;
        self.pipe_bytes -= before - segment.in_pipe();
        self.lost += 1;
        news.lost_bytes += u64::from(segment.bytes);
    }

    /// A recovery begins: HighRxt = HighACK.
    pub fn begin_recovery(&mut self) {
        self.resent_below = self.first;
    }

    /// [rfc6675] §5.1: after a timeout everything not SACKed counts as lost and not retransmitted.
    pub fn on_timeout(&mut self) {
        for segment in &mut self.segments {
            if !segment.sacked {
                segment.lost = true;
                segment.resent = false;
            }
        }
        self.pipe_bytes = 0;
        self.lost = self.segments.iter().filter(|segment| segment.lost && !segment.sacked).count() as u32;
        self.lost_below = self.first + self.segments.len() as u64;
        self.resent_below = self.first;
    }

    /// [rfc6675] §4, NextSeg (1): the first segment above HighRxt that is lost.
    #[inline]
    pub fn next_lost(&mut self) -> Option<u64> {
        if self.lost == 0 { None } else { self.next_unsacked(self.lost_below) }
    }

    /// [rfc6675] §4, NextSeg (3): the first above HighRxt, below the highest SACKed, that may be lost.
    pub fn next_doubtful(&mut self) -> Option<u64> {
        self.next_unsacked(self.highest_sacked[0].saturating_sub(1))
    }

    /// The first segment above HighRxt and below `below` that is neither SACKed nor retransmitted.
    fn next_unsacked(&mut self, below: u64) -> Option<u64> {
        self.resent_below = self.resent_below.max(self.first);
        while self.resent_below < below {
            let segment = &self.segments[(self.resent_below - self.first) as usize];
            if !segment.sacked && !segment.resent {
                return Some(self.resent_below);
            }
            self.resent_below += 1;
        }
        None
    }

    /// [rfc6675] §4, NextSeg (4): the segment with the highest outstanding octet that is not SACKed, sent again or not.
    pub fn highest_unsacked(&self) -> Option<u64> {
        Some(self.first + self.segments.iter().rposition(|segment| !segment.sacked)? as u64)
    }
}

fn deliver(news: &mut News, segment: &Sent) {
    news.delivered_bytes += u64::from(segment.bytes);
    if news.newest.is_none_or(|newest| newest.sent <= segment.sent) {
        news.newest = Some(*segment);
    }
}

// [rfc6675] §2: DupThresh.
const DUP_THRESHOLD: usize = 3;

#[cfg(test)]
mod tests {
    use super::*;

    /// Segments of 1,000 bytes, numbers 0 to `count`.
    fn board(count: u64) -> Scoreboard {
        let mut board = Scoreboard::new(1_000);
        (0..count).for_each(|ms| board.push(Sent::new(Timestamp::from_millis(ms as i64), 1_000, Stamp::default())));
        board
    }
    fn ack(cumulative: u64, sacks: &[(u64, u64)]) -> Ack {
        let mut ack = Ack::new(0, cumulative * 1_000, Timestamp::ZERO, false);
        sacks.iter().for_each(|&(from, to)| ack.push_sack(from * 1_000, to * 1_000));
        ack
    }

    /// [rfc6675] §2 and §4: IsLost by three SACKed above, and SetPipe, counted by hand: ten sent; 0 missing and 1 to 3
    /// SACKed leaves 6 in the pipe, 7 with the retransmission.
    #[test]
    fn the_third_sacked_segment_makes_those_below_lost_and_pipe_counts_what_is_in_the_network() {
        let mut board = board(10);
        assert_eq!(board.pipe_bytes(), 10_000);
        board.on_ack(&ack(0, &[(1, 2)]));
        board.on_ack(&ack(0, &[(1, 3)]));
        assert_eq!((board.pipe_bytes(), board.has_loss()), (8_000, false));
        let news = board.on_ack(&ack(0, &[(1, 4)]));
        assert_eq!((news.delivered_bytes, news.lost_bytes, news.acked_bytes), (1_000, 1_000, 0));
        assert_eq!((board.pipe_bytes(), board.next_lost()), (6_000, Some(0)));
        assert_eq!(board.resend(0, Timestamp::from_millis(50), Stamp::default()), (0, 1_000));
        assert_eq!((board.pipe_bytes(), board.next_lost()), (7_000, None));
        let news = board.on_ack(&ack(4, &[]));
        assert_eq!((news.acked_bytes, news.delivered_bytes, board.pipe_bytes()), (4_000, 1_000, 6_000));
        assert!(news.newest.is_some_and(|newest| newest.ambiguous) && !board.has_loss());
    }

    /// [rfc6675] §4: NextSeg (1) takes the lost in order, (3) those below the highest SACKed, (4) the last.
    #[test]
    fn segments_are_retransmitted_in_the_order_of_the_rules() {
        let mut board = board(12);
        board.on_ack(&ack(0, &[(5, 9), (3, 4)]));
        board.on_ack(&ack(0, &[(10, 11), (5, 9), (3, 4)]));
        let mut order = Vec::new();
        while let Some(number) = board.next_lost() {
            order.push(number);
            board.resend(number, Timestamp::ZERO, Stamp::default());
        }
        // SACKed: 3, 5 to 8, 10. The third highest is 7.
        assert_eq!(order, [0, 1, 2, 4]);
        assert_eq!(board.next_doubtful(), Some(9));
        board.resend(9, Timestamp::ZERO, Stamp::default());
        assert_eq!((board.next_doubtful(), board.highest_unsacked()), (None, Some(11)));
        // 0, 1, 2, 4 once (lost, retransmitted), 9 twice, 11 once, whether rescued or not.
        assert_eq!(board.pipe_bytes(), 7_000);
        board.rescue(11, Timestamp::ZERO, Stamp::default());
        assert_eq!(board.pipe_bytes(), 7_000);
        // The last is SACKed: 9 is the highest that is not, although it was sent again.
        board.on_ack(&ack(0, &[(10, 12), (5, 9), (3, 4)]));
        assert_eq!(board.highest_unsacked(), Some(9));
    }

    /// [rfc6675] §5.1.
    #[test]
    fn after_a_timeout_everything_not_sacked_is_retransmitted() {
        let mut board = board(5);
        board.on_ack(&ack(0, &[(2, 3)]));
        board.on_timeout();
        let mut order = Vec::new();
        while let Some(number) = board.next_lost() {
            order.push(number);
            board.resend(number, Timestamp::ZERO, Stamp::default());
        }
        assert_eq!((order, board.pipe_bytes()), (vec![0, 1, 3, 4], 4_000));
        let news = board.on_ack(&ack(5, &[]));
        assert_eq!((news.acked_bytes, news.delivered_bytes, board.pipe_bytes()), (5_000, 4_000, 0));
        assert!(board.is_empty());
    }

    #[test]
    fn blocks_seen_before_are_not_counted_again_however_they_grow_and_merge() {
        let mut board = board(20);
        let mut delivered = 0;
        let mut hear = |sacks: &[(u64, u64)]| {
            delivered += board.on_ack(&ack(0, sacks)).delivered_bytes;
            delivered
        };
        assert_eq!(hear(&[(4, 6)]), 2_000);
        assert_eq!(hear(&[(8, 9), (4, 6)]), 3_000);
        // Grown at both ends; one that covers both and what lay between.
        assert_eq!(hear(&[(3, 7), (8, 9)]), 5_000);
        assert_eq!(hear(&[(3, 9)]), 6_000);
        assert_eq!(hear(&[(12, 20), (2, 10)]), 16_000);
        assert_eq!(board.pipe_bytes(), 0);
    }
}
