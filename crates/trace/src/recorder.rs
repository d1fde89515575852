//! Keeps what a call's figures and tables need. One per thread, reused from call to call.

use crate::freeze::{Freeze, GapWatch};
use crate::pauses::Pauses;
use crate::quantile::{Quantiles, Runs};
use crate::record::{FrameDecoded, FrameEncoded, PacketArrived, PacketSent, Record};
use crate::rtcp_log::{RtcpLog, RtcpRow};
use crate::sink::{SERIES_INTERVAL, Sample, TraceSink};
use legato_control::{PacketKind, PacketReports, ReportRun, RunFate};
use legato_units::{Burst, DataRate, DataSize, TimeDelta, Timestamp};

/// How much is kept.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum LogLevel {
    /// One row per call.
    #[default]
    Summary,
    /// And time series, frames, freezes and gauges.
    Series,
    /// And every packet.
    Packets,
}

/// The spacing of the target's samples for its variation.
const TARGET_SAMPLE_INTERVAL: TimeDelta = TimeDelta::from_secs(1);
/// Marks a packet that has not arrived.
const NOT_ARRIVED: u32 = u32::MAX;

/// A frame's life.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct FrameRow {
    /// When it was captured.
    pub captured: Timestamp,
    /// The encoder's output, if there was any.
    pub encoded: Option<FrameEncoded>,
    /// The decoder's result.
    pub decoded: Option<(Timestamp, FrameDecoded)>,
    /// When it was shown.
    pub rendered: Option<Timestamp>,
}

/// A packet's life.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PacketRow {
    /// When it left the pacer.
    pub sent: Timestamp,
    /// The sent packet.
    pub packet: PacketSent,
    /// When it came out of the path.
    pub arrived: Option<Timestamp>,
    /// Why it never will arrive.
    pub dropped: Option<&'static str>,
    /// It came marked: congestion experienced.
    pub ce: bool,
}

/// 100 ms of a call.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct SeriesRow {
    /// At the bin's end.
    pub sample: Sample,
    /// Its length; the last bin of a call may be shorter.
    length: Option<TimeDelta>,
    pub(crate) sent_bytes: u64,
    pub(crate) received_bytes: u64,
    pub(crate) sent_packets: u32,
    pub(crate) lost_packets: u32,
    pub(crate) delay_sum_us: u64,
    pub(crate) arrivals: u32,
    pub(crate) rtt_sum_us: u64,
    pub(crate) rtts: u32,
    pub(crate) rendered: u16,
    pub(crate) ssim_db_sum: f32,
    pub(crate) scored: u16,
    pub(crate) height: u16,
}

/// A value of a controller's inner state.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GaugeRow {
    /// When it was read.
    pub at: Timestamp,
    /// The controller's own name for it.
    pub name: &'static str,
    /// In the unit that the controller states.
    pub value: f64,
}

/// Collects the records of one call.
#[derive(Debug, Default)]
pub struct Recorder {
    pub(crate) level: LogLevel,
    pub(crate) start: Timestamp,
    /// By transport-wide sequence number, in microseconds.
    pub(crate) one_way_delay_us: Vec<u32>,
    pub(crate) rtt_us: Vec<u32>,
    pub(crate) pacer_delay_us: Runs,
    pub(crate) frames: Vec<FrameRow>,
    /// VMAF of the picture on the screen for each frame, 0 to 100; empty if it was not measured.
    pub(crate) viewed_vmaf: Vec<Option<f32>>,
    pub(crate) freezes: Vec<Freeze>,
    pub(crate) series: Vec<SeriesRow>,
    pub(crate) gauges: Vec<GaugeRow>,
    pub(crate) packets: Vec<PacketRow>,
    rtcp: RtcpLog,
    pub(crate) totals: Totals,
    pub(crate) gaps: Option<GapWatch>,
    pub(crate) pauses: Pauses,
    pub(crate) target: TargetMean,
    pub(crate) encoder_bitrate: DataRate,
    /// One-way delay of the current feedback, set by the driver.
    feedback_delay: TimeDelta,
    next_gauges: Timestamp,
    pub(crate) quantiles: Quantiles,
    pub(crate) scratch: Vec<u32>,
}

