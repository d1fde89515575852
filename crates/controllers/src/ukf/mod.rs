//! `ukf` believes that a path is a link with a queue: an unscented Kalman filter at the receiver estimates the link's capacity, the queue and the path's fixed delay from departure and arrival times. Rules turn the estimate into a target, which travels back as REMB.
//!
//! [r3net] names a controller of this kind as what Microsoft's calls used before it, and describes it only
//! as "an Unscented Kalman Filter with a rule-based controller". Everything else is ours:
//! docs/papers/ukf.md derives the model and states the rules and their weaknesses. It needs the absolute
//! send time of packets; of those without, only rate and loss count.

mod arrivals;
mod bursts;
mod config;
mod path_model;
mod rules;

pub use config::{Config, FilterConfig, RulesConfig};

use arrivals::Arrivals;
use bursts::Bursts;
use legato_control::{
    BuildError, Construct, Context, Decision, Event, RateController, RateLimits, ReceivedPacket, Side,
};
use legato_units::{TimeDelta, Timestamp};
use path_model::PathModel;
use rules::{Rules, View};

/// An unscented Kalman filter on one-way delay and receive rate, and rules.
#[derive(Clone)]
pub struct Ukf {
    config: Config,
    limits: RateLimits,
    interval: TimeDelta,
    arrivals: Arrivals,
    bursts: Bursts,
    path: PathModel,
    rules: Rules,
    last_look: Timestamp,
    last_arrival: Timestamp,
}

impl Construct for Ukf {
    const NAME: &'static str = "ukf";
    const SIDE: Side = Side::Receiver;
    const SUMMARY: &'static str = "an unscented Kalman filter on delay and receive rate, and rules";
    const CITES: &'static [&'static str] = &["r3net", "wan2000"];
    type Config = Config;

    fn new(config: Config, context: Context<'_>) -> Result<Self, BuildError> {
        config.check()?;
        let Context { limits, start, .. } = context;
        Ok(Self {
            config,
            limits,
            interval: TimeDelta::from_millis_f64(config.rules.interval_ms),
            arrivals: Arrivals::new(start),
            bursts: Bursts::default(),
            path: PathModel::new(config.filter, limits.start),
            rules: Rules::new(config.rules, limits.start, start),
            last_look: start,
            last_arrival: start,
        })
    }
}

impl Ukf {
    #[inline]
    fn take(&mut self, now: Timestamp, packet: &ReceivedPacket) {
        self.last_arrival = now;
        self.arrivals.push(now, packet.transport_seq, packet.size, packet.ce);
        if let Some(departure) = packet.departure
            && let Some(burst) = self.bursts.push(now, departure, packet.size.as_bits())
        {
            self.path.learn(&burst);
        }
        if now - self.last_look >= self.interval {
            self.look(now, true);
        }
    }

    fn look(&mut self, now: Timestamp, news: bool) {
        self.last_look = now;
        self.arrivals.advance(now);
        let view = View {
            capacity: self.path.capacity(),
            doubt_ratio: self.path.doubt_ratio(),
            queue_s: self.path.queue_s(),
            queue_doubt_s: self.path.queue_doubt_s(),
            jitter_s: self.path.jitter_s(),
            receive_rate: self.arrivals.rate(now),
            unusual_loss_ratio: self.arrivals.unusual_loss_ratio(),
            marked: self.arrivals.take_mark(),
            silence: now - self.last_arrival,
            news,
        };
        self.rules.look(now, &view);
        self.rules.set_target(self.limits.clamp(self.rules.target()));
    }
}

impl RateController for Ukf {
    fn on_event(&mut self, now: Timestamp, event: &Event) {
        match event {
            Event::PacketReceived(packet) => self.take(now, packet),
            Event::Deadline if now >= self.last_look + self.interval * 2 => self.look(now, false),
            Event::Limits(limits) => self.limits = *limits,
            Event::RouteChange => {
                let target = self.limits.clamp(self.limits.start.min(self.rules.target()));
                self.arrivals = Arrivals::new(now);
                self.bursts = Bursts::default();
                self.path = PathModel::new(self.config.filter, target);
                self.rules = Rules::new(self.config.rules, target, now);
                self.last_look = now;
                self.last_arrival = now;
            }
            _ => {}
        }
    }

    #[inline]
    fn decision(&self) -> Decision {
        Decision::of_target(self.limits.clamp(self.rules.target()))
    }

    /// Most looks follow arrivals; the deadline covers their absence.
    #[inline]
    fn next_deadline(&self) -> Option<Timestamp> {
        Some(self.last_look + self.interval * 2)
    }

    fn observe(&mut self, gauge: &mut dyn FnMut(&'static str, f64)) {
        if let Some(capacity) = self.path.capacity() {
            gauge("capacity_estimate_bps", capacity.as_bps_f64());
        }
        gauge("capacity_doubt_ratio", self.path.doubt_ratio());
        gauge("queue_estimate_ms", 1e3 * self.path.queue_s());
        gauge("base_delay_ms", 1e3 * self.path.base_s());
        gauge("jitter_ms", 1e3 * self.path.jitter_s());
        gauge("surprises", self.path.surprises as f64);
        gauge("unusual_loss_ratio", self.arrivals.unusual_loss_ratio());
    }
}

#[cfg(test)]
#[path = "ukf_tests.rs"]
mod tests;
