//! The circuit breakers of RFC 8083 around any controller: a fuse behind the rate control, not a rate control. A sender whose
//! reports show that nothing arrives, whose reports stop, or that sends at ten times TCP's rate for the reported loss harms the
//! network whatever its controller decides.
//!
//! All four: RTCP timeout (here), and media timeout, congestion and media usability of each stream (`stream.rs`). The
//! consequence is the [`Response`]: to stop for good, to stop and call again, or only to report the breaker that would
//! have tripped. Congestion is first answered by a tenth of the rate, which then rises gradually.
//!
//! Inputs: receiver reports (loss, highest sequence number), any other sign of RTCP, round-trip times, frames coded and
//! packets sent. Td is a parameter; Tdr is measured, as the interval of the reports that come.

use legato_control::steering::{Pipeline, Steered};
use legato_control::{
    Decision, Event, FeedbackRule, Pacing, PacketKind, ProbeCluster, RateController, ReceptionReport, SendingWishes,
};
use legato_units::{DataRate, TimeDelta, Timestamp};
use std::ops::DerefMut;
use stream::{Known, Stream, Verdict};

mod frames;
mod stream;

/// What a sender does about a breaker.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Response {
    /// Stops for good: a person would have to call again.
    #[default]
    Cease,
    /// Goes on, as browsers do, and reports which breaker would have tripped first, and when.
    Report,
    /// Stops for as long as the breaker took to trip, and begins again as a new call does.
    Restart,
}

/// The intervals that the breakers count, and the definition of unusable media.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CircuitBreakerConfig {
    /// What a breaker leads to.
    pub response: Response,
    /// Td: the sender's deterministic reporting interval with its minimum of 5 s.
    pub sender_interval: TimeDelta,
    /// Tdr: the receiver's, until its reports show it.
    pub receiver_interval: TimeDelta,
    /// G: frames that the encoder takes to follow a new rate.
    pub group_frames: u32,
    /// When media are of no use.
    pub usability: UsabilityLimits,
}

/// When media are of no use.
// [rfc8083] §4.4 leaves the limits to the application, and the time to "seconds, or tens of seconds".
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct UsabilityLimits {
    /// With more loss than this, 0 to 1.
    pub max_loss_ratio: f64,
    /// Or with a longer round trip.
    pub max_round_trip: TimeDelta,
    /// For this long on end.
    pub patience: TimeDelta,
}

impl Default for CircuitBreakerConfig {
    fn default() -> Self {
        Self {
            response: Response::default(),
            // [rfc8083] §4.1: Tmin is 5 s however often reports are sent.
            sender_interval: TimeDelta::from_secs(5),
            receiver_interval: TimeDelta::from_secs(1),
            group_frames: 1,
            usability: UsabilityLimits {
                max_loss_ratio: 0.5,
                max_round_trip: TimeDelta::from_secs(2),
                patience: TimeDelta::from_secs(30),
            },
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
    /// Its observation and for how long.
    pub took: TimeDelta,
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
    /// The arriving media are useless.
    MediaUsability = 4,
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
    /// Tr, smoothed.
    rtt: Option<TimeDelta>,
    video: Stream,
    audio: Stream,
    reduction: Option<Reduction>,
}

/// The answer to congestion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Reduction {
    /// A tenth of the rate at which congestion was seen.
    tenth: DataRate,
    /// The congestion was gone then.
    resolved: Option<Timestamp>,
    /// The rate may be this now.
    max: DataRate,
}

/// [rfc8083] §4.3: this part of the rate is tried before the end.
const REDUCTION: f64 = 0.1;
/// [rfc8083] §4.3: the rate may rise "gradually", undefined; here by the factor that it fell, over a minute.
const RETURN_S: f64 = 60.0;

impl<C> CircuitBreakers<C> {
    /// Put breakers around `inner`.
    pub fn around(inner: C, config: CircuitBreakerConfig) -> Self {
        Self {
            inner,
            tripped: None,
            changes: 0,
            unanswered_since: None,
            rtt: None,
            video: Stream::new(&config),
            audio: Stream::new(&config),
            reduction: None,
            config,
        }
    }

