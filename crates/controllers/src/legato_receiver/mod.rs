//! `legato-receiver`: what `legato` believes of a link, made at the receiver and sent back as REMB, for senders that
//! are not ours.
//!
//! * The capacity is `legato`'s, by its own parts: bytes over the time that the link worked on them, over the last
//!   moments and over the last two seconds, of which the lower holds (`legato/capacity.rs`). A receiver sees both
//!   times of each packet where departures are in the header extension for absolute send times.
//! * A packet that waited for longer than a frame interval is followed by one that will wait for the rest, so the
//!   estimate falls. It also falls while nothing arrives at all: a REMB goes back at once, before the sender has filled
//!   the queue of a link that is dead.
//! * Sharing (`legato/share.rs`) and losses (`legato/loss_trial.rs`) limit it as they limit `legato`, the latter by the
//!   gaps in packet numbers.
//!
//! Not here, since only a sender can: a budget for each frame, pictures left out, pacing, parity. Below the estimate a
//! sender has its own rate control where transport-wide feedback is negotiated (docs/measured/receiver.md).

mod bursts;
mod gaps;

use self::bursts::Bursts;
use self::gaps::Gaps;
use super::legato::capacity::{Capacity, SmallFrames, draining_ratio};
use super::legato::delivered::Delivered;
use super::legato::limit::TRICKLE;
use super::legato::loss_trial::LossTrial;
use super::legato::share::Share;
use legato_control::estimate::arrivals::Arrivals;
use legato_control::{
    BuildError, Construct, Context, Decision, Event, RateController, RateLimits, ReceivedPacket, Side,
};
use legato_units::{ByteRate, DataSize, PeerTimestamp, PerSecond, Seconds, TimeDelta, Timestamp};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Parameters of [`LegatoReceiver`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// The share of the measured capacity that is allowed.
    #[schemars(range(min = 0.1, max = 1.5))]
    pub utilisation_ratio: f64,
    /// The shorter memory of the capacity: falls are followed by it.
    #[schemars(range(min = 10, max = 10_000))]
    pub fast_memory_ms: f64,
    /// The longer memory of the capacity: rises are believed by it.
    #[schemars(range(min = 10, max = 60_000))]
    pub slow_memory_ms: f64,
    /// The estimate would be zero where the next frame waits as long as this, and falls in proportion below.
    #[schemars(range(min = 10, max = 10_000))]
    pub drain_ms: f64,
    /// The minimum share of the estimate that remains, however much waits: an encoder stops for a second if its target
    /// is a small part of the rate that its key frame just took.
    #[schemars(range(min = 0.2, max = 1))]
    pub min_drained_ratio: f64,
    /// In company the estimate is at most so many times the measured capacity: a radio link that varies
    /// looks like company, and here no frame budget holds what the share allows.
    #[schemars(range(min = 0.5, max = 100))]
    pub company_ahead_ratio: f64,
    /// A packet is overdue when none came for this ratio of a frame interval. A sender may leave out pictures.
    #[schemars(range(min = 1, max = 100))]
    pub overdue_ratio: f64,
    /// Growth of the capacity per second while bursts are too small to measure.
    #[schemars(range(min = 0, max = 100))]
    pub unmeasured_growth_ratio: f64,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            utilisation_ratio: 0.9,
            fast_memory_ms: 150.0,
            slow_memory_ms: 2_000.0,
            drain_ms: 300.0,
            min_drained_ratio: 0.5,
            company_ahead_ratio: 1.5,
            overdue_ratio: 2.5,
            unmeasured_growth_ratio: 1.5,
        }
    }
}

/// Measures by each frame that arrives, and says what the next ones may be.
#[derive(Clone, Debug)]
pub struct LegatoReceiver {
    config: Config,
    limits: RateLimits,
    path: PathState,
}

/// The whole model of the path: void when the route changes.
#[derive(Clone, Debug)]
struct PathState {
    arrivals: Arrivals,
    bursts: Bursts,
    gaps: Gaps,
    capacity: Capacity,
    delivered: Delivered,
    trial: LossTrial,
    share: Share,
    /// How long the newest packet waited for others and itself.
    queuing: TimeDelta,
    /// When the newest packet came.
    last_packet: Option<Timestamp>,
    first_packet: Option<Timestamp>,
    round_trip: Seconds,
    /// Since the last look.
    came: DataSize,
    last_look: Option<Timestamp>,
    /// When the target was last made.
    last_decision: Option<Timestamp>,
    target: ByteRate,
}

