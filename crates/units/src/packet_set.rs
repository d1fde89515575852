//! Which packets of a frame arrived.

/// A set of a frame's packets: what a receiver reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PacketSet {
    bits: u64,
    count: u8,
}

impl PacketSet {
    /// None of `count` packets, at most 64.
    pub fn none(count: u8) -> Self {
        Self { bits: 0, count: count.min(64) }
    }
    /// All of `count` packets, at most 64.
    pub fn all(count: u8) -> Self {
        let mut all = Self::none(count);
        (0..all.count).for_each(|packet| {
            all.insert(packet);
        });
        all
    }
    /// Add one; `false` if it was there or is not of the frame.
    pub fn insert(&mut self, packet: u8) -> bool {
        let new = packet < self.count && self.bits >> packet & 1 == 0;
        if new {
            self.bits |= 1 << packet;
        }
        new
    }
    /// Whether one arrived.
    pub fn contains(&self, packet: u8) -> bool {
        packet < self.count && self.bits >> packet & 1 == 1
    }
    /// Whether all arrived.
    pub fn is_complete(&self) -> bool {
        self.bits.count_ones() == u32::from(self.count)
    }
    /// How many arrived.
    pub fn received(&self) -> u8 {
        self.bits.count_ones() as u8
    }
    /// Packets of the frame.
    pub const fn count(&self) -> u8 {
        self.count
    }
}
