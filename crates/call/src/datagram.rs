//! The size of RTCP on the network.

use legato_media::packetizer::IP_UDP_BYTES;
use legato_units::DataSize;

/// SRTCP index 4, tag 10.
const SRTCP_BYTES: u64 = 14;

/// Bytes on the wire of `bytes` bytes of RTCP, IP and UDP headers included.
#[inline]
pub fn rtcp_wire_size(bytes: usize) -> DataSize {
    DataSize::from_bytes(bytes as u64 + SRTCP_BYTES + u64::from(IP_UDP_BYTES))
}