#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Totals {
    pub sent_bytes: u64,
    pub received_bytes: u64,
    pub padding_bytes: u64,
    pub rtx_bytes: u64,
    pub fec_bytes: u64,
    pub feedback_bytes: u64,
    pub packets_received: u64,
    pub packets_marked: u64,
    pub packets_dropped: u64,
    pub video_packets: u64,
    pub rendered_bytes: u64,
    pub nacks: u64,
    pub plis: u64,
    pub probes: u64,
}

/// The target over time: its mean, and one sample per second.
#[derive(Debug, Default)]
pub(crate) struct TargetMean {
    now: DataRate,
    since: Timestamp,
    bit_ns: u128,
    pub samples: Vec<u64>,
    next_sample: Timestamp,
}

impl TargetMean {
    fn begin(&mut self, start: Timestamp) {
        self.samples.clear();
        (self.now, self.since, self.bit_ns, self.next_sample) = (DataRate::ZERO, start, 0, start);
    }

    pub(crate) fn advance(&mut self, now: Timestamp) {
        self.bit_ns += u128::from(self.now.as_bps()) * (now - self.since).as_nanos() as u128;
        self.since = now;
        while self.next_sample < now {
            self.samples.push(self.now.as_bps());
            self.next_sample += TARGET_SAMPLE_INTERVAL;
        }
    }

    pub(crate) fn mean_bps(&self, span: TimeDelta) -> f64 {
        self.bit_ns as f64 / span.as_nanos() as f64
    }
}

impl Recorder {
    /// Begin a call at `start`, forgetting the previous one.
    pub fn begin(&mut self, level: LogLevel, start: Timestamp) {
        self.level = level;
        self.start = start;
        self.one_way_delay_us.clear();
        self.rtt_us.clear();
        self.pacer_delay_us.clear();
        self.frames.clear();
        self.viewed_vmaf.clear();
        self.freezes.clear();
        self.series.clear();
        self.gauges.clear();
        self.packets.clear();
        self.rtcp.clear();
        self.totals = Totals::default();
        self.gaps = Some(GapWatch::new(start));
        self.pauses.clear();
        self.target.begin(start);
        self.encoder_bitrate = DataRate::ZERO;
        self.next_gauges = start;
    }

    /// How much is kept.
    pub fn level(&self) -> LogLevel {
        self.level
    }

    /// The rows of the frames table.
    pub fn frames(&self) -> &[FrameRow] {
        &self.frames
    }
    /// VMAF scores, 0 to 100, of the picture on the screen for each captured frame; `None` before the first picture.
    pub fn judged(&mut self, scores: Vec<Option<f32>>) {
        self.viewed_vmaf = scores;
    }

    /// VMAF of the picture on the screen for a frame, from the first picture on; once the call is finished, without the
    /// frames that the mean leaves out.
    pub fn viewed_vmaf(&self, frame: usize) -> Option<f32> {
        *self.viewed_vmaf.get(frame)?
    }

    /// The rows of the series table; only at [`LogLevel::Series`] and above.
    pub fn series(&self) -> &[SeriesRow] {
        &self.series
    }
    /// The rows of the freezes table.
    pub fn freezes(&self) -> &[Freeze] {
        &self.freezes
    }
    /// The rows of the gauges table; only at [`LogLevel::Series`] and above.
    pub fn gauges(&self) -> &[GaugeRow] {
        &self.gauges
    }
    /// The rows of the packets table; only at [`LogLevel::Packets`].
    pub fn packets(&self) -> &[PacketRow] {
        &self.packets
    }
    /// The rows of the rtcp table; only at [`LogLevel::Packets`].
    pub fn rtcp(&self) -> &[RtcpRow] {
        self.rtcp.rows()
    }

    fn bin(&mut self, at: Timestamp) -> &mut SeriesRow {
        let place = ((at - self.start).as_nanos().max(0) / SERIES_INTERVAL.as_nanos()) as usize;
        if place >= self.series.len() {
            self.series.resize(place + 1, SeriesRow::default());
        }
        &mut self.series[place]
    }

