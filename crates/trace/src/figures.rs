//! From the records to the summary row: the definitions of docs/reference/run-folder.md as code.

use crate::quantile::Spread;
use crate::recorder::{Recorder, has_arrived};
use crate::stall_floor::LinkFacts;
use crate::summary::Summary;
use legato_units::{TimeDelta, Timestamp};

/// Facts about a call that only the driver knows.
#[derive(Default)]
pub struct CallFacts<'a> {
    /// When the call ended.
    pub end: Timestamp,
    /// The forward bottleneck over the call; absent without one.
    pub link: Option<LinkFacts<'a>>,
    /// The later quality of a picture that stays; absent without measured pixels.
    pub aged: Option<&'a AgedPicture<'a>>,
}

/// The picture of captured frame `.0`, of quality `.1` (SSIM and PSNR in dB) when it was shown,
/// against what captured frame `.2` should have shown.
pub type AgedPicture<'a> = dyn Fn(u64, (f32, f32), u64) -> (f32, f32) + 'a;

/// Frames at the end of a call may still be in flight: not shown is not frozen.
pub(crate) const UNDECIDED_TIME: TimeDelta = TimeDelta::from_secs(1);

/// [concerto] Table 2, fitted to subjective scores: a × delay in ms + b × SSIM dB + c.
const QOE_P: [f64; 3] = [-6.39e-4, 6.22e-2, 3.30];
const QOE_D: [f64; 3] = [-1.92e-3, 1.01e-1, 2.67];
/// ACM MMSys 2021 grand challenge: the delay that scores zero and the rate that scores full marks.
const MMSYS21_MAX_DELAY_MS: f64 = 400.0;
const MMSYS21_FULL_RATE_BPS: f64 = 500e3;

impl Recorder {
    /// End the call and compute its figures. The tables stay readable until the next `begin`.
    pub fn finish(&mut self, mut facts: CallFacts<'_>) -> Summary {
        self.target.advance(facts.end);
        let span = facts.end - self.start;
        let last_freeze = self.gaps.as_mut().and_then(|gaps| gaps.finish(facts.end));
        self.freezes.extend(last_freeze);
        let mut summary = Summary { duration_s: span.as_secs_f64(), ..Summary::default() };
        self.rates(&mut summary, &facts, span);
        self.delays(&mut summary);
        self.frames_and_quality(&mut summary, span);
        self.viewed_quality(&mut summary, &facts);
        self.judge(&mut summary, facts.end);
        self.viewed_delays(&mut summary, facts.end);
        self.smoothness(&mut summary, span);
        self.link_figures(&mut summary, facts.link.as_mut(), facts.end, span);
        self.scores(&mut summary);
        summary
    }

    fn rates(&mut self, summary: &mut Summary, facts: &CallFacts<'_>, span: TimeDelta) {
        let totals = self.totals;
        let rate = |bytes: u64| bytes as f64 * 8.0 / span.as_secs_f64();
        let share = |part: u64, of: u64| (of > 0).then(|| part as f64 / of as f64);
        let capacity_bps = facts.link.as_ref().map(|link| link.capacity_mean.as_bps_f64());
        summary.capacity_mean_bps = capacity_bps;
        summary.target_bitrate_mean_bps = self.target.mean_bps(span);
        summary.sending_rate_bps = rate(totals.sent_bytes);
        summary.receiver_rate_bps = rate(totals.received_bytes);
        summary.goodput_bps = self.sizes_are_known().then(|| rate(totals.rendered_bytes));
        summary.utilisation_ratio = capacity_bps.filter(|&bps| bps > 0.0).map(|bps| summary.receiver_rate_bps / bps);
        summary.padding_ratio = share(totals.padding_bytes, totals.sent_bytes);
        summary.rtx_ratio = share(totals.rtx_bytes, totals.sent_bytes);
        summary.fec_ratio = share(totals.fec_bytes, totals.sent_bytes);
        summary.feedback_rate_bps = rate(totals.feedback_bytes);
        summary.packets_sent = self.one_way_delay_us.len() as u64;
        summary.packets_received = totals.packets_received;
        // Packets still in flight at the end are neither lost nor received.
        summary.loss_ratio = share(totals.packets_dropped, totals.packets_dropped + totals.packets_received);
        summary.ce_ratio = share(totals.packets_marked, totals.packets_received);
        let missing: u64 =
            self.frames.iter().filter_map(|row| row.decoded).map(|(_, decoded)| u64::from(decoded.lost_packets)).sum();
        let decoded: u64 = self
            .frames
            .iter()
            .filter(|row| row.decoded.is_some())
            .filter_map(|row| row.encoded)
            .map(|encoded| u64::from(encoded.packets))
            .sum();
        summary.residual_loss_ratio = share(missing, decoded);
        summary.nacks = totals.nacks;
        summary.plis = totals.plis;
        summary.probe_clusters = totals.probes;
    }

