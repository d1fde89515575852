//! The forward path and the packets on it.
//!
//! If every stage decides about a packet when it enters and none marks, a train stays together: the exits
//! of its packets are one run in a line of times, and the path itself keeps nothing. If a stage holds
//! packets back or marks them, each is on the path by itself, as a ticket.

use crate::in_transit::{InTransit, Load, Ticket, tickets};
use legato_call::{Arrival, Dropped, Rtcp, rtcp_wire_size};
use legato_media::packet::MediaPacket;
use legato_path::{Packet, Path};
use legato_units::{Burst, DataSize, Ecn, Timestamp};
use std::collections::VecDeque;

/// The forward path of a call.
pub struct Forward {
    path: Path<Ticket>,
    eager: bool,
    /// Packets that left together and arrive one behind the other, where the path is eager: the rest of them.
    flights: VecDeque<Load>,
    /// When their packets arrive; those before `first` have.
    exits: Vec<Timestamp>,
    first: usize,
    /// What the tickets stand for, if it is not.
    in_transit: InTransit,
    /// [`Timestamp::MAX`] if nothing is due.
    next: Timestamp,
    drops: VecDeque<Dropped>,
}

/// Arrived packets are taken out of the line once they are so many. What many calls side by side keep of the past shall
/// not push them out of a processor's cache.
const ARRIVED_KEPT: usize = 64;

impl Forward {
    /// An empty path.
    pub fn new(path: Path<Ticket>) -> Self {
        Self {
            eager: path.passes_bursts(),
            path: path.with_drop_notices(),
            flights: VecDeque::new(),
            exits: Vec::new(),
            first: 0,
            in_transit: InTransit::default(),
            next: Timestamp::MAX,
            drops: VecDeque::new(),
        }
    }

    /// The path, for its capacity and backlog.
    pub fn path(&mut self) -> &mut Path<Ticket> {
        &mut self.path
    }

    /// When to call [`Forward::pop`] next; [`Timestamp::MAX`] while nothing is due.
    #[inline]
    pub fn next_arrival(&self) -> Timestamp {
        self.next
    }

    /// Packets leave the sender.
    #[inline]
    pub fn send(&mut self, now: Timestamp, burst: Burst<MediaPacket>) {
        if self.eager {
            let size = DataSize::from_bytes(u64::from(burst.first.size_bytes));
            self.pass(now, burst.with(size), Load::Media(burst));
        } else {
            let first = self.in_transit.insert(Load::Media(burst), burst.packets);
            for ticket in tickets(first, burst.packets) {
                let size = DataSize::from_bytes(burst.size_bytes(ticket.place()));
                self.push(now, size, burst.first.ecn, ticket);
            }
        }
    }

    /// A compound RTCP packet leaves the sender.
    pub fn send_rtcp(&mut self, now: Timestamp, bytes: Vec<u8>) {
        let (size, load) = (rtcp_wire_size(bytes.len()), Load::Rtcp(Rtcp { left: now, bytes }));
        if self.eager {
            self.pass(now, Burst::single(size), load);
        } else {
            let ticket = self.in_transit.insert(load, 1);
            self.push(now, size, Ecn::NotEct, ticket);
        }
    }

    /// The packets that arrive next, and when, as far as that is certain.
    #[inline]
    pub fn line(&self) -> Option<(&Burst<MediaPacket>, &[Timestamp])> {
        let Load::Media(burst) = self.flights.front()? else { return None };
        Some((burst, &self.exits[self.first..][..usize::from(burst.packets)]))
    }

    /// The first `packets` of [`Forward::line`] are taken.
    #[inline]
    pub fn skip(&mut self, packets: u16) {
        match self.flights.front_mut() {
            Some(Load::Media(burst)) if packets < burst.packets => *burst = burst.rest(packets),
            _ => drop(self.flights.pop_front()),
        }
        self.first += usize::from(packets);
        if self.first >= ARRIVED_KEPT {
            self.exits.drain(..self.first);
            self.first = 0;
        }
        self.next = self.exits.get(self.first).copied().unwrap_or(Timestamp::MAX);
    }

    /// The next packet that came out at or before `now`; there may be none yet.
    pub fn pop(&mut self, now: Timestamp) -> Option<Arrival> {
        if !self.eager {
            return self.pop_ticket(now);
        }
        if self.next > now {
            return None;
        }
        let arrival = match self.flights.front_mut()? {
            Load::Media(burst) => Arrival::Media(burst.first),
            Load::Rtcp(rtcp) => Arrival::Rtcp(Rtcp { left: rtcp.left, bytes: std::mem::take(&mut rtcp.bytes) }),
        };
        self.skip(1);
        Some(arrival)
    }

    /// Whether [`Forward::pop_drop`] has something.
    #[inline]
    pub fn has_drops(&self) -> bool {
        !self.drops.is_empty() || self.path.has_drops()
    }

    /// The next media packet that was lost, in the order of decisions.
    pub fn pop_drop(&mut self) -> Option<Dropped> {
        while let Some(notice) = self.path.pop_drop() {
            self.drops.extend(self.in_transit.lose(notice.packet.payload, notice.reason));
        }
        self.drops.pop_front()
    }

