//! What one feedback reports, in SCReAM's terms: bytes newly acknowledged, the round trip, the minimum
//! one-way delay, marks and losses. Shared by [rfc8298] and the drafts of its second version.
//!
//! SCReAM counts by the highest sequence number: a packet below it counts as acknowledged whether it arrived or not,
//! and whether a feedback reported it or not. So neither loss nor a lost feedback stops the clock of the window; later
//! reports on older packets only count for reordering.

use super::loss::LossDetector;
use legato_control::{Fate, TransportFeedback};
use legato_units::{TimeDelta, Timestamp};
use std::collections::VecDeque;

/// One feedback, digested.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Acknowledged {
    /// By how much the highest acknowledged byte moved, lost packets included.
    pub bytes_newly_acked: u64,
    /// Of these, the bytes that arrived marked.
    pub bytes_newly_acked_ce: u64,
    /// Bytes that arrived, whatever their order.
    pub bytes_arrived: u64,
    /// Packets that arrived.
    pub packets: u32,
    /// Packets that arrived marked "congestion experienced".
    pub packets_ce: u32,
    /// Packets known to be lost since the last feedback, reordering allowed for.
    pub packets_lost: u32,
    /// Packets first reported missing in this feedback.
    pub packets_missing: u32,
    /// Packets reported missing before that turned up.
    pub packets_recovered: u32,
    /// Since the departure of the arrived packet with the highest number.
    pub round_trip: Option<TimeDelta>,
    /// One-way delays plus the unknown offset of the clocks.
    pub one_way: Option<OneWayDelays>,
    /// Between the first and the last arrival.
    pub arrival_span: TimeDelta,
    /// Bytes sent and not reported after this feedback.
    pub in_flight: u64,
}

/// One-way delays of one feedback, each plus the same unknown offset.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct OneWayDelays {
    /// The minimum.
    pub min: TimeDelta,
    /// The maximum.
    pub max: TimeDelta,
    /// Of the packet with the highest number.
    pub last: TimeDelta,
}

#[cfg(test)]
impl OneWayDelays {
    /// All three equal.
    pub fn all(delay: TimeDelta) -> Self {
        Self { min: delay, max: delay, last: delay }
    }
}

/// Digests feedback; keeps the highest number acknowledged.
#[derive(Clone, Debug, Default)]
pub struct FeedbackReader {
    highest: Option<u64>,
    losses: LossDetector,
    /// The number and size of packets above the highest acknowledged one, in order.
    sent: VecDeque<(u64, u64)>,
}

impl FeedbackReader {
    /// A packet left.
    #[inline]
    pub fn sent(&mut self, transport_seq: u64, bytes: u64) {
        if self.sent.len() == MAX_SENT {
            self.sent.pop_front();
        }
        self.sent.push_back((transport_seq, bytes));
    }

    /// The bytes of the packets up to number `top` that no feedback had acknowledged.
    fn acknowledge(&mut self, top: u64) -> u64 {
        let mut bytes = 0;
        while let Some(&(seq, size)) = self.sent.front().filter(|&&(seq, _)| seq <= top) {
            bytes += if self.highest.is_none_or(|highest| seq > highest) { size } else { 0 };
            self.sent.pop_front();
        }
        bytes
    }

    /// Digest one feedback that came at `now`.
    pub fn read(&mut self, now: Timestamp, feedback: &TransportFeedback) -> Acknowledged {
        let mut said = Acknowledged { in_flight: feedback.in_flight.as_bytes(), ..Acknowledged::default() };
        let last = feedback.reports.iter().rev().find(|report| report.arrived());
        if let Some(last) = last {
            // A departure after its own report means a broken clock, not a round trip.
            said.round_trip = Some((now - last.departure).max(TimeDelta::from_millis(1)));
        }
        let top = last.map(|report| report.transport_seq);
        let mut first_arrival: Option<i64> = None;
        let mut last_arrival = i64::MIN;
        for report in feedback.reports.iter() {
            let bytes = report.size.as_bytes();
            let new = self.highest.is_none_or(|highest| report.transport_seq > highest)
                && top.is_some_and(|top| report.transport_seq <= top);
            let Fate::Arrived(arrival) = report.fate else {
                said.packets_missing += u32::from(self.losses.missing(now, report.transport_seq));
                continue;
            };
            said.packets += 1;
            said.bytes_arrived += bytes;
            if report.ce {
                said.packets_ce += 1;
                said.bytes_newly_acked_ce += if new { bytes } else { 0 };
            }
            said.packets_recovered += u32::from(self.losses.arrived(now, report.transport_seq));
            if let Some(arrival) = arrival {
                let arrival = arrival.as_nanos();
                let delay = TimeDelta::from_nanos(arrival.wrapping_sub(report.departure.as_nanos()));
                said.one_way = Some(match said.one_way {
                    None => OneWayDelays { min: delay, max: delay, last: delay },
                    Some(seen) => OneWayDelays { min: seen.min.min(delay), max: seen.max.max(delay), last: delay },
                });
                first_arrival = Some(first_arrival.map_or(arrival, |first| first.min(arrival)));
                last_arrival = last_arrival.max(arrival);
            }
        }
        if let Some(first) = first_arrival {
            said.arrival_span = TimeDelta::from_nanos(last_arrival - first);
        }
        // [rfc8298] §4.1.2: by how much the highest sequence number moved.
        said.bytes_newly_acked = top.map_or(0, |top| self.acknowledge(top));
        self.highest = self.highest.max(top);
        said.packets_lost = self.losses.confirmed(now);
        said
    }
}

