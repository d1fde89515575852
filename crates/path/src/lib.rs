//! The one link model, for the simulator and for real packets: a path is a list of stages.

mod packet;
pub mod stage;

pub use packet::{Ecn, Packet};
pub use stage::{DropReason, Passage, Stage};
