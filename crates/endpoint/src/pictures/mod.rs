//! From a clip to payloads: pictures, their sizes, the encoders, and cutting frames into packets.

pub mod ahead;
pub mod camera;
pub mod coder;
pub mod even_cut;
pub mod h264_payload;
pub mod hybrid_payload;
pub mod payloads;
pub mod scaler;
pub mod short_reads;
pub mod sizes;
pub mod sliced_payload;
pub mod source;
pub mod stamp;
pub mod vp8_payload;
pub mod vp9_payload;
