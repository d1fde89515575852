//! `nada`: RFC 8698. It believes that congestion is one number, in milliseconds: the queuing delay plus
//! penalties for packets lost and marked. Flows that keep rate × congestion at one constant share a
//! bottleneck by their weights, whichever signal they see.
//!
//! It measures one-way delay against the minimum of ten minutes, as the minimum of the last 15 packets; the ratios of lost and marked packets
//! over half a second, smoothed; and the receiver rate. While nothing queues it ramps up from that rate; otherwise it moves gradually, with
//! one term for the distance from the constant and one against change.
//!
//! The receiver's half runs at the sender, on transport-wide feedback, as [rfc8698] section 6.4 allows: no message
//! of NADA's own is on the wire. Missing from the RFC: nothing normative. Ours, where the RFC is silent: the start
//! halving while several feedbacks are missing, a bound on the signal and on the interval an update makes up for.
//! docs/papers/rfc8698.md lists every interpretation.

mod base_delay;
mod config;
mod congestion;
mod log_window;
mod loss_memory;
mod reference_rate;
mod signal;
mod smoothed_ratio;

use config::{BETA, DELTA, FPS, TAU_MS};

pub use config::Config;

use congestion::{Congestion, Message};
use legato_control::estimate::silence::Silence;
use legato_control::{
    BuildError, Construct, Context, Decision, Event, Pacing, PacketReport, RateController, RateLimits, Side,
    TransportFeedback,
};
use legato_units::{DataRate, DataSize, TimeDelta, Timestamp};
use reference_rate::GradualInput;

/// RFC 8698 at the sender.
#[derive(Clone)]
pub struct Nada {
    config: Config,
    limits: RateLimits,
    congestion: Congestion,
    /// r_ref, in bit/s.
    reference_bps: f64,
    /// The last message: its signal is x_prev.
    message: Message,
    rtt: TimeDelta,
    /// t_last; `None`: no feedback yet.
    last_update: Option<Timestamp>,
    /// Queued in the pacer.
    backlog: DataSize,
    silence: Silence,
}

impl Construct for Nada {
    const NAME: &'static str = "nada";
    const SIDE: Side = Side::Sender;
    const SUMMARY: &'static str = "RFC 8698: delay, loss and marks as one signal";
    const CITES: &'static [&'static str] = &["rfc8698", "rfc5348"];
    type Config = Config;

    fn new(config: Config, context: Context<'_>) -> Result<Self, BuildError> {
        Ok(Self {
            congestion: Congestion::new(),
            reference_bps: start_bps(&config, &context.limits),
            limits: context.limits,
            message: Message::default(),
            rtt: INITIAL_RTT,
            last_update: None,
            backlog: DataSize::ZERO,
            silence: Silence::default(),
            config,
        })
    }
}

// Deviates from [rfc8698] §4.3, which begins at RMIN: a call's start rate is the application's, and the same for every
// controller. Where it is RMIN, as in RFC 8867's cases, or with `start_at_minimum`, this is the RFC's start.
fn start_bps(config: &Config, limits: &RateLimits) -> f64 {
    if config.start_at_minimum { limits.min } else { limits.start }.as_bps_f64()
}

/// Until a report gives it.
const INITIAL_RTT: TimeDelta = TimeDelta::from_millis(100);

impl Nada {
    fn take_feedback(&mut self, now: Timestamp, feedback: &TransportFeedback) {
        let newest = feedback.reports.iter().rev().find(|packet| packet.arrived());
        if let Some(packet) = newest {
            self.rtt = (now - packet.departure).max(TimeDelta::ZERO);
        }
        for packet in feedback.reports.iter() {
            self.push(&packet);
        }
        self.silence.on_feedback(now, feedback.round_trip(now));
        let Some(last) = self.last_update else {
            // The first feedback begins the first interval.
            self.last_update = Some(now);
            return;
        };
        if now - last >= DELTA {
            self.update(now - last);
            self.last_update = Some(now);
        }
    }

