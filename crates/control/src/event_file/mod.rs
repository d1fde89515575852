//! Event files: the events of a controller and its decisions, line by line. Another run of the same controller must write
//! the same file, byte for byte (docs/reference/contract.md). A file is JSON, one fact a line: first the header, then each event
//! with its time. Behind an event follow its answers from the future, and the decision, the deadline and whether there
//! is an estimate, each only if it changed.

mod answers;
mod log;
mod recorder;
mod replay;

pub use log::EventLog;
pub use replay::{ReplayError, first_difference, replay};

use crate::{CapacityStep, Decision, Event, FeedbackRule, ProbeCluster, RateLimits, Side};
use legato_units::{DataSize, Timestamp};
use serde::{Deserialize, Serialize};

/// The version of the contract: of the fields of events, decisions and probes, their meaning, and of event files. It
/// counts up with any change of them.
pub const CONTRACT_VERSION: u32 = 1;

/// One line of an event file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
enum Line {
    /// The first one.
    Header(Header),
    /// How often it wants feedback, the same during the whole call.
    FeedbackRule(FeedbackRule),
    /// The controller got an event.
    Event(Timestamp, Event),
    /// What it decides from here on.
    Decision(Decision),
    /// When it wants [`Event::Deadline`] from here on.
    DeadlineNs(Option<Timestamp>),
    /// Whether its target is an estimate from here on.
    HasEstimate(bool),
    /// It was asked for a probe.
    Probe(Option<ProbeCluster>),
    /// It asked the future.
    Future(Answer),
}

/// All that a controller is built from, except files.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Header {
    version: u32,
    controller: String,
    side: Side,
    /// The parameters that were given; the others have their defaults.
    config: toml::Table,
    limits: RateLimits,
    #[serde(rename = "start_ns")]
    start: Timestamp,
    seed: u64,
}

/// A question to the future, then its answer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
enum Answer {
    Capacity(Option<Vec<CapacityStep>>),
    /// Whether there is a link to ask.
    Link(bool),
    Take(Timestamp, DataSize, Timestamp),
    IdleAt(Timestamp, Timestamp),
    Exit(Timestamp, DataSize, Timestamp),
    Passes(Timestamp, Timestamp, DataSize),
    QueueLimit(Option<DataSize>),
}

#[cfg(test)]
mod contract_tests;
