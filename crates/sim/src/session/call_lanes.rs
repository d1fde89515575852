//! The network of a call among other flows: the two ways between its ends, over links it shares.

use super::lane::{self, Lane, LostAtOnce};
use super::parcel::Parcel;
use crate::in_transit::{InTransit, Load, Ticket, tickets};
use legato_call::{Arrival, Dropped, Network, NetworkSample, Rtcp, Sent, rtcp_wire_size};
use legato_control::Side;
use legato_media::packet::MediaPacket;
use legato_path::{DropReason, Ecn, Packet};
use legato_units::{Burst, DataSize, Timestamp};
use std::collections::VecDeque;

/// A call's private part of the ways between its ends, and the packets on them.
pub struct CallLanes {
    flow: u16,
    media: Lane<Ticket>,
    replies: Lane<Rtcp>,
    in_transit: InTransit,
    drops: VecDeque<Dropped>,
}

impl CallLanes {
    /// The ways of the call with number `flow` among the session's flows.
    pub fn new(flow: u16, media: Lane<Ticket>, replies: Lane<Rtcp>) -> Self {
        Self { flow, media, replies, in_transit: InTransit::default(), drops: VecDeque::new() }
    }

    /// As [`Network::next_arrival`].
    #[inline]
    pub fn next_arrival(&self, at: Side) -> Timestamp {
        match at {
            Side::Receiver => self.media.due(),
            Side::Sender => self.replies.due(),
        }
    }

    /// A packet is behind the last link at `at`; returns when one is due at an end.
    pub fn enter(&mut self, at: Timestamp, packet: Packet<Parcel>) -> Timestamp {
        let Packet { size, ecn, payload, .. } = packet;
        match payload {
            Parcel::Media(ticket) => self.media.enter(at, size, ecn, ticket),
            Parcel::Reply(reply) => self.replies.enter(at, size, ecn, reply),
            _ => Timestamp::MAX,
        }
    }

    /// A link lost a packet; `None` where it was RTCP.
    pub fn lose(&mut self, ticket: Ticket, reason: DropReason) -> Option<Dropped> {
        self.in_transit.lose(ticket, reason)
    }
}

/// A call's ways together with the links, for the time of its turn.
pub struct OnLanes<'a> {
    /// The call's own.
    pub lanes: &'a mut CallLanes,
    /// The shared part.
    pub network: &'a mut lane::Network,
}

impl OnLanes<'_> {
    fn send_media(&mut self, now: Timestamp, burst: Burst<MediaPacket>) {
        let first = self.lanes.in_transit.insert(Load::Media(burst), burst.packets);
        for ticket in tickets(first, burst.packets) {
            let size = DataSize::from_bytes(burst.size_bytes(ticket.place()));
            self.put_out(now, size, burst.first.ecn, ticket);
        }
    }

    #[inline]
    fn put_out(&mut self, now: Timestamp, size: DataSize, ecn: Ecn, ticket: Ticket) {
        if let Some(LostAtOnce(_, reason, ticket)) = self.lanes.media.send(now, self.network, size, ecn, ticket) {
            let lost = self.lanes.lose(ticket, reason);
            self.lanes.drops.extend(lost);
        }
    }
}

impl Network for OnLanes<'_> {
    fn send(&mut self, from: Side, now: Timestamp, sent: Sent) {
        let bytes = match sent {
            Sent::Media(burst) => return self.send_media(now, burst),
            Sent::Rtcp(bytes) => bytes,
        };
        let (size, rtcp) = (rtcp_wire_size(bytes.len()), Rtcp { left: now, bytes });
        match from {
            Side::Receiver => {
                self.lanes.replies.send(now, self.network, size, Ecn::NotEct, rtcp);
            }
            Side::Sender => {
                let ticket = self.lanes.in_transit.insert(Load::Rtcp(rtcp), 1);
                self.put_out(now, size, Ecn::NotEct, ticket);
            }
        }
    }

    #[inline]
    fn next_arrival(&self, at: Side) -> Timestamp {
        self.lanes.next_arrival(at)
    }

    fn pop(&mut self, at: Side, now: Timestamp) -> Option<Arrival> {
        match at {
            Side::Receiver => {
                let Packet { payload: ticket, ecn, .. } = self.lanes.media.pop(now)?.packet;
                Some(self.lanes.in_transit.arrive(ticket, ecn))
            }
            Side::Sender => self.lanes.replies.pop(now).map(|delivered| Arrival::Rtcp(delivered.packet.payload)),
        }
    }

    #[inline]
    fn pop_drop(&mut self) -> Option<Dropped> {
        self.lanes.drops.pop_front()
    }

    fn sample(&mut self, from: Timestamp, now: Timestamp) -> NetworkSample {
        let flow = self.lanes.flow;
        NetworkSample {
            capacity: self.network.links.capacity(flow, from, now),
            queue: self.network.links.queue(flow, now),
        }
    }
}
