//! The WebRTC connection: session descriptions, and the inputs and outputs of str0m.

pub mod coded_psnr;
pub mod offered;
pub mod other_end;
pub mod peer;
pub mod rtcp_bytes;
pub mod sdp;
pub mod transport_seq;
