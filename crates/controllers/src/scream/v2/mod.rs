//! `scream-v2`: the second version of SCReAM. It believes that the rate of a call is a window over a round trip. A queue of 30 ms counts as if a share of the packets were marked, and L4S marks count by their share. The bytes in flight should be around the window, not below it.
//!
//! Profiles: `v2-draft` follows the working group's draft [draft-johansson-ccwg-rfc8298bis-screamv2] ([`draft`] and the
//! files named after it), and `v2-ericsson` is the same with its authors' constants. `competing-flows` is the draft
//! with its optional part for networks with loss-based flows in deep queues, and `v2-libwebrtc` follows libwebrtc M150
//! ([`libwebrtc`] and its files). They share a controller's outside and no decision logic.
//!
//! Missing from the draft: several streams; the limit on the window from a history of bytes in flight at the
//! maximum target, which it leaves to its authors' code. Missing from libwebrtc: the pacer's burst of 10 ms soon
//! after congestion (a decision has no burst). Interpretations: docs/papers/scream.md.

pub mod config;
pub mod draft;
pub mod draft_delay;
pub mod draft_loss;
pub mod draft_rate;
pub mod draft_window;
pub mod in_flight;
pub mod l4s;
pub mod libwebrtc;
pub mod libwebrtc_delay;
pub mod libwebrtc_loss;
pub mod libwebrtc_window;
pub mod padding;

use super::feedback::FeedbackReader;
use super::media_queue::MediaQueue;
use super::silence::Silence;
use config::{Config, Profile};
use draft::{Bounds, Draft};
use in_flight::InFlight;
use legato_control::{
    BuildError, Construct, Context, Decision, Event, FeedbackRule, Pacing, RateController, RateLimits, Side,
    TransportFeedback,
};
use legato_units::{DataRate, DataSize, TimeDelta, Timestamp};
use libwebrtc::Libwebrtc;

// [draft-johansson-ccwg-rfc8298bis-screamv2] §4.2.2, §4.3 and §4.4, and ScreamV2Parameters [libwebrtc-m150]: all
// profiles have these.
/// The minimum time between reactions to congestion.
const VIRTUAL_RTT: TimeDelta = TimeDelta::from_millis(25);
/// The share of the window kept on loss.
const BETA_LOSS: f64 = 0.7;
/// L4S_AVG_G_UP and L4S_AVG_G_DOWN: the weights of a share of marked packets above and below its average.
const L4S_GAINS: [f64; 2] = [1.0 / 8.0, 1.0 / 128.0];
/// QDELAY_AVG_G: the weight of a queue delay above its average.
const QDELAY_AVG_GAIN: f64 = 1.0 / 4.0;
/// REF_WND_OVERHEAD_MIN and REF_WND_OVERHEAD_MAX: how far bytes in flight may exceed the window.
const REF_WND_OVERHEAD: [f64; 2] = [1.5, 3.0];
/// Ours: window and target are halved after this long without feedback.
const SILENCE: TimeDelta = TimeDelta::from_secs(1);

/// SCReAM's second version.
#[derive(Clone)]
pub struct ScreamV2 {
    config: Config,
    limits: RateLimits,
    reader: FeedbackReader,
    in_flight: InFlight,
    media_queue: MediaQueue,
    silence: Silence,
    logic: Logic,
    target_bps: f64,
    /// The receiver's lowest cap (libwebrtc obeys REMB).
    remote_bps: f64,
    decision: Decision,
}

/// The logic that moves window and target.
#[derive(Clone)]
#[allow(clippy::large_enum_variant, reason = "there is one per controller; the draft's holds its history inline")]
enum Logic {
    Draft(Draft),
    Libwebrtc(Libwebrtc),
}

impl Construct for ScreamV2 {
    const NAME: &'static str = "scream-v2";
    const SIDE: Side = Side::Sender;
    const SUMMARY: &'static str =
        "SCReAM's second version: a window over a round trip is the rate; queues count as marks";
    const CITES: &'static [&'static str] = &["draft-johansson-ccwg-rfc8298bis-screamv2", "libwebrtc-m150"];
    type Config = Config;

    fn profile(name: &str) -> Option<Config> {
        let name = toml::Value::String(name.to_owned());
        Some(Profile::config(name.try_into().ok()?))
    }

    fn new(config: Config, context: Context<'_>) -> Result<Self, BuildError> {
        config.check().map_err(|message| BuildError::Config { controller: Self::NAME, message })?;
        let limits = context.limits;
        let start = limits.clamp(limits.start);
        let logic = match config.profile {
            Profile::CompetingFlows | Profile::Draft | Profile::Ericsson => Logic::Draft(Draft::new(&config)),
            Profile::Libwebrtc => Logic::Libwebrtc(Libwebrtc::default()),
        };
        let mut scream = Self {
            limits,
            reader: FeedbackReader::default(),
            in_flight: InFlight::default(),
            media_queue: MediaQueue::default(),
            silence: Silence::new(SILENCE),
            logic,
            target_bps: start.as_bps_f64(),
            remote_bps: f64::MAX,
            decision: Decision::of_target(start),
            config,
        };
        scream.decide();
        Ok(scream)
    }
}

