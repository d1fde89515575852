//! The controllers: values that take events and give a decision.
//!
//! A controller reads no clock, opens no socket and draws no randomness of its own; the same object
//! runs in the simulator and in real calls. This crate knows nothing of pixels, packet bytes, Python
//! or drivers.
//!
//! ```
//! use legato_control::{entry, Context, Event, NoAssets, RateLimits};
//! use legato_units::{DataRate, Timestamp};
//! let limits = RateLimits { min: DataRate::from_kbps(50), start: DataRate::from_kbps(300), max: DataRate::from_mbps(6) };
//! let context = Context { limits, start: Timestamp::ZERO, seed: 1, assets: &NoAssets };
//! let mut controller = entry("fixed").unwrap().build(&toml::toml! { target_bitrate_bps = 800_000 }, context).unwrap();
//! controller.on_event(Timestamp::ZERO, &Event::Deadline);
//! assert_eq!(controller.decision().target_bitrate, DataRate::from_kbps(800));
//! ```

pub mod action;
pub mod circuit_breaker;
mod construct;
mod controller;
pub mod controllers;
mod decision;
pub mod estimate;
mod event;
mod feedback_rule;
mod frame_place;
mod future_link;
pub mod observation;
mod packet_estimator;
mod packet_kind;
mod packet_reports;
mod parameters;
pub mod policy;
mod registry;
pub mod steering;
mod toml_words;
pub mod window;

pub use construct::{Assets, BuildError, CapacityStep, Construct, Context, Entry, NoAssets};
pub use controller::{RateController, Side};
pub use decision::{Decision, EncoderWishes, ProbeCluster};
pub use event::{
    EncodedFrameInfo, Event, FrameReport, PacerQueue, RateLimits, ReceivedPacket, ReceptionReport, SentPacket,
    SourceFrameInfo, TransportFeedback,
};
pub use feedback_rule::FeedbackRule;
pub use frame_place::FramePlace;
pub use future_link::FutureLink;
pub use packet_estimator::PacketEstimator;
pub use packet_kind::PacketKind;
pub use packet_reports::{Fate, PacketReport, PacketReports, ReportRun, ReportedPacket, RunFate};
pub use parameters::Parameter;
pub use registry::{NoFiles, REGISTRY, entry};
pub use toml_words::in_tomls_words;
