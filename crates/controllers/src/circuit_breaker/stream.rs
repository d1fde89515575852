//! The breakers of one stream (SSRC), judged at each of its report blocks: media timeout, congestion, media usability.

use super::frames::Frames;
use super::{Breaker, CircuitBreakerConfig};
use legato_control::ReceptionReport;
use legato_units::{DataRate, DataSize, TimeDelta, Timestamp};
use std::collections::VecDeque;

/// [rfc8083] §4.2: k.
const MEDIA_TIMEOUT_FACTOR: f64 = 5.0;
/// [rfc8083] §4.3: more than this many times the rate of TCP is too much.
const EXCESS: f64 = 10.0;
/// [rfc8083] §4.3: an interval above 5 s would make the breaker blind, so the estimate ends there. Below, so that it
/// divides.
const MAX_RECEIVER_INTERVAL: TimeDelta = TimeDelta::from_secs(5);
const MIN_RECEIVER_INTERVAL: TimeDelta = TimeDelta::from_millis(10);
/// Reporting intervals that are remembered: more than 15 s of the shortest that occur.
const MAX_INTERVALS: usize = 256;

/// The sender's knowledge in addition to the report.
#[derive(Clone, Copy, Debug)]
pub(super) struct Known<'a> {
    pub config: &'a CircuitBreakerConfig,
    /// Tr, smoothed.
    pub rtt: Option<TimeDelta>,
}

/// The verdict on a report.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Verdict {
    /// Too few reports yet.
    Open,
    /// CB_INTERVAL intervals without congestion.
    Calm,
    /// A breaker trips, after such observations for this long.
    Trips(Breaker, TimeDelta),
}

/// The time between two report blocks.
#[derive(Clone, Copy, Debug)]
pub(super) struct Interval {
    /// d, in seconds.
    pub duration_s: f64,
    /// f, 0 to 1.
    pub loss_ratio: f64,
    /// Sent in it.
    pub bytes: u64,
}

/// One stream.
#[derive(Clone, Debug)]
pub(super) struct Stream {
    /// Known from its first packet on.
    ssrc: Option<u32>,
    frames: Frames,
    /// Sent since the last block.
    sent_bytes: u64,
    sent_packets: u64,
    last_block: Option<Timestamp>,
    /// Tdr: the mean time between blocks.
    receiver_interval: TimeDelta,
    highest_seq: Option<u32>,
    /// Reports in a row without progress, since when, and how many are too many.
    stalled_reports: u32,
    stalled_since: Timestamp,
    media_timeout: u32,
    /// The newest last.
    intervals: VecDeque<Interval>,
    cb_interval: u32,
    unusable_since: Option<Timestamp>,
}

impl Stream {
    pub fn new(config: &CircuitBreakerConfig) -> Self {
        let mut stream = Self {
            ssrc: None,
            frames: Frames::new(config.group_frames),
            sent_bytes: 0,
            sent_packets: 0,
            last_block: None,
            receiver_interval: config.receiver_interval,
            highest_seq: None,
            stalled_reports: 0,
            stalled_since: Timestamp::ZERO,
            media_timeout: 0,
            intervals: VecDeque::new(),
            cb_interval: 0,
            unusable_since: None,
        };
        let known = Known { config, rtt: None };
        stream.media_timeout = stream.media_timeout_reports(Timestamp::ZERO, known);
        stream.cb_interval = stream.congestion_reports(Timestamp::ZERO, known);
        stream
    }

    /// The same stream when sending begins again: earlier observations say nothing of it.
    pub fn restarted(&self, config: &CircuitBreakerConfig) -> Self {
        Self { ssrc: self.ssrc, receiver_interval: self.receiver_interval, ..Self::new(config) }
    }

    pub fn is(&self, ssrc: u32) -> bool {
        self.ssrc == Some(ssrc)
    }

    /// A frame was coded.
    pub fn code(&mut self, now: Timestamp) {
        self.frames.push(now);
    }

    /// Packets left.
    #[inline]
    pub fn send(&mut self, ssrc: u32, bytes: u64, packets: u64) {
        self.ssrc = Some(ssrc);
        self.sent_bytes += bytes;
        self.sent_packets += packets;
        self.frames.send(bytes, packets);
    }

