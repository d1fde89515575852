//! Real WebRTC calls: the sender and the path of the simulator, driven by the wall clock.
//!
//! `call::Sender` with its pacer, send history, retransmission and controller is the simulator's object, unchanged:
//! what it decides here it would decide there. Beside it stand what a simulator models and a call really has: a
//! camera with an encoder ([`Camera`]), a WebRTC connection ([`peer`]), the network, which is emulated between the
//! socket and the endpoint by the simulator's own `path` ([`link`]), and the other end: a browser.
//!
//! This is the only crate that reads a clock (`clock.rs`) or opens a socket, on the loopback interface unless told
//! otherwise. It knows nothing of the simulator, and the simulator nothing of it.

#![forbid(unsafe_code)]

mod ahead;
mod assembly;
mod call;
mod camera;
mod clock;
mod codec;
mod coded_psnr;
mod coder;
mod decoder;
mod driver;
mod ends;
mod error;
mod even_cut;
mod h264_payload;
mod joining;
mod lateness;
mod link;
mod link_worker;
mod listener;
mod mail;
mod offered;
mod pair;
mod peer;
mod pictures;
mod playback;
mod receiving;
mod relay;
mod rtcp_bytes;
mod scaler;
mod sdp;
mod short_reads;
mod sizes;
mod stamp;
mod steering;
mod viewed;
mod viewer;
mod vmaf;
mod vp8_payload;
mod vp9_payload;

pub use assembly::{Assembled, Assembly, CodedPicture, VideoPacket};
pub use call::{Call, CallReport, CallSetup, Finished, Progress, ShownFrame};
pub use camera::Camera;
pub use clock::Clock;
pub use codec::Codec;
pub use decoder::Image;
pub use error::Error;
pub use lateness::{Lateness, LatenessFigures};
pub use link::{Datagram, Place};
pub use pair::{PairCall, PairSetup};
pub use pictures::{PictureSource, scene_period, write_y4m};
pub use receiving::{ReceivingCall, ReceivingSetup};
pub use relay::{Between, Relay, RelaySetup};
pub use viewer::SeenPicture;
pub use vmaf::{VmafMeter, VmafProgram};

pub use legato_tun::{Host, Pair as TunPair};
