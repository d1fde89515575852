//! A value that changes in steps over time, once or again after every period: the propagation delay and the loss
//! ratio of a recorded path.

use legato_units::{TimeDelta, Timestamp};
use std::sync::Arc;

/// Values over time, each from its time on. Cheap to clone: the data is shared.
#[derive(Clone, Debug, PartialEq)]
pub struct OverTime<T> {
    /// In order, the first at zero; no two neighbours are equal.
    steps: Arc<[(TimeDelta, T)]>,
    /// The time after which all repeat; `None`: the last value holds.
    period: Option<TimeDelta>,
}

/// Why steps are invalid.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OverTimeError {
    /// No entries.
    #[error("there is no value")]
    Empty,
    /// The first is not at zero.
    #[error("the first value is at {0}, not at 0")]
    LateStart(TimeDelta),
    /// A time that is not after the one before.
    #[error("the time {0} is not after the previous one")]
    NotIncreasing(TimeDelta),
    /// The period ends before the last value begins.
    #[error("the period of {0} ends before the last value begins")]
    Period(TimeDelta),
}

impl<T: Copy + PartialEq> OverTime<T> {
    /// The same value forever.
    pub fn constant(value: T) -> Self {
        Self { steps: Arc::new([(TimeDelta::ZERO, value)]), period: None }
    }

    /// Each value from its time on; after `period` from the first again.
    ///
    /// # Errors
    /// No value, a first one after zero, times that do not increase, a period that ends too early.
    pub fn new(
        values: impl IntoIterator<Item = (TimeDelta, T)>,
        period: Option<TimeDelta>,
    ) -> Result<Self, OverTimeError> {
        let mut steps: Vec<(TimeDelta, T)> = Vec::new();
        let mut last = None;
        for (at, value) in values {
            if last.is_some_and(|last| at <= last) {
                return Err(OverTimeError::NotIncreasing(at));
            }
            if last.is_none() && at != TimeDelta::ZERO {
                return Err(OverTimeError::LateStart(at));
            }
            last = Some(at);
            if steps.last().is_none_or(|&(_, before)| before != value) {
                steps.push((at, value));
            }
        }
        let last = last.ok_or(OverTimeError::Empty)?;
        match period.filter(|&period| period <= last) {
            Some(period) => Err(OverTimeError::Period(period)),
            None => Ok(Self { steps: steps.into(), period }),
        }
    }

    /// The values and when they begin, in order.
    pub fn steps(&self) -> &[(TimeDelta, T)] {
        &self.steps
    }

    /// The time after which the values repeat; absent: the last one holds.
    pub fn period(&self) -> Option<TimeDelta> {
        self.period
    }

    /// The same times with other values.
    pub fn map<U: Copy + PartialEq>(&self, value: impl Fn(T) -> U) -> OverTime<U> {
        OverTime { steps: self.steps.iter().map(|&(at, old)| (at, value(old))).collect(), period: self.period }
    }

    /// Means over each `step` of `duration`, of what `number` makes of a value; the last step may be shorter. At most a
    /// million.
    pub fn means(&self, step: TimeDelta, duration: TimeDelta, number: impl Fn(T) -> f64) -> Vec<f64> {
        let end = Timestamp::ZERO + duration;
        let step = step.max(duration / 1_000_000).max(TimeDelta::from_nanos(1));
        let (mut from, mut means) = (Timestamp::ZERO, Vec::new());
        while from < end {
            let to = from.saturating_add(step).min(end);
            let (mut at, mut sum) = (from, 0.0);
            while at < to {
                let (value, until) = self.place(at);
                let until = until.min(to);
                sum += number(value) * (until - at).as_secs_f64();
                at = until;
            }
            means.push(sum / (to - from).as_secs_f64());
            from = to;
        }
        means
    }

    /// The value at `at`, which is not before zero.
    pub fn at(&self, at: Timestamp) -> T {
        self.place(at).0
    }