    /// Each packet of a load through an eager path.
    #[inline]
    fn pass(&mut self, now: Timestamp, sizes: Burst<DataSize>, load: Load) {
        let entered = self.exits.len();
        let lost = self.path.pass(now, sizes, &mut self.exits);
        if lost.is_empty() && self.exits.last().is_some_and(|&last| last < Timestamp::MAX) {
            self.flights.push_back(load);
        } else {
            self.drops.extend(lost.iter().filter_map(|lost| load.lost(lost.place, lost.reason)));
            self.part(entered, &load);
        }
        self.next = self.exits.get(self.first).copied().unwrap_or(Timestamp::MAX);
    }

    /// A load of which not all arrives: the rest between the gaps, if any, stays in flight.
    #[cold]
    fn part(&mut self, entered: usize, load: &Load) {
        let arrives = |at: &Timestamp| *at < Timestamp::MAX;
        let (mut begin, mut kept) = (entered, entered);
        while let Some(gap) = self.exits[begin..].iter().position(arrives) {
            begin += gap;
            let rest = &self.exits[begin..];
            let packets = rest.iter().position(|at| !arrives(at)).unwrap_or(rest.len());
            let place = (begin - entered) as u16;
            self.flights.push_back(match load {
                Load::Media(burst) => Load::Media(burst.rest(place).front(packets as u16)),
                Load::Rtcp(rtcp) => Load::Rtcp(rtcp.clone()),
            });
            self.exits.copy_within(begin..begin + packets, kept);
            (begin, kept) = (begin + packets, kept + packets);
        }
        self.exits.truncate(kept);
    }

    #[inline(never)]
    fn push(&mut self, now: Timestamp, size: DataSize, ecn: Ecn, ticket: Ticket) {
        self.path.push(now, Packet { size, flow: 0, ecn, payload: ticket });
        self.next = self.path.next_arrival().unwrap_or(Timestamp::MAX);
    }

    #[inline(never)]
    fn pop_ticket(&mut self, now: Timestamp) -> Option<Arrival> {
        let delivered = self.path.pop(now);
        self.next = self.path.next_arrival().unwrap_or(Timestamp::MAX);
        let Packet { payload: ticket, ecn, .. } = delivered?.packet;
        Some(self.in_transit.arrive(ticket, ecn))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use legato_control::PacketKind;
    use legato_path::stage::{Loss, Propagation, Reorder};
    use legato_units::TimeDelta;
    use rand_chacha::ChaCha8Rng;
    use rand_core::SeedableRng;

    fn burst(first: u64, packets: u16) -> Burst<MediaPacket> {
        let packet = MediaPacket {
            transport_seq: first,
            enqueued: Timestamp::ZERO,
            departure: Timestamp::ZERO,
            rtp_seq: first as u32,
            rtx_seq: 0,
            ssrc: 1,
            frame: 0,
            index: 0,
            count: packets,
            size_bytes: 1_000,
            payload_bytes: 900,
            kind: PacketKind::Video,
            ecn: Ecn::NotEct,
            probe_cluster: None,
        };
        Burst { first: packet, packets, smaller: packets / 2 }
    }

    /// Arrivals and drops of the same packets over 30 % loss, with and without a stage that holds
    /// packets back (but reorders none).
    fn outcome(lazy: bool) -> (Vec<(Timestamp, Arrival)>, Vec<Dropped>) {
        let rng = ChaCha8Rng::seed_from_u64;
        let mut stages =
            vec![Loss::new(0.3, rng(5)).expect("a ratio").into(), Propagation::fixed(TimeDelta::from_millis(7)).into()];
        if lazy {
            stages.push(Reorder::new(0.0, TimeDelta::ZERO, rng(6)).expect("a ratio").into());
        }
        let mut forward = Forward::new(Path::new(stages));
        let (mut arrivals, mut drops, mut seq) = (Vec::new(), Vec::new(), 0);
        for ms in 0..2_000 {
            let now = Timestamp::from_millis(ms);
            if ms % 3 == 0 {
                let packets = (ms % 8 + 1) as u16;
                forward.send(now, burst(seq, packets));
                seq += u64::from(packets);
            }
            if ms % 50 == 0 {
                forward.send_rtcp(now, vec![ms as u8]);
            }
            while forward.next_arrival() <= now {
                arrivals.extend(forward.pop(now).map(|arrival| (now, arrival)));
            }
            drops.extend(std::iter::from_fn(|| forward.pop_drop()));
        }
        (arrivals, drops)
    }

    #[test]
    fn bursts_and_tickets_have_the_same_outcome() {
        let (bursts, tickets) = (outcome(false), outcome(true));
        assert_eq!(bursts, tickets);
        assert!(bursts.0.len() > 1_000 && bursts.1.len() > 500);
    }

    #[test]
    fn packets_in_line_may_be_taken_at_once() {
        let mut forward = Forward::new(Path::new([Propagation::fixed(TimeDelta::from_millis(7)).into()]));
        forward.send(Timestamp::ZERO, burst(0, 4));
        let (burst, exits) = forward.line().expect("a burst is on its way");
        assert_eq!((burst.first.transport_seq, exits), (0, &[Timestamp::from_millis(7); 4][..]));
        forward.skip(3);
        let next = forward.line().map(|(burst, exits)| (burst.first.transport_seq, exits.len()));
        assert_eq!(next, Some((3, 1)));
        forward.skip(1);
        assert!(forward.line().is_none() && forward.next_arrival() == Timestamp::MAX);
    }
}