    fn wants_series(&self) -> bool {
        self.level >= LogLevel::Series
    }

    #[inline]
    fn packets_sent(&mut self, now: Timestamp, burst: &Burst<PacketSent>) {
        let (packets, bytes, kind) = (u64::from(burst.packets), burst.bytes(), burst.first.kind);
        self.one_way_delay_us.resize(self.one_way_delay_us.len() + usize::from(burst.packets), NOT_ARRIVED);
        self.totals.sent_bytes += bytes;
        match kind {
            PacketKind::Padding => self.totals.padding_bytes += bytes,
            PacketKind::Retransmission => self.totals.rtx_bytes += bytes,
            PacketKind::Fec => self.totals.fec_bytes += bytes,
            PacketKind::Video => self.totals.video_packets += packets,
            PacketKind::Audio => {}
        }
        if kind != PacketKind::Padding {
            self.pacer_delay_us.push(micros(burst.first.queued), u32::from(burst.packets));
        }
        if self.wants_series() {
            let bin = self.bin(now);
            bin.sent_bytes += bytes;
            bin.sent_packets += u32::from(burst.packets);
            // A later drop is matched to its departure by number.
            if self.level == LogLevel::Packets {
                let row = |packet| PacketRow { sent: now, packet, arrived: None, dropped: None, ce: false };
                self.packets.extend(burst.iter().map(row));
            }
        }
    }

    #[cold]
    fn packet_marked(&mut self, seq: u64) {
        self.totals.packets_marked += 1;
        if let Some(row) = self.packets.get_mut(seq as usize) {
            row.ce = true;
        }
    }

    #[inline]
    fn packets_arrived(&mut self, burst: &Burst<PacketArrived>, arrivals: &[Timestamp]) {
        let first = burst.first.transport_seq as usize;
        if let Some(slots) = self.one_way_delay_us.get_mut(first..first + arrivals.len()) {
            for (slot, &at) in slots.iter_mut().zip(arrivals) {
                *slot = micros(at - burst.first.departure);
            }
        }
        self.totals.packets_received += arrivals.len() as u64;
        self.totals.received_bytes += burst.bytes();
        if self.wants_series() {
            self.arrivals_in_series(burst, arrivals);
        }
    }

    #[inline(never)]
    fn arrivals_in_series(&mut self, burst: &Burst<PacketArrived>, arrivals: &[Timestamp]) {
        for (packet, &at) in burst.iter().zip(arrivals) {
            let bin = self.bin(at);
            bin.received_bytes += u64::from(packet.size_bytes);
            bin.delay_sum_us += u64::from(micros(at - packet.departure));
            bin.arrivals += 1;
            if let Some(row) = self.packets.get_mut(packet.transport_seq as usize) {
                row.arrived = Some(at);
            }
        }
    }

    fn packet_dropped(&mut self, departure: Timestamp, seq: u64, reason: &'static str) {
        self.totals.packets_dropped += 1;
        if self.wants_series() {
            self.bin(departure).lost_packets += 1;
            if let Some(row) = self.packets.get_mut(seq as usize) {
                row.dropped = Some(reason);
            }
        }
    }

    #[inline]
    fn feedback(&mut self, now: Timestamp, reports: &PacketReports) {
        let back = micros(self.feedback_delay);
        let before = self.rtt_us.len();
        for ReportRun { burst, .. } in reports.runs().filter(|run| run.fate != RunFate::Missing) {
            let first = burst.first.transport_seq as usize;
            let forth = &self.one_way_delay_us[first..][..usize::from(burst.packets)];
            self.rtt_us.extend(forth.iter().map(|forth| forth.saturating_add(back)));
        }
        if self.wants_series() {
            let reported = self.rtt_us.len() - before;
            let sum: u64 = self.rtt_us[before..].iter().map(|&us| u64::from(us)).sum();
            let bin = self.bin(now);
            bin.rtt_sum_us += sum;
            bin.rtts += reported as u32;
        }
    }