    /// Whether the size of each shown frame is recorded: not where a browser sent, nor where there are no records of
    /// frames.
    fn sizes_are_known(&self) -> bool {
        !self.frames.is_empty() && self.frames.iter().all(|row| row.rendered.is_none() || row.encoded.is_some())
    }

    fn delays(&mut self, summary: &mut Summary) {
        self.scratch.clear();
        self.scratch.resize(self.one_way_delay_us.len(), 0);
        let mut arrived = 0;
        for &us in &self.one_way_delay_us {
            // Without a branch: the next value overwrites that of a packet that never arrived.
            self.scratch[arrived] = us;
            arrived += usize::from(has_arrived(us));
        }
        self.scratch.truncate(arrived);
        if let Some(spread) = Spread::of(&self.scratch) {
            let [p50, p95, p98] = self.quantiles.within(&self.scratch, &spread, [0.5, 0.95, 0.98]);
            let (mean, min) = (spread.mean_ms(), ms(spread.min));
            summary.one_way_delay_mean_ms = Some(mean);
            summary.one_way_delay_std_ms = Some(spread.deviation(&self.scratch) / 1e3);
            summary.one_way_delay_p50_ms = Some(ms(p50));
            summary.one_way_delay_p95_ms = Some(ms(p95));
            summary.one_way_delay_p98_ms = Some(ms(p98));
            summary.queue_delay_mean_ms = Some(mean - min);
            summary.queue_delay_p95_ms = Some(ms(p95) - min);
        }
        if let Some(spread) = Spread::of(&self.rtt_us) {
            let [p50, p95, p98] = self.quantiles.within(&self.rtt_us, &spread, [0.5, 0.95, 0.98]);
            summary.rtt_mean_ms = Some(spread.mean_ms());
            summary.rtt_p50_ms = Some(ms(p50));
            summary.rtt_p95_ms = Some(ms(p95));
            summary.rtt_p98_ms = Some(ms(p98));
        }
        if let Some(p95) = self.pacer_delay_us.quantile(0.95) {
            let (sum, count) = self.pacer_delay_us.sum();
            summary.pacer_delay_mean_ms = Some(sum as f64 / count as f64 / 1e3);
            summary.pacer_delay_p95_ms = Some(ms(p95));
        }
    }

    fn frames_and_quality(&mut self, summary: &mut Summary, span: TimeDelta) {
        summary.frames_captured = self.frames.len() as u64;
        let (mut qp, mut height, mut last_height) = (Mean::default(), Mean::default(), None);
        let (mut ssim, mut psnr, mut coded) = (Mean::default(), Mean::default(), Mean::default());
        for row in &self.frames {
            if let Some(encoded) = row.encoded {
                summary.frames_encoded += 1;
                summary.keyframes += u64::from(encoded.keyframe);
                qp.add(f64::from(encoded.qp));
                height.add(f64::from(encoded.height));
                encoded.psnr_db.iter().for_each(|psnr_db| coded.add(f64::from(*psnr_db)));
                summary.resolution_switches += u64::from(last_height.is_some_and(|last| last != encoded.height));
                last_height = Some(encoded.height);
            }
            let quality = row.decoded.and_then(|(_, decoded)| decoded.quality_db);
            if let Some((ssim_db, psnr_db)) = quality
                && row.rendered.is_some()
            {
                ssim.add(f64::from(ssim_db));
                psnr.add(f64::from(psnr_db));
            }
            summary.frames_rendered += u64::from(row.rendered.is_some());
        }
        summary.qp_mean = qp.value();
        summary.height_mean = height.value();
        summary.ssim_db_mean = ssim.value();
        summary.psnr_db_mean = psnr.value();
        summary.coded_psnr_db_mean = coded.value();
        summary.rendered_fps = summary.frames_rendered as f64 / span.as_secs_f64();
        summary.frame_drop_ratio = (summary.frames_captured > 0)
            .then(|| 1.0 - summary.frames_rendered as f64 / summary.frames_captured as f64);
        self.frame_delays(summary);
    }

