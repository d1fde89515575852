//! Units as types. Every time, rate and size in Legato is an integer: nanoseconds, bits per
//! second, bytes. Floats live inside an estimator, as [`Seconds`], [`Bytes`] and [`ByteRate`] where they have a unit, and
//! are rounded where they leave it. The ECN field,
//! [`Burst`], [`PacketSet`] and [`elementary`] functions with fixed bits are here too, since all crates may name this one.
//!
//! ```
//! use legato_units::{DataRate, DataSize, TimeDelta, Timestamp};
//! let start = Timestamp::ZERO;
//! let end = start + DataSize::from_bytes(1_250) / DataRate::from_kbps(1_000);
//! assert_eq!(end - start, TimeDelta::from_millis(10));
//! assert_eq!(DataRate::from_mbps(2) * TimeDelta::from_millis(100), DataSize::from_bytes(25_000));
//! ```

mod burst;
mod ecn;
pub mod elementary;
mod packet_set;
mod rate;
mod real;
mod size;
mod time;

pub use burst::{Burst, BurstPacket};
pub use ecn::Ecn;
pub use packet_set::PacketSet;
pub use rate::DataRate;
pub use real::{ByteRate, Bytes, PerSecond, Seconds};
pub use size::DataSize;
pub use time::{PeerTimestamp, TimeDelta, Timestamp};
