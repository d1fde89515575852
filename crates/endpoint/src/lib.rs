//! Real WebRTC calls: the sender and the path of the simulator, driven by the wall clock.
//!
//! `call::Sender` with its pacer, send history, retransmission and controller is the simulator's object, unchanged:
//! it makes the decisions it would make there. Around it are the real parts that a simulator models. They are a camera
//! with an encoder ([`Camera`]), a WebRTC connection (`peer`), and the other end, a browser. The simulator's `path`
//! emulates the network between the socket and the endpoint (`link`).
//!
//! This is the only crate that reads a clock (`clock.rs`) or opens a socket, on the loopback interface unless
//! configured otherwise. It knows nothing of the simulator, and the simulator nothing of it.

#![forbid(unsafe_code)]

mod call_log;
mod clock;
mod connection;
mod driver;
mod error;
mod listener;
mod mail;
mod network;
mod outcome;
mod pictures;
mod real_network;
mod receiving;
mod relay;
mod sending;
mod session;
mod thread;
mod viewing;

pub use clock::Clock;
pub use error::Error;
pub use network::datagram::Datagram;
pub use network::flow::Watched;
pub use network::lateness::{Lateness, LatenessFigures};
pub use network::link::Place;
pub use outcome::{CallReport, Finished, Progress};
pub use pictures::camera::Camera;
pub use pictures::source::{PictureSource, scene_period, write_y4m};
pub use receiving::ReceivingSetup;
pub use relay::RelaySetup;
pub use sending::CallSetup;
pub use session::{PairSetup, Session, WaySetup};
pub use viewing::decoder::Image;
pub use viewing::seen::{SeenPicture, ShownFrame};
pub use viewing::vmaf::{VmafMeter, VmafProgram};

pub use legato_call::Decide;
pub use legato_call::parity::ParityRule;
pub use legato_codec::{Coding, Recovery};
pub use legato_tun::{Host, Pair as TunPair};
