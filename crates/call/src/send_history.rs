//! What was sent and not yet reported: joins feedback with departures.

use crate::FeedbackFormat;
use crate::stream_index::StreamIndex;
use legato_control::{Fate, PacketKind, PacketReport};
use legato_media::packet::MediaPacket;
use legato_units::{Burst, DataSize, PeerTimestamp, TimeDelta, Timestamp};
use legato_wire::ccfb;
use legato_wire::ntp::CompactNtp;
use legato_wire::twcc::{self, Feedback, Status};
use std::collections::VecDeque;

/// Departures by transport-wide sequence number.
#[derive(Clone, Debug, Default)]
pub struct SendHistory {
    sent: VecDeque<Sent>,
    /// Sequence number of the first entry.
    base: u64,
    in_flight: DataSize,
    /// One past the highest sequence number in any feedback.
    reported: u64,
    /// The last reference time, unwrapped, in units of 64 ms.
    reference: Option<i64>,
    /// With [`FeedbackFormat::Ccfb`].
    by_stream: Option<ByStream>,
}

/// What feedback by stream needs besides the departures.
#[derive(Clone, Debug, Default)]
struct ByStream {
    index: StreamIndex,
    /// The last report timestamp, and the instant it stands for.
    reference: Option<(CompactNtp, PeerTimestamp)>,
    /// The latest departure of a packet that arrived.
    latest: Option<Timestamp>,
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
/// Entries are kept no longer than this, whatever the feedback does (libwebrtc's send-time history: 60 s).
const HISTORY_TIME: TimeDelta = TimeDelta::from_secs(60);
/// Feedback by stream never reports the last packets of a stream that has fallen silent, if they were
/// lost. They count as no longer in flight once packets that left this much later have arrived.
const SILENT_STREAM_TIME: TimeDelta = TimeDelta::from_secs(1);

impl SendHistory {
    /// An empty history for feedback of this format.
    pub fn new(format: FeedbackFormat) -> Self {
        let by_stream = (format == FeedbackFormat::Ccfb).then(ByStream::default);
        Self { by_stream, ..Self::default() }
    }

    /// The number of the next packet.
    #[inline]
    pub fn next_seq(&self) -> u64 {
        self.base + self.sent.len() as u64
    }

    /// Packets left; the first carries [`SendHistory::next_seq`].
    #[inline]
    pub fn push(&mut self, burst: &Burst<MediaPacket>) {
        let first = &burst.first;
        debug_assert_eq!(first.transport_seq, self.next_seq(), "departures are numbered without gaps");
        self.in_flight += DataSize::from_bytes(burst.bytes());
        if let Some(by_stream) = &mut self.by_stream {
            by_stream.index.push(burst);
        }
        self.sent.extend((0..burst.packets).map(|place| Sent {
            departure: first.departure,
            ssrc: first.ssrc,
            probe_cluster: first.probe_cluster,
            size_bytes: burst.size_bytes(place) as u16,
            kind: first.kind,
            state: State::InFlight,
        }));
    }

    /// Bytes sent and not yet reported.
    #[inline]
    pub fn in_flight(&self) -> DataSize {
        self.in_flight
    }