    /// A frame that was not shown has the quality of the picture before it, still on the screen.
    fn viewed_quality(&self, summary: &mut Summary, facts: &CallFacts<'_>) {
        let Some(aged) = facts.aged else { return };
        let mut shown: Option<(u64, (f32, f32))> = None;
        let (mut viewed, mut viewed_psnr) = (Mean::default(), Mean::default());
        let mut add = |(ssim_db, psnr_db): (f32, f32)| {
            viewed.add(f64::from(ssim_db));
            viewed_psnr.add(f64::from(psnr_db));
        };
        for (n, row) in (0..).zip(&self.frames) {
            if row.rendered.is_some() {
                shown = row.decoded.and_then(|(_, decoded)| decoded.quality_db).map(|quality| (n, quality));
                shown.iter().for_each(|(_, quality)| add(*quality));
            } else if let Some((last, quality)) = shown
                && facts.end - row.captured > UNDECIDED_TIME
            {
                add(aged(last, quality, n));
            }
        }
        summary.viewed_ssim_db_mean = viewed.value();
        summary.viewed_psnr_db_mean = viewed_psnr.value();
    }

    /// The same for VMAF [vmaf], which was measured for each captured frame.
    fn judge(&mut self, summary: &mut Summary, end: Timestamp) {
        let mut vmaf = Mean::default();
        for (row, score) in self.frames.iter().zip(&mut self.viewed_vmaf) {
            if row.rendered.is_none() && end - row.captured <= UNDECIDED_TIME {
                *score = None;
            }
            score.iter().for_each(|score| vmaf.add(f64::from(*score)));
        }
        summary.viewed_vmaf_mean = vmaf.value();
    }

    fn frame_delays(&mut self, summary: &mut Summary) {
        let micros = |span: TimeDelta| u32::try_from(span.as_micros()).unwrap_or(u32::MAX);
        let delays =
            |pick: fn(&crate::FrameRow) -> Option<Timestamp>, frames: &[crate::FrameRow], out: &mut Vec<u32>| {
                out.clear();
                out.extend(frames.iter().filter_map(|row| pick(row).map(|at| micros(at - row.captured))));
            };
        delays(
            |row| row.decoded.filter(|(_, decoded)| decoded.decodable).map(|(at, _)| at),
            &self.frames,
            &mut self.scratch,
        );
        if let Some(spread) = Spread::of(&self.scratch) {
            let [p50, p95, p98] = self.quantiles.within(&self.scratch, &spread, [0.5, 0.95, 0.98]);
            summary.frame_delay_mean_ms = Some(spread.mean_ms());
            summary.frame_delay_p50_ms = Some(ms(p50));
            summary.frame_delay_p95_ms = Some(ms(p95));
            summary.frame_delay_p98_ms = Some(ms(p98));
        }
        delays(|row| row.rendered, &self.frames, &mut self.scratch);
        if let Some(spread) = Spread::of(&self.scratch) {
            let [p95, p98] = self.quantiles.within(&self.scratch, &spread, [0.95, 0.98]);
            summary.render_delay_mean_ms = Some(spread.mean_ms());
            summary.render_delay_p95_ms = Some(ms(p95));
            summary.render_delay_p98_ms = Some(ms(p98));
        }
    }

