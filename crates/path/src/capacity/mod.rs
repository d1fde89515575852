//! How fast a bottleneck sends, over time.
//!
//! The data of a capacity (a table of rates, a list of delivery opportunities) is immutable and shared behind an `Arc`,
//! so that a hundred thousand calls of a sweep read one copy. A call owns only a cursor of a few words, which moves
//! forward.

mod constant;
mod dead_time;
mod mahimahi;
mod steps;

pub use constant::Constant;
pub use dead_time::{DEAD_BELOW, DEAD_TIME_BIN, DeadTime, dead_time};
pub use mahimahi::{Mahimahi, OPPORTUNITY, Opportunities};
pub use steps::{AfterLast, RateSteps, Steps};

use legato_units::{DataRate, DataSize, TimeDelta, Timestamp};

/// When bytes leave a bottleneck.
pub trait Capacity: Send + Sync {
    /// When a packet whose transmission may begin at `start` has left, or [`Timestamp::MAX`] if it
    /// never does. `start` is never before the previous result. Packets of 2 GiB and more count as 2
    /// GiB.
    fn transmit_end(&mut self, start: Timestamp, size: DataSize) -> Timestamp;

    /// Consecutive packets of one size, the first from `start` on: writes to `at` when each has left, the
    /// same as [`Capacity::transmit_end`] of each, and returns when the last has.
    #[inline]
    fn transmit_run(&mut self, start: Timestamp, size: DataSize, at: &mut [Timestamp]) -> Timestamp {
        at.iter_mut().fold(start, |start, at| {
            *at = self.transmit_end(start, size);
            *at
        })
    }

    /// The capacity at any instant.
    fn rate_at(&self, at: Timestamp) -> DataRate;

    /// The mean capacity over `[from, to)`, rounded down; zero for an empty interval.
    fn mean_rate(&self, from: Timestamp, to: Timestamp) -> DataRate;
}

/// The capacities of this crate, dispatched without a call through a pointer.
#[derive(Clone, Debug)]
pub enum LinkCapacity {
    /// One rate, forever.
    Constant(Constant),
    /// Delivery opportunities of 1,500 bytes.
    Mahimahi(Mahimahi),
    /// Rate over time.
    Steps(Steps),
}

impl LinkCapacity {
    /// One rate, forever.
    pub fn constant(rate: DataRate) -> Self {
        Self::Constant(Constant::new(rate))
    }
}

macro_rules! each {
    ($self:expr, $inner:ident => $call:expr) => {
        match $self {
            LinkCapacity::Constant($inner) => $call,
            LinkCapacity::Mahimahi($inner) => $call,
            LinkCapacity::Steps($inner) => $call,
        }
    };
}

impl Capacity for LinkCapacity {
    #[inline(always)]
    fn transmit_end(&mut self, start: Timestamp, size: DataSize) -> Timestamp {
        each!(self, inner => inner.transmit_end(start, size))
    }
    #[inline]
    fn rate_at(&self, at: Timestamp) -> DataRate {
        each!(self, inner => inner.rate_at(at))
    }
    #[inline]
    fn mean_rate(&self, from: Timestamp, to: Timestamp) -> DataRate {
        each!(self, inner => inner.mean_rate(from, to))
    }
}

impl From<Constant> for LinkCapacity {
    fn from(inner: Constant) -> Self {
        Self::Constant(inner)
    }
}
impl From<Mahimahi> for LinkCapacity {
    fn from(inner: Mahimahi) -> Self {
        Self::Mahimahi(inner)
    }
}
impl From<Steps> for LinkCapacity {
    fn from(inner: Steps) -> Self {
        Self::Steps(inner)
    }
}

/// The maximum rate: no link of a video call is faster than 100 Gbit/s.
pub const MAX_RATE: DataRate = DataRate::from_mbps(100_000);
/// The maximum duration of a trace: 24 hours.
pub const MAX_DURATION: TimeDelta = TimeDelta::from_secs(24 * 3_600);
/// The maximum number of steps or milliseconds with opportunities in a trace.
pub const MAX_SEGMENTS: usize = 1_000_000;

/// Why a table of rates or opportunities is invalid. `index` counts from zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CapacityError {
    /// It is empty.
    #[error("it is empty")]
    Empty,
    /// It does not start at zero.
    #[error("the first step does not begin at zero")]
    FirstNotAtZero,
    /// Nothing would ever be sent: every rate is zero, or no opportunity is in the window.
    #[error("nothing would ever be sent")]
    NeverSends,
    /// A step does not begin after the previous one, or an opportunity comes before the previous one.
    #[error("time goes back at entry {index}")]
    NotIncreasing {
        /// Which one.
        index: usize,
    },
    /// The factor is not a positive finite number.
    #[error("the scale is not a positive number")]
    Scale,
    /// It lasts longer than [`MAX_DURATION`], or ends before its last step begins.
    #[error("the duration is zero, before the last step, or above 24 h")]
    Duration,
    /// A rate above [`MAX_RATE`].
    #[error("entry {index} is above 100 Gbit/s")]
    TooFast {
        /// Which one.
        index: usize,
    },
    /// More than [`MAX_SEGMENTS`].
    #[error("more than 1,000,000 entries")]
    TooMany,
    /// The window is empty or begins after the end.
    #[error("the window is empty or outside the trace")]
    Window,
}

/// The part of a trace that is played, and its speed-up or slow-down.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cut {
    /// Rates are multiplied by this.
    pub scale: f64,
    /// Its start.
    pub start: TimeDelta,
    /// Its length; `None`: to the end of the trace. Clipped to the end.
    pub duration: Option<TimeDelta>,
}

impl Default for Cut {
    fn default() -> Self {
        Self { scale: 1.0, start: TimeDelta::ZERO, duration: None }
    }
}

impl Cut {
    /// Start and length in nanoseconds within a whole of `whole`.
    fn within(&self, whole: TimeDelta) -> Result<(i64, i64), CapacityError> {
        if !(self.scale.is_finite() && self.scale > 0.0) {
            return Err(CapacityError::Scale);
        }
        let rest = whole.as_nanos() - self.start.as_nanos().max(0);
        let length = self.duration.map_or(rest, |d| d.as_nanos().min(rest));
        if self.start.is_negative() || length <= 0 {
            return Err(CapacityError::Window);
        }
        Ok((self.start.as_nanos(), length))
    }
}

/// The sizes a capacity computes with: below 2 GiB, so that `size × 8e9` fits 64 bits.
#[inline]
fn wire_bytes(size: DataSize) -> u64 {
    size.as_bytes().min((1 << 31) - 1)
}