impl RateController for ScreamV2 {
    fn on_event(&mut self, now: Timestamp, event: &Event) {
        match event {
            Event::PacketsSent(burst) => {
                for packet in burst.iter() {
                    self.in_flight.update(packet.in_flight.as_bytes());
                    self.reader.sent(packet.transport_seq, packet.size.as_bytes());
                    self.media_queue.sent(&packet);
                }
                return self.silence.sent(now);
            }
            Event::TransportFeedback(feedback) if !feedback.reports.is_empty() => self.take(now, feedback),
            Event::FrameCaptured(_) => return self.picture(now),
            Event::FrameEncoded(frame) => return self.coded(frame.size),
            Event::PacerQueue(queue) => return self.media_queue.reported(now, queue.size),
            Event::Limits(limits) => self.limits = *limits,
            Event::RemoteEstimate(cap) => self.cap(*cap),
            Event::RouteChange => self.change_route(now),
            Event::Deadline => {}
            _ => return,
        }
        if self.silence.broken(now) {
            self.target_bps /= 2.0;
            match &mut self.logic {
                Logic::Draft(draft) => draft.silence(),
                Logic::Libwebrtc(libwebrtc) => libwebrtc.silence(now),
            }
        }
        self.decide();
    }

    fn decision(&self) -> Decision {
        self.decision
    }

    fn next_deadline(&self) -> Option<Timestamp> {
        self.silence.deadline()
    }

    fn feedback_rule(&self) -> FeedbackRule {
        match self.config.profile {
            Profile::CompetingFlows | Profile::Draft | Profile::Ericsson => FeedbackRule::DataUnits,
            Profile::Libwebrtc => FeedbackRule::BitrateShare,
        }
    }

    fn observe(&mut self, gauge: &mut dyn FnMut(&'static str, f64)) {
        match &self.logic {
            Logic::Draft(draft) => draft.observe(gauge),
            Logic::Libwebrtc(libwebrtc) => libwebrtc.observe(gauge),
        }
    }
}

impl ScreamV2 {
    fn take(&mut self, now: Timestamp, feedback: &TransportFeedback) {
        let said = self.reader.read(now, feedback);
        self.in_flight.update(said.in_flight);
        if said.packets > 0 {
            self.silence.heard();
        }
        let bounds = Bounds {
            target_bps: self.target_bps,
            start_bps: self.limits.clamp(self.limits.start).as_bps_f64(),
            max_bps: self.limits.max.as_bps_f64(),
        };
        let (config, in_flight) = (&self.config, self.in_flight);
        let (target_bps, rtt) = match &mut self.logic {
            Logic::Draft(draft) => (draft.take(now, &said, in_flight, &bounds, config), draft.round_trip()),
            Logic::Libwebrtc(libwebrtc) => {
                (libwebrtc.take(now, &said, in_flight, &bounds, config), libwebrtc.round_trip())
            }
        };
        // A feedback that only reports losses does not raise the target.
        self.target_bps = if said.packets > 0 { target_bps } else { target_bps.min(self.target_bps) };
        self.in_flight.turn(now, rtt.max(VIRTUAL_RTT));
    }

    fn picture(&mut self, now: Timestamp) {
        self.media_queue.picture(now);
        if let Logic::Draft(draft) = &mut self.logic {
            draft.picture(now, self.media_queue.age());
        }
    }

    fn coded(&mut self, size: DataSize) {
        if let Logic::Draft(draft) = &mut self.logic {
            draft.coded(size, self.target_bps);
        }
    }

    /// The receiver's cap binds libwebrtc at its next feedback; the draft has no cap.
    fn cap(&mut self, cap: DataRate) {
        if matches!(self.logic, Logic::Libwebrtc(_)) {
            self.remote_bps = cap.as_bps_f64();
        }
    }

    fn change_route(&mut self, now: Timestamp) {
        let route = Context { limits: self.limits, start: now, seed: 0, assets: &legato_control::NoAssets };
        let media_queue = std::mem::take(&mut self.media_queue);
        let fresh = Self::new(self.config.clone(), route).expect("the parameters were valid before");
        *self = Self { media_queue, ..fresh };
    }

    fn decide(&mut self) {
        let (min_bps, max_bps) = (self.limits.min.as_bps_f64(), self.limits.max.as_bps_f64());
        self.target_bps = self.target_bps.min(self.remote_bps).max(min_bps).min(max_bps);
        let target = self.limits.clamp(DataRate::from_bps_f64(self.target_bps));
        let (pacing_bps, limit, pads) = match &self.logic {
            Logic::Draft(draft) => (draft_rate::pacing_bps(self.target_bps, max_bps), draft.in_flight_limit(), false),
            Logic::Libwebrtc(libwebrtc) => {
                let pads = libwebrtc.pads() && target < self.limits.max;
                (self.target_bps * libwebrtc::PACING_HEADROOM, libwebrtc.in_flight_limit(), pads)
            }
        };
        self.decision = Decision {
            pacing: Pacing {
                padding_rate: if pads { target } else { DataRate::ZERO },
                ..Pacing::at(DataRate::from_bps_f64(pacing_bps).max(target))
            },
            congestion_window: Some(DataSize::from_bytes(limit as u64)),
            ..Decision::of_target(target)
        };
    }
}

#[cfg(test)]
#[path = "scream_v2_tests.rs"]
mod tests;
