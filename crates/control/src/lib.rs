//! The interface of rate controllers, values that take events and give a decision, and what several of them share:
//! estimators, the pipeline of learned control, policies. The controllers themselves are `legato-controllers`, which no
//! crate below the simulator names.
//!
//! A controller reads no clock, opens no socket and draws no randomness; the same object runs in the simulator and in
//! real calls. This crate knows nothing of pixels, packet bytes, Python or drivers.
//!
//! ```
//! use legato_control::{Decision, Event, RateController};
//! use legato_units::{DataRate, Timestamp};
//!
//! /// Half a megabit per second, whatever happens.
//! #[derive(Clone)]
//! struct Half;
//!
//! impl RateController for Half {
//!     fn on_event(&mut self, _now: Timestamp, _event: &Event) {}
//!     fn decision(&self) -> Decision {
//!         Decision::of_target(DataRate::from_kbps(500))
//!     }
//! }
//!
//! let mut controller: Box<dyn RateController> = Box::new(Half);
//! controller.on_event(Timestamp::ZERO, &Event::Deadline);
//! assert_eq!(controller.decision().target_bitrate, DataRate::from_kbps(500));
//! ```

// Files of tests that `legato-controllers` includes too name this crate from outside.
#[cfg(test)]
extern crate self as legato_control;

pub mod action;
mod construct;
mod controller;
mod decision;
pub mod estimate;
mod event;
pub mod event_file;
mod feedback_rule;
mod frame_place;
mod future;
pub mod observation;
mod packet_kind;
mod packet_reports;
mod parameters;
pub mod policy;
pub mod ranges;
pub mod steering;
mod toml_words;
pub mod window;

pub use construct::{Assets, BuildError, Construct, Context, Entry, Host, NoAssets};
pub use controller::{RateController, Side};
pub use decision::{Decision, EncoderWishes, Pacing, ProbeCluster, SendingWishes};
pub use event::{
    EncodedFrameInfo, Event, FrameReport, PacerQueue, RateLimits, ReceivedPacket, ReceptionReport, SentPacket,
    SourceFrameInfo, TransportFeedback,
};
pub use feedback_rule::FeedbackRule;
pub use frame_place::FramePlace;
pub use future::{CapacityStep, FutureLink, KnownFuture};
pub use packet_kind::PacketKind;
pub use packet_reports::{Fate, PacketReport, PacketReports, ReportRun, ReportedPacket, RunFate};
pub use parameters::{Parameter, schema_of};
pub use toml_words::in_tomls_words;
