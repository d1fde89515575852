//! The rate controllers: one file or folder each, and a line in `registry.rs` by which the rest finds them.
//!
//! ```
//! use legato_control::{Context, Event, NoAssets, RateLimits};
//! use legato_controllers::entry;
//! use legato_units::{DataRate, Timestamp};
//! let limits = RateLimits { min: DataRate::from_kbps(50), start: DataRate::from_kbps(300), max: DataRate::from_mbps(6) };
//! let context = Context { limits, start: Timestamp::ZERO, seed: 1, assets: &NoAssets };
//! let mut controller = entry("fixed").unwrap().build(&toml::toml! { target_bitrate_bps = 800_000 }, context).unwrap();
//! controller.on_event(Timestamp::ZERO, &Event::Deadline);
//! assert_eq!(controller.decision().target_bitrate, DataRate::from_kbps(800));
//! ```

pub mod burst_rtc;
pub mod camel;
pub mod circuit_breaker;
pub mod clairvoyant;
pub mod fbra;
pub mod fixed;
#[cfg(test)]
#[path = "../../control/src/estimate/frame_reports.rs"]
mod frame_reports;
pub mod gcc;
pub mod gcc_receiver;
pub mod jm_tfrc;
pub mod learned;
pub mod legato;
pub mod legato_receiver;
pub mod nada;
pub mod ndtc;
pub mod opennetlab;
pub mod oracle;
pub mod pudica;
mod registry;
pub mod remote;
pub mod safeguard;
pub mod salsify;
pub mod scream;
pub mod sqp;
pub mod tfrc;
pub mod ukf;
pub mod vidaptive;
pub mod vtfrc;

pub use registry::{NoFiles, REGISTRY, entry};