    #[inline]
    fn push(&mut self, packet: &PacketReport) {
        self.congestion.push(packet, self.rtt);
    }

    /// Move r_ref by one interval.
    fn update(&mut self, elapsed: TimeDelta) {
        let message = self.congestion.update(&self.config);
        self.reference_bps = if message.ramp_up {
            let received_bps = message.received.as_bps_f64();
            reference_rate::ramp_up(self.reference_bps, received_bps, self.rtt.as_millis_f64())
        } else {
            let input = GradualInput {
                signal_ms: message.signal_ms,
                previous_ms: self.message.signal_ms,
                // Not in the RFC, whose feedback comes at least every 250 ms: a long silence does
                // not justify a large step.
                elapsed_ms: elapsed.as_millis_f64().min(TAU_MS),
                max_rate_bps: self.limits.max.as_bps_f64(),
            };
            reference_rate::gradual(&self.config, self.reference_bps, input)
        };
        self.message = message;
        self.clip();
    }

    // [rfc8698] §4.3: r_ref is clipped to [RMIN, RMAX].
    fn clip(&mut self) {
        self.reference_bps = self.reference_bps.max(self.limits.min.as_bps_f64()).min(self.limits.max.as_bps_f64());
    }

    /// What a pacer backlog takes from the encoder, or gives to the pacer.
    // [rfc8698] §5.2.2: r_diff = min(0.05 r_ref, BETA 8 buffer_len FPS).
    fn shaping_bps(&self) -> f64 {
        let backlog_bits = 8.0 * self.backlog.as_bytes() as f64;
        (self.config.max_shaping_ratio * self.reference_bps).min(BETA * backlog_bits * FPS)
    }
}

impl RateController for Nada {
    fn on_event(&mut self, now: Timestamp, event: &Event) {
        if self.silence.is_over(now) {
            self.reference_bps *= 0.5;
            self.clip();
        }
        match event {
            Event::PacketsSent(_) => self.silence.on_packet_sent(now),
            Event::TransportFeedback(feedback) if !feedback.reports.is_empty() => self.take_feedback(now, feedback),
            Event::PacerQueue(queue) => self.backlog = queue.size,
            Event::Limits(limits) => {
                self.limits = *limits;
                self.clip();
            }
            Event::RouteChange => {
                self.congestion = Congestion::new();
                self.message = Message::default();
                self.last_update = None;
                self.reference_bps = start_bps(&self.config, &self.limits);
            }
            _ => {}
        }
    }

    fn decision(&self) -> Decision {
        // [rfc8698] §5.2.2: r_vin = max(RMIN, r_ref − r_diff), r_send = min(RMAX, r_ref + r_diff).
        let video = DataRate::from_bps_f64(self.reference_bps - self.shaping_bps());
        let sending = DataRate::from_bps_f64(self.reference_bps + self.shaping_bps());
        let target = self.limits.clamp(video);
        Decision { pacing: Pacing::at(self.limits.clamp(sending).max(target)), ..Decision::of_target(target) }
    }

    fn next_deadline(&self) -> Option<Timestamp> {
        self.silence.next_deadline()
    }

    fn observe(&mut self, gauge: &mut dyn FnMut(&'static str, f64)) {
        let (loss_ratio, mark_ratio) = self.congestion.ratios();
        gauge("signal_ms", self.message.signal_ms);
        gauge("queuing_delay_ms", self.message.queuing_ms);
        gauge("ramp_up", f64::from(u8::from(self.message.ramp_up)));
        gauge("received_bps", self.message.received.as_bps_f64());
        gauge("loss_ratio", loss_ratio);
        gauge("mark_ratio", mark_ratio);
        gauge("reference_bps", self.reference_bps);
    }
}

#[cfg(test)]
#[path = "nada_tests.rs"]
mod tests;
