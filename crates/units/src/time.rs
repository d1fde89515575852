//! Instants and spans. [`Timestamp`] is the own clock, [`PeerTimestamp`] the other end's: they
//! cannot be subtracted from each other, so a controller that mixes clocks does not compile.

use core::fmt;
use core::iter::Sum;
use core::ops::{Add, AddAssign, Div, Mul, Neg, Sub, SubAssign};
use serde::{Deserialize, Serialize};

/// An instant of the own clock, in nanoseconds since the run's epoch. Never wraps in practice
/// (292 years).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Timestamp(i64);

/// An instant of the peer's clock, in nanoseconds since an epoch we do not know. Only differences
/// of two of them mean anything.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct PeerTimestamp(i64);

/// A signed span of time, in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct TimeDelta(i64);

impl Timestamp {
    /// The run's epoch.
    pub const ZERO: Self = Self(0);
    /// Later than every other instant.
    pub const MAX: Self = Self(i64::MAX);

    /// Nanoseconds since the epoch.
    #[inline]
    pub const fn from_nanos(ns: i64) -> Self {
        Self(ns)
    }
    /// Milliseconds since the epoch.
    #[inline]
    pub const fn from_millis(ms: i64) -> Self {
        Self(ms * 1_000_000)
    }
    /// Whole seconds since the epoch.
    #[inline]
    pub const fn from_secs(s: i64) -> Self {
        Self(s * 1_000_000_000)
    }
    /// Nanoseconds since the epoch.
    #[inline]
    pub const fn as_nanos(self) -> i64 {
        self.0
    }
    /// Seconds since the epoch, for display and floating-point estimators.
    #[inline]
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 / 1e9
    }
    /// Milliseconds since the epoch, for display and floating-point estimators.
    #[inline]
    pub fn as_millis_f64(self) -> f64 {
        self.0 as f64 / 1e6
    }
    /// `self + delta`, or [`Timestamp::MAX`] if that overflows.
    #[inline]
    pub const fn saturating_add(self, delta: TimeDelta) -> Self {
        // A branch that is never taken costs less than the arithmetic of a saturating instruction
        // that the processor lacks.
        match self.0.checked_add(delta.0) {
            Some(ns) => Self(ns),
            None if delta.0 < 0 => Self(i64::MIN),
            None => Self::MAX,
        }
    }
}

impl PeerTimestamp {
    /// Nanoseconds since the peer's unknown epoch.
    #[inline]
    pub const fn from_nanos(ns: i64) -> Self {
        Self(ns)
    }
    /// Nanoseconds since the peer's unknown epoch.
    #[inline]
    pub const fn as_nanos(self) -> i64 {
        self.0
    }
}

impl TimeDelta {
    /// No time.
    pub const ZERO: Self = Self(0);
    /// The longest span.
    pub const MAX: Self = Self(i64::MAX);

    /// A span of nanoseconds.
    #[inline]
    pub const fn from_nanos(ns: i64) -> Self {
        Self(ns)
    }
    /// A span of microseconds.
    #[inline]
    pub const fn from_micros(us: i64) -> Self {
        Self(us * 1_000)
    }
    /// A span of milliseconds.
    #[inline]
    pub const fn from_millis(ms: i64) -> Self {
        Self(ms * 1_000_000)
    }
    /// A span of seconds.
    #[inline]
    pub const fn from_secs(s: i64) -> Self {
        Self(s * 1_000_000_000)
    }
    /// A span of seconds, rounded to the nearest nanosecond; saturates, and NaN becomes zero.
    #[inline]
    pub fn from_secs_f64(s: f64) -> Self {
        Self(to_nearest(s * 1e9))
    }
    /// A span of milliseconds, rounded to the nearest nanosecond; saturates, and NaN becomes zero.
    #[inline]
    pub fn from_millis_f64(ms: f64) -> Self {
        Self(to_nearest(ms * 1e6))
    }
    /// Nanoseconds.
    #[inline]
    pub const fn as_nanos(self) -> i64 {
        self.0
    }
    /// Whole microseconds, towards zero.
    #[inline]
    pub const fn as_micros(self) -> i64 {
        self.0 / 1_000
    }
    /// Whole milliseconds, towards zero.
    #[inline]
    pub const fn as_millis(self) -> i64 {
        self.0 / 1_000_000
    }
    /// Seconds.
    #[inline]
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 / 1e9
    }
    /// Milliseconds.
    #[inline]
    pub fn as_millis_f64(self) -> f64 {
        self.0 as f64 / 1e6
    }
    /// The magnitude.
    #[inline]
    pub const fn abs(self) -> Self {
        Self(self.0.abs())
    }
    /// True for spans below zero.
    #[inline]
    pub const fn is_negative(self) -> bool {
        self.0 < 0
    }
}