    fn smoothness(&self, summary: &mut Summary, span: TimeDelta) {
        if let Some(gaps) = &self.gaps {
            let (stalls, stalled) = gaps.stalls();
            summary.stalls_per_s = stalls as f64 / span.as_secs_f64();
            summary.stall_ratio = stalled.as_secs_f64() / span.as_secs_f64();
        }
        summary.freezes = self.freezes.len() as u64;
        let frozen: TimeDelta = self.freezes.iter().map(|freeze| freeze.duration).sum();
        summary.freeze_ratio = frozen.as_secs_f64() / span.as_secs_f64();
        let samples = &self.target.samples;
        let total: u64 = samples.iter().sum();
        if samples.len() > 1 && total > 0 {
            let moved: u64 = samples.windows(2).map(|pair| pair[0].abs_diff(pair[1])).sum();
            let mean = total as f64 / samples.len() as f64;
            summary.target_bitrate_change_ratio = Some(moved as f64 / (samples.len() - 1) as f64 / mean);
        }
    }

    fn scores(&self, summary: &mut Summary) {
        let qoe =
            |delay_ms: Option<f64>, ssim_db: Option<f64>, [a, b, c]: [f64; 3]| Some(a * delay_ms? + b * ssim_db? + c);
        let published = (summary.frame_delay_mean_ms, summary.ssim_db_mean);
        [summary.qoe_p, summary.qoe_d] = [QOE_P, QOE_D].map(|fit| qoe(published.0, published.1, fit));
        let viewed = (summary.viewed_delay_mean_ms, summary.viewed_ssim_db_mean);
        [summary.viewed_qoe_p, summary.viewed_qoe_d] = [QOE_P, QOE_D].map(|fit| qoe(viewed.0, viewed.1, fit));
        summary.mmsys21_score = self.mmsys21(summary);
    }

    /// The three network terms of the ACM MMSys 2021 score, 0 … 70: 20 for delay relative to the
    /// first packet's, 20 for the rate up to 500 kbit/s, 30 for the packets not lost. The terms for
    /// video (VMAF) and audio (a constant in the published code) are left out.
    fn mmsys21(&self, summary: &Summary) -> Option<f64> {
        let first = f64::from(*self.one_way_delay_us.iter().find(|&&us| has_arrived(us))?) / 1e3;
        let p95 = summary.one_way_delay_p95_ms? - first;
        let minimum = summary.one_way_delay_p95_ms? - summary.queue_delay_p95_ms? - first;
        let delay = ((MMSYS21_MAX_DELAY_MS - p95) / (MMSYS21_MAX_DELAY_MS - minimum)).clamp(0.0, 1.0);
        let rate = (summary.receiver_rate_bps / MMSYS21_FULL_RATE_BPS).min(1.0);
        Some(20.0 * delay + 20.0 * rate + 30.0 * (1.0 - summary.loss_ratio?))
    }
}

#[derive(Default)]
struct Mean {
    sum: f64,
    count: u64,
}

impl Mean {
    fn add(&mut self, value: f64) {
        self.sum += value;
        self.count += 1;
    }
    fn value(&self) -> Option<f64> {
        (self.count > 0).then(|| self.sum / self.count as f64)
    }
}

pub(crate) fn ms(us: u32) -> f64 {
    f64::from(us) / 1e3
}

