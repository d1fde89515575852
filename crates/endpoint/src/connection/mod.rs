//! The WebRTC connection: session descriptions, what str0m is told and what it gives.

pub mod coded_psnr;
pub mod offered;
pub mod other_end;
pub mod peer;
pub mod rtcp_bytes;
pub mod sdp;
pub mod transport_seq;
