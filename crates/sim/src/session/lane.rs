//! One way between a flow's ends: the links it shares with others, and after them its own propagation and jitter.
//!
//! If the links decide a packet's fate when it is sent, it goes straight to its flow's private part of the way,
//! unchanged. If a link may keep it, it waits among the packets of all flows, as a parcel.

use super::link::Links;
use super::parcel::{Parcel, Way};
use legato_path::{Delivered, DropReason, Ecn, Packet, Path};
use legato_units::{DataSize, Timestamp};

/// The network that a flow sends into.
pub struct Network {
    /// The links.
    pub links: Links,
    /// Packets for links that keep packets, to be sent at the end of the turn.
    pub outbox: Vec<Packet<Parcel>>,
}

/// One way of one flow; it carries `T`.
pub struct Lane<T> {
    flow: u16,
    way: Way,
    tail: Path<T>,
}

/// A packet was lost as it was sent: at that time, for that reason, this.
pub struct LostAtOnce<T>(pub Timestamp, pub DropReason, pub T);

impl<T: Send + Into<Parcel>> Lane<T> {
    /// `tail`: the flow's own part.
    pub fn new(flow: u16, way: Way, tail: Path<T>) -> Self {
        Self { flow, way, tail }
    }

    /// Sends a packet; returns a loss that is already certain.
    #[inline]
    pub fn send(
        &mut self,
        now: Timestamp,
        network: &mut Network,
        size: DataSize,
        mut ecn: Ecn,
        payload: T,
    ) -> Option<LostAtOnce<T>> {
        match network.links.pass(self.flow, self.way, now, size, &mut ecn) {
            Some(Ok(Timestamp::MAX)) => {}
            Some(Ok(at)) => self.tail.push(at, Packet { size, flow: self.flow, ecn, payload }),
            Some(Err(lost)) => return Some(LostAtOnce(lost.at, lost.reason, payload)),
            None => network.outbox.push(Packet { size, flow: self.flow, ecn, payload: payload.into() }),
        }
        None
    }

    /// A packet is past the last link at `at`; returns when one is due at the end.
    pub fn enter(&mut self, at: Timestamp, size: DataSize, ecn: Ecn, payload: T) -> Timestamp {
        self.tail.push(at, Packet { size, flow: self.flow, ecn, payload });
        self.due()
    }

    /// When a packet is next due at the end; [`Timestamp::MAX`] if none is.
    #[inline]
    pub fn due(&self) -> Timestamp {
        self.tail.next_arrival().unwrap_or(Timestamp::MAX)
    }

    /// The next packet that is at the end by `now`.
    #[inline]
    pub fn pop(&mut self, now: Timestamp) -> Option<Delivered<T>> {
        self.tail.pop(now)
    }
}
