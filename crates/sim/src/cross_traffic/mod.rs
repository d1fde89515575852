//! Traffic that competes with a call: TCP flows with real acknowledgment clocks, and UDP at a constant rate. All are
//! values without clock, socket or randomness, driven like the ends of a call.
//!
//! ```
//! use legato_sim::Seed;
//! use legato_sim::cross_traffic::{TcpConfig, TcpReceiver, TcpSender};
//! use legato_units::{TimeDelta, Timestamp};
//!
//! let config = TcpConfig::default();
//! let mut sender = TcpSender::new(&config, Timestamp::ZERO, Seed(1).stream("tcp.0"));
//! let mut receiver = TcpReceiver::new(&config);
//! // Ten round trips of 50 ms over a path without limits: the initial window of three doubles or nearly so.
//! let mut now = Timestamp::ZERO;
//! for _ in 0..10 {
//!     let flight: Vec<_> = core::iter::from_fn(|| sender.poll(now)).collect();
//!     now += TimeDelta::from_millis(50);
//!     for segment in &flight {
//!         receiver.on_segment(now, segment, false);
//!         if let Some(ack) = receiver.poll_ack(now) {
//!             sender.on_ack(now, &ack);
//!         }
//!     }
//! }
//! assert!(receiver.delivered().as_bytes() > 200_000);
//! ```

mod config;
mod congestion;
mod connection;
mod delivery_rate;
mod packet;
mod receiver;
mod retransmission_timer;
mod scoreboard;
mod sender;
mod udp;
mod workload;

pub use config::{Algorithm, TcpConfig};
pub use connection::Counts;
pub use packet::{Ack, HEADER_BYTES, MAX_SACK_BLOCKS, MAX_SEGMENT_BYTES, Segment};
pub use receiver::TcpReceiver;
pub use sender::TcpSender;
pub use udp::{UdpConfig, UdpPacket, UdpSender};
pub use workload::{Bursts, OnOff, Once, Workload};

#[cfg(test)]
#[path = "link_tests.rs"]
mod link_tests;
