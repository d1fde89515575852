//! What a call puts on the network.

use legato_media::packet::MediaPacket;
use legato_media::packetizer::IP_UDP_BYTES;
use legato_units::DataSize;

/// One datagram, either way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Datagram {
    /// A media packet, as a struct: `wire` makes RTP of it where bytes are needed.
    Media(MediaPacket),
    /// A compound RTCP packet, as bytes.
    Rtcp(Vec<u8>),
}

/// SRTCP index 4, tag 10.
const SRTCP_BYTES: u64 = 14;

impl Datagram {
    /// Bytes on the wire, IP and UDP headers included.
    #[inline]
    pub fn size(&self) -> DataSize {
        DataSize::from_bytes(match self {
            Self::Media(packet) => u64::from(packet.size_bytes),
            Self::Rtcp(bytes) => rtcp_wire_bytes(bytes.len()),
        })
    }
}

/// Bytes on the wire of so many bytes of RTCP.
pub(crate) fn rtcp_wire_bytes(bytes: usize) -> u64 {
    bytes as u64 + SRTCP_BYTES + u64::from(IP_UDP_BYTES)
}
