//! What a paper adds to the road that all learned controllers take: what its network sees of an
//! interval and what its answer means.

use crate::action::ActionSpace;
use crate::observation::Layout;
use crate::window::WindowStats;
use crate::{BuildError, Context, Decision, Event, Side};
use legato_units::{DataRate, TimeDelta, Timestamp};

/// A paper's part of a learned controller.
pub trait Scheme: Clone + Send + Sized + 'static {
    /// The name users type; also that of the policy that is shipped for it.
    const NAME: &'static str;
    /// Which end it sits at.
    const SIDE: Side;
    /// One line for `legato controllers`.
    const SUMMARY: &'static str;
    /// Keys of docs/references.bib.
    const CITES: &'static [&'static str];
    /// It decides each so often.
    const INTERVAL: TimeDelta;
    /// What its network takes.
    const LAYOUT: Layout;
    /// What its network answers.
    const ACTIONS: ActionSpace;
    /// Whether it fills what the encoder leaves of its target with padding.
    const PADDING: bool = false;
    /// Who decides an interval for which the network's answer is no number.
    const FALLBACK: &'static str;

    /// Begin a call.
    fn new(context: Context<'_>) -> Result<Self, BuildError>;

    /// Look at an event that the window does not keep.
    fn on_event(&mut self, now: Timestamp, event: &Event) {
        let _ = (now, event);
    }

    /// Write the features of an interval, all about one in size. `last_action` is the answer in force
    /// during it. Pure: an environment asks before the interval is closed.
    fn features(&self, stats: &WindowStats, last_action: f32, out: &mut [f32]);

    /// The target that an answer means, before bounds.
    fn target(&self, action: f32, stats: &WindowStats, target: DataRate) -> DataRate;

    /// What the paper's own rules make of the target between two answers, where they do: asked after each event.
    fn between(&mut self) -> Option<DataRate> {
        None
    }

    /// The target as it is in force from now on, bounds and silence included, whoever asked for it.
    fn settled(&mut self, now: Timestamp, target: DataRate) {
        let _ = (now, target);
    }

    /// An interval is over, and the answer to it given.
    fn close(&mut self, stats: &WindowStats) {
        let _ = stats;
    }

    /// What the sender shall do at a target within bounds; depends on nothing else.
    fn decision(target: DataRate) -> Decision {
        let padding_rate = if Self::PADDING { target } else { DataRate::ZERO };
        Decision { padding_rate, ..Decision::of_target(target) }
    }
}
