//! The circuit breakers of RFC 8083 around any controller: a fuse behind the rate control, not a rate control. A sender whose
//! reports show that nothing arrives, whose reports stop, or that sends at ten times TCP's rate for the reported loss harms the
//! network whatever its controller decides: the breakers stop it.
//!
//! Three of the four: RTCP timeout, media timeout, congestion (which first divides the rate by ten). The fourth, media
//! usability, is the application's to define. A tripped breaker stays tripped: the RFC requires a person to start again.
//!
//! Inputs: receiver reports (loss, highest sequence number), any other sign of RTCP, round-trip times, and departures of
//! the video they report on. The RFC's intervals Td and Tdr are parameters: a call here knows how often its receiver
//! reports and does not compute it from group size and bandwidth.

use crate::steering::{Pipeline, Steered};
use crate::{Decision, Event, PacketKind, ProbeCluster, RateController, ReceptionReport};
use legato_units::{DataRate, DataSize, TimeDelta, Timestamp};
use std::ops::DerefMut;

/// The intervals that the breakers count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CircuitBreakerConfig {
    /// Td: the sender's deterministic reporting interval with its minimum of 5 s.
    pub sender_interval: TimeDelta,
    /// Tdr: the receiver's, at most 5 s. More frequent reports are merged.
    pub receiver_interval: TimeDelta,
    /// G: frames that depend on each other and so are sent together.
    pub group_frames: u32,
}

impl Default for CircuitBreakerConfig {
    fn default() -> Self {
        Self {
            // [rfc8083] §4.1: Tmin is 5 s however often reports are sent.
            sender_interval: TimeDelta::from_secs(5),
            receiver_interval: TimeDelta::from_secs(5),
            group_frames: 1,
        }
    }
}

/// Which breaker, and when.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Trip {
    /// Which.
    pub breaker: Breaker,
    /// When it tripped.
    pub at: Timestamp,
}

/// The breakers, numbered as the RFC does; the gauge `circuit_breaker` is that number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Breaker {
    /// No RTCP comes back.
    RtcpTimeout = 1,
    /// Reports come back and say that nothing arrives.
    MediaTimeout = 2,
    /// Ten times the rate of TCP at the same loss, and still congested at a tenth of it.
    Congestion = 3,
}

/// A controller behind the breakers of RFC 8083.
#[derive(Clone)]
pub struct CircuitBreakers<C = Box<dyn RateController>> {
    inner: C,
    config: CircuitBreakerConfig,
    tripped: Option<Trip>,
    /// Counts the breakers' changes to the decision.
    changes: u64,
    /// A packet left at this time and no RTCP has come since.
    unanswered_since: Option<Timestamp>,
    /// Video sent since the last report.
    sent_bytes: u64,
    sent_packets: u64,
    /// Tr, smoothed.
    rtt: Option<TimeDelta>,
    /// Tf: between the last two captures.
    frame_interval: TimeDelta,
    last_capture: Option<Timestamp>,
    interval: ReportInterval,
    /// Reports in a row without progress, with too high a rate, and without.
    stalled_reports: u32,
    congested_reports: u32,
    calm_reports: u32,
    /// A tenth of the rate at which congestion was seen.
    reduced: Option<DataRate>,
}

/// The reports of one Tdr, merged.
#[derive(Clone, Copy, Debug)]
struct ReportInterval {
    begin: Timestamp,
    /// The highest sequence number at its start, and in the newest report.
    begin_seq: Option<u32>,
    highest_seq: Option<u32>,
    /// Packets that were due, and 256 times those that were lost.
    due: u64,
    lost_256: u64,
}

impl ReportInterval {
    fn new(begin: Timestamp, highest_seq: Option<u32>) -> Self {
        Self { begin, begin_seq: highest_seq, highest_seq, due: 0, lost_256: 0 }
    }

    fn push(&mut self, report: &ReceptionReport) {
        let due = self.highest_seq.map_or(0, |before| u64::from(report.highest_seq.saturating_sub(before)));
        self.highest_seq = Some(report.highest_seq);
        self.due += due;
        self.lost_256 += due * u64::from(report.fraction_lost);
    }

    /// Something was reported before, but no progress since.
    fn stalled(&self) -> bool {
        self.begin_seq.is_some() && self.begin_seq == self.highest_seq
    }

    fn loss_ratio(&self) -> f64 {
        if self.due == 0 { 0.0 } else { self.lost_256 as f64 / (256 * self.due) as f64 }
    }
}

/// [rfc8083] §4.2: k.
const MEDIA_TIMEOUT_FACTOR: f64 = 5.0;
/// [rfc8083] §4.3: more than this many times the rate of TCP is too much …
const EXCESS: f64 = 10.0;
/// … and this part of the rate is tried before the end.
const REDUCTION: f64 = 0.1;

