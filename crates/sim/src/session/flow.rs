//! The interface of a session's flows to their driver.

use super::lane::Network;
use super::parcel::Parcel;
use legato_path::{DropNotice, Packet};
use legato_units::Timestamp;

/// A source and a sink, with the parts of their ways that no other flow uses.
pub trait Flow {
    /// When [`Flow::turn`] is next due.
    fn due(&self) -> Timestamp;

    /// Do the first thing due at `now`.
    fn turn(&mut self, now: Timestamp, network: &mut Network);

    /// A packet of the flow is past the last link at `at`; returns when it or another is due at an end.
    fn enter(&mut self, at: Timestamp, packet: Packet<Parcel>) -> Timestamp;

    /// A link lost this packet of the flow.
    fn dropped(&mut self, notice: DropNotice<Parcel>);
}
