//! The one link model, for the simulator and for real packets: a path is a list of stages.
//!
//! ```
//! use legato_path::capacity::LinkCapacity;
//! use legato_path::queue::QueueLimit;
//! use legato_path::stage::{Bottleneck, Propagation};
//! use legato_path::{Ecn, Packet, Path};
//! use legato_units::{DataRate, DataSize, TimeDelta, Timestamp};
//!
//! let link = LinkCapacity::constant(DataRate::from_mbps(1));
//! let mut path = Path::new([
//!     Bottleneck::new(link, QueueLimit::Packets(100)).into(),
//!     Propagation::fixed(TimeDelta::from_millis(50)).into(),
//! ]);
//! path.push(Timestamp::ZERO, Packet { size: DataSize::from_bytes(1_250), flow: 0, ecn: Ecn::NotEct, payload: "hello" });
//! assert_eq!(path.next_arrival(), Some(Timestamp::from_millis(60)));
//! assert_eq!(path.pop(Timestamp::from_millis(60)).unwrap().packet.payload, "hello");
//! ```

pub mod capacity;
pub mod generate;
mod over_time;
mod packet;
mod path;
pub mod queue;
mod random;
pub mod stage;
pub mod trace_file;

pub use legato_units::Ecn;
pub use over_time::{OverTime, OverTimeError};
pub use packet::Packet;
pub use path::{Backlog, Delivered, DropCounts, DropNotice, Path, PathStage};
pub use stage::{DropReason, Eager, Lazy, Lost, Passage, Stage};