/// To the nearest whole number, halves to even; saturates, and NaN becomes zero. Between 2^52 and 2^53
/// doubles are whole numbers, so adding that much rounds. Not every 64-bit processor has an instruction
/// for this, and without it rounding is a call.
#[inline]
fn to_nearest(value: f64) -> i64 {
    const WHOLE: f64 = (3u64 << 51) as f64;
    const MOST: f64 = (1u64 << 51) as f64;
    if value.abs() < MOST { ((value + WHOLE) - WHOLE) as i64 } else { value.round_ties_even() as i64 }
}

macro_rules! instant_arithmetic {
    ($instant:ident) => {
        impl Add<TimeDelta> for $instant {
            type Output = Self;
            #[inline]
            fn add(self, delta: TimeDelta) -> Self {
                Self(self.0 + delta.0)
            }
        }
        impl Sub<TimeDelta> for $instant {
            type Output = Self;
            #[inline]
            fn sub(self, delta: TimeDelta) -> Self {
                Self(self.0 - delta.0)
            }
        }
        impl Sub for $instant {
            type Output = TimeDelta;
            #[inline]
            fn sub(self, other: Self) -> TimeDelta {
                TimeDelta(self.0 - other.0)
            }
        }
        impl AddAssign<TimeDelta> for $instant {
            #[inline]
            fn add_assign(&mut self, delta: TimeDelta) {
                self.0 += delta.0;
            }
        }
    };
}
instant_arithmetic!(Timestamp);
instant_arithmetic!(PeerTimestamp);

impl Add for TimeDelta {
    type Output = Self;
    #[inline]
    fn add(self, other: Self) -> Self {
        Self(self.0 + other.0)
    }
}
impl Sub for TimeDelta {
    type Output = Self;
    #[inline]
    fn sub(self, other: Self) -> Self {
        Self(self.0 - other.0)
    }
}
impl AddAssign for TimeDelta {
    #[inline]
    fn add_assign(&mut self, other: Self) {
        self.0 += other.0;
    }
}
impl SubAssign for TimeDelta {
    #[inline]
    fn sub_assign(&mut self, other: Self) {
        self.0 -= other.0;
    }
}
impl Neg for TimeDelta {
    type Output = Self;
    #[inline]
    fn neg(self) -> Self {
        Self(-self.0)
    }
}
impl Mul<i64> for TimeDelta {
    type Output = Self;
    #[inline]
    fn mul(self, factor: i64) -> Self {
        Self(self.0 * factor)
    }
}
impl Div<i64> for TimeDelta {
    type Output = Self;
    #[inline]
    fn div(self, divisor: i64) -> Self {
        Self(self.0 / divisor)
    }
}
impl Sum for TimeDelta {
    fn sum<I: Iterator<Item = Self>>(spans: I) -> Self {
        spans.fold(Self::ZERO, Add::add)
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:.3} s", self.as_secs_f64())
    }
}
impl fmt::Display for TimeDelta {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:.3} ms", self.as_millis_f64())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn differences_of_instants_are_spans() {
        let a = Timestamp::from_millis(5);
        assert_eq!(a + TimeDelta::from_micros(1_500) - a, TimeDelta::from_nanos(1_500_000));
        assert_eq!(a - Timestamp::from_millis(7), TimeDelta::from_millis(-2));
        assert!((a - Timestamp::from_millis(7)).is_negative());
    }

    #[test]
    fn floats_round_to_the_nearest_nanosecond_and_nan_is_zero() {
        assert_eq!(TimeDelta::from_secs_f64(0.1), TimeDelta::from_millis(100));
        assert_eq!(TimeDelta::from_millis_f64(f64::NAN), TimeDelta::ZERO);
        assert_eq!(TimeDelta::from_secs_f64(f64::INFINITY), TimeDelta::MAX);
    }

    #[test]
    fn rounding_is_to_the_nearest_and_halves_go_to_even() {
        for ns in [0.0, 0.5, 1.5, 2.5, 0.499_999_999_999_999_94, 1e12 + 0.5, 2.3e15, 1e17] {
            assert_eq!(to_nearest(ns), ns.round_ties_even() as i64);
            assert_eq!(to_nearest(-ns), (-ns).round_ties_even() as i64);
        }
    }

    #[test]
    fn saturating_add_stops_at_the_end_of_time() {
        assert_eq!(Timestamp::MAX.saturating_add(TimeDelta::from_secs(1)), Timestamp::MAX);
    }
}
