//! What arrived when, until transport-wide feedback has told of it.

use legato_units::{TimeDelta, Timestamp};
use legato_wire::twcc::{Encoder, Header};
use std::collections::VecDeque;

/// Arrivals by transport-wide sequence number.
#[derive(Clone, Debug, Default)]
pub struct ArrivalLog {
    arrivals: VecDeque<Option<Timestamp>>,
    /// Sequence number of the first entry.
    base: u64,
    /// First sequence number the next feedback tells of.
    unreported: u64,
    feedback_count: u8,
    encoder: Encoder,
}

/// [libwebrtc-m150] a packet that comes late makes feedback go back so far at most.
const BACK_WINDOW: TimeDelta = TimeDelta::from_millis(500);
/// A jump in numbers beyond this is another stream, not loss.
const MAX_GAP: u64 = 1 << 14;

impl ArrivalLog {
    /// A packet arrived. A repeated number keeps its first arrival (RFC 8888 section 3 says the
    /// same of its own format).
    #[inline]
    pub fn push(&mut self, now: Timestamp, seq: u64) {
        let next = self.base + self.arrivals.len() as u64;
        if seq == next && !self.arrivals.is_empty() {
            self.arrivals.push_back(Some(now));
        } else {
            self.push_out_of_turn(now, seq, next);
        }
    }

    /// The number that comes next in turn; none where nothing is remembered.
    #[inline]
    pub fn next_seq(&self) -> Option<u64> {
        (!self.arrivals.is_empty()).then(|| self.base + self.arrivals.len() as u64)
    }

    /// The packet of [`ArrivalLog::next_seq`] arrived.
    #[inline]
    pub fn push_next(&mut self, now: Timestamp) {
        self.arrivals.push_back(Some(now));
    }

    #[cold]
    fn push_out_of_turn(&mut self, now: Timestamp, seq: u64, next: u64) {
        if self.arrivals.is_empty() || seq.saturating_sub(next) > MAX_GAP {
            // After a report everything before `unreported` is told; a gap up to here is loss.
            let from = if seq.saturating_sub(self.unreported) > MAX_GAP { seq } else { self.unreported.min(seq) };
            self.arrivals.clear();
            self.base = from;
            self.unreported = from;
            self.arrivals.resize((seq - from) as usize, None);
            self.arrivals.push_back(Some(now));
        } else if seq >= next {
            self.arrivals.resize((seq - self.base) as usize, None);
            self.arrivals.push_back(Some(now));
        } else if let Some(place) = seq.checked_sub(self.base) {
            let arrival = &mut self.arrivals[place as usize];
            if arrival.is_none() {
                *arrival = Some(now);
                self.unreported = self.unreported.min(seq);
            }
        }
    }

    /// Append one feedback packet of what is not told yet; false where there is nothing to tell.
    /// Call again until false: not everything may fit one packet.
    pub fn write_feedback(&mut self, out: &mut Vec<u8>, sender_ssrc: u32, media_ssrc: u32) -> bool {
        let place = (self.unreported - self.base) as usize;
        if place >= self.arrivals.len() {
            return false;
        }
        let header =
            Header { sender_ssrc, media_ssrc, base_seq: self.unreported as u16, feedback_count: self.feedback_count };
        let (head, tail) = self.arrivals.as_slices();
        let (head, tail) =
            if place < head.len() { (&head[place..], tail) } else { (&tail[place - head.len()..], &[][..]) };
        let told = if tail.is_empty() {
            self.encoder.encode(out, &header, head.iter().copied())
        } else {
            self.encoder.encode(out, &header, head.iter().chain(tail).copied())
        };
        if told == 0 {
            // Only losses, more than a packet can tell: the sender need not know of each.
            self.unreported = self.base + self.arrivals.len() as u64;
            return false;
        }
        self.feedback_count = self.feedback_count.wrapping_add(1);
        self.unreported += u64::from(told);
        true
    }

    /// Forget what no late packet may correct any more.
    pub fn forget(&mut self, now: Timestamp) {
        let mut done = 0;
        let told = (self.unreported - self.base) as usize;
        for (place, arrival) in self.arrivals.iter().take(told).enumerate() {
            match arrival {
                Some(at) if now - *at > BACK_WINDOW => done = place + 1,
                Some(_) => break,
                None => {}
            }
        }
        self.arrivals.drain(..done);
        self.base += done as u64;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use legato_wire::twcc::{Feedback, Status};

    fn told(log: &mut ArrivalLog) -> Vec<(u16, bool)> {
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
    fn each_packet_is_told_once_and_a_gap_is_told_as_missing() {
        let mut log = ArrivalLog::default();
        push(&mut log, 1, &[0, 1, 3]);
        assert_eq!(told(&mut log), [(0, true), (1, true), (2, false), (3, true)]);
        assert_eq!(told(&mut log), []);
        push(&mut log, 60, &[5]);
        assert_eq!(told(&mut log), [(4, false), (5, true)]);
    }

    #[test]
    fn a_late_packet_makes_feedback_go_back_to_it() {
        let mut log = ArrivalLog::default();
        push(&mut log, 1, &[0, 2]);
        told(&mut log);
        push(&mut log, 30, &[1, 3]);
        assert_eq!(told(&mut log), [(1, true), (2, true), (3, true)]);
    }

    #[test]
    fn what_is_old_is_forgotten_and_numbering_goes_on() {
        let mut log = ArrivalLog::default();
        push(&mut log, 1, &[0, 1, 2]);
        told(&mut log);
        log.forget(Timestamp::from_millis(600));
        assert!(log.arrivals.is_empty());
        push(&mut log, 700, &[5]);
        assert_eq!(told(&mut log), [(3, false), (4, false), (5, true)]);
    }

    #[test]
    fn loss_of_the_first_packets_of_a_call_is_told() {
        let mut log = ArrivalLog::default();
        push(&mut log, 1, &[2]);
        assert_eq!(told(&mut log), [(0, false), (1, false), (2, true)]);
    }
}
