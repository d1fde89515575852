//! The packets on the emulated network.

use crate::network::event::Media;
use legato_units::{TimeDelta, Timestamp};
use std::net::SocketAddr;

/// A datagram in flight, or an IP packet.
#[derive(Debug)]
pub struct Datagram {
    pub(crate) bytes: Vec<u8>,
    /// When it reached the path.
    pub(crate) entered: Timestamp,
    /// How much later the thread put it there.
    pub(crate) late: TimeDelta,
    /// The other end's address: its destination or its source.
    pub(crate) peer: SocketAddr,
    /// The media packet it is, on its call's forward direction.
    pub(crate) media: Option<Media>,
}
