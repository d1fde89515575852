//! A receiver-side rate controller and its REMB messages, in the simulator and in real calls.

use legato_control::Event;
use legato_control::steering::{AnyController, Steered};
use legato_trace::{Record, TraceSink};
use legato_units::{DataRate, TimeDelta, Timestamp};

/// The controller, where there is one, and the target that was sent last.
pub struct ReceiverSide {
    controller: Option<AnyController>,
    last_remb: Option<(DataRate, Timestamp)>,
}

/// [libwebrtc-m150] a REMB leaves at once on a fall of 3 %, else every 200 ms.
const REMB_INTERVAL: TimeDelta = TimeDelta::from_millis(200);
const REMB_FALL: f64 = 0.97;

impl ReceiverSide {
    /// Nothing sent yet.
    pub fn new(controller: Option<AnyController>) -> Self {
        Self { controller, last_remb: None }
    }

    /// There is a controller.
    #[inline]
    pub fn decides(&self) -> bool {
        self.controller.is_some()
    }

    /// When the controller wants an [`Event::Deadline`].
    #[inline]
    pub fn next_deadline(&self) -> Option<Timestamp> {
        self.controller.as_ref()?.next_deadline()
    }

    /// The controller, where it is steered from outside.
    pub fn steered(&mut self) -> Option<&mut dyn Steered> {
        self.controller.as_mut()?.steered()
    }

    /// Report to the controller.
    pub fn on_event(&mut self, now: Timestamp, event: &Event, sink: &mut impl TraceSink) {
        let Some(controller) = &mut self.controller else { return };
        controller.on_event(now, event);
        if sink.wants_gauges(now) {
            controller.observe(&mut |name, value| sink.record(now, &Record::Gauge { name, value }));
        }
    }

    /// The target to send now; returned once for each REMB.
    pub fn due_target(&mut self, now: Timestamp) -> Option<DataRate> {
        let controller = self.controller.as_ref()?;
        if !controller.has_estimate() {
            return None;
        }
        let target = controller.decision().target_bitrate;
        let due = self
            .last_remb
            .is_none_or(|(last, at)| target.as_bps_f64() <= REMB_FALL * last.as_bps_f64() || at + REMB_INTERVAL <= now);
        due.then(|| {
            self.last_remb = Some((target, now));
            target
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use legato_control::{Decision, RateController};

    /// Half a megabit per second, whatever happens.
    #[derive(Clone)]
    struct Half;

    impl RateController for Half {
        fn on_event(&mut self, _now: Timestamp, _event: &Event) {}

        fn decision(&self) -> Decision {
            Decision::of_target(DataRate::from_kbps(500))
        }
    }

    #[test]
    fn a_target_that_stays_is_sent_every_200_ms() {
        let mut side = ReceiverSide::new(Some(Box::new(Half).into()));
        let sent = (0..100).filter(|n| side.due_target(Timestamp::from_millis(10 * n)).is_some());
        assert!(sent.eq([0, 20, 40, 60, 80]));
        assert!(ReceiverSide::new(None).due_target(Timestamp::ZERO).is_none());
    }
}
