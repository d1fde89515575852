//! A trace that records more than a capacity makes a complete network: its propagation, loss and queue replace the
//! scenario's, and its cross traffic shares the bottleneck with the call.

use crate::cross_traffic::UdpConfig;
use crate::flows::{FlowSpec, TrafficKeys, UdpSpec};
use crate::scenario::{PathSpec, QueueKind, RecordedSpec, Scenario};
use legato_path::OverTime;
use legato_path::trace_file::Conditions;
use legato_units::{DataRate, TimeDelta};
use std::borrow::Cow;

/// Write the records into the two paths.
pub(crate) fn apply(conditions: &Conditions, forward: &mut PathSpec, reverse: &mut PathSpec) {
    let Conditions { propagation, return_propagation, loss_ratio, queue, .. } = conditions;
    // Conditions that the scenario names by themselves go before those of the capacity's trace.
    if forward.conditions.is_none() {
        forward.recorded = RecordedSpec { propagation: propagation.clone(), loss_ratio: loss_ratio.clone() };
    }
    if return_propagation.is_some() && reverse.conditions.is_none() {
        reverse.recorded.propagation = return_propagation.clone();
    }
    if let Some(queue) = queue {
        forward.queue.kind = QueueKind::DropTail;
        (forward.queue.limit_ms, forward.queue.limit_packets) = (None, None);
        forward.queue.limit_bytes = Some(queue.as_bytes());
    }
}

/// The scenario with the cross traffic of its forward trace, if that has some: a UDP flow that does not react.
pub(crate) fn with_cross_traffic<'a>(scenario: &'a Scenario, rates: Option<&OverTime<DataRate>>) -> Cow<'a, Scenario> {
    let Some(rates) = rates else { return Cow::Borrowed(scenario) };
    let mut scenario = scenario.clone();
    scenario.udp.push(udp(rates, TimeDelta::from_secs_f64(scenario.duration_s)));
    Cow::Owned(scenario)
}

/// The flow's rates, repeated as often as the call needs them.
fn udp(rates: &OverTime<DataRate>, duration: TimeDelta) -> UdpSpec {
    let mut steps = Vec::new();
    let mut round = TimeDelta::ZERO;
    loop {
        steps.extend(rates.steps().iter().map(|&(at, rate)| ((round + at).as_secs_f64(), rate.as_bps())));
        match rates.period() {
            Some(period) if round + period < duration => round += period,
            _ => break,
        }
    }
    let config = UdpConfig { steps: Some(steps), ..UdpConfig::default() };
    FlowSpec { name: Some("cross traffic".to_owned()), own: TrafficKeys { config }, ..FlowSpec::default() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cross_traffic_repeats_until_the_call_ends() {
        let second = TimeDelta::from_secs;
        let rates = [(0, 500), (1, 0), (2, 250)].map(|(at, kbps)| (second(at), DataRate::from_kbps(kbps)));
        let rates = OverTime::new(rates, Some(second(3))).unwrap();
        let flow = udp(&rates, second(4));
        let expected = [(0.0, 500_000), (1.0, 0), (2.0, 250_000), (3.0, 500_000), (4.0, 0), (5.0, 250_000)];
        assert_eq!(flow.own.config.steps.as_deref(), Some(&expected[..]));
        assert_eq!(udp(&rates, second(3)).own.config.steps.map(|steps| steps.len()), Some(3));
        assert!(flow.own.config.check("udp").is_ok());
    }
}
