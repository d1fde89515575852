//! The two ends of a call: the controller and its limits, sender, receiver, and the receiver's clock.

use super::values::{Refusal, choice, within};
use legato_call::FeedbackFormat;
use legato_controllers::circuit_breaker::Response;
use legato_units::Ecn;
use serde::de::{self, IntoDeserializer, Visitor};
use serde::{Deserialize, Deserializer, Serialize};
use std::fmt;

/// Bounds and initial value of the target bitrate.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct LimitsSpec {
    /// Minimum target bitrate.
    pub min_bps: u64,
    /// Initial target bitrate, used until feedback arrives.
    pub start_bps: u64,
    /// Maximum target bitrate.
    pub max_bps: u64,
}

/// A controller and its parameters.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ControllerSpec {
    /// A name that `legato controllers list` shows.
    pub name: String,
    /// Its parameters; absent ones have their defaults.
    #[serde(default, skip_serializing_if = "toml::Table::is_empty")]
    pub config: toml::Table,
}

/// The sending end.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct SenderSpec {
    /// The pacer sends in one burst what its rate permits in this time.
    pub burst_ms: f64,
    /// The pacer raises its rate rather than hold media longer than this.
    pub queue_time_limit_ms: f64,
    /// Frames are skipped while the pacer holds more than this.
    pub max_pacer_queue_ms: f64,
    /// The encoder keeps a bitrate for this long before it is given the next; 0: each frame has the latest.
    #[serde(skip_serializing_if = "is_zero")]
    pub encoder_interval_ms: f64,
    /// Fill up to the target bitrate with padding, whatever the controller asks for.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub pad_to_target: bool,
    /// Retransmit packets that the receiver requests.
    pub retransmit: bool,
    /// The ECN field that media packets leave with.
    #[serde(deserialize_with = "choice")]
    pub ecn: EcnSpec,
    /// What a circuit breaker of RFC 8083 leads to.
    #[serde(deserialize_with = "response")]
    pub circuit_breakers: BreakersSpec,
}

/// What a circuit breaker of RFC 8083 leads to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BreakersSpec {
    /// The sender stops for good.
    Cease,
    /// The sender has no breakers.
    Off,
    /// The call goes on, as a browser's does; a gauge shows what would have tripped.
    #[default]
    Report,
    /// The sender stops for as long as the breaker took to trip, and begins again as a new call does.
    Restart,
}

impl BreakersSpec {
    /// What the breakers do; `None` without breakers.
    pub const fn response(self) -> Option<Response> {
        match self {
            Self::Cease => Some(Response::Cease),
            Self::Off => None,
            Self::Report => Some(Response::Report),
            Self::Restart => Some(Response::Restart),
        }
    }
}

/// The name of a response, or a truth value: to stop for good, or nothing.
fn response<'de, D: Deserializer<'de>>(deserializer: D) -> Result<BreakersSpec, D::Error> {
    struct NameOrTruth;
    impl Visitor<'_> for NameOrTruth {
        type Value = BreakersSpec;
        fn expecting(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
            to.write_str("\"cease\", \"off\", \"report\" or \"restart\"")
        }
        fn visit_bool<E: de::Error>(self, on: bool) -> Result<BreakersSpec, E> {
            Ok(if on { BreakersSpec::Cease } else { BreakersSpec::Off })
        }
        fn visit_str<E: de::Error>(self, name: &str) -> Result<BreakersSpec, E> {
            BreakersSpec::deserialize(name.into_deserializer())
        }
    }
    deserializer.deserialize_any(NameOrTruth)
}

/// The ECN field of media packets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EcnSpec {
    /// ECN-capable, ECT(0).
    Ect0,
    /// ECN-capable, ECT(1).
    Ect1,
    /// Not ECN-capable.
    #[default]
    Off,
}

impl EcnSpec {
    /// The field itself.
    pub const fn field(self) -> Ecn {
        match self {
            Self::Ect0 => Ecn::Ect0,
            Self::Ect1 => Ecn::Ect1,
            Self::Off => Ecn::NotEct,
        }
    }
}

/// When the receiver sends transport feedback.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FeedbackTiming {
    /// By the rule of the call's controller; one that has none gets RTCP's.
    #[default]
    Controller,
    /// As often as 5 % of the bitrate pay for, as receivers of WebRTC do, whichever controller there is.
    Rtcp,
}

