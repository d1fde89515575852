//! The messages of TCP ends: data segments and acknowledgments, with their sizes on the wire. Both
//! are small values that a path carries as they are; no header is ever serialised.

use legato_path::Ecn;
use legato_units::{DataSize, Timestamp};

/// IPv4, TCP and the timestamp option with its padding: 20 + 20 + 12.
pub const HEADER_BYTES: u16 = 52;
/// Payload that fills an IP packet of 1,500 bytes.
pub const MAX_SEGMENT_BYTES: u16 = 1_500 - HEADER_BYTES;
/// The SACK blocks that fit with timestamps ([rfc2018] section 3).
pub const MAX_SACK_BLOCKS: usize = 3;

/// A data segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Segment {
    /// Its first byte, counted from the connection's start; never wraps.
    pub seq: u64,
    /// The timestamp option's value, which is when it left.
    pub sent: Timestamp,
    /// The connection of the sender it belongs to; each fetch is a new one.
    pub connection: u32,
    /// Payload bytes, at least one.
    pub bytes: u16,
    /// Whether it was sent before.
    pub retransmission: bool,
    /// Whether its IP header is ECN-capable.
    pub ect: bool,
    /// The congestion window reduced flag: the sender has seen the marks.
    pub cwr: bool,
}

impl Segment {
    /// The byte after its last.
    #[inline]
    pub fn end(&self) -> u64 {
        self.seq + u64::from(self.bytes)
    }

    /// With IP and TCP headers.
    #[inline]
    pub fn wire_size(&self) -> DataSize {
        DataSize::from_bytes(u64::from(self.bytes) + u64::from(HEADER_BYTES))
    }

    /// The ECN field to send it with.
    #[inline]
    pub fn ecn(&self) -> Ecn {
        if self.ect { Ecn::Ect0 } else { Ecn::NotEct }
    }
}

/// An acknowledgment without data. It is never ECN-capable ([rfc3168] section 6.1.4).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ack {
    /// Everything before this byte has arrived.
    pub cumulative: u64,
    /// The timestamp echoed.
    pub echo: Timestamp,
    /// The connection of the segment it acknowledges.
    pub connection: u32,
    /// Starts and ends, relative to `cumulative`.
    blocks: [(u32, u32); MAX_SACK_BLOCKS],
    block_count: u8,
    /// ECN echo: a mark has come and the sender has not yet confirmed it.
    pub ece: bool,
}

impl Ack {
    /// One without SACK blocks.
    pub fn new(connection: u32, cumulative: u64, echo: Timestamp, ece: bool) -> Self {
        Self { cumulative, echo, connection, blocks: [(0, 0); MAX_SACK_BLOCKS], block_count: 0, ece }
    }

    /// Report that the bytes from `from` to before `to` have arrived too. Blocks beyond three are dropped.
    pub fn push_sack(&mut self, from: u64, to: u64) {
        debug_assert!(self.cumulative < from && from < to, "a block lies above the cumulative acknowledgment");
        if let Some(block) = self.blocks.get_mut(usize::from(self.block_count)) {
            *block = ((from - self.cumulative) as u32, (to - self.cumulative) as u32);
            self.block_count += 1;
        }
    }

    /// The SACK blocks, the latest first, as bytes from the connection's start.
    #[inline]
    pub fn sacks(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        let base = self.cumulative;
        self.blocks[..usize::from(self.block_count)]
            .iter()
            .map(move |&(from, to)| (base + u64::from(from), base + u64::from(to)))
    }

    /// With IP and TCP headers: 52 bytes, and 4 + 8 per block.
    #[inline]
    pub fn wire_size(&self) -> DataSize {
        let blocks = u64::from(self.block_count);
        let option = if blocks == 0 { 0 } else { 4 + 8 * blocks };
        DataSize::from_bytes(u64::from(HEADER_BYTES) + option)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// [rfc2018] §3: three blocks with timestamps. [rfc3168] §6.1.4: only data is ECN-capable.
    #[test]
    fn a_full_segment_fills_1500_bytes_and_an_acknowledgment_grows_with_its_blocks() {
        let segment = Segment {
            seq: 2_896,
            sent: Timestamp::ZERO,
            connection: 0,
            bytes: MAX_SEGMENT_BYTES,
            retransmission: false,
            ect: true,
            cwr: false,
        };
        assert_eq!((segment.wire_size().as_bytes(), segment.end(), segment.ecn()), (1_500, 4_344, Ecn::Ect0));
        let mut ack = Ack::new(0, 1_448, Timestamp::ZERO, false);
        assert_eq!(ack.wire_size().as_bytes(), 52);
        for block in 1..5u64 {
            ack.push_sack(10_000 * block, 10_000 * block + 1_448);
        }
        assert_eq!(ack.wire_size().as_bytes(), 80);
        assert_eq!(ack.sacks().collect::<Vec<_>>(), [(10_000, 11_448), (20_000, 21_448), (30_000, 31_448)]);
    }

    #[test]
    fn both_stay_small() {
        assert!(size_of::<Segment>() <= 32 && size_of::<Ack>() <= 48);
    }
}
