//! Packets sent and not yet reported: joins feedback with departures.

use crate::FeedbackFormat;
use crate::stream_index::StreamIndex;
use legato_control::{PacketReports, ReportRun, ReportedPacket, RunFate};
use legato_media::packet::MediaPacket;
use legato_units::{Burst, DataSize, PeerTimestamp, TimeDelta, Timestamp};
use legato_wire::ccfb;
use legato_wire::ntp::CompactNtp;
use legato_wire::twcc::{self, Feedback, StatusRun};
use std::collections::VecDeque;

/// Departures by transport-wide sequence number, as bursts: what feedback reports differently about packets of one burst
/// splits it.
#[derive(Clone, Debug, Default)]
pub struct SendHistory {
    /// In the order of their numbers, without gaps.
    runs: VecDeque<SentRun>,
    /// The number of the next packet.
    next_seq: u64,
    in_flight: DataSize,
    /// One past the highest sequence number in any feedback.
    reported: u64,
    /// The number of the newest feedback, which counts feedback.
    feedback_count: Option<u8>,
    /// The last reference time, unwrapped, in units of 64 ms.
    reference: Option<i64>,
    /// Reused: the arrivals of a feedback.
    times: Vec<PeerTimestamp>,
    /// With [`FeedbackFormat::Ccfb`].
    by_stream: Option<ByStream>,
}

/// The data that feedback by stream needs in addition to departures.
#[derive(Clone, Debug, Default)]
struct ByStream {
    index: StreamIndex,
    /// The last report timestamp, and the instant it stands for.
    reference: Option<(CompactNtp, PeerTimestamp)>,
    /// The latest departure of a packet that arrived.
    latest: Option<Timestamp>,
}

/// Packets that left together and have the same state.
#[derive(Clone, Copy, Debug)]
struct SentRun {
    burst: Burst<ReportedPacket>,
    state: State,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Arrived,
    InFlight,
    Missing,
}

