//! Propagation: the same time for every packet, fixed or changing over the call.

use super::Lost;
use super::burst::{is_whole, pass_each};
use super::{DropReason, Eager, Stage};
use crate::Ecn;
use legato_units::{Burst, DataSize, TimeDelta, Timestamp};
use std::sync::Arc;

/// A delay under which packets never overtake each other: if it shrinks, later packets wait for the
/// last one under the old delay.
#[derive(Clone, Debug)]
pub struct Propagation {
    delay: TimeDelta,
    /// `(from when, delay)`, in order.
    changes: Arc<[(Timestamp, TimeDelta)]>,
    next: usize,
    /// When the delay changes next; [`Timestamp::MAX`] if it does not.
    next_at: Timestamp,
    last_exit: Timestamp,
    shortest: TimeDelta,
}

/// Why a delay schedule is invalid.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PropagationError {
    /// A delay below zero.
    #[error("a propagation delay of {0} is below zero")]
    Negative(TimeDelta),
    /// A change that is not after the previous one.
    #[error("the change of propagation at {0} is not after the previous one")]
    NotIncreasing(Timestamp),
}

impl Propagation {
    /// The same delay forever; negative counts as zero.
    pub fn fixed(delay: TimeDelta) -> Self {
        let delay = delay.max(TimeDelta::ZERO);
        let changes = Arc::new([]);
        Self { delay, changes, next: 0, next_at: Timestamp::MAX, last_exit: Timestamp::ZERO, shortest: delay }
    }

    /// A first delay and its changes: a packet takes the delay at the time it enters.
    ///
    /// # Errors
    /// Negative delays, or times that do not increase.
    pub fn scheduled(first: TimeDelta, changes: Arc<[(Timestamp, TimeDelta)]>) -> Result<Self, PropagationError> {
        let mut shortest = first;
        let mut last = None;
        for &(at, delay) in changes.iter() {
            if last.is_some_and(|last| at <= last) {
                return Err(PropagationError::NotIncreasing(at));
            }
            last = Some(at);
            shortest = shortest.min(delay);
        }
        if shortest.is_negative() {
            return Err(PropagationError::Negative(shortest));
        }
        let next_at = changes.first().map_or(Timestamp::MAX, |&(at, _)| at);
        Ok(Self { delay: first, changes, next: 0, next_at, last_exit: Timestamp::ZERO, shortest })
    }

    #[cold]
    fn change(&mut self, now: Timestamp) {
        while let Some(&(at, delay)) = self.changes.get(self.next)
            && at <= now
        {
            self.delay = delay;
            self.next += 1;
        }
        self.next_at = self.changes.get(self.next).map_or(Timestamp::MAX, |&(at, _)| at);
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
        if now >= self.next_at {
            self.change(now);
        }
        self.last_exit = self.last_exit.max(now.saturating_add(self.delay));
        Ok(self.last_exit)
    }

    #[inline]
    fn pass(&mut self, burst: &Burst<DataSize>, at: &mut [Timestamp], lost: &mut Vec<Lost>) {
        let (Some(&first), Some(&last)) = (at.first(), at.last()) else { return };
        let plain = is_whole(at, lost)
            && last < self.next_at
            && first.saturating_add(self.delay) >= self.last_exit
            && last.saturating_add(self.delay) < Timestamp::MAX;
        if !plain {
            return pass_each(self, burst, at, lost);
        }
        for at in at.iter_mut() {
            *at += self.delay;
        }
        self.last_exit = last + self.delay;
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

    #[test]
    fn every_packet_takes_the_same_time() {
        let mut stage = Propagation::fixed(TimeDelta::from_micros(12_500));
        assert_eq!(exit_ms(&mut stage, 0), 12.5);
        assert_eq!(exit_ms(&mut stage, 7), 19.5);
        assert_eq!(stage.min_delay(), TimeDelta::from_micros(12_500));
    }

    #[test]
    fn a_shrinking_delay_holds_packets_back_instead_of_reordering_them() {
        let changes = [(100, 50), (200, 10)].map(|(at, d)| (Timestamp::from_millis(at), TimeDelta::from_millis(d)));
        let mut stage = Propagation::scheduled(TimeDelta::from_millis(20), Arc::new(changes)).expect("valid");
        assert_eq!(exit_ms(&mut stage, 99), 119.0);
        assert_eq!(exit_ms(&mut stage, 100), 150.0);
        assert_eq!(exit_ms(&mut stage, 199), 249.0);
        assert_eq!(exit_ms(&mut stage, 200), 249.0);
        assert_eq!(exit_ms(&mut stage, 239), 249.0);
        assert_eq!(exit_ms(&mut stage, 240), 250.0);
        assert_eq!(stage.min_delay(), TimeDelta::from_millis(10));
    }

    #[test]
    fn invalid_schedules_are_refused() {
        let at = Timestamp::from_millis(1);
        let twice = Arc::new([(at, TimeDelta::ZERO), (at, TimeDelta::ZERO)]);
        assert_eq!(
            Propagation::scheduled(TimeDelta::ZERO, twice).expect_err("refused"),
            PropagationError::NotIncreasing(at)
        );
        let below = Propagation::scheduled(TimeDelta::from_nanos(-1), Arc::new([]));
        assert_eq!(below.expect_err("refused"), PropagationError::Negative(TimeDelta::from_nanos(-1)));
    }
}
