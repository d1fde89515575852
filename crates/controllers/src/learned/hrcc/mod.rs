//! `hrcc` believes that rules find the way and that a neural network knows when they are too cautious or too bold ([hrcc]). Google congestion control at the receiver (`heuristic`) estimates the bandwidth all the time. Every 800 ms a network that observes the last two seconds (`rows`) multiplies the estimate by a factor between a half and two, from which the rules continue.
//!
//! The paper was read through its abstract, its slides and facts from its authors' public code; docs/papers/hrcc.md
//! lists the source of every number. The network and the reward of the paper are not public: ours are interpretations.

mod heuristic;
mod rows;

use super::{Learned, Scheme};
use crate::ukf::Ukf;
use heuristic::Heuristic;
use legato_control::action::{self, ActionSpace};
use legato_control::observation::Layout;
use legato_control::window::WindowStats;
use legato_control::{BuildError, Context, Event, Side};
use legato_units::{DataRate, TimeDelta, Timestamp};
use rows::{ROWS, Rows};

/// HRCC.
pub type Hrcc = Learned<HrccScheme>;

/// [`Hrcc`]'s features and actions.
#[derive(Clone)]
pub struct HrccScheme {
    heuristic: Heuristic,
    rows: Rows,
    /// Start of the current interval.
    opened: Timestamp,
    min: DataRate,
    /// The heuristic has changed its estimate, and it has not been read yet.
    news: bool,
}

impl Scheme for HrccScheme {
    const NAME: &'static str = "hrcc";
    const SIDE: Side = Side::Receiver;
    const SUMMARY: &'static str = "Google congestion control at the receiver, times a learned factor";
    const CITES: &'static [&'static str] = &["hrcc", "draft-ietf-rmcat-gcc-02", "libwebrtc-m150"];
    // [hrcc]'s guide interval: four rows in its public code.
    const INTERVAL: TimeDelta = TimeDelta::from_millis(800);
    const LAYOUT: Layout = Layout {
        features: &["receiver_rate", "delay", "loss_ratio", "estimate", "since_overuse", "overuse_rate"],
        width: ROWS,
        history: 1,
    };
    const ACTIONS: ActionSpace = ActionSpace::Continuous { low: 0.0, high: 1.0 };
    type Fallback = Ukf;

    fn new(context: Context<'_>) -> Result<Self, BuildError> {
        let Context { limits, start, .. } = context;
        let min = limits.min.max(MIN);
        Ok(Self {
            heuristic: Heuristic::new(limits.start, min, start),
            rows: Rows::new(start),
            opened: start,
            min,
            news: false,
        })
    }

    fn on_event(&mut self, now: Timestamp, event: &Event) {
        self.rows.close_until(now, self.heuristic.estimate());
        match event {
            Event::PacketReceived(packet) => {
                self.news |= self.heuristic.on_packet(now, packet);
                self.rows.on_packet(now, packet, self.heuristic.overuses());
            }
            Event::RoundTripTime(rtt) => self.heuristic.set_rtt(*rtt),
            Event::RouteChange => {
                self.heuristic = Heuristic::new(self.heuristic.estimate(), self.min, now);
                self.rows.on_route_change();
            }
            _ => {}
        }
    }

    fn features(&self, stats: &WindowStats, _last_action: f32, out: &mut [f32]) {
        // When an environment observes, the row that ends with the interval is still open.
        let mut rows = self.rows.clone();
        rows.close_until(self.opened + stats.span, self.heuristic.estimate());
        rows.write(out);
    }

    fn target(&self, action: f32, _stats: &WindowStats, _target: DataRate) -> DataRate {
        action::hrcc(action, self.heuristic.estimate())
    }

    fn between(&mut self) -> Option<DataRate> {
        std::mem::take(&mut self.news).then(|| self.heuristic.estimate())
    }

    fn settled(&mut self, now: Timestamp, target: DataRate) {
        self.heuristic.set_estimate(target, now);
    }

    fn close(&mut self, stats: &WindowStats) {
        self.opened += stats.span;
    }
}

/// [libwebrtc-m150]: the minimum rate of its delay-based control.
const MIN: DataRate = DataRate::from_kbps(5);

#[cfg(test)]
#[path = "hrcc_tests.rs"]
mod tests;
