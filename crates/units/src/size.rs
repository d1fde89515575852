//! Amounts of data, in bytes.

use crate::{DataRate, TimeDelta};
use core::fmt;
use core::iter::Sum;
use core::ops::{Add, AddAssign, Div, Mul, Sub, SubAssign};
use serde::{Deserialize, Serialize};

/// An amount of data, in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct DataSize(u64);

impl DataSize {
    /// Nothing.
    pub const ZERO: Self = Self(0);
    /// More than any real amount.
    pub const MAX: Self = Self(u64::MAX);

    /// An amount in bytes.
    #[inline]
    pub const fn from_bytes(bytes: u64) -> Self {
        Self(bytes)
    }
    /// Bytes.
    #[inline]
    pub const fn as_bytes(self) -> u64 {
        self.0
    }
    /// Bits; saturates above 2 EiB.
    #[inline]
    pub const fn as_bits(self) -> u64 {
        self.0.saturating_mul(8)
    }
    /// Bytes as a float, for estimators.
    #[inline]
    pub fn as_bytes_f64(self) -> f64 {
        self.0 as f64
    }
    /// `self − other`, or zero where other is larger.
    #[inline]
    pub const fn saturating_sub(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }
}

impl Add for DataSize {
    type Output = Self;
    #[inline]
    fn add(self, other: Self) -> Self {
        Self(self.0 + other.0)
    }
}
impl AddAssign for DataSize {
    #[inline]
    fn add_assign(&mut self, other: Self) {
        self.0 += other.0;
    }
}
impl Sub for DataSize {
    type Output = Self;
    #[inline]
    fn sub(self, other: Self) -> Self {
        Self(self.0 - other.0)
    }
}
impl SubAssign for DataSize {
    #[inline]
    fn sub_assign(&mut self, other: Self) {
        self.0 -= other.0;
    }
}
impl Mul<u64> for DataSize {
    type Output = Self;
    #[inline]
    fn mul(self, factor: u64) -> Self {
        Self(self.0 * factor)
    }
}
impl Sum for DataSize {
    fn sum<I: Iterator<Item = Self>>(sizes: I) -> Self {
        sizes.fold(Self::ZERO, Add::add)
    }
}

/// The time `self` takes at a rate, rounded up to the next nanosecond so that a link never exceeds
/// its capacity. A rate of zero takes forever ([`TimeDelta::MAX`]).
impl Div<DataRate> for DataSize {
    type Output = TimeDelta;
    #[inline]
    fn div(self, rate: DataRate) -> TimeDelta {
        if rate.as_bps() == 0 {
            return TimeDelta::MAX;
        }
        // 2^31 bytes × 8e9 still fits u64; 128-bit division is an order of magnitude slower.
        if self.0 < 1 << 31 {
            return TimeDelta::from_nanos((self.0 * 8_000_000_000).div_ceil(rate.as_bps()) as i64);
        }
        let ns = (u128::from(self.0) * 8_000_000_000).div_ceil(u128::from(rate.as_bps()));
        TimeDelta::from_nanos(i64::try_from(ns).unwrap_or(i64::MAX))
    }
}

/// The mean rate of `self` over a span, rounded down. Zero for spans of zero or less.
impl Div<TimeDelta> for DataSize {
    type Output = DataRate;
    #[inline]
    fn div(self, span: TimeDelta) -> DataRate {
        let Ok(ns @ 1..) = u64::try_from(span.as_nanos()) else {
            return DataRate::ZERO;
        };
        if self.0 < 1 << 31 {
            return DataRate::from_bps(self.0 * 8_000_000_000 / ns);
        }
        let bps = u128::from(self.0) * 8_000_000_000 / u128::from(ns);
        DataRate::from_bps(u64::try_from(bps).unwrap_or(u64::MAX))
    }
}

impl fmt::Display for DataSize {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} bytes", self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn transmission_time_rounds_up_so_capacity_is_never_exceeded() {
        let third = DataSize::from_bytes(1) / DataRate::from_bps(3);
        assert_eq!(third, TimeDelta::from_nanos(2_666_666_667));
        assert_eq!(DataSize::from_bytes(1_500) / DataRate::ZERO, TimeDelta::MAX);
    }

    #[test]
    fn large_amounts_do_not_overflow() {
        let exbibyte = DataSize::from_bytes(1 << 60);
        assert_eq!(exbibyte / DataRate::from_bps(8 << 60), TimeDelta::from_secs(1));
        assert_eq!(exbibyte / TimeDelta::from_secs(1 << 10), DataRate::from_bps(8 << 50));
    }

    #[test]
    fn a_rate_over_no_time_is_zero() {
        assert_eq!(DataSize::from_bytes(5) / TimeDelta::ZERO, DataRate::ZERO);
        assert_eq!(DataSize::from_bytes(5) / TimeDelta::from_nanos(-1), DataRate::ZERO);
    }
}
