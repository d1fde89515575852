//! Arrivals and their times, until transport-wide feedback has reported them.

use legato_units::{TimeDelta, Timestamp};
use legato_wire::twcc::{Encoder, Header};

/// Arrivals by transport-wide sequence number.
#[derive(Clone, Debug, Default)]
pub struct ArrivalLog {
    /// [`NOT_ARRIVED`] if it has not; those before `first` are forgotten.
    arrivals: Vec<Timestamp>,
    first: usize,
    /// Sequence number of the entry at `first`.
    base: u64,
    /// First sequence number of the next feedback.
    unreported: u64,
    feedback_count: u8,
    encoder: Encoder,
}

/// [libwebrtc-m150] how far back a late packet makes feedback go at most.
const BACK_WINDOW: TimeDelta = TimeDelta::from_millis(500);
/// Stands for a packet that has not arrived: earlier than any valid time.
const NOT_ARRIVED: Timestamp = Timestamp::from_nanos(i64::MIN);
/// Forgotten entries are removed from the list in batches of this size. The history of many
/// concurrent calls must not push them out of a processor's cache.
const FORGOTTEN_KEPT: usize = 64;
/// A jump in numbers beyond this means another stream, not loss.
const MAX_GAP: u64 = 1 << 14;

impl ArrivalLog {
    /// A packet arrived. A repeated number keeps its first arrival (RFC 8888 section 3 has the same
    /// rule for its own format).
    #[inline]
    pub fn push(&mut self, now: Timestamp, seq: u64) {
        let next = self.end();
        if seq == next && !self.is_empty() {
            self.arrivals.push(now);
        } else {
            self.push_out_of_turn(now, seq, next);
        }
    }

    /// One past the last number kept.
    #[inline]
    fn end(&self) -> u64 {
        self.base + (self.arrivals.len() - self.first) as u64
    }

    #[inline]
    fn is_empty(&self) -> bool {
        self.arrivals.len() == self.first
    }

    /// The next expected number; `None` if nothing is kept.
    #[inline]
    pub fn next_seq(&self) -> Option<u64> {
        (!self.is_empty()).then(|| self.end())
    }

    /// The packets from [`ArrivalLog::next_seq`] on arrived at these times; returns the first and the last.
    #[inline]
    pub fn push_run(&mut self, arrivals: impl ExactSizeIterator<Item = Timestamp>) -> Option<(Timestamp, Timestamp)> {
        let first = self.arrivals.len();
        self.arrivals.extend(arrivals);
        Some((*self.arrivals.get(first)?, *self.arrivals.last()?))
    }

    #[cold]
    fn push_out_of_turn(&mut self, now: Timestamp, seq: u64, next: u64) {
        if self.is_empty() || seq.saturating_sub(next) > MAX_GAP {
            // After a report everything before `unreported` has been reported; a gap up to here is loss.
            let from = if seq.saturating_sub(self.unreported) > MAX_GAP { seq } else { self.unreported.min(seq) };
            self.arrivals.clear();
            self.first = 0;
            self.base = from;
            self.unreported = from;
            self.arrivals.resize((seq - from) as usize, NOT_ARRIVED);
            self.arrivals.push(now);
        } else if seq >= next {
            self.arrivals.resize(self.first + (seq - self.base) as usize, NOT_ARRIVED);
            self.arrivals.push(now);
        } else if let Some(place) = seq.checked_sub(self.base) {
            let arrival = &mut self.arrivals[self.first + place as usize];
            if *arrival == NOT_ARRIVED {
                *arrival = now;
                self.unreported = self.unreported.min(seq);
            }
        }
    }

    /// Append one feedback packet with the unreported arrivals; false if there are none. Call again until false: not
    /// everything may fit one packet.
    pub fn write_feedback(&mut self, out: &mut Vec<u8>, sender_ssrc: u32, media_ssrc: u32) -> bool {
        let unreported = &self.arrivals[self.first + (self.unreported - self.base) as usize..];
        if unreported.is_empty() {
            return false;
        }
        let header =
            Header { sender_ssrc, media_ssrc, base_seq: self.unreported as u16, feedback_count: self.feedback_count };
        let reported =
            self.encoder.encode(out, &header, unreported.iter().map(|&at| (at != NOT_ARRIVED).then_some(at)));
        if reported == 0 {
            // Only losses, more than a packet can report: the sender need not know of each.
            self.unreported = self.end();
            return false;
        }
        self.feedback_count = self.feedback_count.wrapping_add(1);
        self.unreported += u64::from(reported);
        true
    }

    /// Forget what no late packet can correct any more.
    pub fn forget(&mut self, now: Timestamp) {
        let mut done = 0;
        let reported = (self.unreported - self.base) as usize;
        for (place, &arrival) in self.arrivals[self.first..].iter().take(reported).enumerate() {
            if arrival == NOT_ARRIVED {
                continue;
            }
            if now - arrival <= BACK_WINDOW {
                break;
            }
            done = place + 1;
        }
        self.base += done as u64;
        self.first += done;
        if self.first >= FORGOTTEN_KEPT {
            self.arrivals.drain(..self.first);
            self.first = 0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use legato_wire::twcc::{Feedback, Status};

    fn reported(log: &mut ArrivalLog) -> Vec<(u16, bool)> {
        let mut bytes = Vec::new();
        if !log.write_feedback(&mut bytes, 1, 2) {
            return Vec::new();
        }
        let feedback = Feedback::parse(&bytes).unwrap();
        feedback.statuses().map(|(seq, status)| (seq, status != Status::Missing)).collect()
    }

    fn push(log: &mut ArrivalLog, ms: i64, seqs: &[u64]) {
        seqs.iter().for_each(|&seq| log.push(Timestamp::from_millis(ms), seq));
    }

    #[test]
    fn each_packet_is_reported_once_and_a_gap_is_reported_as_missing() {
        let mut log = ArrivalLog::default();
        push(&mut log, 1, &[0, 1, 3]);
        assert_eq!(reported(&mut log), [(0, true), (1, true), (2, false), (3, true)]);
        assert_eq!(reported(&mut log), []);
        push(&mut log, 60, &[5]);
        assert_eq!(reported(&mut log), [(4, false), (5, true)]);
    }

    #[test]
    fn a_late_packet_makes_feedback_go_back_to_it() {
        let mut log = ArrivalLog::default();
        push(&mut log, 1, &[0, 2]);
        reported(&mut log);
        push(&mut log, 30, &[1, 3]);
        assert_eq!(reported(&mut log), [(1, true), (2, true), (3, true)]);
    }

    #[test]
    fn old_entries_are_forgotten_and_numbering_continues() {
        let mut log = ArrivalLog::default();
        push(&mut log, 1, &[0, 1, 2]);
        reported(&mut log);
        log.forget(Timestamp::from_millis(600));
        assert!(log.is_empty());
        push(&mut log, 700, &[5]);
        assert_eq!(reported(&mut log), [(3, false), (4, false), (5, true)]);
    }

    #[test]
    fn loss_of_the_first_packets_of_a_call_is_reported() {
        let mut log = ArrivalLog::default();
        push(&mut log, 1, &[2]);
        assert_eq!(reported(&mut log), [(0, false), (1, false), (2, true)]);
    }
}
