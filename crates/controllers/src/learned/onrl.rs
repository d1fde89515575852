//! `onrl` believes that a controller should go on learning where it runs, with a rule that takes over when an attempt goes wrong ([zhang2020]; as [nvc-cc] runs it). This is the learner; the rule is `safeguard` around it. It
//! observes loss, delay, its gradient and the receiver rate of ten intervals, and picks a bitrate outright. The
//! paper's text was not at hand: scales, and the gradient for its "delay interval", are ours; the sixty bitrates
//! are those of [nvc-cc]'s authors.

use super::{Learned, Scheme};
use crate::gcc::Gcc;
use legato_control::action::{self, ActionSpace, ONRL_BITRATES};
use legato_control::observation::Layout;
use legato_control::window::WindowStats;
use legato_control::{BuildError, Context, Side};
use legato_units::{DataRate, TimeDelta};

/// OnRL.
pub type Onrl = Learned<OnrlScheme>;

/// [`Onrl`]'s features and actions.
#[derive(Clone)]
pub struct OnrlScheme;

impl Scheme for OnrlScheme {
    const NAME: &'static str = "onrl";
    const SIDE: Side = Side::Sender;
    const SUMMARY: &'static str = "learned online under a safeguard";
    const CITES: &'static [&'static str] = &["zhang2020", "nvc-cc"];
    const INTERVAL: TimeDelta = TimeDelta::from_millis(50);
    const LAYOUT: Layout =
        Layout { features: &["loss_ratio", "delay", "delay_gradient", "receiver_rate"], width: 1, history: 10 };
    const ACTIONS: ActionSpace = ActionSpace::Discrete(ONRL_BITRATES);
    const PADDING: bool = true;
    type Fallback = Gcc;

    fn new(_context: Context<'_>) -> Result<Self, BuildError> {
        Ok(Self)
    }

    fn features(&self, stats: &WindowStats, _last_action: f32, out: &mut [f32]) {
        out[0] = stats.loss_ratio() as f32;
        out[1] = stats.delay.map_or(0.0, |delay| delay.as_secs_f64() as f32).min(5.0);
        out[2] = (stats.delay_gradient() as f32).clamp(-2.0, 2.0);
        // In Mbit/s: a policy that picks bitrates has to see one.
        out[3] = ((stats.receiver_rate().as_bps_f64() / 1e6) as f32).min(20.0);
    }

    fn target(&self, action: f32, _stats: &WindowStats, _target: DataRate) -> DataRate {
        action::onrl(action)
    }
}
