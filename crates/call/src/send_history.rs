//! What was sent and not yet reported: joins feedback with departures.

use legato_control::{Fate, PacketKind, PacketReport};
use legato_media::packet::Train;
use legato_units::{DataSize, PeerTimestamp, TimeDelta, Timestamp};
use legato_wire::twcc::{self, Feedback, Status};
use std::collections::VecDeque;

/// Departures by transport-wide sequence number.
#[derive(Clone, Debug, Default)]
pub struct SendHistory {
    sent: VecDeque<Sent>,
    /// Sequence number of the first entry.
    base: u64,
    in_flight: DataSize,
    /// One past the highest sequence number that a feedback told of.
    reported: u64,
    /// The last reference time, unwrapped, in units of 64 ms.
    reference: Option<i64>,
}

#[derive(Clone, Copy, Debug)]
struct Sent {
    departure: Timestamp,
    ssrc: u32,
    probe_cluster: Option<u32>,
    size_bytes: u16,
    kind: PacketKind,
    state: State,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Arrived,
    InFlight,
    Missing,
}

/// A packet reported missing may still be reported as arrived for this long.
const CORRECTION_TIME: TimeDelta = TimeDelta::from_secs(2);
/// Entries are kept no longer, whatever the feedback does (libwebrtc's send-time history: 60 s).
const HISTORY_TIME: TimeDelta = TimeDelta::from_secs(60);

impl SendHistory {
    /// The number the next packet gets.
    #[inline]
    pub fn next_seq(&self) -> u64 {
        self.base + self.sent.len() as u64
    }

    /// Packets left; the first carries [`SendHistory::next_seq`].
    #[inline]
    pub fn push(&mut self, train: &Train) {
        let first = &train.first;
        debug_assert_eq!(first.transport_seq, self.next_seq(), "departures are numbered without gaps");
        self.in_flight += DataSize::from_bytes(train.bytes());
        self.sent.extend((0..train.packets).map(|place| Sent {
            departure: first.departure,
            ssrc: first.ssrc,
            probe_cluster: first.probe_cluster,
            size_bytes: train.size_bytes(place),
            kind: first.kind,
            state: State::InFlight,
        }));
    }

    /// Bytes sent and not yet reported.
    #[inline]
    pub fn in_flight(&self) -> DataSize {
        self.in_flight
    }

    /// Append what `feedback` newly says to `reports`, in send order. Packets it does not reach back
    /// to, because an earlier feedback was lost, are no longer in flight and never reported:
    /// silence about a packet is not loss of it.
    pub fn join(&mut self, now: Timestamp, feedback: &Feedback<'_>, reports: &mut Vec<PacketReport>) {
        // What feedback names was sent: it is the latest such number.
        let Some(last) = self.next_seq().checked_sub(1) else { return };
        let Some(first) = last.checked_sub(u64::from((last as u16).wrapping_sub(feedback.base_seq()))) else { return };
        let reference =
            twcc::unwrap_reference(self.reference.unwrap_or(i64::from(feedback.reference())), feedback.reference());
        self.reference = Some(reference);
        let origin = PeerTimestamp::from_nanos(0) + twcc::REFERENCE_UNIT * reference;
        self.abandon_below(first);
        let (next_seq, count) = (self.next_seq(), u64::from(feedback.status_count()));
        let mut statuses = feedback.statuses();
        // Feedback about packets forgotten, or never sent, says nothing.
        let forgotten = self.base.saturating_sub(first);
        for _ in 0..forgotten.min(count) {
            statuses.next();
        }
        let place = ((first + forgotten - self.base) as usize).min(self.sent.len());
        reports.reserve(statuses.len());
        let (mut landed, mut seq) = (0, first + forgotten);
        let mut entries = self.sent.range_mut(place..);
        statuses.for_each(|(_, status)| {
            let Some(sent) = entries.next() else { return };
            let transport_seq = seq;
            seq += 1;
            let fate = match status {
                Status::Arrived(offset) => Fate::Arrived(offset.map(|offset| origin + offset)),
                Status::Missing => Fate::Missing,
            };
            match (sent.state, fate) {
                (State::Arrived, _) | (State::Missing, Fate::Missing) => return,
                (State::InFlight, _) => landed += u64::from(sent.size_bytes),
                (State::Missing, Fate::Arrived(_)) => {}
            }
            sent.state = if fate == Fate::Missing { State::Missing } else { State::Arrived };
            reports.push(PacketReport {
                transport_seq,
                ssrc: sent.ssrc,
                size: DataSize::from_bytes(u64::from(sent.size_bytes)),
                departure: sent.departure,
                fate,
                ce: false,
                kind: sent.kind,
                probe_cluster: sent.probe_cluster,
            });
        });
        self.in_flight -= DataSize::from_bytes(landed);
        self.reported = self.reported.max((first + count).min(next_seq));
        self.forget(now);
    }

    fn abandon_below(&mut self, first: u64) {
        for seq in self.reported.max(self.base)..first.min(self.next_seq()) {
            let sent = &mut self.sent[(seq - self.base) as usize];
            if sent.state == State::InFlight {
                sent.state = State::Missing;
                self.in_flight -= DataSize::from_bytes(u64::from(sent.size_bytes));
            }
        }
    }

