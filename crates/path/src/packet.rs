//! What travels on a path.

use legato_units::{DataSize, Ecn};

/// One packet on a path. The path reads its size, flow and ECN mark and carries the payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Packet<P> {
    /// Bytes on the wire, IP and UDP headers included.
    pub size: DataSize,
    /// Which flow it belongs to, where several share a path.
    pub flow: u16,
    /// The ECN field of its IP header.
    pub ecn: Ecn,
    /// What it carries; the path never looks.
    pub payload: P,
}