/// What a feedback says of a packet, but for the time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Outcome {
    arrived: bool,
    timed: bool,
    ce: bool,
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
        self.next_seq
    }

    /// Packets left; the first carries [`SendHistory::next_seq`].
    #[inline]
    pub fn push(&mut self, burst: &Burst<MediaPacket>) {
        let MediaPacket { transport_seq, ssrc, size_bytes, departure, kind, probe_cluster, .. } = burst.first;
        let place = burst.first.place();
        debug_assert_eq!(transport_seq, self.next_seq(), "departures are numbered without gaps");
        self.in_flight += DataSize::from_bytes(burst.bytes());
        self.next_seq += u64::from(burst.packets);
        if let Some(by_stream) = &mut self.by_stream {
            by_stream.index.push(burst);
        }
        let size = DataSize::from_bytes(u64::from(size_bytes));
        let packet = ReportedPacket { transport_seq, ssrc, size, departure, kind, probe_cluster, place };
        self.runs.push_back(SentRun { burst: burst.with(packet), state: State::InFlight });
    }

    /// Bytes sent and not yet reported.
    #[inline]
    pub fn in_flight(&self) -> DataSize {
        self.in_flight
    }

    /// Append the new information in `feedback` to `reports`, in send order. Packets it does not reach
    /// back to, because an earlier feedback was lost, are no longer in flight and never reported:
    /// silence about a packet is not loss of it. If no feedback was lost, by their count, it is: some receivers (str0m)
    /// begin each feedback at the first packet that came.
    pub fn join(&mut self, now: Timestamp, feedback: &Feedback<'_>, reports: &mut PacketReports) {
        // What feedback names was sent: it is the latest such number.
        let Some(last) = self.next_seq.checked_sub(1) else { return };
        let Some(first) = last.checked_sub(u64::from((last as u16).wrapping_sub(feedback.base_seq()))) else { return };
        let reference =
            twcc::unwrap_reference(self.reference.unwrap_or(i64::from(feedback.reference())), feedback.reference());
        self.reference = Some(reference);
        let origin = PeerTimestamp::from_nanos(0) + twcc::REFERENCE_UNIT * reference;
        let follows = self.follows(feedback.feedback_count());
        let gap = if follows { self.reported.max(self.base()).min(first) } else { first };
        self.abandon(self.reported, gap);
        let count = u64::from(feedback.status_count());
        let mut statuses = feedback.statuses();
        // Feedback about packets forgotten, or never sent, is ignored.
        let forgotten = self.base().saturating_sub(first).min(count);
        for _ in 0..forgotten {
            statuses.next();
        }
        let mut joining = Joining::new(self, reports);
        if gap < first {
            joining.seek(gap);
            for _ in gap..first {
                joining.take(Outcome { arrived: false, timed: false, ce: false }, 1);
            }
            joining.gather();
        }
        joining.seek(first + forgotten);
        while let Some(StatusRun { packets, arrived, timed }) = statuses.next_run(origin, &mut joining.times) {
            joining.take(Outcome { arrived, timed, ce: false }, packets);
        }
        joining.close();
        self.reported = self.reported.max((first + count).min(self.next_seq));
        self.forget(now);
    }

    /// Like [`SendHistory::join`], for feedback by stream. A mark that comes only with a second copy of a
    /// packet already reported is dropped: a packet is reported once.
    pub fn join_streams(&mut self, now: Timestamp, feedback: &ccfb::Feedback<'_>, reports: &mut PacketReports) {
        let Some(mut by_stream) = self.by_stream.take() else { return };
        let origin = by_stream.unwrap_timestamp(feedback.report_timestamp);
        for block in feedback.blocks() {
            let metrics = block.metrics();
            let Some(stream) = by_stream.index.stream(block.ssrc) else { continue };
            let Some(first) = stream.unwrap(block.begin_seq) else { continue };
            if metrics.len() == 0 {
                continue;
            }
            for departure in stream.report(first, first + metrics.len() as u64) {
                self.abandon(departure, departure + 1);
            }
            let mut joining = Joining::new(self, reports);
            for (number, (_, metric)) in (first..).zip(metrics) {
                let Some(departure) = stream.departure(number) else { continue };
                joining.go_to(departure);
                // [rfc8888] §3.1: arrival = report timestamp - arrival time offset
                let time = metric.and_then(|metric| metric.offset.to_delta()).map(|offset| origin - offset);
                let ce = metric.is_some_and(|metric| metric.ecn.is_ce());
                joining.times.extend(time);
                joining.take(Outcome { arrived: metric.is_some(), timed: time.is_some(), ce }, 1);
            }
            joining.close();
        }
        // Each stream is in order by itself.
        reports.sort();
        let arrived = reports.runs().filter(|run| run.fate != RunFate::Missing);
        by_stream.latest = by_stream.latest.max(arrived.map(|run| run.burst.first.departure).max());
        self.by_stream = Some(by_stream);
        self.forget(now);
    }

    /// When the receiver wrote the last feedback; only feedback by stream says so.
    pub fn written(&self) -> Option<PeerTimestamp> {
        self.by_stream.as_ref()?.reference.map(|(_, at)| at)
    }

    /// Whether no feedback is missing between the newest and this one, which is the newest from now on unless it is an
    /// older one.
    fn follows(&mut self, count: u8) -> bool {
        let step = self.feedback_count.map(|newest| count.wrapping_sub(newest));
        if step.is_none_or(|step| (1..128).contains(&step)) {
            self.feedback_count = Some(count);
        }
        step == Some(1)
    }

    /// The number of the first packet that is kept.
    fn base(&self) -> u64 {
        self.runs.front().map_or(self.next_seq, |run| run.burst.first.transport_seq)
    }

    /// No feedback will report the packets from `first` to before `end`: they are no longer in flight, and not reported.
    fn abandon(&mut self, first: u64, end: u64) {
        let (first, end) = (first.max(self.base()), end.min(self.next_seq));
        if first >= end {
            return;
        }
        for index in self.boundary(first)..self.boundary(end) {
            let run = &mut self.runs[index];
            if run.state == State::InFlight {
                run.state = State::Missing;
                self.in_flight -= DataSize::from_bytes(run.burst.bytes());
            }
        }
    }

    /// The place of the run with the packet `seq`, which is kept.
    #[inline]
    fn find(&self, seq: u64) -> usize {
        self.runs.partition_point(|run| run.burst.first.transport_seq <= seq) - 1
    }

    /// The place of the run that begins with the packet `seq`, split off where it is inside one; the end for the number
    /// of the next packet.
    fn boundary(&mut self, seq: u64) -> usize {
        if seq >= self.next_seq {
            return self.runs.len();
        }
        let index = self.find(seq);
        let before = (seq - self.runs[index].burst.first.transport_seq) as u16;
        if before == 0 {
            return index;
        }
        self.split(index, before);
        index + 1
    }

    /// Cut a run after its first `packets`.
    fn split(&mut self, index: usize, packets: u16) {
        let run = &mut self.runs[index];
        let front = SentRun { burst: run.burst.cut_off(packets), ..*run };
        self.runs.insert(index, front);
    }

    fn forget(&mut self, now: Timestamp) {
        let latest = self.by_stream.as_ref().and_then(|by_stream| by_stream.latest);
        while let Some(SentRun { burst, state }) = self.runs.front() {
            let age = now - burst.first.departure;
            let passed = latest.is_some_and(|latest| latest - burst.first.departure > SILENT_STREAM_TIME);
            match state {
                State::Arrived => {}
                State::Missing if age > CORRECTION_TIME => {}
                State::InFlight if age > HISTORY_TIME || passed => {
                    self.in_flight -= DataSize::from_bytes(burst.bytes());
                }
                State::Missing | State::InFlight => break,
            }
            self.runs.pop_front();
        }
        let base = self.base();
        if let Some(by_stream) = &mut self.by_stream {
            by_stream.index.forget_below(base);
        }
    }
}

