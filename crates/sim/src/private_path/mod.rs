//! The network of a call that has it to itself: a path to the receiver and one back.

mod forward;

pub use forward::Forward;

use legato_call::{Arrival, Dropped, Network, NetworkSample, Reply};
use legato_control::Side;
use legato_media::packet::MediaPacket;
use legato_path::{Packet, Path};
use legato_units::{Burst, DataRate, DataSize, Ecn, Timestamp};

/// Both ways between a call's ends, used by no other flow.
pub struct PrivatePath {
    forward: Forward,
    reverse: Path<Reply>,
}

impl PrivatePath {
    /// The two ways, empty.
    pub fn new(forward: Forward, reverse: Path<Reply>) -> Self {
        Self { forward, reverse }
    }

    /// Mean capacity of the way to the receiver over `[from, to)`.
    pub fn capacity(&mut self, from: Timestamp, to: Timestamp) -> Option<DataRate> {
        self.forward.path().capacity(from, to)
    }
}

impl Network for PrivatePath {
    #[inline]
    fn send(&mut self, now: Timestamp, burst: Burst<MediaPacket>) {
        self.forward.send(now, burst);
    }

    fn send_rtcp(&mut self, from: Side, now: Timestamp, size: DataSize, bytes: Vec<u8>) {
        match from {
            Side::Receiver => {
                self.reverse.push(now, Packet { size, flow: 0, ecn: Ecn::NotEct, payload: Reply { left: now, bytes } });
            }
            Side::Sender => self.forward.send_rtcp(now, size, bytes),
        }
    }

    #[inline]
    fn next_arrival(&self, at: Side) -> Timestamp {
        match at {
            Side::Receiver => self.forward.next_arrival(),
            Side::Sender => self.reverse.next_arrival().unwrap_or(Timestamp::MAX),
        }
    }

    fn pop_arrival(&mut self, now: Timestamp) -> Option<Arrival> {
        self.forward.pop(now)
    }

    fn pop_reply(&mut self, now: Timestamp) -> Option<Reply> {
        self.reverse.pop(now).map(|delivered| delivered.packet.payload)
    }

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

    #[inline]
    fn pop_drop(&mut self) -> Option<Dropped> {
        if self.forward.has_drops() { self.forward.pop_drop() } else { None }
    }

    fn sample(&mut self, from: Timestamp, now: Timestamp) -> NetworkSample {
        NetworkSample { capacity: self.capacity(from, now), queue: self.forward.path().backlog(now).delay }
    }
}
