//! The interface of every controller, and how one is built.

use crate::controllers::learned::Steered;
use crate::policy::{self, Model};
use crate::{Decision, Event, ProbeCluster, RateLimits};
use dyn_clone::DynClone;
use legato_units::{DataRate, Timestamp};
use serde::{Serialize, de::DeserializeOwned};
use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

/// A rate controller. `on_event`, `decision` and `#[derive(Clone)]` suffice; the other methods have defaults.
pub trait RateController: DynClone + Send {
    /// Take one event, known at `now`. `now` never goes back.
    fn on_event(&mut self, now: Timestamp, event: &Event);

    /// What to do until the next event. Pure: changes only through `on_event`.
    fn decision(&self) -> Decision;

    /// Changes whenever the decision may have changed or a probe may wait: while it stays the same the
    /// driver need not read either. `None`: no change counter; poll after every event.
    fn revision(&self) -> Option<u64> {
        None
    }

    /// When the controller wants [`Event::Deadline`]; the driver sends it then, not before.
    fn next_deadline(&self) -> Option<Timestamp> {
        None
    }

    /// The next burst to send as a probe; the driver polls after each event until `None`.
    fn poll_probe(&mut self) -> Option<ProbeCluster> {
        None
    }

    /// Report the inner state worth plotting, for the trace.
    fn observe(&self, gauge: &mut dyn FnMut(&'static str, f64)) {
        let _ = gauge;
    }

    /// The interface by which an environment steers it, if a policy decides.
    fn steered(&mut self) -> Option<&mut dyn Steered> {
        None
    }

    /// How often another controller has taken over from the steered one.
    fn takeovers(&self) -> u32 {
        0
    }
}
dyn_clone::clone_trait_object!(RateController);

/// The end of the call at which a controller runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
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

/// A controller's static properties.
pub trait Construct: RateController + Sized + 'static {
    /// The name users type.
    const NAME: &'static str;
    /// The end it runs at.
    const SIDE: Side;
    /// One line for `legato controllers`.
    const SUMMARY: &'static str;
    /// Keys of docs/references.bib.
    const CITES: &'static [&'static str];
    /// A trained policy decides, which its parameter `policy` names.
    const LEARNED: bool = false;
    /// Its parameters; `#[serde(default, deny_unknown_fields)]`.
    type Config: Default + Serialize + DeserializeOwned;

    /// Build it. Refuses invalid parameters.
    fn new(config: Self::Config, context: Context<'_>) -> Result<Self, BuildError>;
}

/// What a controller gets when it is built: the only source of files and seeds.
#[derive(Clone, Copy)]
pub struct Context<'a> {
    /// Bounds and start rate.
    pub limits: RateLimits,
    /// The earliest time of its first event.
    pub start: Timestamp,
    /// For controllers that use randomness.
    pub seed: u64,
    /// Files, and the future if the scenario grants it.
    pub assets: &'a dyn Assets,
}

/// The outside world at build time.
pub trait Assets {
    /// A file by name, `None` if there is none.
    fn file(&self, name: &str) -> Option<Cow<'_, [u8]>>;

    /// A trained policy by name: that of the file `NAME/policy.toml`. A caller that builds many
    /// controllers caches them.
    fn model(&self, name: &str) -> Result<Arc<Model>, String> {
        policy::load(name, |file| self.file(file))
    }

    /// The bottleneck's capacity over the whole call, ascending in time; granted only to `oracle`.
    fn future_capacity(&self) -> Option<Arc<[CapacityStep]>> {
        None
    }
}

/// From `start` on the bottleneck's rate is `capacity`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CapacityStep {
    /// Valid from here to the next step.
    pub start: Timestamp,
    /// Mean over the step.
    pub capacity: DataRate,
}

/// No files, no future.
pub struct NoAssets;

impl Assets for NoAssets {
    fn file(&self, _name: &str) -> Option<Cow<'_, [u8]>> {
        None
    }
}

/// Why a controller could not be built.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum BuildError {
    /// A parameter is unknown, of the wrong type or out of range.
    Config {
        /// The controller.
        controller: &'static str,
        /// What is wrong, naming key and value.
        message: String,
    },
    /// A file or the future is needed and missing.
    Missing {
        /// The controller.
        controller: &'static str,
        /// What it needs.
        what: String,
    },
}

impl fmt::Display for BuildError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Config { controller, message } => write!(f, "controller {controller}: {message}"),
            Self::Missing { controller, what } => write!(f, "controller {controller} needs {what}"),
        }
    }
}

impl std::error::Error for BuildError {}