    fn forget(&mut self, now: Timestamp) {
        let mut done = 0;
        for sent in &self.sent {
            let age = now - sent.departure;
            match sent.state {
                State::Arrived => {}
                State::Missing if age > CORRECTION_TIME => {}
                State::InFlight if age > HISTORY_TIME => {
                    self.in_flight -= DataSize::from_bytes(u64::from(sent.size_bytes));
                }
                State::Missing | State::InFlight => break,
            }
            done += 1;
        }
        self.sent.drain(..done);
        self.base += done as u64;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use legato_media::packet::{MediaPacket, VIDEO_SSRC};
    use legato_wire::twcc::{Encoder, Header};

    fn sent(history: &mut SendHistory, packets: u64) {
        for _ in 0..packets {
            let transport_seq = history.next_seq();
            let departure = Timestamp::from_millis(transport_seq as i64);
            history.push(&Train::single(MediaPacket {
                transport_seq,
                enqueued: departure,
                departure,
                rtp_seq: transport_seq as u32,
                ssrc: VIDEO_SSRC,
                frame: 0,
                index: 0,
                count: 1,
                size_bytes: 1_000,
                payload_bytes: 900,
                kind: PacketKind::Video,
                probe_cluster: None,
            }));
        }
    }

    /// Feedback from `base` on; arrivals in ms.
    fn feedback(history: &mut SendHistory, base: u64, arrivals_ms: &[Option<i64>]) -> Vec<PacketReport> {
        let mut bytes = Vec::new();
        let header = Header { sender_ssrc: 1, media_ssrc: 2, base_seq: base as u16, feedback_count: 0 };
        let arrivals = arrivals_ms.iter().map(|ms| ms.map(Timestamp::from_millis));
        assert_eq!(usize::from(Encoder::default().encode(&mut bytes, &header, arrivals)), arrivals_ms.len());
        let mut reports = Vec::new();
        history.join(Timestamp::from_millis(500), &Feedback::parse(&bytes).unwrap(), &mut reports);
        reports
    }

    #[test]
    fn each_packet_is_reported_once_and_a_missing_one_may_turn_up() {
        let mut history = SendHistory::default();
        sent(&mut history, 4);
        assert_eq!(history.in_flight(), DataSize::from_bytes(4_000));
        let first = feedback(&mut history, 0, &[Some(100), None, Some(102)]);
        assert_eq!(first.iter().map(PacketReport::arrived).collect::<Vec<_>>(), [true, false, true]);
        assert_eq!(history.in_flight(), DataSize::from_bytes(1_000));
        let again = feedback(&mut history, 0, &[Some(100), Some(110), Some(102), Some(103)]);
        assert_eq!(again.iter().map(|report| report.transport_seq).collect::<Vec<_>>(), [1, 3]);
        assert!(again.iter().all(PacketReport::arrived));
        assert_eq!(history.in_flight(), DataSize::ZERO);
    }

    #[test]
    fn packets_whose_feedback_was_lost_are_neither_in_flight_nor_missing() {
        let mut history = SendHistory::default();
        sent(&mut history, 6);
        let reports = feedback(&mut history, 4, &[Some(100), Some(101)]);
        assert_eq!(reports.len(), 2);
        assert_eq!(history.in_flight(), DataSize::ZERO);
    }

    #[test]
    fn arrivals_differ_as_they_do_across_the_wrap_of_numbers() {
        let mut history = SendHistory::default();
        sent(&mut history, 65_530);
        // All but the last are reported away so that the history is short.
        for base in (0..65_530u64).step_by(500) {
            let count = 500.min(65_530 - base) as usize;
            let arrivals: Vec<_> = (0..count).map(|n| Some(base as i64 + n as i64)).collect();
            assert_eq!(feedback(&mut history, base, &arrivals).len(), count);
        }
        sent(&mut history, 10);
        let reports = feedback(&mut history, 65_530, &[Some(70_000); 10]);
        assert_eq!(reports.last().unwrap().transport_seq, 65_539);
        assert_eq!(reports[9].arrival().unwrap() - reports[0].arrival().unwrap(), TimeDelta::ZERO);
    }

    #[test]
    fn feedback_about_packets_never_sent_says_nothing() {
        let mut history = SendHistory::default();
        sent(&mut history, 2);
        assert_eq!(feedback(&mut history, 1, &[Some(1), Some(2), Some(3)]).len(), 1);
        assert_eq!(history.next_seq(), 2);
        sent(&mut history, 1);
        assert_eq!(feedback(&mut history, 2, &[Some(9)]).len(), 1);
    }

    #[test]
    fn feedback_after_a_long_silence_is_about_the_latest_packets() {
        let mut history = SendHistory::default();
        sent(&mut history, 10);
        assert_eq!(feedback(&mut history, 0, &[Some(1)]).len(), 1);
        // 50,000 packets without a word: more than half the range of numbers.
        sent(&mut history, 50_000);
        let reports = feedback(&mut history, 50_005, &[Some(60_000)]);
        assert_eq!(reports.last().map(|report| report.transport_seq), Some(50_005));
    }
}
