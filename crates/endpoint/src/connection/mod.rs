//! The WebRTC connection: session descriptions, and the inputs and outputs of str0m.

pub mod coded_psnr;
pub mod known_names;
pub mod offered;
pub mod other_end;
pub mod peer;
pub mod rtcp_bytes;
pub mod sdp;
pub mod transport_seq;

/// The name of parity in session descriptions: unregistered, since only Legato ends use it.
pub const PARITY_NAME: &str = "x-legato-parity";
