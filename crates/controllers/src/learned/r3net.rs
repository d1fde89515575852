//! `r3net` believes that a recurrent network finds the bandwidth from four numbers per interval and
//! its own memory of them ([r3net]). It runs at the receiver, observes receive rate, packet
//! interval, loss and round-trip time every 50 ms, and picks the bitrate outright.

use super::{Learned, Scheme};
use crate::ukf::Ukf;
use legato_control::action::{self, ActionSpace};
use legato_control::observation::Layout;
use legato_control::window::WindowStats;
use legato_control::{BuildError, Context, Side};
use legato_units::{DataRate, TimeDelta};

/// R3Net.
pub type R3Net = Learned<R3NetScheme>;

/// [`R3Net`]'s features and actions.
#[derive(Clone)]
pub struct R3NetScheme;

impl Scheme for R3NetScheme {
    const NAME: &'static str = "r3net";
    const SIDE: Side = Side::Receiver;
    const SUMMARY: &'static str = "learned, recurrent, at the receiver";
    const CITES: &'static [&'static str] = &["r3net"];
    // [r3net] §2.2: windows of 50 ms; four features; the network's memory is its history.
    const INTERVAL: TimeDelta = TimeDelta::from_millis(50);
    const LAYOUT: Layout =
        Layout { features: &["receiver_rate", "packet_interval", "loss_ratio", "rtt"], width: 1, history: 1 };
    const ACTIONS: ActionSpace = ActionSpace::Continuous { low: 0.0, high: 1.0 };
    const FOR_STUDY: bool = false;
    type Fallback = Ukf;

    fn new(_context: Context<'_>) -> Result<Self, BuildError> {
        Ok(Self)
    }

    /// [r3net] §2.2 scales to one order of magnitude, and does not say by what: rate in 8 Mbit/s, interval
    /// in 50 ms, round-trip time in seconds.
    fn features(&self, stats: &WindowStats, _last_action: f32, out: &mut [f32]) {
        out[0] = (stats.receiver_rate().as_bps_f64() / 8e6) as f32;
        out[1] = stats.packet_interval.map_or(1.0, |interval| (interval.as_secs_f64() / 0.05) as f32).min(5.0);
        out[2] = stats.loss_ratio() as f32;
        out[3] = stats.rtt.map_or(0.0, |rtt| rtt.as_secs_f64() as f32).min(5.0);
    }

    fn target(&self, action: f32, _stats: &WindowStats, _target: DataRate) -> DataRate {
        action::r3net(action)
    }
}