impl<C> CircuitBreakers<C> {
    /// Put breakers around `inner`; the call begins at `start`.
    pub fn around(inner: C, config: CircuitBreakerConfig, start: Timestamp) -> Self {
        Self {
            inner,
            config,
            tripped: None,
            changes: 0,
            unanswered_since: None,
            sent_bytes: 0,
            sent_packets: 0,
            rtt: None,
            frame_interval: TimeDelta::ZERO,
            last_capture: None,
            interval: ReportInterval::new(start, None),
            stalled_reports: 0,
            congested_reports: 0,
            calm_reports: 0,
            reduced: None,
        }
    }

    /// The breaker that tripped.
    pub fn tripped(&self) -> Option<Trip> {
        self.tripped
    }

    // [rfc8083] §4.1: three intervals without any RTCP.
    fn rtcp_deadline(&self) -> Option<Timestamp> {
        let since = self.unanswered_since?;
        self.tripped.is_none().then(|| since.saturating_add(self.config.sender_interval * 3))
    }

    // [rfc8083] §4.2: MEDIA_TIMEOUT = ceil(k max(Tf, Tr, Tdr) / Tdr) reports.
    fn media_timeout_reports(&self) -> u32 {
        let tdr_s = self.config.receiver_interval.as_secs_f64();
        let longest_s = tdr_s.max(self.rtt_s()).max(self.frame_interval.as_secs_f64());
        ceil(MEDIA_TIMEOUT_FACTOR * longest_s / tdr_s)
    }

    // [rfc8083] §4.3: CB_INTERVAL = ceil(3 min(max(10 G Tf, 10 Tr, 3 Tdr), max(15, 3 Td)) / (3 Tdr)) reports.
    fn congestion_reports(&self) -> u32 {
        let tdr_s = self.config.receiver_interval.as_secs_f64();
        let td_s = self.config.sender_interval.as_secs_f64();
        let group_s = f64::from(self.config.group_frames) * self.frame_interval.as_secs_f64();
        let span_s = (10.0 * group_s).max(10.0 * self.rtt_s()).max(3.0 * tdr_s);
        ceil(3.0 * span_s.min((3.0 * td_s).max(15.0)) / (3.0 * tdr_s))
    }

    fn rtt_s(&self) -> f64 {
        self.rtt.map_or(0.0, TimeDelta::as_secs_f64)
    }

    #[inline]
    fn count(&mut self, now: Timestamp, kind: PacketKind, size: DataSize, packets: u16) {
        // Reports cover the video stream; other packets have streams of their own.
        if kind == PacketKind::Video {
            self.sent_bytes += size.as_bytes();
            self.sent_packets += u64::from(packets);
        }
        if self.unanswered_since.is_none() {
            self.unanswered_since = Some(now);
        }
    }

    // [rfc8083] §4.3: Tr = 0.8 Tr + 0.2 of the newest.
    fn take_rtt(&mut self, rtt: TimeDelta) {
        self.rtt = Some(self.rtt.map_or(rtt, |old| (old * 4 + rtt) / 5));
    }

    fn take_report(&mut self, now: Timestamp, report: &ReceptionReport) {
        self.interval.push(report);
        // A report that the path delivered early by up to a tenth of the interval is on time.
        if (now - self.interval.begin) * 10 < self.config.receiver_interval * 9 {
            return;
        }
        let interval = std::mem::replace(&mut self.interval, ReportInterval::new(now, Some(report.highest_seq)));
        let (bytes, packets) = (std::mem::take(&mut self.sent_bytes), std::mem::take(&mut self.sent_packets));
        let stalled = packets > 0 && interval.stalled();
        self.stalled_reports = if stalled { self.stalled_reports + 1 } else { 0 };
        if self.stalled_reports >= self.media_timeout_reports() {
            return self.trip(Breaker::MediaTimeout, now);
        }
        let elapsed_s = (now - interval.begin).as_secs_f64();
        if packets == 0 || elapsed_s <= 0.0 {
            return;
        }
        let rate_bps = 8.0 * bytes as f64 / elapsed_s;
        let mean_bytes = bytes as f64 / packets as f64;
        let congested = tcp_rate_bps(mean_bytes, self.rtt_s(), interval.loss_ratio())
            .is_some_and(|tcp_bps| rate_bps > EXCESS * tcp_bps);
        self.judge(now, congested, rate_bps);
    }

