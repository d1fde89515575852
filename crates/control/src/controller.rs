//! The interface of every controller.

use crate::{Decision, Event, FeedbackRule, ProbeCluster};
use dyn_clone::DynClone;
use legato_units::Timestamp;
use serde::{Deserialize, Serialize};

/// A rate controller. `on_event`, `decision` and `#[derive(Clone)]` suffice; the other methods have defaults.
pub trait RateController: DynClone + Send {
    /// Take one event, known at `now`. `now` never goes back.
    fn on_event(&mut self, now: Timestamp, event: &Event);

    /// What to do until the next event. Pure: changes only through `on_event`.
    fn decision(&self) -> Decision;

    /// When the controller wants [`Event::Deadline`]; the driver sends it then, not before.
    fn next_deadline(&self) -> Option<Timestamp> {
        None
    }

    /// The next burst to send as a probe; the driver polls after each event until `None`.
    fn poll_probe(&mut self) -> Option<ProbeCluster> {
        None
    }

    /// Whether the target is an estimate, which a controller at the receiver sends back: without one it sends none.
    fn has_estimate(&self) -> bool {
        true
    }

    /// How often the receiver should send transport feedback; the same during a whole call.
    fn feedback_rule(&self) -> FeedbackRule {
        FeedbackRule::BitrateShare
    }

    /// Report the inner state worth plotting, for the trace. From the first call on a controller may keep what only
    /// gauges show; decisions never depend on it.
    fn observe(&mut self, gauge: &mut dyn FnMut(&'static str, f64)) {
        let _ = gauge;
    }
}
dyn_clone::clone_trait_object!(RateController);

/// The end of the call at which a controller runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Side {
    /// Sees arrivals; its target travels back as REMB.
    Receiver,
    /// Sees departures and feedback.
    Sender,
}

impl Side {
    /// `"receiver"` or `"sender"`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Receiver => "receiver",
            Self::Sender => "sender",
        }
    }
}
