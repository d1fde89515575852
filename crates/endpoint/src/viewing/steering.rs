//! A receiver-side controller at our receiving end: the simulator's object, told of packets and frames as
//! `call::Receiver` tells it, and its target sent as often.

use legato_control::{Event, RateController};
use legato_trace::{Record, Recorder, TraceSink};
use legato_units::{DataRate, TimeDelta, Timestamp};

/// The controller, where there is one, and what it has said.
pub struct Steering {
    controller: Option<Box<dyn RateController>>,
    last_remb: Option<(DataRate, Timestamp)>,
    /// Transport-wide number of the newest packet, unwrapped.
    transport_seq: Option<u64>,
}

/// As of `call::Receiver`: at once on a fall of 3 %, else each so often.
const REMB_INTERVAL: TimeDelta = TimeDelta::from_millis(200);
const REMB_FALL: f64 = 0.97;

impl Steering {
    /// Nothing said yet.
    pub fn by(controller: Option<Box<dyn RateController>>) -> Self {
        Self { controller, last_remb: None, transport_seq: None }
    }

    /// There is a controller.
    pub fn decides(&self) -> bool {
        self.controller.is_some()
    }

    /// When the controller wants to be told of the time.
    pub fn deadline(&self) -> Option<Timestamp> {
        self.controller.as_ref()?.next_deadline()
    }

    /// Tell the controller.
    pub fn tell(&mut self, now: Timestamp, event: &Event, recorder: &mut Recorder) {
        let Some(controller) = &mut self.controller else { return };
        controller.on_event(now, event);
        if recorder.wants_gauges(now) {
            controller.observe(&mut |name, value| recorder.record(now, &Record::Gauge { name, value }));
        }
    }

    /// The target to send now; told once for each time.
    pub fn due_target(&mut self, now: Timestamp) -> Option<DataRate> {
        let target = self.controller.as_ref()?.decision().target_bitrate;
        let due = self
            .last_remb
            .is_none_or(|(last, at)| target.as_bps_f64() <= REMB_FALL * last.as_bps_f64() || at + REMB_INTERVAL <= now);
        due.then(|| {
            self.last_remb = Some((target, now));
            target
        })
    }

    /// A transport-wide number among those that came.
    pub fn unwrap_seq(&mut self, seq: u16) -> u64 {
        let last = self.transport_seq.unwrap_or(u64::from(seq));
        let step = i64::from(seq.wrapping_sub(last as u16).cast_signed());
        // What would be before the first number of all is taken as it stands.
        let unwrapped = last.checked_add_signed(step).unwrap_or(u64::from(seq));
        self.transport_seq = Some(last.max(unwrapped));
        unwrapped
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use legato_control::controllers::fixed::{Config, Fixed};
    use legato_control::{Construct, Context, NoAssets, RateLimits};

    #[test]
    fn a_target_that_stays_is_sent_each_200_ms() {
        let limits = RateLimits { min: DataRate::ZERO, start: DataRate::from_kbps(500), max: DataRate::from_mbps(1) };
        let context = Context { limits, start: Timestamp::ZERO, seed: 1, assets: &NoAssets };
        let mut steering = Steering::by(Some(Box::new(Fixed::new(Config::default(), context).unwrap())));
        let sent = (0..100).filter(|n| steering.due_target(Timestamp::from_millis(10 * n)).is_some());
        assert!(sent.eq([0, 20, 40, 60, 80]));
        assert!(Steering::by(None).due_target(Timestamp::ZERO).is_none());
    }

    #[test]
    fn numbers_go_on_beyond_sixteen_bits_in_any_order() {
        let mut steering = Steering::by(None);
        let seen = [65_534, 65_535, 1, 0, 2].map(|seq| steering.unwrap_seq(seq));
        assert_eq!(seen, [65_534, 65_535, 65_537, 65_536, 65_538]);
        let mut early = Steering::by(None);
        assert_eq!([3, 1, 65_535].map(|seq| early.unwrap_seq(seq)), [3, 1, 65_535]);
    }
}
