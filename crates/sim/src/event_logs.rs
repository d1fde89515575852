//! The event files of a call while it runs.

use legato_control::event_file::EventLog;

/// The event files of a call's two ends.
#[derive(Clone, Default)]
pub struct EventLogs {
    /// Of the controller at the sender, without circuit breakers around it.
    pub sender: EventLog,
    /// Of the controller at the receiver; empty if there is none.
    pub receiver: EventLog,
}