    /// The breaker that tripped: the last one, or the first where nothing is done about it.
    pub fn tripped(&self) -> Option<Trip> {
        self.tripped
    }

    fn rtcp_timeout(&self) -> TimeDelta {
        self.config.sender_interval * 3
    }

    // [rfc8083] §4.1: three intervals without any RTCP.
    fn rtcp_deadline(&self) -> Option<Timestamp> {
        let since = self.unanswered_since?;
        self.tripped.is_none().then(|| since.saturating_add(self.rtcp_timeout()))
    }

    // [rfc8083] §4.5: the reaction lasts for at least the triggering interval.
    fn restart_deadline(&self) -> Option<Timestamp> {
        let trip = self.tripped.filter(|_| self.config.response == Response::Restart)?;
        Some(trip.at.saturating_add(trip.took))
    }

    #[inline]
    fn count(&mut self, now: Timestamp, kind: PacketKind, ssrc: u32, bytes: u64, packets: u16) {
        // Repair and padding have separate streams, about which there are no reports.
        match kind {
            PacketKind::Video => self.video.send(ssrc, bytes, u64::from(packets)),
            PacketKind::Audio => {
                self.audio.code(now);
                self.audio.send(ssrc, bytes, u64::from(packets));
            }
            _ => {}
        }
        if self.unanswered_since.is_none() {
            self.unanswered_since = Some(now);
        }
    }

    // [rfc8083] §3: Tr = 0.8 Tr + 0.2 of the newest.
    fn take_rtt(&mut self, rtt: TimeDelta) {
        self.rtt = Some(self.rtt.map_or(rtt, |old| (old * 4 + rtt) / 5));
    }

    /// [rfc8083] §8: each stream is judged by itself. Deviates from [rfc8083] §8's default: they share one transport
    /// flow, so what one trips holds for all.
    fn take_report(&mut self, now: Timestamp, report: &ReceptionReport) {
        let known = Known { config: &self.config, rtt: self.rtt };
        let stream = match (self.audio.is(report.ssrc), self.video.is(report.ssrc)) {
            (true, _) => &mut self.audio,
            (_, true) => &mut self.video,
            _ => return,
        };
        match stream.on_report(now, report, known) {
            Verdict::Open => {}
            Verdict::Calm => {
                if let Some(reduction) = &mut self.reduction {
                    reduction.resolved.get_or_insert(now);
                }
            }
            Verdict::Trips(Breaker::Congestion, _) if self.reduces() => self.reduce(),
            Verdict::Trips(breaker, took) => self.trip(Trip { breaker, at: now, took }),
        }
    }

    /// Congestion is answered by a tenth of the rate unless that is so already.
    fn reduces(&self) -> bool {
        self.reduction.is_none() && self.config.response != Response::Report
    }

    fn reduce(&mut self) {
        let tenth = (self.video.sending_rate() + self.audio.sending_rate()).scale(REDUCTION);
        self.video.forget_intervals();
        self.audio.forget_intervals();
        self.reduction = Some(Reduction { tenth, resolved: None, max: tenth });
        self.changes += 1;
    }

