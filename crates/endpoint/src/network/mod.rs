//! The emulated network: paths driven by the wall clock, and what is at their ends.

pub mod ends;
pub mod lateness;
pub mod link;
pub mod link_worker;