    fn frame(&mut self, frame: u64) -> Option<&mut FrameRow> {
        self.frames.get_mut(frame as usize)
    }

    fn rendered(&mut self, now: Timestamp, frame: u64) {
        let mut quality = None;
        let (mut size, mut height) = (0, 0);
        if let Some(row) = self.frame(frame) {
            row.rendered = Some(now);
            quality = row.decoded.and_then(|(_, decoded)| decoded.quality_db);
            (size, height) = row.encoded.map_or((0, 0), |encoded| (encoded.size_bytes, encoded.height));
        }
        self.totals.rendered_bytes += u64::from(size);
        let freeze = self.gaps.as_mut().and_then(|gaps| gaps.rendered(now));
        self.freezes.extend(freeze);
        if self.wants_series() {
            let bin = self.bin(now);
            bin.rendered += 1;
            bin.height = height;
            if let Some((ssim_db, _)) = quality {
                bin.ssim_db_sum += ssim_db;
                bin.scored += 1;
            }
        }
    }
}

impl TraceSink for Recorder {
    // Always: each caller records one kind, so the match is optimised away.
    #[inline(always)]
    fn record(&mut self, now: Timestamp, record: &Record<'_>) {
        match *record {
            Record::PacketsSent(ref burst) => self.packets_sent(now, burst),
            Record::PacketMarked { transport_seq } => self.packet_marked(transport_seq),
            Record::PacketsArrived { ref burst, arrivals } => self.packets_arrived(burst, arrivals),
            Record::PacketDropped { transport_seq, departure, reason } => {
                self.packet_dropped(departure, transport_seq, reason);
            }
            Record::Feedback { reports } => self.feedback(now, reports),
            Record::FrameCaptured { .. } => self.frames.push(FrameRow { captured: now, ..FrameRow::default() }),
            Record::FrameEncoded(encoded) => {
                if let Some(row) = self.frame(encoded.frame) {
                    row.encoded = Some(encoded);
                }
            }
            Record::FrameDecoded(decoded) => {
                if let Some(row) = self.frame(decoded.frame) {
                    row.decoded = Some((now, decoded));
                }
            }
            Record::FrameRendered { frame } => self.rendered(now, frame),
            Record::Decision(decision) => {
                self.target.advance(now);
                self.target.now = decision.target_bitrate;
            }
            Record::EncoderBitrate(rate) => self.encoder_bitrate = rate,
            Record::Gauge { name, value } => self.gauges.push(GaugeRow { at: now, name, value }),
            Record::RtcpSent { by, bytes } => {
                if self.level == LogLevel::Packets {
                    self.rtcp.sent(now, by, bytes);
                }
            }
            Record::RtcpArrived { by, bytes } => {
                if self.level == LogLevel::Packets {
                    self.rtcp.arrived(now, by, bytes);
                }
            }
            Record::FeedbackSent { size_bytes } => self.totals.feedback_bytes += u64::from(size_bytes),
            Record::Nack { packets } => self.totals.nacks += u64::from(packets),
            Record::Pli => self.totals.plis += 1,
            Record::Paused(paused) => {
                self.gaps.iter_mut().for_each(|gaps| gaps.paused(now, paused));
                self.pauses.turn(now, paused);
            }
            Record::Probe { .. } => self.totals.probes += 1,
        }
    }

    fn wants_samples(&self) -> bool {
        self.wants_series()
    }

    fn sample(&mut self, end: Timestamp, sample: Sample) {
        let into_call = end - TimeDelta::from_nanos(1) - self.start;
        let bin_start = self.start + SERIES_INTERVAL * (into_call.as_nanos() / SERIES_INTERVAL.as_nanos());
        let encoder_bitrate = self.encoder_bitrate;
        let bin = self.bin(bin_start);
        bin.sample = Sample { encoder_bitrate, ..sample };
        bin.length = Some(end - bin_start);
    }

    #[inline]
    fn feedback_took(&mut self, delay: TimeDelta) {
        self.feedback_delay = delay;
    }