    /// Count a report for or against congestion.
    fn judge(&mut self, now: Timestamp, congested: bool, rate_bps: f64) {
        let enough = self.congestion_reports();
        let before = self.reduced;
        self.congested_reports = if congested { self.congested_reports + 1 } else { 0 };
        self.calm_reports = if congested { 0 } else { self.calm_reports + 1 };
        if self.congested_reports >= enough {
            self.congested_reports = 0;
            match self.reduced {
                None => self.reduced = Some(DataRate::from_bps_f64(REDUCTION * rate_bps)),
                Some(_) => self.trip(Breaker::Congestion, now),
            }
        } else if self.calm_reports >= enough {
            // The RFC does not say when a reduction ends: here, after as many reports without congestion.
            self.reduced = None;
        }
        self.changes += u64::from(self.reduced != before);
    }

    fn trip(&mut self, breaker: Breaker, at: Timestamp) {
        self.tripped = Some(Trip { breaker, at });
        self.changes += 1;
    }
}

/// X, in bit/s; `None` if nothing is lost or no round-trip time is known.
// [rfc8083] §4.3: X = s / (Tr sqrt(2 b p / 3)), b = 1.
fn tcp_rate_bps(mean_bytes: f64, rtt_s: f64, loss_ratio: f64) -> Option<f64> {
    let per_packet_s = rtt_s * (2.0 * loss_ratio / 3.0).sqrt();
    (per_packet_s > 0.0).then(|| 8.0 * mean_bytes / per_packet_s)
}

fn ceil(reports: f64) -> u32 {
    // Minus a rounding error: 5 x 1 s / 1 s are five reports.
    libm::ceil(reports - 1e-9) as u32
}

impl<C> RateController for CircuitBreakers<C>
where
    C: DerefMut<Target: RateController> + Clone + Send,
{
    fn on_event(&mut self, now: Timestamp, event: &Event) {
        match event {
            Event::PacketsSent(burst) => {
                self.count(now, burst.first.kind, DataSize::from_bytes(burst.bytes()), burst.packets);
            }
            Event::Deadline => {
                if self.rtcp_deadline().is_some_and(|due| due <= now) {
                    self.trip(Breaker::RtcpTimeout, now);
                }
                // The deadline may be the breakers' alone.
                if self.inner.next_deadline().is_none_or(|due| due > now) {
                    return;
                }
            }
            Event::TransportFeedback(_) | Event::RemoteEstimate(_) => self.unanswered_since = None,
            Event::RoundTripTime(rtt) => self.take_rtt(*rtt),
            Event::ReceiverReport(report) => {
                self.unanswered_since = None;
                if self.tripped.is_none() {
                    self.take_report(now, report);
                }
            }
            Event::FrameCaptured(_) => {
                if let Some(last) = self.last_capture.replace(now) {
                    self.frame_interval = now - last;
                }
            }
            Event::RouteChange => self.rtt = None,
            _ => {}
        }
        self.inner.on_event(now, event);
    }

    fn decision(&self) -> Decision {
        let decision = self.inner.decision();
        if self.tripped.is_some() {
            return Decision { cease: true, ..Decision::of_target(DataRate::ZERO) };
        }
        let Some(max) = self.reduced else { return decision };
        Decision {
            target_bitrate: decision.target_bitrate.min(max),
            pacing_rate: decision.pacing_rate.min(max.scale(2.5)),
            padding_rate: DataRate::ZERO,
            fec_rate: decision.fec_rate.min(max),
            ..decision
        }
    }

    fn next_deadline(&self) -> Option<Timestamp> {
        match (self.inner.next_deadline(), self.rtcp_deadline()) {
            (Some(inner), Some(own)) => Some(inner.min(own)),
            (inner, own) => inner.or(own),
        }
    }

    fn poll_probe(&mut self) -> Option<ProbeCluster> {
        // A probe that is not sent is polled all the same, or the controller would hold back the next.
        let probe = self.inner.poll_probe();
        probe.filter(|_| self.tripped.is_none() && self.reduced.is_none())
    }

    fn observe(&self, gauge: &mut dyn FnMut(&'static str, f64)) {
        self.inner.observe(gauge);
        if let Some(Trip { breaker, at }) = self.tripped {
            gauge("circuit_breaker", breaker as i32 as f64);
            gauge("circuit_breaker_s", at.as_secs_f64());
        } else if let Some(max) = self.reduced {
            gauge("circuit_breaker_reduced_bps", max.as_bps_f64());
        }
    }
}

impl<C> Steered for CircuitBreakers<C>
where
    C: DerefMut<Target: Steered> + Clone + Send,
{
    fn pipeline(&mut self) -> &mut dyn Pipeline {
        self.inner.pipeline()
    }

    fn takeovers(&self) -> u32 {
        self.inner.takeovers()
    }

    fn revision(&self) -> Option<u64> {
        // Both only grow, so their sum changes if either does.
        Some(self.inner.revision()? + self.changes)
    }
}

#[cfg(test)]
#[path = "circuit_breaker_tests.rs"]
mod tests;
