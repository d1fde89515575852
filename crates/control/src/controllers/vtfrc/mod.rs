//! `vtfrc`: Video TFRC [vtfrc]. It believes that TFRC's smooth rate leaves unused what TCP would
//! take at the instant, and that complex frames should have it: the encoder is given more than
//! TFRC's rate for frames predicted to be more complex than those before, less for simpler ones,
//! in proportion to the gap between the two rates; what is sent stays below the instantaneous one.
//!
//! The paper's complexity is the encoder's residual; here it is the difference between pictures, as
//! told with [`Event::FrameCaptured`]. What else differs, and why: docs/papers/vtfrc.md.

pub mod complexity;
pub mod rate_gap;

use super::tfrc::config::{self as tfrc_config, Edition};
use super::tfrc::sender::TfrcSender;
use crate::{BuildError, Construct, Context, Decision, Event, RateController, RateLimits, SentTrain, Side};
use complexity::{Complexity, MAX_WINDOW};
use legato_units::{DataRate, Timestamp};
use rate_gap::{additional_bps, instantaneous_bps, negotiated_bps, target_bps};
use serde::{Deserialize, Serialize};

/// Parameters of [`Vtfrc`].
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// The equation's segment size s; absent: the mean size of the packets of the last four loss
    /// intervals.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub packet_size_bytes: Option<u32>,
    /// The equation's b, 1 or 2.
    pub packets_per_ack: u32,
    /// The last two loss intervals of equation (2) may include the open one, by the rule of TFRC's own
    /// mean, with n = 2 for 8; else they are the last two closed ones, as the equation is written.
    pub count_open_interval: bool,
    /// Predict a frame's complexity from at most so many before it, 1 to 20.
    pub window_frames: u32,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            packet_size_bytes: None,
            packets_per_ack: 1,
            count_open_interval: true,
            window_frames: MAX_WINDOW as u32,
        }
    }
}

impl Config {
    fn check(&self) -> Result<(), String> {
        tfrc_config::check_packet_size(self.packet_size_bytes)?;
        if !(1..=MAX_WINDOW as u32).contains(&self.window_frames) {
            return Err(format!("window_frames = {} is not within [1, {MAX_WINDOW}]", self.window_frames));
        }
        tfrc_config::check_packets_per_ack(self.packets_per_ack)
    }
}

/// TFRC as the paper's testbed had it: the edition of 2003, without oscillation damping.
pub(crate) fn tfrc_of_2003(packet_size_bytes: Option<u32>, packets_per_ack: u32) -> tfrc_config::Config {
    tfrc_config::Config {
        packet_size_bytes,
        packets_per_ack,
        damp_oscillations: false,
        edition: Edition::Rfc3448,
        ..tfrc_config::Config::default()
    }
}

/// Video TFRC.
#[derive(Clone)]
pub struct Vtfrc {
    config: Config,
    sender: TfrcSender,
    complexity: Complexity,
    /// C(k) and R_add(k) of the frame that began last.
    last_complexity: f64,
    additional_bps: f64,
    limits: RateLimits,
    decision: Decision,
}

impl Construct for Vtfrc {
    const NAME: &'static str = "vtfrc";
    const SIDE: Side = Side::Sender;
    const SUMMARY: &'static str = "Video TFRC: complex frames get a share of the gap to TCP's instantaneous rate";
    const CITES: &'static [&'static str] = &["vtfrc", "rfc3448", "lee2000", "li2003"];
    type Config = Config;

    fn new(config: Config, context: Context<'_>) -> Result<Self, BuildError> {
        config.check().map_err(|message| BuildError::Config { controller: Self::NAME, message })?;
        let Context { limits, start, .. } = context;
        let tfrc = tfrc_of_2003(config.packet_size_bytes, config.packets_per_ack);
        let mut vtfrc = Self {
            sender: TfrcSender::new(tfrc, limits.start, start),
            complexity: Complexity::new(config.window_frames as usize),
            last_complexity: 0.0,
            additional_bps: 0.0,
            limits,
            decision: Decision::of_target(limits.start),
            config,
        };
        vtfrc.publish();
        Ok(vtfrc)
    }
}

impl Vtfrc {
    /// R_trans
    fn trans_bps(&self) -> f64 {
        self.sender.allowed().as_bps_f64()
    }

    /// R_instant
    fn instant_bps(&self) -> Option<f64> {
        let rtts = self.sender.rtts_s()?;
        let per_ack = f64::from(self.config.packets_per_ack);
        instantaneous_bps(
            self.sender.losses().intervals(),
            self.sender.packet_bytes(),
            rtts,
            per_ack,
            self.config.count_open_interval,
        )
    }

    /// A frame begins: how complex it will be is predicted from those before it, and only then is its
    /// own difference learned, as an encoder would.
    fn on_frame(&mut self, difference: Option<f32>) {
        self.last_complexity = self.complexity.of_next();
        if let Some(difference) = difference {
            self.complexity.on_measured(f64::from(difference));
        }
        // Deviates from [vtfrc] eq. (7): in silence R_instant is of the past, and a rate that is being halved
        // must not be filled up to it.
        self.additional_bps = match self.sender.silent() {
            true => 0.0,
            false => additional_bps(self.last_complexity, self.trans_bps(), self.instant_bps()),
        };
    }

    fn publish(&mut self) {
        let additional = if self.sender.silent() { self.additional_bps.min(0.0) } else { self.additional_bps };
        let negotiated = negotiated_bps(self.trans_bps(), additional, self.instant_bps());
        // Deviates from [vtfrc] eq. (8): the encoder is asked for no more than will be sent, where the paper
        // let the difference wait at the sender.
        let target = target_bps(self.trans_bps(), additional).min(negotiated);
        let [target, pacing_rate] = [target, negotiated].map(|bps| self.limits.clamp(DataRate::from_bps_f64(bps)));
        self.decision = Decision { pacing_rate, ..Decision::of_target(target) };
    }
}

impl RateController for Vtfrc {
    #[inline]
    fn on_event(&mut self, now: Timestamp, event: &Event) {
        match event {
            Event::PacketSent(packet) => return self.sender.on_sent(packet.size.as_bytes()),
            Event::PacerQueue(queue) => return self.sender.on_pacer_queue(queue.drain),
            Event::TransportFeedback(feedback) => self.sender.on_feedback(now, feedback),
            Event::FrameCaptured(frame) => self.on_frame(frame.complexity),
            Event::Deadline => self.sender.on_deadline(now),
            Event::Limits(limits) => self.limits = *limits,
            Event::RouteChange => {
                self.sender.reset(self.limits.start, now);
                self.additional_bps = 0.0;
            }
            _ => return,
        }
        self.publish();
    }

    #[inline]
    fn on_train_sent(&mut self, _now: Timestamp, train: &SentTrain) {
        self.sender.on_sent((train.first.size + train.rest()).as_bytes());
    }

    #[inline]
    fn decision(&self) -> Decision {
        self.decision
    }

    #[inline]
    fn next_deadline(&self) -> Option<Timestamp> {
        Some(self.sender.next_deadline())
    }

    fn observe(&self, gauge: &mut dyn FnMut(&'static str, f64)) {
        self.sender.observe(gauge);
        if let Some(bps) = self.instant_bps() {
            gauge("instant_bps", bps);
        }
        gauge("additional_bps", self.additional_bps);
        gauge("complexity", self.last_complexity);
    }

    fn clone_box(&self) -> Box<dyn RateController> {
        Box::new(self.clone())
    }
}

#[cfg(test)]
#[path = "vtfrc_tests.rs"]
mod tests;
