//! The packets on a path.

use legato_units::{DataSize, Ecn};

/// One packet on a path. The path reads its size, flow and ECN mark and carries the payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Packet<P> {
    /// Bytes on the wire, IP and UDP headers included.
    pub size: DataSize,
    /// The flow it belongs to, if several share a path.
    pub flow: u16,
    /// The ECN field of its IP header.
    pub ecn: Ecn,
    /// Its contents; the path never reads them.
    pub payload: P,
}
