//! Times, amounts and rates as real numbers, for estimators: a smoothed or extrapolated value is no whole number of
//! nanoseconds or bytes, and rounding at each step would add up. Values become integers where they leave the estimator.
//!
//! ```
//! use legato_units::{ByteRate, Bytes, DataRate, Seconds, TimeDelta};
//! let rate = Bytes::new(2_500.0) / Seconds::from(TimeDelta::from_millis(20));
//! assert_eq!(DataRate::from(rate), DataRate::from_mbps(1));
//! assert_eq!(rate * Seconds::new(0.5), Bytes::new(62_500.0));
//! ```

use crate::{DataRate, DataSize, TimeDelta};
use core::ops::{Add, AddAssign, Div, Mul, MulAssign, Sub};

macro_rules! operators {
    ($($of:ident::$name:ident($left:ident: $Left:ty, $right:ident: $Right:ty) -> $Result:ty { $value:expr })*) => {$(
        impl $of<$Right> for $Left {
            type Output = $Result;
            #[inline]
            fn $name(self, $right: $Right) -> $Result {
                let $left = self;
                $value
            }
        }
    )*};
}

macro_rules! conversions {
    ($($given:ident: $From:ty => $To:ty { $value:expr })*) => {$(
        impl From<$From> for $To {
            #[inline]
            fn from($given: $From) -> Self {
                $value
            }
        }
    )*};
}

/// A real number with a unit, and the operations that all units share.
macro_rules! real {
    ($($(#[$about:meta])* $name:ident)*) => {$(
        $(#[$about])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, PartialOrd)]
        pub struct $name(f64);

        impl $name {
            /// Nothing.
            pub const ZERO: Self = Self(0.0);
            /// More than any other.
            pub const INFINITY: Self = Self(f64::INFINITY);

            /// So many of the unit.
            pub const fn new(value: f64) -> Self {
                Self(value)
            }
            /// How many of the unit.
            pub const fn get(self) -> f64 {
                self.0
            }
            /// The lower of the two.
            pub const fn min(self, other: Self) -> Self {
                Self(self.0.min(other.0))
            }
            /// The higher of the two.
            pub const fn max(self, other: Self) -> Self {
                Self(self.0.max(other.0))
            }
            /// Within the two, of which `low` is not above `high`.
            pub const fn clamp(self, low: Self, high: Self) -> Self {
                Self(self.0.clamp(low.0, high.0))
            }
        }

        operators! {
            Add::add(a: $name, b: $name) -> $name { $name(a.0 + b.0) }
            Sub::sub(a: $name, b: $name) -> $name { $name(a.0 - b.0) }
            Mul::mul(a: $name, factor: f64) -> $name { $name(a.0 * factor) }
            Div::div(a: $name, divisor: f64) -> $name { $name(a.0 / divisor) }
            Div::div(a: $name, b: $name) -> f64 { a.0 / b.0 }
        }
        impl AddAssign for $name {
            fn add_assign(&mut self, other: Self) {
                self.0 += other.0;
            }
        }
        impl MulAssign<f64> for $name {
            fn mul_assign(&mut self, factor: f64) {
                self.0 *= factor;
            }
        }
    )*};
}

real! {
    /// A span of time, in seconds.
    Seconds
    /// An amount of data, in bytes.
    Bytes
    /// A rate, in bytes a second.
    ByteRate
    /// How much a ratio grows in a second.
    PerSecond
}

operators! {
    Mul::mul(rate: ByteRate, span: Seconds) -> Bytes { Bytes(rate.0 * span.0) }
    Div::div(amount: Bytes, span: Seconds) -> ByteRate { ByteRate(amount.0 / span.0) }
    Div::div(amount: Bytes, rate: ByteRate) -> Seconds { Seconds(amount.0 / rate.0) }
    Mul::mul(growth: PerSecond, span: Seconds) -> f64 { growth.0 * span.0 }
}

// Amounts are rounded down, rates to the nearest bit/s; negative and undefined values become zero.
conversions! {
    span: TimeDelta => Seconds { Self(span.as_secs_f64()) }
    size: DataSize => Bytes { Self(size.as_bytes_f64()) }
    rate: DataRate => ByteRate { Self(rate.as_bps_f64() / 8.0) }
    amount: Bytes => DataSize { Self::from_bytes(amount.0 as u64) }
    rate: ByteRate => DataRate { Self::from_bps_f64(rate.as_bps()) }
}

impl Seconds {
    /// Milliseconds, as parameters state them.
    pub const fn from_millis(ms: f64) -> Self {
        Self(ms / 1e3)
    }
    /// Without its sign.
    pub const fn abs(self) -> Self {
        Self(self.0.abs())
    }
    /// Milliseconds, for display.
    pub const fn as_millis(self) -> f64 {
        self.0 * 1e3
    }
}

impl ByteRate {
    /// Bits per second, for display.
    pub const fn as_bps(self) -> f64 {
        self.0 * 8.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 1,500 bytes in 12 ms are 1 Mbit/s, and 125,000 bytes a second.
    #[test]
    fn amounts_over_times_are_rates() {
        let (amount, span) = (Bytes::from(DataSize::from_bytes(1_500)), Seconds::from_millis(12.0));
        let rate = amount / span;
        assert_eq!((rate, DataRate::from(rate)), (ByteRate::new(125e3), DataRate::from_mbps(1)));
        assert_eq!((rate * span, amount / rate), (amount, span));
        assert_eq!(ByteRate::from(DataRate::from_mbps(1)), rate);
    }

    #[test]
    fn what_is_no_amount_becomes_none() {
        let whole = [-0.5, f64::NAN, 1_299.9, f64::INFINITY].map(|bytes| DataSize::from(Bytes::new(bytes)).as_bytes());
        assert_eq!(whole, [0, 0, 1_299, u64::MAX]);
    }

    /// 8 % a second in half a second.
    #[test]
    fn growth_over_a_time_is_a_ratio() {
        assert_eq!(PerSecond::new(0.08) * Seconds::from(TimeDelta::from_millis(500)), 0.04);
    }
}