impl Construct for LegatoReceiver {
    const NAME: &'static str = "legato-receiver";
    const SIDE: Side = Side::Receiver;
    const SUMMARY: &'static str = "`legato`'s belief at the receiver, sent back as REMB to senders that are not ours";
    const CITES: &'static [&'static str] = &["chiu1989", "kumar2020", "draft-alvestrand-rmcat-remb", "rfc3550"];
    // libwebrtc's rule by loss stays at the sender, as `gcc-receiver` has it.
    const AT_SENDER: &'static str = "loss_rule = true\ntimeout_ms = 3000.0\nincrease_ratio = 1.08\nincrease_bps = 1000";
    type Config = Config;

    fn new(config: Config, context: Context<'_>) -> Result<Self, BuildError> {
        let path = PathState::new(&config, context.limits);
        Ok(Self { config, limits: context.limits, path })
    }
}

impl PathState {
    fn new(config: &Config, limits: RateLimits) -> Self {
        let [fast, slow] = [config.fast_memory_ms, config.slow_memory_ms].map(Seconds::from_millis);
        let start = limits.start.into();
        Self {
            arrivals: Arrivals::default(),
            bursts: Bursts::default(),
            gaps: Gaps::default(),
            capacity: Capacity::new(fast, slow, limits),
            delivered: Delivered::new(start),
            trial: LossTrial::default(),
            share: Share::default(),
            queuing: TimeDelta::ZERO,
            last_packet: None,
            first_packet: None,
            round_trip: FIRST_ROUND_TRIP,
            came: DataSize::ZERO,
            last_look: None,
            last_decision: None,
            target: start,
        }
    }

    /// Read a packet. Departures are by the sender's clock and arrivals by ours; the parts of `legato` were written for
    /// a sender, where it is the other way round, and subtract only like from like.
    fn read(&mut self, now: Timestamp, packet: &ReceivedPacket) {
        self.gaps.on_packet(packet.transport_seq);
        self.came += packet.size;
        self.last_packet = Some(now);
        self.first_packet.get_or_insert(now);
        let Some(departure) = packet.departure.map(|at| Timestamp::from_nanos(at.as_nanos())) else { return };
        let Some(begins) = self.bursts.begins(departure) else { return };
        let Some(arrival) = self.arrivals.read(departure, PeerTimestamp::from_nanos(now.as_nanos())) else {
            return;
        };
        self.share.read(&arrival);
        if begins && arrival.found_idle {
            self.share.count_wait(arrival.queuing, self.capacity.passing());
        }
        self.capacity.read(&arrival, packet.size);
        self.queuing = arrival.queuing;
    }

    /// How long the next frame will wait: the rest of the newest packet's wait when it leaves, one frame interval
    /// later. Where packets stay away, for as long as the newest is overdue.
    fn wait(&self, now: Timestamp, overdue_ratio: f64) -> Seconds {
        let (queuing, interval) = (Seconds::from(self.queuing), self.bursts.interval());
        let silent = self.last_packet.map_or(Seconds::ZERO, |last| (now - last).into());
        let overdue = queuing + silent - interval * overdue_ratio;
        (queuing - interval).max(overdue).max(Seconds::ZERO)
    }
}

impl LegatoReceiver {
    /// Evaluate the packets that came since the last time.
    fn look(&mut self, now: Timestamp) {
        let since = self.path.last_look.map_or(Seconds::ZERO, |last| (now - last).into());
        self.path.last_look = Some(now);
        let path = &mut self.path;
        let (missing, came) = path.gaps.take();
        // Only the number of missing packets is certain, not which: as if they had been in a row.
        (0..missing).for_each(|_| path.trial.count(true));
        (0..came).for_each(|_| path.trial.count(false));
        let allowed = path.target.max(TRICKLE);
        let used_ratio = (ByteRate::from(self.limits.max) / allowed).min(1.0);
        let delivered_ratio = path.delivered.latest() / allowed;
        path.trial.react(now, since.min(LONGEST_GROWTH), path.round_trip, used_ratio, delivered_ratio);
        path.delivered.count(std::mem::take(&mut path.came), since);
        path.share.react(now, path.round_trip, path.delivered.rate(), missing > 0);
        path.arrivals.set_queue_stands(path.share.queue_stands());
        let growth = PerSecond::new(self.config.unmeasured_growth_ratio);
        let small = SmallFrames { max_stretch_ratio: MAX_STRETCH_RATIO, growth };
        path.capacity.update(since, path.bursts.interval(), small, self.limits);
        self.update_target(now);
    }

