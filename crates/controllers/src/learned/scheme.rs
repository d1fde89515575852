//! What a paper adds to the pipeline of all learned controllers: the features of an interval and
//! the meaning of the action.

use legato_control::action::ActionSpace;
use legato_control::observation::Layout;
use legato_control::window::WindowStats;
use legato_control::{BuildError, Construct, Context, Decision, Event, Pacing, Side};
use legato_units::{DataRate, TimeDelta, Timestamp};

/// A paper's part of a learned controller.
pub trait Scheme: Clone + Send + Sized + 'static {
    /// The name users type; also that of the policy shipped for it.
    const NAME: &'static str;
    /// The end it runs at.
    const SIDE: Side;
    /// One line for `legato controllers`.
    const SUMMARY: &'static str;
    /// Keys of docs/references.bib.
    const CITES: &'static [&'static str];
    /// The time between two decisions.
    const INTERVAL: TimeDelta;
    /// The shape of its network's input.
    const LAYOUT: Layout;
    /// The actions its network may take.
    const ACTIONS: ActionSpace;
    /// Whether padding fills what the encoder leaves of its target.
    const PADDING: bool = false;
    /// Whether its policy loses to `gcc` on a shipped family of links (docs/measured/generalisation.md).
    const FOR_STUDY: bool = true;
    /// The controller that decides an interval for which the network's output is NaN.
    type Fallback: Construct;

    /// Start a call.
    fn new(context: Context<'_>) -> Result<Self, BuildError>;

    /// Process an event that the window does not keep.
    fn on_event(&mut self, now: Timestamp, event: &Event) {
        let _ = (now, event);
    }

    /// Write the features of an interval, all scaled to about one. `last_action` was in force during
    /// it. Pure: an environment calls this before the interval is closed.
    fn features(&self, stats: &WindowStats, last_action: f32, out: &mut [f32]);

    /// The target that an action stands for, before bounds.
    fn target(&self, action: f32, stats: &WindowStats, target: DataRate) -> DataRate;

    /// The target by the paper's own rules between two actions, if they change it: queried after each event.
    fn between(&mut self) -> Option<DataRate> {
        None
    }

    /// The target in force from now on, including bounds and silence, whatever its origin.
    fn settled(&mut self, now: Timestamp, target: DataRate) {
        let _ = (now, target);
    }

    /// An interval is over, and its action has been taken.
    fn close(&mut self, stats: &WindowStats) {
        let _ = stats;
    }

    /// The sender's decision at a target within bounds; depends on nothing else.
    fn decision(target: DataRate) -> Decision {
        let padding_rate = if Self::PADDING { target } else { DataRate::ZERO };
        Decision { pacing: Pacing { padding_rate, ..Pacing::of_target(target) }, ..Decision::of_target(target) }
    }
}
