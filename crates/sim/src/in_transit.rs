//! Packets on their way to the receiver. A path carries tickets of a few bytes; the bursts themselves wait here, one
//! entry each, so that packets cost the path next to nothing to carry.

use legato_call::{Arrival, Dropped, Rtcp};
use legato_media::packet::MediaPacket;
use legato_path::DropReason;
use legato_units::{Burst, Ecn};
use std::collections::VecDeque;

/// Stands for a packet on the forward path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ticket {
    /// Counts loads from 0.
    load: u32,
    /// The packet's place in the load.
    place: u16,
}

/// Packets that entered the forward path at one instant.
#[derive(Clone, Debug)]
pub enum Load {
    /// Media packets.
    Media(Burst<MediaPacket>),
    /// A compound RTCP packet.
    Rtcp(Rtcp),
}

impl Load {
    /// Its packet at `place` as one that was lost; `None` for RTCP, whose losses are not recorded.
    pub fn lost(&self, place: u16, reason: DropReason) -> Option<Dropped> {
        let Self::Media(burst) = self else { return None };
        let MediaPacket { transport_seq, departure, .. } = burst.first;
        Some(Dropped { transport_seq: transport_seq + u64::from(place), departure, reason: reason.name() })
    }
}

/// Loads of which a packet is still in flight.
#[derive(Debug, Default)]
pub struct InTransit {
    loads: VecDeque<Entry>,
    /// The number of the first of them.
    base: u32,
}

#[derive(Debug)]
struct Entry {
    load: Load,
    /// Packets that have neither arrived nor been dropped.
    left: u16,
}

impl Ticket {
    /// Its packet's place in the load.
    #[inline]
    pub fn place(self) -> u16 {
        self.place
    }
}

impl InTransit {
    /// Add a load; returns its first ticket. `packets` is at least one.
    #[inline]
    pub fn insert(&mut self, load: Load, packets: u16) -> Ticket {
        let number = self.base.wrapping_add(self.loads.len() as u32);
        self.loads.push_back(Entry { load, left: packets });
        Ticket { load: number, place: 0 }
    }

    /// The load of `ticket`.
    #[inline]
    pub fn get(&self, ticket: Ticket) -> &Load {
        &self.loads[ticket.load.wrapping_sub(self.base) as usize].load
    }

    /// `packets` of the load of `ticket` have arrived or are lost.
    #[inline]
    pub fn remove(&mut self, ticket: Ticket, packets: u16) {
        let entry = &mut self.loads[ticket.load.wrapping_sub(self.base) as usize];
        entry.left -= packets;
        if entry.left == 0 {
            self.forget();
        }
    }

    /// The packet of `ticket` arrives, its ECN field as it is then.
    pub fn arrive(&mut self, ticket: Ticket, ecn: Ecn) -> Arrival {
        let arrival = match self.get(ticket) {
            Load::Media(burst) => Arrival::Media(MediaPacket { ecn, ..burst.get(ticket.place()) }),
            Load::Rtcp(rtcp) => Arrival::Rtcp(rtcp.clone()),
        };
        self.remove(ticket, 1);
        arrival
    }

    /// The packet of `ticket` is lost; `None` if it carries RTCP, whose losses are not recorded.
    pub fn lose(&mut self, ticket: Ticket, reason: DropReason) -> Option<Dropped> {
        let lost = self.get(ticket).lost(ticket.place(), reason);
        self.remove(ticket, 1);
        lost
    }

    /// Forget complete loads, up to the first incomplete one.
    #[inline(never)]
    fn forget(&mut self) {
        while self.loads.front().is_some_and(|entry| entry.left == 0) {
            self.loads.pop_front();
            self.base = self.base.wrapping_add(1);
        }
    }
}

/// The tickets of a load from its first on.
#[inline]
pub fn tickets(first: Ticket, packets: u16) -> impl Iterator<Item = Ticket> {
    (0..packets).map(move |place| Ticket { place, ..first })
}

#[cfg(test)]
mod tests {
    use super::*;
    use legato_units::Timestamp;

    #[test]
    fn loads_are_kept_until_their_last_packet_is_gone_whatever_the_order() {
        let mut transit = InTransit::default();
        let load = |byte| Load::Rtcp(Rtcp { left: Timestamp::ZERO, bytes: vec![byte] });
        let byte = |transit: &InTransit, ticket| match transit.get(ticket) {
            Load::Rtcp(rtcp) => rtcp.bytes[0],
            Load::Media(_) => unreachable!("none was put in"),
        };
        let first: Vec<_> = tickets(transit.insert(load(1), 2), 2).collect();
        let second = transit.insert(load(2), 1);
        transit.remove(first[1], 1);
        transit.remove(second, 1);
        assert_eq!((transit.loads.len(), byte(&transit, first[0]), byte(&transit, second)), (2, 1, 2));
        transit.remove(first[0], 1);
        assert_eq!((transit.loads.len(), transit.base), (0, 2));
        let third = transit.insert(load(3), 1);
        assert_eq!(byte(&transit, third), 3);
    }
}