    fn trip(&mut self, trip: Trip) {
        self.tripped = Some(trip);
        self.changes += 1;
    }
}

impl<C> CircuitBreakers<C>
where
    C: DerefMut<Target: RateController>,
{
    /// Let the rate rise after congestion, until the controller wants no more.
    fn raise(&mut self, now: Timestamp) {
        let Some(reduction) = &mut self.reduction else { return };
        let Some(resolved) = reduction.resolved else { return };
        let decades = (now - resolved).as_secs_f64() / RETURN_S;
        reduction.max = reduction.tenth.scale(libm::pow(1.0 / REDUCTION, decades));
        if reduction.max >= self.inner.decision().target_bitrate {
            self.reduction = None;
        }
        self.changes += 1;
    }

    /// The stop was long enough: begin again, as a new call would.
    fn restart(&mut self, now: Timestamp) {
        self.tripped = None;
        self.unanswered_since = None;
        self.rtt = None;
        self.reduction = None;
        self.video = self.video.restarted(&self.config);
        self.audio = self.audio.restarted(&self.config);
        self.changes += 1;
        self.inner.on_event(now, &Event::RouteChange);
    }
}

impl<C> RateController for CircuitBreakers<C>
where
    C: DerefMut<Target: RateController> + Clone + Send,
{
    fn on_event(&mut self, now: Timestamp, event: &Event) {
        match event {
            Event::PacketsSent(burst) => {
                self.count(now, burst.first.kind, burst.first.ssrc, burst.bytes(), burst.packets);
            }
            Event::Deadline => {
                if self.rtcp_deadline().is_some_and(|due| due <= now) {
                    self.trip(Trip { breaker: Breaker::RtcpTimeout, at: now, took: self.rtcp_timeout() });
                } else if self.restart_deadline().is_some_and(|due| due <= now) {
                    self.restart(now);
                }
                // The deadline may be the breakers' alone.
                if self.inner.next_deadline().is_none_or(|due| due > now) {
                    return;
                }
            }
            // [rfc8083] §5: RTCP of any content is a sign of life.
            Event::RtcpArrived => {
                self.unanswered_since = None;
                return;
            }
            Event::TransportFeedback(_) | Event::RemoteEstimate(_) => self.unanswered_since = None,
            Event::RoundTripTime(rtt) => self.take_rtt(*rtt),
            Event::ReceiverReport(report) => {
                self.unanswered_since = None;
                if self.tripped.is_none() {
                    self.take_report(now, report);
                    self.raise(now);
                }
            }
            Event::FrameEncoded(_) => self.video.code(now),
            Event::RouteChange => self.rtt = None,
            _ => {}
        }
        self.inner.on_event(now, event);
    }

    fn decision(&self) -> Decision {
        let decision = self.inner.decision();
        if self.config.response == Response::Report {
            return decision;
        }
        if self.tripped.is_some() {
            return Decision {
                sending: SendingWishes { cease: true, ..SendingWishes::default() },
                ..Decision::of_target(DataRate::ZERO)
            };
        }
        let Some(Reduction { max, .. }) = self.reduction else { return decision };
        Decision {
            target_bitrate: decision.target_bitrate.min(max),
            pacing: Pacing {
                rate: decision.pacing.rate.min(max.scale(2.5)),
                padding_rate: DataRate::ZERO,
                ..decision.pacing
            },
            sending: SendingWishes { fec_rate: decision.sending.fec_rate.min(max), ..decision.sending },
            ..decision
        }
    }

    fn next_deadline(&self) -> Option<Timestamp> {
        match (self.inner.next_deadline(), self.rtcp_deadline().or(self.restart_deadline())) {
            (Some(inner), Some(own)) => Some(inner.min(own)),
            (inner, own) => inner.or(own),
        }
    }

    fn poll_probe(&mut self) -> Option<ProbeCluster> {
        // A probe that is not sent is polled all the same, or the controller would hold back the next.
        let probe = self.inner.poll_probe();
        let free = self.tripped.is_none() && self.reduction.is_none();
        probe.filter(|_| free || self.config.response == Response::Report)
    }

    fn feedback_rule(&self) -> FeedbackRule {
        self.inner.feedback_rule()
    }

    fn observe(&mut self, gauge: &mut dyn FnMut(&'static str, f64)) {
        self.inner.observe(gauge);
        if let Some(Trip { breaker, at, .. }) = self.tripped {
            gauge("circuit_breaker", breaker as i32 as f64);
            gauge("circuit_breaker_s", at.as_secs_f64());
        } else if let Some(Reduction { max, .. }) = self.reduction {
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
