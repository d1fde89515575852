//! What travels on the emulated network.

use crate::network::event::Media;
use legato_units::{TimeDelta, Timestamp};
use std::net::SocketAddr;

/// A datagram on its way, or an IP packet.
#[derive(Debug)]
pub struct Datagram {
    pub(crate) bytes: Vec<u8>,
    /// When it came to the path.
    pub(crate) entered: Timestamp,
    /// How much later the thread put it there.
    pub(crate) late: TimeDelta,
    /// The other end's address: where it goes, or where it came from.
    pub(crate) peer: SocketAddr,
    /// The media packet it is, on its call's forward way.
    pub(crate) media: Option<Media>,
}