    /// The value at `now`, and when the next one begins.
    fn place(&self, now: Timestamp) -> (T, Timestamp) {
        let since = (now - Timestamp::ZERO).max(TimeDelta::ZERO);
        let round = match self.period {
            Some(period) => period * (since.as_nanos() / period.as_nanos()),
            None => TimeDelta::ZERO,
        };
        let next = self.steps.partition_point(|&(at, _)| at <= since - round);
        // The first begins at zero, so one always precedes.
        let value = self.steps[next.max(1) - 1].1;
        let ahead = self.steps.get(next).map(|&(at, _)| at).or(self.period.filter(|_| self.steps.len() > 1));
        (value, ahead.map_or(Timestamp::MAX, |ahead| Timestamp::ZERO.saturating_add(round).saturating_add(ahead)))
    }
}

/// The value of now, for a reader whose time never goes back.
#[derive(Clone, Debug)]
pub(crate) struct Current<T> {
    over_time: OverTime<T>,
    pub(crate) value: T,
    /// When it changes; [`Timestamp::MAX`] if it does not.
    pub(crate) until: Timestamp,
}

impl<T: Copy + PartialEq> Current<T> {
    pub(crate) fn new(over_time: OverTime<T>) -> Self {
        let (value, until) = over_time.place(Timestamp::ZERO);
        Self { over_time, value, until }
    }

    /// Go on to `now`.
    #[inline]
    pub(crate) fn advance(&mut self, now: Timestamp) {
        if now >= self.until {
            self.change(now);
        }
    }

    #[cold]
    fn change(&mut self, now: Timestamp) {
        (self.value, self.until) = self.over_time.place(now);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(ms: i64) -> TimeDelta {
        TimeDelta::from_millis(ms)
    }
    fn at(ms: i64) -> Timestamp {
        Timestamp::from_millis(ms)
    }

    #[test]
    fn values_begin_at_their_times_and_repeat_after_the_period() {
        let steps = [(ms(0), 'a'), (ms(10), 'b'), (ms(20), 'b'), (ms(30), 'c')];
        let once = OverTime::new(steps, None).expect("valid");
        assert_eq!(once.steps().len(), 3, "equal neighbours are one");
        assert_eq!([0, 9, 10, 29, 30, 9_999].map(|now| once.at(at(now))), ['a', 'a', 'b', 'b', 'c', 'c']);
        let again = OverTime::new(steps, Some(ms(40))).expect("valid");
        assert_eq!([39, 40, 50, 79, 80, 400_031].map(|now| again.at(at(now))), ['c', 'a', 'b', 'c', 'a', 'c']);
        assert_eq!(OverTime::constant('z').at(Timestamp::MAX), 'z');
    }

    /// 10 ms of 4, 20 ms of 1, and again: by hand.
    #[test]
    fn means_weigh_values_by_their_time() {
        let table = OverTime::new([(ms(0), 4.0), (ms(10), 1.0)], Some(ms(30))).expect("valid");
        assert_eq!(table.means(ms(20), ms(50), |value| value), [2.5, 2.5, 1.0]);
        assert_eq!(OverTime::constant(3.0).means(ms(20), ms(20), |value| value), [3.0]);
    }

    #[test]
    fn a_reader_that_skips_changes_has_the_value_of_now() {
        let table = OverTime::new((0..50).map(|n| (ms(n * 7), n)), Some(ms(360))).expect("valid");
        let mut current = Current::new(table.clone());
        let mut now = Timestamp::ZERO;
        for n in 0..500_i64 {
            now += ms(n * n % 400);
            current.advance(now);
            assert_eq!(current.value, table.at(now), "at {now}");
            assert!(current.until > now);
        }
    }

    #[test]
    fn invalid_steps_are_refused() {
        let new = |steps: &[(i64, u8)], period: Option<i64>| {
            OverTime::new(steps.iter().map(|&(at, value)| (ms(at), value)), period.map(ms)).expect_err("refused")
        };
        assert_eq!(new(&[], None), OverTimeError::Empty);
        assert_eq!(new(&[(1, 0)], None), OverTimeError::LateStart(ms(1)));
        assert_eq!(new(&[(0, 0), (5, 1), (5, 2)], None), OverTimeError::NotIncreasing(ms(5)));
        assert_eq!(new(&[(0, 0), (5, 1)], Some(5)), OverTimeError::Period(ms(5)));
    }
}
