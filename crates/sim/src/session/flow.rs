//! What every flow of a session is to its driver.

use super::lane::Network;
use super::parcel::Parcel;
use legato_path::{DropNotice, Packet};
use legato_units::Timestamp;

/// A source and a sink, with the ways between them that no other flow uses.
pub trait Flow {
    /// When [`Flow::turn`] is next wanted.
    fn due(&self) -> Timestamp;

    /// Do the first of what is due at `now`.
    fn turn(&mut self, now: Timestamp, network: &mut Network);

    /// A packet of the flow is behind the last link at `at`; answers when it or another is due at an end.
    fn enter(&mut self, at: Timestamp, packet: Packet<Parcel>) -> Timestamp;

    /// A link lost this packet of the flow.
    fn dropped(&mut self, notice: DropNotice<Parcel>);
}