    fn update_target(&mut self, now: Timestamp) {
        let path = &mut self.path;
        let wait = path.wait(now, self.config.overdue_ratio);
        let left = draining_ratio(wait, Seconds::from_millis(self.config.drain_ms)).max(self.config.min_drained_ratio);
        let capacity = path.capacity.rate();
        let allowed = match path.share.in_company() {
            true => path.share.rate().min(capacity * self.config.company_ahead_ratio),
            false => capacity * self.config.utilisation_ratio,
        };
        path.target = allowed * left * path.trial.rate_ratio();
        path.last_decision = Some(now);
    }

    /// Between arrivals only the wait grows, and only the next packet raises the target.
    fn on_deadline(&mut self, now: Timestamp) {
        if self.next_deadline().is_some_and(|due| due <= now) {
            let target = self.path.target;
            self.update_target(now);
            self.path.target = self.path.target.min(target);
        }
    }
}

impl RateController for LegatoReceiver {
    fn on_event(&mut self, now: Timestamp, event: &Event) {
        match event {
            Event::PacketReceived(packet) => {
                self.path.read(now, packet);
                if self.path.last_look.is_none_or(|last| now - last >= LOOK_INTERVAL) {
                    self.look(now);
                }
            }
            Event::Deadline => self.on_deadline(now),
            Event::RoundTripTime(rtt) if *rtt > TimeDelta::ZERO => self.path.round_trip = (*rtt).into(),
            Event::Limits(limits) => self.limits = *limits,
            Event::RouteChange => self.path = PathState::new(&self.config, self.limits),
            _ => {}
        }
    }

    fn decision(&self) -> Decision {
        Decision::of_target(self.limits.clamp(self.path.target.into()))
    }

    /// A decision every 20 ms for as long as packets may only be late.
    fn next_deadline(&self) -> Option<Timestamp> {
        let (last_packet, last_decision) = (self.path.last_packet?, self.path.last_decision?);
        let due = last_decision + LOOK_INTERVAL;
        (due <= last_packet + PAUSE).then_some(due)
    }

    fn has_estimate(&self) -> bool {
        let PathState { first_packet, last_packet, capacity, .. } = &self.path;
        let measured_for = first_packet.zip(*last_packet).map_or(TimeDelta::ZERO, |(first, last)| last - first);
        capacity.is_measured() && measured_for >= FIRST_ESTIMATE
    }

    fn observe(&mut self, gauge: &mut dyn FnMut(&'static str, f64)) {
        let path = &self.path;
        gauge("legato_capacity_bps", path.capacity.rate().as_bps());
        gauge("legato_in_company", f64::from(u8::from(path.share.in_company())));
        gauge("legato_standing_ms", path.share.standing().as_millis());
        gauge("legato_pressed", f64::from(u8::from(path.share.is_pressed())));
        if path.share.rate() < ByteRate::INFINITY {
            gauge("legato_share_bps", path.share.rate().as_bps());
        }
        gauge("legato_own_loss_ratio", path.trial.own_ratio());
        gauge("legato_loss_limit_ratio", path.trial.rate_ratio());
    }
}

/// As `legato` has it.
const MAX_STRETCH_RATIO: f64 = 4.0;
/// Until a round trip was measured.
const FIRST_ROUND_TRIP: Seconds = Seconds::from_millis(100.0);
/// An outage is no time to grow in.
const LONGEST_GROWTH: Seconds = Seconds::new(1.0);
/// Often enough that a REMB leaves while a frame is still late, and not with each packet.
const LOOK_INTERVAL: TimeDelta = TimeDelta::from_millis(20);
/// A sender has just spent a key frame: its encoder cannot follow a target now.
const FIRST_ESTIMATE: TimeDelta = TimeDelta::from_millis(800);
/// A stream without packets for longer has paused, and nothing waits.
const PAUSE: TimeDelta = TimeDelta::from_secs(2);

#[cfg(test)]
mod legato_receiver_tests;
