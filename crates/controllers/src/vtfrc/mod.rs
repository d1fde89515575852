//! `vtfrc`: Video TFRC [vtfrc]. It believes that TFRC's smooth rate leaves capacity unused that TCP would take at the moment, and that complex frames should have it. The encoder gets more than TFRC's rate for frames predicted to be more complex than earlier ones, less for simpler ones, in proportion to the gap between the two rates. The sending rate stays below the instantaneous one.
//!
//! The paper's complexity is the encoder's residual; here it is the difference between pictures, as reported by
//! [`Event::FrameCaptured`](legato_control::Event::FrameCaptured). docs/papers/vtfrc.md lists the other differences and why.

pub mod rate_gap;

use super::tfrc::config::{self as tfrc_config, Edition};
use super::tfrc::controller::{Flavour, TfrcController};
use super::tfrc::sender::TfrcSender;
use legato_control::estimate::complexity::{Complexity, MAX_WINDOW};
use legato_units::DataRate;
use rate_gap::{additional_bps, instantaneous_bps, negotiated_bps, target_bps};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Parameters of [`Vtfrc`].
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// The equation's segment size s; absent: the mean size of the packets of the last four loss
    /// intervals.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 65_535))]
    pub packet_size_bytes: Option<u32>,
    /// The equation's b: packets a TCP receiver would acknowledge with one ACK.
    #[schemars(range(min = 1, max = 2))]
    pub packets_per_ack: u32,
    /// The last two loss intervals of equation (2) may include the open one, by the rule of TFRC's mean, with n = 2 for
    /// 8. Otherwise they are the last two closed ones, as the equation is written.
    pub count_open_interval: bool,
    /// Predict a frame's complexity from at most this many before it.
    #[schemars(range(min = 1, max = MAX_WINDOW))]
    pub window_frames: u32,
    /// Never ask the encoder for more than will be sent, equation (9). Otherwise it gets equation (8) as printed, and
    /// what exceeds (9) waits at the sender.
    pub cap_target: bool,
    /// A complex frame gets at most the whole gap: C(k) of equation (7) is at most 1. A camera that repeats a picture
    /// has differences of almost zero, against which the next is a hundred times as complex.
    pub bound_complexity: bool,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            packet_size_bytes: None,
            packets_per_ack: 1,
            count_open_interval: true,
            window_frames: MAX_WINDOW as u32,
            cap_target: true,
            bound_complexity: true,
        }
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
pub type Vtfrc = TfrcController<Video>;

/// What Video TFRC adds to TFRC.
#[derive(Clone)]
pub struct Video {
    config: Config,
    complexity: Complexity,
    /// C(k) and R_add(k) of the latest frame.
    last_complexity: f64,
    additional_bps: f64,
}

impl Video {
    /// R_instant
    fn instant_bps(&self, sender: &TfrcSender) -> Option<f64> {
        let rtts = sender.rtts_s()?;
        let per_ack = f64::from(self.config.packets_per_ack);
        let Config { count_open_interval, .. } = self.config;
        instantaneous_bps(sender.losses().intervals(), sender.packet_bytes(), rtts, per_ack, count_open_interval)
    }
}

/// R_trans
fn trans_bps(sender: &TfrcSender) -> f64 {
    sender.allowed().as_bps_f64()
}

impl Flavour for Video {
    const NAME: &'static str = "vtfrc";
    const SUMMARY: &'static str = "Video TFRC: complex frames get a share of the gap to TCP's instantaneous rate";
    const CITES: &'static [&'static str] = &["vtfrc", "rfc3448", "lee2000", "li2003"];
    type Config = Config;

    fn new(config: Config) -> (Self, tfrc_config::Config) {
        let tfrc = tfrc_of_2003(config.packet_size_bytes, config.packets_per_ack);
        let complexity = Complexity::new(config.window_frames as usize);
        (Self { complexity, last_complexity: 0.0, additional_bps: 0.0, config }, tfrc)
    }

    fn rates(&self, sender: &TfrcSender) -> [DataRate; 2] {
        let additional = if sender.silent() { self.additional_bps.min(0.0) } else { self.additional_bps };
        let negotiated = negotiated_bps(trans_bps(sender), additional, self.instant_bps(sender));
        // Deviates from [vtfrc] eq. (8) unless configured otherwise: the encoder is asked for no more than will be sent, where
        // the paper let the difference wait at the sender, which a call cannot afford.
        let target = target_bps(trans_bps(sender), additional);
        let target = if self.config.cap_target { target.min(negotiated) } else { target };
        [target, negotiated].map(DataRate::from_bps_f64)
    }

    /// A frame begins: how complex it will be is predicted from those before it, and only then is its
    /// own difference learned, as an encoder would.
    fn on_frame(&mut self, difference: Option<f32>, sender: &TfrcSender) {
        self.last_complexity = self.complexity.of_next();
        if let Some(difference) = difference {
            self.complexity.on_measured(f64::from(difference));
        }
        // Deviates from [vtfrc] eq. (7): in silence R_instant is out of date, and a rate that is being halved
        // must not be filled up to it.
        self.additional_bps = match sender.silent() {
            true => 0.0,
            false => {
                let most = if self.config.bound_complexity { 1.0 } else { f64::INFINITY };
                additional_bps(self.last_complexity, most, trans_bps(sender), self.instant_bps(sender))
            }
        };
    }

    fn on_route_change(&mut self) {
        self.additional_bps = 0.0;
    }

    fn observe(&self, sender: &TfrcSender, gauge: &mut dyn FnMut(&'static str, f64)) {
        if let Some(bps) = self.instant_bps(sender) {
            gauge("instant_bps", bps);
        }
        gauge("additional_bps", self.additional_bps);
        gauge("complexity", self.last_complexity);
    }
}

#[cfg(test)]
#[path = "vtfrc_tests.rs"]
mod tests;
