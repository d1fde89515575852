//! The only place in Legato that reads a clock.
//!
//! It is the system's monotonic clock: all processes on a machine share it, so a picture's way from the sender's
//! camera to the other end's screen can be timed without estimating an offset. Everything else sees
//! [`Timestamp`]s since the call's media began, as in the simulator.

use legato_units::{TimeDelta, Timestamp};
use std::time::{Duration, Instant};

/// Time since an arbitrary epoch. Copies share the epoch.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    epoch: Instant,
}

impl Clock {
    /// A clock that shows zero now.
    #[expect(clippy::disallowed_methods, reason = "the one place that reads a clock")]
    pub fn starting_now() -> Self {
        Self { epoch: Instant::now() }
    }

    /// A clock that shows zero at `instant`.
    pub fn starting_at(instant: Instant) -> Self {
        Self { epoch: instant }
    }

    /// The time it shows; negative before its epoch.
    #[expect(clippy::disallowed_methods, reason = "the one place that reads a clock")]
    pub fn now(&self) -> Timestamp {
        let now = Instant::now();
        match now.checked_duration_since(self.epoch) {
            Some(after) => Timestamp::from_nanos(after.as_nanos() as i64),
            None => Timestamp::from_nanos(-(self.epoch.duration_since(now).as_nanos() as i64)),
        }
    }

    /// The system's instant at which it shows `at`.
    pub fn instant(&self, at: Timestamp) -> Instant {
        self.epoch + Duration::from_nanos(at.as_nanos().max(0) as u64)
    }

    /// The time it shows at an instant not before its epoch.
    pub fn at(&self, instant: Instant) -> Timestamp {
        Timestamp::from_nanos(instant.saturating_duration_since(self.epoch).as_nanos() as i64)
    }
}

/// How long to wait at `now` for `due`.
pub fn wait(now: Timestamp, due: Timestamp) -> Duration {
    let left = TimeDelta::from_nanos(due.as_nanos().saturating_sub(now.as_nanos()));
    Duration::from_nanos(left.as_nanos().max(0) as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_advances_and_agrees_with_the_systems() {
        let clock = Clock::starting_now();
        let first = clock.now();
        std::thread::sleep(Duration::from_millis(2));
        let second = clock.now();
        assert!(first >= Timestamp::ZERO && second - first >= TimeDelta::from_millis(2));
        assert_eq!(clock.at(clock.instant(second)), second);
        assert_eq!(wait(second, first), Duration::ZERO);
        assert_eq!(wait(Timestamp::from_millis(1), Timestamp::from_millis(4)), Duration::from_millis(3));
    }
}