/// Consecutive packets with one outcome, gathered until they differ or their run ends.
struct Joining<'a> {
    history: &'a mut SendHistory,
    reports: &'a mut PacketReports,
    /// The run, how many of its packets were passed, how many are gathered, and how many it has; no run: all zero.
    index: usize,
    passed: u16,
    gathered: u16,
    packets: u16,
    outcome: Outcome,
    /// Arrivals of packets yet to be taken begin at `used`, behind those gathered.
    times: Vec<PeerTimestamp>,
    used: usize,
}

impl<'a> Joining<'a> {
    /// Before the first packet is sought.
    fn new(history: &'a mut SendHistory, reports: &'a mut PacketReports) -> Self {
        let mut times = std::mem::take(&mut history.times);
        times.clear();
        let outcome = Outcome { arrived: false, timed: false, ce: false };
        Self { history, reports, index: 0, passed: 0, gathered: 0, packets: 0, outcome, times, used: 0 }
    }

    /// The next packet to take is `seq`.
    fn seek(&mut self, seq: u64) {
        (self.passed, self.packets) = (0, 0);
        if (self.history.base()..self.history.next_seq).contains(&seq) {
            self.index = self.history.find(seq);
            let burst = &self.history.runs[self.index].burst;
            (self.passed, self.packets) = ((seq - burst.first.transport_seq) as u16, burst.packets);
        }
    }

    /// The next packet to take is `seq`, which may be the one behind the last.
    fn go_to(&mut self, seq: u64) {
        let run = self.history.runs.get(self.index).filter(|_| self.packets > 0);
        let next = run.map(|run| run.burst.first.transport_seq + u64::from(self.passed + self.gathered));
        if next != Some(seq) {
            self.gather();
            self.seek(seq);
        }
    }

    /// The outcome of the next packets, whose arrivals are in `times`; packets that are not kept are passed over.
    #[inline]
    fn take(&mut self, outcome: Outcome, mut packets: u16) {
        if outcome != self.outcome {
            self.gather();
            self.outcome = outcome;
        }
        while packets > 0 && self.packets > 0 {
            let here = packets.min(self.packets - self.passed - self.gathered);
            self.gathered += here;
            packets -= here;
            if self.passed + self.gathered == self.packets {
                self.gather();
            }
        }
        if outcome.timed {
            self.used += usize::from(packets);
        }
    }

    /// The packets gathered are all of their kind.
    fn gather(&mut self) {
        let (index, gathered) = (self.index, std::mem::take(&mut self.gathered));
        if gathered == 0 {
            return;
        }
        let SentRun { burst, state } = self.history.runs[index];
        let Outcome { arrived, timed, ce } = self.outcome;
        let new = state == State::InFlight || (state == State::Missing && arrived);
        if new {
            let whole = gathered == self.packets;
            let burst = if whole { burst } else { burst.rest(self.passed).front(gathered) };
            let fate = match (arrived, timed) {
                (false, _) => RunFate::Missing,
                (true, false) => RunFate::ArrivedUntimed,
                (true, true) => RunFate::Arrived(&self.times[self.used..][..usize::from(gathered)]),
            };
            self.reports.push_run(ReportRun { burst, fate, ce });
            if state == State::InFlight {
                self.history.in_flight -= DataSize::from_bytes(burst.bytes());
            }
            if !whole {
                self.cut_out(gathered);
            }
            self.history.runs[self.index].state = if arrived { State::Arrived } else { State::Missing };
        }
        if timed {
            self.used += usize::from(gathered);
        }
        self.passed += gathered;
        if self.passed == self.packets {
            self.index += 1;
            (self.passed, self.packets) = (0, self.history.runs.get(self.index).map_or(0, |run| run.burst.packets));
        }
    }

    /// The gathered packets become a separate run, and the present one.
    #[cold]
    fn cut_out(&mut self, gathered: u16) {
        if self.passed > 0 {
            self.history.split(self.index, self.passed);
            self.index += 1;
            self.packets -= self.passed;
            self.passed = 0;
        }
        if gathered < self.packets {
            self.history.split(self.index, gathered);
            self.packets = gathered;
        }
    }

    fn close(mut self) {
        self.gather();
        self.history.times = self.times;
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
