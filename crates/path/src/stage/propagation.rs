//! Propagation: the same time for every packet, fixed or changing over the call.

use super::Lost;
use super::burst::{is_whole, pass_each};
use super::{DropReason, Eager, Stage};
use crate::Ecn;
use crate::over_time::{Current, OverTime};
use legato_units::{Burst, DataSize, TimeDelta, Timestamp};

/// A delay under which packets never overtake each other: if it shrinks, later packets wait for the
/// last one under the old delay.
#[derive(Clone, Debug)]
pub struct Propagation {
    delay: Current<TimeDelta>,
    last_exit: Timestamp,
    shortest: TimeDelta,
}

/// A delay below zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a propagation delay of {0} is below zero")]
pub struct NegativeDelay(pub TimeDelta);

impl Propagation {
    /// The same delay forever; negative counts as zero.
    pub fn fixed(delay: TimeDelta) -> Self {
        let delay = delay.max(TimeDelta::ZERO);
        Self { delay: Current::new(OverTime::constant(delay)), last_exit: Timestamp::ZERO, shortest: delay }
    }

    /// A delay that changes: a packet takes the delay of the time at which it enters.
    ///
    /// # Errors
    /// A negative delay.
    pub fn over_time(delay: OverTime<TimeDelta>) -> Result<Self, NegativeDelay> {
        let shortest = delay.steps().iter().map(|&(_, delay)| delay).min().unwrap_or(TimeDelta::ZERO);
        if shortest.is_negative() {
            return Err(NegativeDelay(shortest));
        }
        Ok(Self { delay: Current::new(delay), last_exit: Timestamp::ZERO, shortest })
    }
}

impl Stage for Propagation {
    fn min_delay(&self) -> TimeDelta {
        self.shortest
    }
}

impl Eager for Propagation {
    #[inline]
    fn transit(&mut self, now: Timestamp, _size: DataSize, _ecn: &mut Ecn) -> Result<Timestamp, DropReason> {
        self.delay.advance(now);
        self.last_exit = self.last_exit.max(now.saturating_add(self.delay.value));
        Ok(self.last_exit)
    }

    #[inline]
    fn pass(&mut self, burst: &Burst<DataSize>, at: &mut [Timestamp], lost: &mut Vec<Lost>) {
        let (Some(&first), Some(&last)) = (at.first(), at.last()) else { return };
        let delay = self.delay.value;
        let plain = is_whole(at, lost)
            && last < self.delay.until
            && first.saturating_add(delay) >= self.last_exit
            && last.saturating_add(delay) < Timestamp::MAX;
        if !plain {
            return pass_each(self, burst, at, lost);
        }
        for at in at.iter_mut() {
            *at += delay;
        }
        self.last_exit = last + delay;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn exit_ms(stage: &mut Propagation, ms: i64) -> f64 {
        match stage.transit(Timestamp::from_millis(ms), DataSize::ZERO, &mut Ecn::NotEct) {
            Ok(at) => at.as_millis_f64(),
            Err(_) => f64::NAN,
        }
    }
    fn changing(steps: &[(i64, i64)], period: Option<i64>) -> OverTime<TimeDelta> {
        let ms = TimeDelta::from_millis;
        OverTime::new(steps.iter().map(|&(at, delay)| (ms(at), ms(delay))), period.map(ms)).expect("valid")
    }

    #[test]
    fn every_packet_takes_the_same_time() {
        let mut stage = Propagation::fixed(TimeDelta::from_micros(12_500));
        assert_eq!(exit_ms(&mut stage, 0), 12.5);
        assert_eq!(exit_ms(&mut stage, 7), 19.5);
        assert_eq!(stage.min_delay(), TimeDelta::from_micros(12_500));
    }

    #[test]
    fn a_falling_delay_holds_packets_back_instead_of_reordering_them() {
        let mut stage = Propagation::over_time(changing(&[(0, 20), (100, 50), (200, 10)], None)).expect("valid");
        assert_eq!(exit_ms(&mut stage, 99), 119.0);
        assert_eq!(exit_ms(&mut stage, 100), 150.0);
        assert_eq!(exit_ms(&mut stage, 199), 249.0);
        assert_eq!(exit_ms(&mut stage, 200), 249.0);
        assert_eq!(exit_ms(&mut stage, 239), 249.0);
        assert_eq!(exit_ms(&mut stage, 240), 250.0);
        assert_eq!(stage.min_delay(), TimeDelta::from_millis(10));
    }

    #[test]
    fn a_repeated_delay_begins_anew_after_its_period() {
        let mut stage = Propagation::over_time(changing(&[(0, 20), (100, 50)], Some(150))).expect("valid");
        assert_eq!([0, 120, 150, 270].map(|ms| exit_ms(&mut stage, ms)), [20.0, 170.0, 170.0, 320.0]);
    }

    #[test]
    fn a_negative_delay_is_refused() {
        let below = Propagation::over_time(changing(&[(0, 5), (10, -1)], None));
        assert_eq!(below.expect_err("refused"), NegativeDelay(TimeDelta::from_millis(-1)));
    }
}