/// The receiving end.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ReceiverSpec {
    /// Whose rule says when transport feedback is sent.
    #[serde(deserialize_with = "choice")]
    pub feedback_timing: FeedbackTiming,
    /// Minimum interval between feedback by RTCP's rule, which uses 5 % of the bitrate.
    pub min_feedback_interval_ms: f64,
    /// Maximum interval between feedback by RTCP's rule.
    pub max_feedback_interval_ms: f64,
    /// Minimum interval between receiver reports; each interval is drawn from between the two.
    pub min_report_interval_ms: f64,
    /// Maximum interval between receiver reports.
    pub max_report_interval_ms: f64,
    /// Request lost packets. Absent: yes, unless the decoder is `loss_tolerant`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub nack: Option<bool>,
    /// Interval of repeated requests, which end when the packet arrives. Absent: one round-trip time, as measured by
    /// retransmissions, and at most ten requests.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub nack_interval_ms: Option<f64>,
    /// How long a decoder that accepts incomplete frames waits for missing packets after the first packet of a later
    /// frame. Absent: 150 with retransmission, else 0.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub partial_wait_ms: Option<f64>,
    /// Minimum playout delay.
    pub min_playout_delay_ms: f64,
    /// Maximum playout delay.
    pub max_playout_delay_ms: f64,
    /// How the receiver reports what arrived.
    #[serde(deserialize_with = "choice")]
    pub feedback: FeedbackFormat,
}

/// The receiver's clock relative to the sender's.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ClockSpec {
    /// Offset at the start; positive means ahead.
    pub offset_ms: f64,
    /// Drift in microseconds per second; positive means faster.
    pub drift_ppm: f64,
}

impl Default for LimitsSpec {
    fn default() -> Self {
        Self { min_bps: 50_000, start_bps: 300_000, max_bps: 6_000_000 }
    }
}

impl Default for SenderSpec {
    fn default() -> Self {
        Self {
            burst_ms: 40.0,
            queue_time_limit_ms: 2_000.0,
            max_pacer_queue_ms: 2_000.0,
            encoder_interval_ms: 0.0,
            pad_to_target: false,
            retransmit: true,
            ecn: EcnSpec::default(),
            circuit_breakers: BreakersSpec::default(),
        }
    }
}

impl Default for ReceiverSpec {
    fn default() -> Self {
        Self {
            feedback_timing: FeedbackTiming::default(),
            min_feedback_interval_ms: 50.0,
            max_feedback_interval_ms: 250.0,
            // [libwebrtc-m150] RtcpSender: half to one and a half times a second.
            min_report_interval_ms: 500.0,
            max_report_interval_ms: 1_500.0,
            nack: None,
            nack_interval_ms: None,
            partial_wait_ms: None,
            min_playout_delay_ms: 0.0,
            max_playout_delay_ms: 10_000.0,
            feedback: FeedbackFormat::default(),
        }
    }
}

impl Default for ClockSpec {
    fn default() -> Self {
        Self { offset_ms: 123_456.789, drift_ppm: 20.0 }
    }
}

fn is_zero(value: &f64) -> bool {
    *value == 0.0
}

impl LimitsSpec {
    pub(crate) fn check(&self, key: &str) -> Result<(), Refusal> {
        let Self { min_bps, start_bps, max_bps } = self;
        if !(min_bps <= start_bps && start_bps <= max_bps) {
            let message = format!("min_bps = {min_bps}, start_bps = {start_bps}, max_bps = {max_bps} do not ascend");
            return Err((key.to_owned(), message));
        }
        within(&format!("{key}.max_bps"), *max_bps as f64, 1e3, 1e10)
    }
}

impl SenderSpec {
    pub(super) fn check(&self) -> Result<(), Refusal> {
        within("sender.burst_ms", self.burst_ms, 0.1, 1_000.0)?;
        within("sender.queue_time_limit_ms", self.queue_time_limit_ms, 1.0, 60_000.0)?;
        within("sender.max_pacer_queue_ms", self.max_pacer_queue_ms, 1.0, 60_000.0)?;
        within("sender.encoder_interval_ms", self.encoder_interval_ms, 0.0, 60_000.0)
    }
}

impl ReceiverSpec {
    pub(super) fn check(&self) -> Result<(), Refusal> {
        let min = self.min_feedback_interval_ms;
        within("receiver.min_feedback_interval_ms", min, 1.0, 10_000.0)?;
        within("receiver.max_feedback_interval_ms", self.max_feedback_interval_ms, min, 10_000.0)?;
        let min = self.min_report_interval_ms;
        within("receiver.min_report_interval_ms", min, 1.0, 60_000.0)?;
        within("receiver.max_report_interval_ms", self.max_report_interval_ms, min, 60_000.0)?;
        within("receiver.nack_interval_ms", self.nack_interval_ms.unwrap_or(100.0), 1.0, 10_000.0)?;
        within("receiver.partial_wait_ms", self.partial_wait_ms.unwrap_or(0.0), 0.0, 10_000.0)?;
        let min = self.min_playout_delay_ms;
        within("receiver.min_playout_delay_ms", min, 0.0, 10_000.0)?;
        within("receiver.max_playout_delay_ms", self.max_playout_delay_ms, min, 60_000.0)
    }
}

impl ClockSpec {
    pub(super) fn check(&self) -> Result<(), Refusal> {
        within("clock.offset_ms", self.offset_ms, -1e12, 1e12)?;
        within("clock.drift_ppm", self.drift_ppm, -1_000.0, 1_000.0)
    }
}
