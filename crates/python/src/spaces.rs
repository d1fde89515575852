//! What a steered controller observes and how it may act, for both kinds of environment.

use legato_control::action::ActionSpace;
use legato_control::observation::Layout;
use pyo3::prelude::*;

/// The observations and actions of a steered controller.
#[pyclass(frozen, get_all, module = "legato._core")]
pub struct Spaces {
    /// Names of the features of one interval.
    features: Vec<&'static str>,
    /// Values per feature.
    feature_width: usize,
    /// Intervals per observation, the oldest first.
    history: usize,
    /// Values per observation.
    width: usize,
    /// `(low, high)` of a continuous action, `None` for a discrete one.
    action_range: Option<(f32, f32)>,
    /// Number of discrete actions, `None` for a continuous one.
    choices: Option<u32>,
}

impl Spaces {
    pub fn new(layout: Layout, actions: ActionSpace) -> Self {
        let (action_range, choices) = match actions {
            ActionSpace::Continuous { low, high } => (Some((low, high)), None),
            ActionSpace::Discrete(choices) => (None, Some(choices)),
        };
        Self {
            features: layout.features.to_vec(),
            feature_width: layout.width,
            history: layout.history,
            width: layout.len(),
            action_range,
            choices,
        }
    }
}
