//! What is recorded of a call, and the figures made of it.

mod record;
mod sink;

pub use record::{FrameDecoded, FrameEncoded, PacketSent, Record};
pub use sink::{At, TraceSink};
