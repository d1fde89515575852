//! The emulated network: paths driven by the wall clock, and their ends.

pub mod capacity_log;
pub mod datagram;
pub mod ends;
pub mod event;
pub mod exit;
pub mod flow;
pub mod framing;
pub mod lateness;
pub mod link;
pub mod link_worker;
pub mod order;
