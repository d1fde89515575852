//! The network of a call that has it to itself: a path to the receiver and one back.

mod forward;

pub use forward::Forward;

use legato_call::{Arrival, Dropped, Network, NetworkSample, PrivateNetwork, Rtcp, Sent, rtcp_wire_size};
use legato_control::Side;
use legato_media::packet::MediaPacket;
use legato_path::{Packet, Path};
use legato_units::{Burst, DataRate, Ecn, Timestamp};

/// Both ways between a call's ends, used by no other flow.
pub struct PrivatePath {
    forward: Forward,
    reverse: Path<Rtcp>,
}

impl PrivatePath {
    /// The two ways, empty.
    pub fn new(forward: Forward, reverse: Path<Rtcp>) -> Self {
        Self { forward, reverse }
    }

    /// Mean capacity of the way to the receiver over `[from, to)`.
    pub fn capacity(&mut self, from: Timestamp, to: Timestamp) -> Option<DataRate> {
        self.forward.path().capacity(from, to)
    }
}

impl Network for PrivatePath {
    #[inline]
    fn send(&mut self, from: Side, now: Timestamp, sent: Sent) {
        match (sent, from) {
            (Sent::Media(burst), _) => self.forward.send(now, burst),
            (Sent::Rtcp(bytes), Side::Sender) => self.forward.send_rtcp(now, bytes),
            (Sent::Rtcp(bytes), Side::Receiver) => {
                let (size, payload) = (rtcp_wire_size(bytes.len()), Rtcp { left: now, bytes });
                self.reverse.push(now, Packet { size, flow: 0, ecn: Ecn::NotEct, payload });
            }
        }
    }

    #[inline]
    fn next_arrival(&self, at: Side) -> Timestamp {
        match at {
            Side::Receiver => self.forward.next_arrival(),
            Side::Sender => self.reverse.next_arrival().unwrap_or(Timestamp::MAX),
        }
    }

    fn pop(&mut self, at: Side, now: Timestamp) -> Option<Arrival> {
        match at {
            Side::Receiver => self.forward.pop(now),
            Side::Sender => self.reverse.pop(now).map(|delivered| Arrival::Rtcp(delivered.packet.payload)),
        }
    }

    #[inline]
    fn pop_drop(&mut self) -> Option<Dropped> {
        if self.forward.has_drops() { self.forward.pop_drop() } else { None }
    }

    fn sample(&mut self, from: Timestamp, now: Timestamp) -> NetworkSample {
        NetworkSample { capacity: self.capacity(from, now), queue: self.forward.path().backlog(now).delay }
    }
}

impl PrivateNetwork for PrivatePath {
    #[inline]
    fn line(&self) -> Option<(&Burst<MediaPacket>, &[Timestamp])> {
        self.forward.line()
    }

    #[inline]
    fn skip(&mut self, packets: u16) {
        self.forward.skip(packets);
    }

    fn replies_are_certain(&self) -> bool {
        self.reverse.passes_bursts()
    }
}
