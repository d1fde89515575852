//! `aurora` believes that throughput, latency and loss, weighed against each other, are all a controller
//! needs to learn from ([jay2019]; as [nvc-cc] runs it for video). Its features are NVC-CC's, and it
//! moves its rate by small steps. Not here: monitor intervals that follow the round-trip time; every
//! interval is 50 ms, as for the controllers it is compared with.

use super::nvc_cc::{LATENCY_AND_RATIO, latency_and_ratio};
use super::{Learned, Scheme};
use crate::gcc::Gcc;
use legato_control::action::{self, ActionSpace};
use legato_control::observation::Layout;
use legato_control::window::WindowStats;
use legato_control::{BuildError, Context, Side};
use legato_units::{DataRate, TimeDelta};

/// Aurora.
pub type Aurora = Learned<AuroraScheme>;

/// [`Aurora`]'s features and actions.
#[derive(Clone)]
pub struct AuroraScheme;

impl Scheme for AuroraScheme {
    const NAME: &'static str = "aurora";
    const SIDE: Side = Side::Sender;
    const SUMMARY: &'static str = "learned from throughput, latency and loss";
    const CITES: &'static [&'static str] = &["jay2019", "nvc-cc"];
    const INTERVAL: TimeDelta = TimeDelta::from_millis(50);
    const LAYOUT: Layout = LATENCY_AND_RATIO;
    // [jay2019]'s actions are unbounded: these bounds change the rate by at most half as much again, or a third less, per decision.
    const ACTIONS: ActionSpace = ActionSpace::Continuous { low: -20.0, high: 20.0 };
    const PADDING: bool = true;
    type Fallback = Gcc;

    fn new(_context: Context<'_>) -> Result<Self, BuildError> {
        Ok(Self)
    }

    fn features(&self, stats: &WindowStats, _last_action: f32, out: &mut [f32]) {
        latency_and_ratio(stats, out);
    }

    fn target(&self, action: f32, _stats: &WindowStats, target: DataRate) -> DataRate {
        action::aurora(action, target)
    }
}
