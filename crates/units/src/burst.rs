//! Packets that leave together: one value instead of many, from the pacer to the figures.

use crate::DataSize;
use serde::{Deserialize, Serialize};

/// What a [`Burst`] consists of.
pub trait BurstPacket: Copy {
    /// Bytes on the wire.
    fn size_bytes(&self) -> u64;

    /// The packet `place` places after this one: its numbers count on. `smaller` of the packets from here to it are one byte
    /// smaller than this one, it being the last of them; with 0 it has this one's size.
    #[must_use]
    fn behind(&self, place: u16, smaller: u16) -> Self;
}

/// Consecutive packets that leave at one instant, of one size or of two that differ by a byte, the larger
/// first: the pieces of a frame. Each stage of a call handles a burst at little more than the cost of one packet.
///
/// ```
/// use legato_units::{Burst, DataSize};
/// let burst = Burst { first: DataSize::from_bytes(1_200), packets: 5, smaller: 2 };
/// assert_eq!(burst.bytes(), 5 * 1_200 - 2);
/// assert_eq!(burst.get(3).as_bytes(), 1_199);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "ReadBurst<P>", bound(deserialize = "P: Deserialize<'de> + BurstPacket"))]
pub struct Burst<P> {
    /// The first packet.
    pub first: P,
    /// Number of packets, at least 1.
    pub packets: u16,
    /// How many of them, the last ones, are one byte smaller than the first; fewer than `packets`.
    pub smaller: u16,
}

/// What is read as a burst, before it is known to be one.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ReadBurst<P> {
    first: P,
    packets: u16,
    smaller: u16,
}

impl<P: BurstPacket> TryFrom<ReadBurst<P>> for Burst<P> {
    type Error = String;

    fn try_from(ReadBurst { first, packets, smaller }: ReadBurst<P>) -> Result<Self, String> {
        if packets == 0 {
            return Err("packets = 0: a burst has one at least".to_owned());
        }
        if smaller >= packets || smaller > 0 && first.size_bytes() == 0 {
            return Err(format!("smaller = {smaller}: the first of {packets} packets is the largest"));
        }
        Ok(Self { first, packets, smaller })
    }
}

impl<P> Burst<P> {
    /// A packet on its own.
    #[inline]
    pub const fn single(packet: P) -> Self {
        Self { first: packet, packets: 1, smaller: 0 }
    }

    /// A burst of the same shape.
    #[inline]
    pub fn with<Q>(&self, first: Q) -> Burst<Q> {
        Burst { first, packets: self.packets, smaller: self.smaller }
    }

    /// How many of the first `packets` are one byte smaller than the first.
    #[inline]
    pub const fn smaller_among(&self, packets: u16) -> u16 {
        (packets + self.smaller).saturating_sub(self.packets)
    }
}

impl<P: BurstPacket> Burst<P> {
    /// Bytes on the wire of the packet at `place`, counted from 0.
    #[inline]
    pub fn size_bytes(&self, place: u16) -> u64 {
        self.first.size_bytes() - u64::from(place >= self.packets - self.smaller)
    }

    /// Bytes on the wire of all packets.
    #[inline]
    pub fn bytes(&self) -> u64 {
        u64::from(self.packets) * self.first.size_bytes() - u64::from(self.smaller)
    }

    /// The packet at `place`, counted from 0.
    #[inline]
    pub fn get(&self, place: u16) -> P {
        self.first.behind(place, self.smaller_among(place + 1))
    }

    /// All packets.
    pub fn iter(&self) -> impl Iterator<Item = P> + '_ {
        (0..self.packets).map(|place| self.get(place))
    }

    /// The first `packets`, at least one.
    #[inline]
    #[must_use]
    pub fn front(&self, packets: u16) -> Self {
        debug_assert!(0 < packets && packets <= self.packets, "a burst has packets");
        Self { first: self.first, packets, smaller: self.smaller_among(packets) }
    }

    /// The rest after the first `packets`, which are fewer than all.
    #[inline]
    #[must_use]
    pub fn rest(&self, packets: u16) -> Self {
        debug_assert!(packets < self.packets, "a burst has packets");
        let rest = self.packets - packets;
        // Where the smaller ones begin here or before, all that is left has one size.
        let smaller = if self.smaller < rest { self.smaller } else { 0 };
        Self { first: self.get(packets), packets: rest, smaller }
    }

    /// Cut off the first `packets`, at least one and fewer than all; the rest stays.
    #[inline]
    pub fn cut_off(&mut self, packets: u16) -> Self {
        let front = self.front(packets);
        *self = self.rest(packets);
        front
    }
}

/// To a path a packet is its size.
impl BurstPacket for DataSize {
    #[inline]
    fn size_bytes(&self) -> u64 {
        self.as_bytes()
    }

    #[inline]
    fn behind(&self, _place: u16, smaller: u16) -> Self {
        Self::from_bytes(self.as_bytes() - u64::from(smaller > 0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn burst(smaller: u16) -> Burst<DataSize> {
        Burst { first: DataSize::from_bytes(1_066), packets: 5, smaller }
    }

    #[test]
    fn the_larger_packets_come_first() {
        let sizes: Vec<_> = burst(2).iter().map(DataSize::as_bytes).collect();
        assert_eq!(sizes, [1_066, 1_066, 1_066, 1_065, 1_065]);
        assert_eq!((burst(2).bytes(), burst(0).bytes()), (5 * 1_066 - 2, 5 * 1_066));
        assert_eq!([0, 3, 4, 5].map(|packets| burst(2).smaller_among(packets)), [0, 0, 1, 2]);
        assert_eq!((burst(2).size_bytes(2), burst(2).size_bytes(3)), (1_066, 1_065));
    }

    #[test]
    fn a_burst_cut_anywhere_is_the_same_packets() {
        for smaller in 0..5 {
            let whole: Vec<_> = burst(smaller).iter().collect();
            for at in 1..5 {
                let mut rest = burst(smaller);
                let front = rest.cut_off(at);
                assert_eq!(front.iter().chain(rest.iter()).collect::<Vec<_>>(), whole, "{smaller} {at}");
                assert_eq!(front.bytes() + rest.bytes(), burst(smaller).bytes());
                assert!(front.smaller < front.packets && rest.smaller < rest.packets);
            }
        }
    }
}
