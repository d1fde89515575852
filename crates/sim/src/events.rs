//! Event files of a call's controllers (docs/reference/contract.md): recorded in a simulated call, and replayed without one.

use crate::error::SimError;
use crate::event_logs::EventLogs;
use crate::future::FutureOf;
use crate::policies::Policies;
use crate::run::{CallParts, run_call};
use crate::scenario::Scenario;
use legato_control::event_file::{self, ReplayError};
use legato_trace::{LogLevel, Recorder};
use legato_units::Timestamp;

/// Make a call that has its network to itself, and return the event files of its controllers.
///
/// # Errors
/// As those of [`run_call`].
pub fn record_events(scenario: &Scenario, parts: &CallParts, seed: u64) -> Result<EventLogs, SimError> {
    let logs = EventLogs::default();
    let parts = CallParts { events: Some(logs.clone()), ..parts.clone() };
    run_call(scenario, &parts, seed, LogLevel::Summary, &mut Recorder::default())?;
    Ok(logs)
}

/// The event file that the controller of `recorded` writes now; see [`event_file::replay`].
///
/// # Errors
/// As those of [`event_file::replay`].
pub fn replay_events(recorded: &str, policies: &Policies) -> Result<String, ReplayError> {
    let (start, end) = (Timestamp::ZERO, Timestamp::ZERO);
    event_file::replay(recorded, &FutureOf { capacity: None, own_queue: None, start, end, policies, events: None })
}
