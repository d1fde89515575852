//! Data rates, in bits per second.

use crate::{DataSize, TimeDelta};
use core::fmt;
use core::ops::{Add, AddAssign, Div, Mul, Sub};
use serde::{Deserialize, Serialize};

/// A data rate, in bit/s. Kilo and mega are powers of ten.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct DataRate(u64);

impl DataRate {
    /// Nothing moves.
    pub const ZERO: Self = Self(0);
    /// Faster than any link.
    pub const MAX: Self = Self(u64::MAX);

    /// A rate in bit/s.
    #[inline]
    pub const fn from_bps(bps: u64) -> Self {
        Self(bps)
    }
    /// A rate in kbit/s (1,000 bit/s).
    #[inline]
    pub const fn from_kbps(kbps: u64) -> Self {
        Self(kbps * 1_000)
    }
    /// A rate in Mbit/s (1,000,000 bit/s).
    #[inline]
    pub const fn from_mbps(mbps: u64) -> Self {
        Self(mbps * 1_000_000)
    }
    /// A rate in bit/s, rounded to the nearest; negative and NaN become zero, too large saturates.
    #[inline]
    pub fn from_bps_f64(bps: f64) -> Self {
        // Above 2^52 a double has no fraction, so adding that much rounds, and subtracting it again keeps
        // the rest. Negative values stay negative, and the cast turns them into zero. Not every 64-bit
        // processor has an instruction for this, and without it rounding is a call.
        const WHOLE: f64 = (1u64 << 52) as f64;
        Self(if bps < WHOLE { (bps + WHOLE) - WHOLE } else { bps } as u64)
    }
    /// Bits per second.
    #[inline]
    pub const fn as_bps(self) -> u64 {
        self.0
    }
    /// Bits per second as a float, for estimators.
    #[inline]
    pub fn as_bps_f64(self) -> f64 {
        self.0 as f64
    }
    /// Kilobits per second as a float, for display and estimators.
    #[inline]
    pub fn as_kbps_f64(self) -> f64 {
        self.0 as f64 / 1e3
    }
    /// `self − other`, or zero if other is larger.
    #[inline]
    pub const fn saturating_sub(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }
    /// `self × factor`, rounded to the nearest bit/s; saturates, negative and NaN become zero.
    #[inline]
    pub fn scale(self, factor: f64) -> Self {
        Self::from_bps_f64(self.0 as f64 * factor)
    }
}

impl Add for DataRate {
    type Output = Self;
    #[inline]
    fn add(self, other: Self) -> Self {
        Self(self.0 + other.0)
    }
}
impl AddAssign for DataRate {
    #[inline]
    fn add_assign(&mut self, other: Self) {
        self.0 += other.0;
    }
}
impl Sub for DataRate {
    type Output = Self;
    #[inline]
    fn sub(self, other: Self) -> Self {
        Self(self.0 - other.0)
    }
}

/// The amount moved in a span, rounded down. Zero for spans of zero or less.
impl Mul<TimeDelta> for DataRate {
    type Output = DataSize;
    #[inline]
    fn mul(self, span: TimeDelta) -> DataSize {
        let Ok(ns) = u64::try_from(span.as_nanos()) else {
            return DataSize::ZERO;
        };
        match self.0.checked_mul(ns) {
            Some(bit_ns) => DataSize::from_bytes(bit_ns / 8_000_000_000),
            None => {
                let bytes = u128::from(self.0) * u128::from(ns) / 8_000_000_000;
                DataSize::from_bytes(u64::try_from(bytes).unwrap_or(u64::MAX))
            }
        }
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
        let bytes = self.as_bytes();
        // 2^31 bytes × 8e9 still fits u64; 128-bit division is an order of magnitude slower.
        if bytes < 1 << 31 {
            return TimeDelta::from_nanos((bytes * 8_000_000_000).div_ceil(rate.as_bps()) as i64);
        }
        let ns = (u128::from(bytes) * 8_000_000_000).div_ceil(u128::from(rate.as_bps()));
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
        let bytes = self.as_bytes();
        if bytes < 1 << 31 {
            return DataRate::from_bps(bytes * 8_000_000_000 / ns);
        }
        let bps = u128::from(bytes) * 8_000_000_000 / u128::from(ns);
        DataRate::from_bps(u64::try_from(bps).unwrap_or(u64::MAX))
    }
}

impl fmt::Display for DataRate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            0..1_000 => write!(f, "{} bit/s", self.0),
            1_000..1_000_000 => write!(f, "{:.1} kbit/s", self.0 as f64 / 1e3),
            _ => write!(f, "{:.3} Mbit/s", self.0 as f64 / 1e6),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kilo_and_mega_are_powers_of_ten() {
        assert_eq!(DataRate::from_mbps(1), DataRate::from_kbps(1_000));
        assert_eq!(DataRate::from_kbps(1).to_string(), "1.0 kbit/s");
    }

    #[test]
    fn floats_round_to_the_nearest_and_halves_to_even() {
        for bps in [0.0, 0.5, 1.5, 2.5, 0.499_999_999_999_999_94, 1e6 + 0.5, 4.5e15, 1e16, 9.9e18, -0.5, -7.0, -1e300] {
            assert_eq!(DataRate::from_bps_f64(bps).as_bps(), bps.round_ties_even() as u64, "{bps}");
        }
    }

    #[test]
    fn floats_that_are_not_rates_become_zero_or_saturate() {
        assert_eq!(DataRate::from_bps_f64(f64::NAN), DataRate::ZERO);
        assert_eq!(DataRate::from_bps_f64(-1.0), DataRate::ZERO);
        assert_eq!(DataRate::from_bps_f64(f64::INFINITY), DataRate::MAX);
    }

    #[test]
    fn rate_times_span_survives_overflow_and_negative_spans() {
        assert_eq!(
            DataRate::from_mbps(1_000_000) * TimeDelta::from_secs(100),
            DataSize::from_bytes(12_500_000_000_000)
        );
        assert_eq!(DataRate::from_mbps(1) * TimeDelta::from_secs(-1), DataSize::ZERO);
    }

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
