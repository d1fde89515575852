//! Simulated calls: a scenario file and a seed in, a run folder out.
//!
//! ```
//! use legato_sim::{CallParts, Scenario, run_call};
//! use legato_trace::{LogLevel, Recorder};
//! let text = "duration_s = 2.0\n[controller]\nname = \"fixed\"\n[forward.capacity]\nconstant_bps = 1_000_000";
//! let scenario = Scenario::parse(text, "example.toml")?;
//! let parts = CallParts::load(&scenario, ".".as_ref())?;
//! let summary = run_call(&scenario, &parts, 1, LogLevel::Summary, &mut Recorder::default())?;
//! assert!(summary.frames_rendered > 50);
//! # Ok::<(), legato_sim::SimError>(())
//! ```

#![forbid(unsafe_code)]

pub mod cross_traffic;
pub mod episode;
mod error;
mod event_logs;
mod events;
mod exploring;
mod flows;
mod future;
mod guests;
mod in_transit;
mod live;
mod network;
mod pauses;
mod plan;
mod policies;
mod private_path;
mod recorded_path;
mod route;
mod run;
mod scenario;
mod seed;
mod session;
mod source_alone;
mod sweep;
mod truth;
mod video;

pub use error::SimError;
pub use event_logs::EventLogs;
pub use events::{record_events, replay_events};
pub use exploring::{Exchange, Explored, Explorer};
pub use flows::{CallKeys, CallSpec, Direction, FlowSpec, LinkSpec, TcpSpec, TrafficKeys, UdpSpec};
pub use guests::host_guests;
pub use in_transit::{InTransit, Load, Ticket};
pub use live::{LiveCall, LiveFlow, LiveNetwork, LiveReceiver, LiveVideo, open_live_folder, write_live};
pub use network::LoadedCapacity;
pub use pauses::PauseSpec;
pub use plan::{LoadedPlan, NamedController, NamedTrace, Plan, PlannedFile, PlannedSession};
pub use policies::Policies;
pub use private_path::{Forward, PrivatePath};
pub use run::{CallParts, build_controller, run_call};
pub use scenario::*;
pub use seed::Seed;
pub use session::{SessionParts, run_session};
pub use source_alone::{CodedAlone, code_alone};
pub use sweep::{FORMAT, Outcome, Sweep, run_planned};
pub use truth::Truth;
pub use video::LoadedClip;
