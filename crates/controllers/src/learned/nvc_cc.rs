//! `nvc-cc` believes that with a codec that decodes any part of a frame, a higher rate that loses some
//! packets can beat a lower one ([nvc-cc]). It observes the latency gradient, latency against the minimum of
//! the call, and the share of sent packets that arrive, over ten intervals of 50 ms; its action moves
//! the rate. Reward and training are in Python (`legato.envs.rewards`, `legato.train`).

use super::{Learned, Scheme};
use crate::gcc::Gcc;
use legato_control::action::{self, ActionSpace};
use legato_control::observation::Layout;
use legato_control::window::WindowStats;
use legato_control::{BuildError, Context, Side};
use legato_units::{DataRate, TimeDelta};

/// NVC-CC.
pub type NvcCc = Learned<NvcCcScheme>;

/// [`NvcCc`]'s features and actions.
#[derive(Clone)]
pub struct NvcCcScheme;

impl Scheme for NvcCcScheme {
    const NAME: &'static str = "nvc-cc";
    const SIDE: Side = Side::Sender;
    const SUMMARY: &'static str = "learned for a codec that tolerates loss";
    const CITES: &'static [&'static str] = &["nvc-cc"];
    // [nvc-cc] §4: a state every 50 ms, ten of them, one action in [−1, 1].
    const INTERVAL: TimeDelta = TimeDelta::from_millis(50);
    const LAYOUT: Layout = LATENCY_AND_RATIO;
    const ACTIONS: ActionSpace = ActionSpace::Continuous { low: -1.0, high: 1.0 };
    // [nvc-cc] §5.1: all are run with padding.
    const PADDING: bool = true;
    type Fallback = Gcc;

    fn new(_context: Context<'_>) -> Result<Self, BuildError> {
        Ok(Self)
    }

    fn features(&self, stats: &WindowStats, _last_action: f32, out: &mut [f32]) {
        latency_and_ratio(stats, out);
    }

    fn target(&self, action: f32, stats: &WindowStats, target: DataRate) -> DataRate {
        action::nvc_cc(action, target, stats.receiver_rate_200ms)
    }
}

/// The state of Aurora, which NVC-CC adopted.
pub(super) const LATENCY_AND_RATIO: Layout =
    Layout { features: &["latency_gradient", "latency_ratio", "sending_ratio"], width: 1, history: 10 };

/// [nvc-cc] §4 (i)–(iii). Ratios are given minus one, so that an idle path is zero.
pub(super) fn latency_and_ratio(stats: &WindowStats, out: &mut [f32]) {
    out[0] = (stats.delay_gradient() as f32).clamp(-2.0, 2.0);
    out[1] = match (stats.rtt, stats.min_mean_rtt) {
        (Some(rtt), Some(min)) => {
            // A minimum latency below a millisecond says nothing about the path.
            let min = min.as_secs_f64().max(1e-3);
            ((rtt.as_secs_f64() / min - 1.0) as f32).clamp(0.0, 10.0)
        }
        _ => 0.0,
    };
    let acknowledged = stats.arrived_packets.max(1);
    out[2] = (stats.sent_packets as f32 / acknowledged as f32 - 1.0).clamp(-1.0, 5.0);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// [nvc-cc] §4: features, actions and interval; [nvc-cc] §5.1: padding.
    #[test]
    fn an_interval_is_the_latency_gradient_the_latency_ratio_and_the_sending_ratio() {
        assert_eq!((NvcCcScheme::INTERVAL.as_millis(), NvcCcScheme::LAYOUT.len()), (50, 30));
        assert!(NvcCcScheme::decision(DataRate::from_mbps(1)).pacing.padding_rate == DataRate::from_mbps(1));
        let stats = WindowStats {
            span: TimeDelta::from_millis(50),
            sent_packets: 30,
            arrived_packets: 20,
            delay: Some(TimeDelta::from_millis(15)),
            delay_before: Some(TimeDelta::from_millis(5)),
            rtt: Some(TimeDelta::from_millis(60)),
            min_mean_rtt: Some(TimeDelta::from_millis(40)),
            ..WindowStats::default()
        };
        let mut seen = [0.0; 3];
        NvcCcScheme.features(&stats, 0.0, &mut seen);
        // 10 ms more in 50 ms; half as much again; three sent for two that arrived.
        assert_eq!(seen, [0.2, 0.5, 0.5]);
        NvcCcScheme.features(&WindowStats::default(), 0.0, &mut seen);
        assert_eq!(seen, [0.0, 0.0, -1.0]);
    }
}