impl Spread {
    /// Of microseconds.
    pub(crate) fn mean_ms(&self) -> f64 {
        self.sum as f64 / self.count as f64 / 1e3
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{FrameDecoded, FrameEncoded, LogLevel, PacketArrived, PacketSent, Record, TraceSink};
    use legato_control::{Decision, Fate, PacketKind, PacketReport};
    use legato_units::{Burst, DataRate, DataSize, PeerTimestamp};

    fn at(ms: i64) -> Timestamp {
        Timestamp::from_millis(ms)
    }

    /// One second, three frames of one packet: 10 and 20 ms in flight, the third lost.
    fn recorded() -> Recorder {
        let mut recorder = Recorder::default();
        recorder.begin(LogLevel::Series, at(0));
        let decision = Decision::of_target(DataRate::from_kbps(100));
        recorder.record(at(0), &Record::Decision(&decision));
        for n in 0..3u64 {
            let sent = at(n as i64 * 100);
            recorder.record(sent, &Record::FrameCaptured { frame: n });
            let (size_bytes, packets) = (900, 1);
            let keyframe = n == 0;
            let psnr_db = Some(38.0 + n as f32);
            let encoded =
                FrameEncoded { frame: n, sequence: n, size_bytes, packets, qp: 30.0, height: 360, keyframe, psnr_db };
            recorder.record(sent, &Record::FrameEncoded(encoded));
            let packet = PacketSent {
                transport_seq: n,
                ssrc: 1,
                kind: PacketKind::Video,
                size_bytes: 1_000,
                sequence: Some(n as u32),
                queued: TimeDelta::from_millis(n as i64),
            };
            recorder.record(sent, &Record::PacketsSent(Burst::single(packet)));
            if n == 2 {
                let drop = Record::PacketDropped { transport_seq: 2, departure: sent, reason: "random" };
                recorder.record(sent, &drop);
                continue;
            }
            let arrival = sent + TimeDelta::from_millis(10 + 10 * n as i64);
            let burst = Burst::single(PacketArrived { transport_seq: n, size_bytes: 1_000, departure: sent });
            recorder.record(arrival, &Record::PacketsArrived { burst, arrivals: &[arrival] });
            if n == 1 {
                recorder.record(arrival, &Record::PacketMarked { transport_seq: n });
            }
            let decoded = FrameDecoded { frame: n, lost_packets: 0, decodable: true, quality_db: Some((12.0, 34.0)) };
            recorder.record(arrival, &Record::FrameDecoded(decoded));
            recorder.record(arrival + TimeDelta::from_millis(5), &Record::FrameRendered { frame: n });
        }
        let report = |transport_seq| PacketReport {
            transport_seq,
            ssrc: 1,
            size: DataSize::from_bytes(1_000),
            departure: at(0),
            fate: Fate::Arrived(Some(PeerTimestamp::from_nanos(0))),
            ce: false,
            kind: PacketKind::Video,
            probe_cluster: None,
            place: None,
        };
        recorder.feedback_took(TimeDelta::from_millis(7));
        recorder.record(at(200), &Record::Feedback { reports: &[0, 1].map(report).into_iter().collect() });
        recorder
    }

    #[test]
    fn goodput_is_absent_where_the_size_of_a_shown_frame_is_not_known() {
        let goodput = |shown: bool| {
            let facts = CallFacts { end: at(1_000), link: None, aged: None };
            let mut recorder = recorded();
            recorder.record(at(300), &Record::FrameCaptured { frame: 3 });
            if shown {
                recorder.record(at(320), &Record::FrameRendered { frame: 3 });
            }
            recorder.finish(facts).goodput_bps
        };
        assert_eq!(goodput(false), Some(14_400.0));
        assert_eq!(goodput(true), None);
        let mut nothing = Recorder::default();
        nothing.begin(LogLevel::Series, at(0));
        let facts = CallFacts { end: at(1_000), link: None, aged: None };
        assert_eq!(nothing.finish(facts).goodput_bps, None, "a link without frames");
    }

    #[test]
    fn the_figures_of_a_call_worked_by_hand() {
        let capacity_mean = DataRate::from_kbps(32);
        let link = LinkFacts { capacity_mean, dead: TimeDelta::ZERO, pass: Box::new(|at| at) };
        let facts = CallFacts { end: at(1_000), link: Some(link), aged: None };
        let summary = recorded().finish(facts);
        assert_eq!(summary.sending_rate_bps, 24_000.0);
        assert_eq!(summary.receiver_rate_bps, 16_000.0);
        assert_eq!(summary.goodput_bps, Some(14_400.0));
        assert_eq!((summary.utilisation_ratio, summary.ce_ratio), (Some(0.5), Some(0.5)));
        assert_eq!(summary.target_bitrate_mean_bps, 100_000.0);
        assert_eq!(summary.loss_ratio, Some(1.0 / 3.0));
        assert_eq!((summary.one_way_delay_mean_ms, summary.one_way_delay_p50_ms), (Some(15.0), Some(10.0)));
        assert_eq!(summary.one_way_delay_std_ms, Some(5.0));
        assert_eq!((summary.one_way_delay_p98_ms, summary.queue_delay_p95_ms), (Some(20.0), Some(10.0)));
        assert_eq!((summary.rtt_mean_ms, summary.rtt_p50_ms), (Some(22.0), Some(17.0)));
        assert_eq!(summary.pacer_delay_mean_ms, Some(1.0));
        assert_eq!((summary.frames_captured, summary.frames_rendered), (3, 2));
        assert_eq!(summary.frame_delay_mean_ms, Some(15.0));
        assert_eq!(summary.render_delay_p98_ms, Some(25.0));
        assert_eq!((summary.ssim_db_mean, summary.qp_mean), (Some(12.0), Some(30.0)));
        // Shown at 15 and 125 ms, then nothing until 1,000 ms.
        assert_eq!((summary.freezes, summary.freeze_ratio), (1, 0.875));
        assert_eq!((summary.stalls_per_s, summary.stall_ratio), (1.0, 0.875));
        assert_eq!(summary.qoe_p.map(|score| (score * 1e4).round()), Some(40_368.0));
        // Delay (400 − 10)/400, rate 16/500, loss 1/3.
        assert_eq!(summary.mmsys21_score.map(|score| (score * 1e3).round()), Some(40_140.0));
    }

    #[test]
    fn a_call_in_which_nothing_arrived_has_no_delay_and_no_quality() {
        let mut recorder = Recorder::default();
        recorder.begin(LogLevel::Summary, at(0));
        let summary = recorder.finish(CallFacts { end: at(1_000), ..CallFacts::default() });
        assert_eq!(summary.one_way_delay_mean_ms, None);
        assert_eq!(summary.utilisation_ratio, None);
        assert_eq!(summary.ssim_db_mean, None);
        assert_eq!((summary.freezes, summary.freeze_ratio), (1, 1.0));
    }

    #[test]
    fn a_frozen_picture_is_scored_by_what_it_should_show() {
        // The third frame, at 200 ms, was never shown: the second stays, 3 dB worse with each frame.
        let aged =
            |shown: u64, (ssim_db, psnr_db): (f32, f32), frame: u64| (ssim_db - 3.0 * (frame - shown) as f32, psnr_db);
        let facts = CallFacts { end: at(2_000), link: None, aged: Some(&aged) };
        let summary = recorded().finish(facts);
        assert_eq!(summary.viewed_ssim_db_mean, Some((12.0 + 12.0 + 9.0) / 3.0));
        assert_eq!(summary.ssim_db_mean, Some(12.0));
        // Coded at 38, 39 and 40 dB.
        assert_eq!(summary.coded_psnr_db_mean, Some(39.0));
        assert_eq!(summary.viewed_psnr_db_mean, summary.psnr_db_mean);
    }

    #[test]
    fn frames_that_may_still_come_are_not_scored() {
        let ended = |ms: i64| {
            let mut recorder = recorded();
            recorder.judged(vec![None, Some(90.0), Some(70.0)]);
            let summary = recorder.finish(CallFacts { end: at(ms), ..CallFacts::default() });
            (summary.viewed_vmaf_mean, [0, 1, 2, 3].map(|frame| recorder.viewed_vmaf(frame)))
        };
        // The third, at 200 ms, was never shown.
        assert_eq!(ended(2_000), (Some(80.0), [None, Some(90.0), Some(70.0), None]));
        assert_eq!(ended(1_000), (Some(90.0), [None, Some(90.0), None, None]));
        let mut unscored = recorded();
        assert_eq!(unscored.finish(CallFacts { end: at(1_000), ..CallFacts::default() }).viewed_vmaf_mean, None);
    }

    #[test]
    fn the_series_bins_departures_and_arrivals() {
        let recorder = recorded();
        assert_eq!(recorder.series()[0].sending_rate_bps(), 80_000.0);
        assert_eq!(recorder.series()[1].one_way_delay_ms(), Some(20.0));
        assert_eq!(recorder.series()[2].loss_ratio(), Some(1.0));
        assert_eq!(recorder.series()[2].rtt_ms(), Some(22.0));
        assert_eq!(recorder.series()[0].ssim_db(), Some(12.0));
    }
}
