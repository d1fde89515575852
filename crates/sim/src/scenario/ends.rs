//! The two ends of a call: the controller and its limits, sender, receiver, and the receiver's clock.

use super::values::{Refusal, choice, within};
use legato_call::FeedbackFormat;
use legato_controllers::circuit_breaker::Response;
use legato_units::Ecn;
use schemars::JsonSchema;
use serde::de::{self, IntoDeserializer, Visitor};
use serde::{Deserialize, Deserializer, Serialize};
use std::fmt;

/// Bounds and initial value of the target bitrate.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct LimitsSpec {
    /// Minimum target bitrate.
    pub min_bps: u64,
    /// Initial target bitrate, used until feedback arrives.
    pub start_bps: u64,
    /// Maximum target bitrate.
    #[schemars(range(min = 1_000, max = 1e10))]
    pub max_bps: u64,
}

/// A controller and its parameters.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ControllerSpec {
    /// A name that `legato controllers list` shows.
    pub name: String,
    /// Its parameters; absent ones have their defaults.
    #[serde(default, skip_serializing_if = "toml::Table::is_empty")]
    #[schemars(skip)]
    pub config: toml::Table,
}

/// The sending end.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct SenderSpec {
    /// The pacer sends in one burst the bytes that its rate permits in this time.
    #[schemars(range(min = 0.1, max = 1_000))]
    pub burst_ms: f64,
    /// The pacer raises its rate rather than hold media longer than this.
    #[schemars(range(min = 1, max = 60_000))]
    pub queue_time_limit_ms: f64,
    /// Frames are skipped while the pacer holds more than this.
    #[schemars(range(min = 1, max = 60_000))]
    pub max_pacer_queue_ms: f64,
    /// The encoder keeps a bitrate for this long before it is given the next; 0: each frame has the latest.
    #[serde(skip_serializing_if = "is_zero")]
    #[schemars(range(min = 0, max = 60_000))]
    pub encoder_interval_ms: f64,
    /// Fill up to the target bitrate with padding, whatever the controller asks for.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub pad_to_target: bool,
    /// Retransmit packets that the receiver requests.
    pub retransmit: bool,
    /// The ECN field that media packets leave with.
    #[serde(deserialize_with = "choice")]
    #[schemars(skip)]
    pub ecn: EcnSpec,
    /// What a circuit breaker of RFC 8083 leads to.
    #[serde(deserialize_with = "response")]
    #[schemars(skip)]
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
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ReceiverSpec {
    /// Whose rule says when transport feedback is sent.
    #[serde(deserialize_with = "choice")]
    #[schemars(skip)]
    pub feedback_timing: FeedbackTiming,
    /// Minimum interval between feedback by RTCP's rule, which uses 5 % of the bitrate.
    #[schemars(range(min = 1, max = 10_000))]
    pub min_feedback_interval_ms: f64,
    /// Maximum interval between feedback by RTCP's rule.
    #[schemars(range(min = 1, max = 10_000))]
    pub max_feedback_interval_ms: f64,
    /// Request lost packets. Absent: yes, unless the decoder is `loss_tolerant`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub nack: Option<bool>,
    /// Interval of repeated requests, which end when the packet arrives. Absent: one round-trip time, as measured by
    /// retransmissions, and at most ten requests.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 10_000))]
    pub nack_interval_ms: Option<f64>,
    /// How long a decoder that accepts incomplete frames waits for missing packets after the first packet of a later
    /// frame. Absent: 150 with retransmission, else 0.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0, max = 10_000))]
    pub partial_wait_ms: Option<f64>,
    /// Minimum playout delay.
    #[schemars(range(min = 0, max = 10_000))]
    pub min_playout_delay_ms: f64,
    /// How the receiver reports arrivals.
    #[serde(deserialize_with = "choice")]
    #[schemars(skip)]
    pub feedback: FeedbackFormat,
}

/// The receiver's clock relative to the sender's.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ClockSpec {
    /// Offset at the start; positive means ahead.
    #[schemars(range(min = -1e12, max = 1e12))]
    pub offset_ms: f64,
    /// Drift in microseconds per second; positive means faster.
    #[schemars(range(min = -1_000, max = 1_000))]
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
            nack: None,
            nack_interval_ms: None,
            partial_wait_ms: None,
            min_playout_delay_ms: 0.0,
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
        Ok(())
    }
}

impl ReceiverSpec {
    pub(super) fn check(&self) -> Result<(), Refusal> {
        let Self { min_feedback_interval_ms: min, max_feedback_interval_ms: max, .. } = self;
        within("receiver.max_feedback_interval_ms", *max, *min, 10_000.0)
    }
}