/// More than ten seconds at 4,000 packets a second: only a sender without any feedback has so many.
const MAX_SENT: usize = 1 << 16;

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use legato_control::{PacketKind, PacketReport};
    use legato_units::{DataSize, PeerTimestamp};

    /// A packet of 1,000 bytes that left at `departure_ms` and took `delay_ms`, if it arrived; the
    /// peer's clock is 1,000 s ahead.
    pub fn report(seq: u64, departure_ms: i64, delay_ms: Option<i64>) -> PacketReport {
        let arrival = |delay: i64| PeerTimestamp::from_nanos((1_000_000 + departure_ms + delay) * 1_000_000);
        PacketReport {
            transport_seq: seq,
            ssrc: 1,
            size: DataSize::from_bytes(1_000),
            departure: Timestamp::from_millis(departure_ms),
            fate: delay_ms.map_or(Fate::Missing, |delay| Fate::Arrived(Some(arrival(delay)))),
            ce: false,
            kind: PacketKind::Video,
            probe_cluster: None,
            place: None,
        }
    }

    /// A feedback of these reports with nothing left in flight.
    pub fn feedback(reports: &[PacketReport]) -> TransportFeedback {
        TransportFeedback { reports: reports.to_vec().into(), in_flight: DataSize::ZERO, ..Default::default() }
    }

    /// [rfc8298] §4.1.2: a lost packet below the highest acknowledged one is counted as acknowledged.
    #[test]
    fn newly_acknowledged_is_what_the_highest_number_moved_by() {
        let mut reader = FeedbackReader::default();
        (1..=4).for_each(|seq| reader.sent(seq, 1_000));
        let now = Timestamp::from_millis(100);
        let said = reader.read(now, &feedback(&[report(1, 0, Some(50)), report(2, 10, None), report(3, 20, Some(45))]));
        assert_eq!((said.bytes_newly_acked, said.bytes_arrived, said.packets), (3_000, 2_000, 2));
        assert_eq!(said.round_trip, Some(TimeDelta::from_millis(80)));
        let one_way = said.one_way.expect("there were arrivals");
        assert_eq!(one_way.max - one_way.min, TimeDelta::from_millis(5));
        // Arrivals at 50 and 65 ms.
        assert_eq!(said.arrival_span, TimeDelta::from_millis(15));
        assert_eq!(said.packets_missing, 1);
        // The second turns up late; the fourth is missing at the end, below nothing that arrived.
        let said = reader.read(now, &feedback(&[report(2, 10, Some(90)), report(4, 30, None)]));
        assert_eq!((said.bytes_newly_acked, said.bytes_arrived, said.packets_recovered), (0, 1_000, 1));
    }

    /// [rfc8298] §4.1.2: what an earlier feedback would have reported, had it not been lost, counts with the next.
    #[test]
    fn a_lost_feedback_is_made_up_for_by_the_next() {
        let mut reader = FeedbackReader::default();
        (1..=6).for_each(|seq| reader.sent(seq, 1_000));
        let mut newly_acked =
            |reports: &[PacketReport]| reader.read(Timestamp::from_millis(100), &feedback(reports)).bytes_newly_acked;
        assert_eq!(newly_acked(&[report(1, 0, Some(50))]), 1_000);
        // Feedback on 2 to 4 is lost.
        assert_eq!(newly_acked(&[report(5, 40, Some(50))]), 4_000);
        assert_eq!(newly_acked(&[report(3, 20, Some(90)), report(6, 50, Some(50))]), 1_000);
    }

    #[test]
    fn marks_are_counted_in_packets_and_in_newly_acknowledged_bytes() {
        let mut reader = FeedbackReader::default();
        (1..=2).for_each(|seq| reader.sent(seq, 1_000));
        let marked = PacketReport { ce: true, ..report(2, 10, Some(50)) };
        let said = reader.read(Timestamp::from_millis(100), &feedback(&[report(1, 0, Some(50)), marked]));
        assert_eq!((said.packets_ce, said.bytes_newly_acked_ce), (1, 1_000));
    }
}