    /// Congestion was answered: later reports are judged by themselves.
    pub fn forget_intervals(&mut self) {
        self.intervals.clear();
    }

    /// The sending rate over the intervals that congestion is judged by.
    pub fn sending_rate(&self) -> DataRate {
        DataRate::from_bps_f64(sending_bps(self.judged()).unwrap_or(0.0))
    }

    /// Judge a report block on it.
    pub fn on_report(&mut self, now: Timestamp, report: &ReceptionReport, known: Known<'_>) -> Verdict {
        let before = self.highest_seq.replace(report.highest_seq);
        let (bytes, packets) = (std::mem::take(&mut self.sent_bytes), std::mem::take(&mut self.sent_packets));
        // [rfc8083] §4.3: d is the time since the last block, so the first one only begins.
        let Some(last) = self.last_block.replace(now) else { return Verdict::Open };
        let duration = now - last;
        self.receiver_interval =
            ((self.receiver_interval * 4 + duration) / 5).clamp(MIN_RECEIVER_INTERVAL, MAX_RECEIVER_INTERVAL);
        if packets == 0 {
            self.frames.pause();
        }
        let stalled = packets > 0 && before == self.highest_seq;
        if let Some(took) = self.media_timed_out(now, last, stalled, known) {
            return Verdict::Trips(Breaker::MediaTimeout, took);
        }
        let loss_ratio = f64::from(report.fraction_lost) / 256.0;
        // [rfc8083] §4.3: only a sender of at least one packet every max(Tdr, Tr) is judged.
        let sparse = self.receiver_interval.max(known.rtt.unwrap_or(TimeDelta::ZERO)) * (packets as i64) < duration;
        let mut verdict = Verdict::Open;
        if sparse {
            self.intervals.clear();
        } else {
            if self.intervals.len() == MAX_INTERVALS {
                self.intervals.pop_front();
            }
            self.intervals.push_back(Interval { duration_s: duration.as_secs_f64(), loss_ratio, bytes });
            verdict = self.congested(known);
        }
        // [rfc8083] §4.3: CB_INTERVAL is computed anew after the check.
        self.cb_interval = self.congestion_reports(now, known);
        match self.unusable_for(now, last, loss_ratio, packets, known) {
            Some(took) if !matches!(verdict, Verdict::Trips(..)) => Verdict::Trips(Breaker::MediaUsability, took),
            _ => verdict,
        }
    }

    /// [rfc8083] §4.2: progress sets a new MEDIA_TIMEOUT, a report without it only a larger one.
    fn media_timed_out(
        &mut self,
        now: Timestamp,
        last: Timestamp,
        stalled: bool,
        known: Known<'_>,
    ) -> Option<TimeDelta> {
        let computed = self.media_timeout_reports(now, known);
        if !stalled {
            (self.stalled_reports, self.media_timeout) = (0, computed);
            return None;
        }
        if self.stalled_reports == 0 {
            self.stalled_since = last;
        }
        self.stalled_reports += 1;
        self.media_timeout = self.media_timeout.max(computed);
        (self.stalled_reports >= self.media_timeout).then(|| now - self.stalled_since)
    }

    fn judged(&self) -> impl Iterator<Item = &Interval> + Clone {
        self.intervals.iter().skip(self.intervals.len().saturating_sub(self.cb_interval as usize))
    }

    fn congested(&self, known: Known<'_>) -> Verdict {
        if self.intervals.len() < self.cb_interval as usize {
            return Verdict::Open;
        }
        let rtt_s = known.rtt.map_or(0.0, TimeDelta::as_secs_f64);
        let tcp_bps = mean_loss_ratio(self.judged())
            .and_then(|loss_ratio| tcp_rate_bps(self.frames.mean_packet_bytes(), rtt_s, loss_ratio));
        match (tcp_bps, sending_bps(self.judged())) {
            (Some(tcp_bps), Some(rate_bps)) if rate_bps > EXCESS * tcp_bps => {
                let took_s = self.judged().map(|interval| interval.duration_s).sum();
                Verdict::Trips(Breaker::Congestion, TimeDelta::from_secs_f64(took_s))
            }
            _ => Verdict::Calm,
        }
    }