    fn wants_gauges(&mut self, now: Timestamp) -> bool {
        if !self.wants_series() || now < self.next_gauges {
            return false;
        }
        let since = now - self.start;
        let bins = since.as_nanos() / SERIES_INTERVAL.as_nanos() + 1;
        self.next_gauges = self.start + SERIES_INTERVAL * bins;
        true
    }
}

/// Microseconds, saturated below [`NOT_ARRIVED`].
#[inline]
pub(crate) fn micros(span: TimeDelta) -> u32 {
    (span.as_nanos().max(0) as u64 / 1_000).min(u64::from(NOT_ARRIVED - 1)) as u32
}

/// Whether a delay stands for an arrival.
#[inline]
pub(crate) fn has_arrived(delay_us: u32) -> bool {
    delay_us != NOT_ARRIVED
}

impl SeriesRow {
    fn rate(&self, bytes: u64) -> f32 {
        (DataSize::from_bytes(bytes) / self.length.unwrap_or(SERIES_INTERVAL)).as_bps() as f32
    }
    /// Bytes that left, in bit/s.
    pub fn sending_rate_bps(&self) -> f32 {
        self.rate(self.sent_bytes)
    }
    /// Bytes that arrived, in bit/s.
    pub fn receiver_rate_bps(&self) -> f32 {
        self.rate(self.received_bytes)
    }
    /// Mean over the arrivals of the bin.
    pub fn one_way_delay_ms(&self) -> Option<f32> {
        (self.arrivals > 0).then(|| (self.delay_sum_us as f64 / f64::from(self.arrivals) / 1e3) as f32)
    }
    /// Mean over the packets reported in the bin.
    pub fn rtt_ms(&self) -> Option<f32> {
        (self.rtts > 0).then(|| (self.rtt_sum_us as f64 / f64::from(self.rtts) / 1e3) as f32)
    }
    /// Of the packets that left in the bin.
    pub fn loss_ratio(&self) -> Option<f32> {
        (self.sent_packets > 0).then(|| self.lost_packets as f32 / self.sent_packets as f32)
    }
    /// Frames shown in the bin.
    pub fn rendered_frames(&self) -> u16 {
        self.rendered
    }
    /// Mean over the frames shown in the bin.
    pub fn ssim_db(&self) -> Option<f32> {
        (self.scored > 0).then(|| self.ssim_db_sum / f32::from(self.scored))
    }
    /// Of the last frame shown in the bin.
    pub fn height(&self) -> Option<u16> {
        (self.rendered > 0).then_some(self.height)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_burst_of_arrivals_is_recorded_as_its_packets_are() {
        let ms = Timestamp::from_millis;
        let (mut bursts, mut singles) = (Recorder::default(), Recorder::default());
        let arrivals = [ms(95), ms(99), ms(101), ms(230)];
        for recorder in [&mut bursts, &mut singles] {
            recorder.begin(LogLevel::Packets, ms(0));
            let first = PacketSent {
                transport_seq: 0,
                ssrc: 1,
                kind: PacketKind::Video,
                size_bytes: 900,
                sequence: Some(0),
                queued: TimeDelta::ZERO,
            };
            recorder.record(ms(50), &Record::PacketsSent(Burst { first, packets: 4, smaller: 1 }));
        }
        let first = PacketArrived { transport_seq: 0, size_bytes: 900, departure: ms(50) };
        let burst = Burst { first, packets: 4, smaller: 1 };
        bursts.record(ms(95), &Record::PacketsArrived { burst, arrivals: &arrivals });
        for (transport_seq, (&at, size_bytes)) in (0..).zip(arrivals.iter().zip([900, 900, 900, 899])) {
            let burst = Burst::single(PacketArrived { transport_seq, size_bytes, departure: ms(50) });
            singles.record(at, &Record::PacketsArrived { burst, arrivals: &[at] });
        }
        assert_eq!(bursts.one_way_delay_us, singles.one_way_delay_us);
        assert_eq!((bursts.series(), bursts.packets()), (singles.series(), singles.packets()));
        assert_eq!(bursts.totals.received_bytes, singles.totals.received_bytes);
        assert_eq!(bursts.totals.packets_received, 4);
    }
}
