//! From a clip to coded frames: pictures, their sizes, and the encoder.

pub mod ahead;
pub mod camera;
pub mod coder;
pub mod scaler;
pub mod short_reads;
pub mod sizes;
pub mod source;
pub mod stamp;