    /// [rfc8083] §4.4: loss or delay beyond the application's limits, without a report in between that is within them.
    fn unusable_for(
        &mut self,
        now: Timestamp,
        last: Timestamp,
        loss_ratio: f64,
        packets: u64,
        known: Known<'_>,
    ) -> Option<TimeDelta> {
        let limits = known.config.usability;
        let slow = known.rtt.is_some_and(|rtt| rtt > limits.max_round_trip);
        if packets == 0 || !(slow || loss_ratio > limits.max_loss_ratio) {
            self.unusable_since = None;
            return None;
        }
        let since = *self.unusable_since.get_or_insert(last);
        (now - since >= limits.patience).then(|| now - since)
    }

    // [rfc8083] §4.2: MEDIA_TIMEOUT = ceil(k max(Tf, Tr, Tdr) / Tdr) reports.
    pub fn media_timeout_reports(&mut self, now: Timestamp, known: Known<'_>) -> u32 {
        let tdr_s = self.receiver_interval.as_secs_f64();
        let tr_s = known.rtt.map_or(0.0, TimeDelta::as_secs_f64);
        let tf_s = self.frames.longest_interval(now).as_secs_f64();
        ceil(MEDIA_TIMEOUT_FACTOR * tdr_s.max(tr_s).max(tf_s) / tdr_s)
    }

    // [rfc8083] §4.3: CB_INTERVAL = ceil(3 min(max(10 G Tf, 10 Tr, 3 Tdr), max(15, 3 Td)) / (3 Tdr)) reports.
    pub fn congestion_reports(&mut self, now: Timestamp, known: Known<'_>) -> u32 {
        let tdr_s = self.receiver_interval.as_secs_f64();
        let td_s = known.config.sender_interval.as_secs_f64();
        let tr_s = known.rtt.map_or(0.0, TimeDelta::as_secs_f64);
        let group_s = f64::from(known.config.group_frames) * self.frames.longest_interval(now).as_secs_f64();
        let span_s = (10.0 * group_s).max(10.0 * tr_s).max(3.0 * tdr_s);
        ceil(3.0 * span_s.min((3.0 * td_s).max(15.0)) / (3.0 * tdr_s))
    }

    #[cfg(test)]
    pub fn counted(&self) -> (u64, u64) {
        (self.sent_bytes, self.sent_packets)
    }
}

/// p: the fractions lost, weighted by the time that each is of.
// [rfc8083] §4.3: p = Σ f_i d_i / Σ d_i.
pub(super) fn mean_loss_ratio<'a>(intervals: impl Iterator<Item = &'a Interval>) -> Option<f64> {
    let (lost_s, total_s) = intervals.fold((0.0, 0.0), |(lost_s, total_s), interval| {
        (lost_s + interval.loss_ratio * interval.duration_s, total_s + interval.duration_s)
    });
    (total_s > 0.0).then(|| lost_s / total_s)
}

fn sending_bps<'a>(intervals: impl Iterator<Item = &'a Interval>) -> Option<f64> {
    let (bytes, total_s) =
        intervals.fold((0, 0.0), |(bytes, total_s), interval| (bytes + interval.bytes, total_s + interval.duration_s));
    (total_s > 0.0).then(|| DataSize::from_bytes(bytes).as_bytes() as f64 * 8.0 / total_s)
}

/// X, in bit/s; `None` without losses or without a round-trip time.
// [rfc8083] §4.3: X = s / (Tr sqrt(2 b p / 3)), b = 1.
pub(super) fn tcp_rate_bps(mean_bytes: f64, rtt_s: f64, loss_ratio: f64) -> Option<f64> {
    let per_packet_s = rtt_s * (2.0 * loss_ratio / 3.0).sqrt();
    (per_packet_s > 0.0).then(|| 8.0 * mean_bytes / per_packet_s)
}

fn ceil(reports: f64) -> u32 {
    // Minus a rounding error: 5 x 1 s / 1 s are five reports.
    libm::ceil(reports - 1e-9) as u32
}