    /// Append the new information in `feedback` to `reports`, in send order. Packets it does not reach
    /// back to, because an earlier feedback was lost, are no longer in flight and never reported:
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
        // Feedback about packets forgotten, or never sent, is ignored.
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
            if let Some(report) = sent.settle(transport_seq, fate, false, &mut landed) {
                reports.push(report);
            }
        });
        self.in_flight -= DataSize::from_bytes(landed);
        self.reported = self.reported.max((first + count).min(next_seq));
        self.forget(now);
    }

    /// Like [`SendHistory::join`], for feedback by stream. A mark that comes only with a second copy of a
    /// packet already reported is dropped: a packet is reported once.
    pub fn join_streams(&mut self, now: Timestamp, feedback: &ccfb::Feedback<'_>, reports: &mut Vec<PacketReport>) {
        let Some(by_stream) = &mut self.by_stream else { return };
        let origin = by_stream.unwrap_timestamp(feedback.report_timestamp);
        let mut landed = 0;
        for block in feedback.blocks() {
            let metrics = block.metrics();
            let Some(stream) = by_stream.index.stream(block.ssrc) else { continue };
            let Some(first) = stream.unwrap(block.begin_seq) else { continue };
            if metrics.len() == 0 {
                continue;
            }
            for departure in stream.report(first, first + metrics.len() as u64) {
                if let Some(sent) = entry(&mut self.sent, self.base, departure) {
                    sent.abandon(&mut landed);
                }
            }
            for (number, (_, metric)) in (first..).zip(metrics) {
                let Some(departure) = stream.departure(number) else { continue };
                let Some(sent) = entry(&mut self.sent, self.base, departure) else { continue };
                let fate = metric.map_or(Fate::Missing, |metric| {
                    // [rfc8888] §3.1: arrival = report timestamp - arrival time offset
                    Fate::Arrived(metric.offset.to_delta().map(|offset| origin - offset))
                });
                let ce = metric.is_some_and(|metric| metric.ecn.is_ce());
                if let Some(report) = sent.settle(departure, fate, ce, &mut landed) {
                    if report.arrived() {
                        by_stream.latest = by_stream.latest.max(Some(report.departure));
                    }
                    reports.push(report);
                }
            }
        }
        // Each stream is in order by itself.
        reports.sort_unstable_by_key(|report| report.transport_seq);
        self.in_flight -= DataSize::from_bytes(landed);
        self.forget(now);
    }

    fn abandon_below(&mut self, first: u64) {
        let mut landed = 0;
        for seq in self.reported.max(self.base)..first.min(self.next_seq()) {
            self.sent[(seq - self.base) as usize].abandon(&mut landed);
        }
        self.in_flight -= DataSize::from_bytes(landed);
    }

    fn forget(&mut self, now: Timestamp) {
        let latest = self.by_stream.as_ref().and_then(|by_stream| by_stream.latest);
        let passed = |sent: &Sent| latest.is_some_and(|latest| latest - sent.departure > SILENT_STREAM_TIME);
        let mut done = 0;
        for sent in &self.sent {
            let age = now - sent.departure;
            match sent.state {
                State::Arrived => {}
                State::Missing if age > CORRECTION_TIME => {}
                State::InFlight if age > HISTORY_TIME || passed(sent) => {
                    self.in_flight -= DataSize::from_bytes(u64::from(sent.size_bytes));
                }
                State::Missing | State::InFlight => break,
            }
            done += 1;
        }
        self.sent.drain(..done);
        self.base += done as u64;
        if let Some(by_stream) = &mut self.by_stream {
            by_stream.index.forget_below(self.base);
        }
    }
}

fn entry(sent: &mut VecDeque<Sent>, base: u64, transport_seq: u64) -> Option<&mut Sent> {
    sent.get_mut(usize::try_from(transport_seq.checked_sub(base)?).ok()?)
}

impl Sent {
    /// The new information about it; its bytes are added to `landed` if they were in flight.
    #[inline]
    fn settle(&mut self, transport_seq: u64, fate: Fate, ce: bool, landed: &mut u64) -> Option<PacketReport> {
        match (self.state, fate) {
            (State::Arrived, _) | (State::Missing, Fate::Missing) => return None,
            (State::InFlight, _) => *landed += u64::from(self.size_bytes),
            (State::Missing, Fate::Arrived(_)) => {}
        }
        self.state = if fate == Fate::Missing { State::Missing } else { State::Arrived };
        Some(PacketReport {
            transport_seq,
            ssrc: self.ssrc,
            size: DataSize::from_bytes(u64::from(self.size_bytes)),
            departure: self.departure,
            fate,
            ce,
            kind: self.kind,
            probe_cluster: self.probe_cluster,
        })
    }

    /// No feedback will report it: it is no longer in flight, and not reported.
    fn abandon(&mut self, landed: &mut u64) {
        if self.state == State::InFlight {
            self.state = State::Missing;
            *landed += u64::from(self.size_bytes);
        }
    }
}

impl ByStream {
    /// Report timestamps wrap after 18 hours.
    fn unwrap_timestamp(&mut self, timestamp: CompactNtp) -> PeerTimestamp {
        let at = match self.reference {
            Some((last, at)) => at + timestamp.since(last),
            None => PeerTimestamp::from_nanos(0) + timestamp.since(CompactNtp(0)),
        };
        self.reference = Some((timestamp, at));
        at
    }
}

#[cfg(test)]
#[path = "send_history_tests.rs"]
mod tests;
