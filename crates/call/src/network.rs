//! The network of a call, as its ends see it.

use legato_control::Side;
use legato_media::packet::MediaPacket;
use legato_units::{Burst, DataRate, TimeDelta, Timestamp};

/// What lies between the two ends. Times are true time, the sender's clock. A real network shows only packets that
/// enter and leave it at this end; the defaults answer for the rest.
pub trait Network {
    /// Packets leave the end `from`.
    fn send(&mut self, from: Side, now: Timestamp, sent: Sent);

    /// When the next packet reaches the end `at`, or the network has work to do that may make one arrive;
    /// [`Timestamp::MAX`] while nothing is due.
    fn next_arrival(&self, at: Side) -> Timestamp;

    /// The packet that reaches the end `at` by `now`; there may be none yet.
    fn pop(&mut self, at: Side, now: Timestamp) -> Option<Arrival>;

    /// The next media packet that was lost on the way, in the order of decisions.
    fn pop_drop(&mut self) -> Option<Dropped> {
        None
    }

    /// The bottleneck: its mean capacity since `from`, and its queue at `now`.
    fn sample(&mut self, from: Timestamp, now: Timestamp) -> NetworkSample {
        let _ = (from, now);
        NetworkSample::default()
    }
}

/// A network that a call has to itself, so that arrivals are certain before their time. This is for speed alone: a call
/// that only asks a [`Network`] sees the same.
pub trait PrivateNetwork: Network {
    /// The media packets that reach the receiver next, one behind the other, and when, as far as that is certain.
    fn line(&self) -> Option<(&Burst<MediaPacket>, &[Timestamp])>;

    /// The first `packets` of [`PrivateNetwork::line`] are taken.
    fn skip(&mut self, packets: u16);

    /// Whether the receiver may run ahead of the sender: nothing on the way back depends on the order in which packets
    /// enter and leave it.
    fn replies_are_certain(&self) -> bool;
}

/// A packet, or packets, leaving an end.
#[derive(Clone, Debug, PartialEq)]
pub enum Sent {
    /// Media packets, of the sender.
    Media(Burst<MediaPacket>),
    /// A compound RTCP packet, of either end.
    Rtcp(Vec<u8>),
}

/// A packet reaching an end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Arrival {
    /// A media packet, at the receiver.
    Media(MediaPacket),
    /// A compound RTCP packet, at either end.
    Rtcp(Rtcp),
}

/// A compound RTCP packet on its way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rtcp {
    /// When it left.
    pub left: Timestamp,
    /// As on the wire, without UDP and IP.
    pub bytes: Vec<u8>,
}

/// A media packet that was lost on the way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dropped {
    /// Its transport-wide sequence number.
    pub transport_seq: u64,
    /// When it left.
    pub departure: Timestamp,
    /// Why: `"aqm"`, `"policed"`, `"queue_full"` or `"random"`.
    pub reason: &'static str,
}

/// The bottleneck of the way to the receiver.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NetworkSample {
    /// Its capacity; `None` where there is no bottleneck.
    pub capacity: Option<DataRate>,
    /// How long its queue takes to drain; `None` in an outage.
    pub queue: Option<TimeDelta>,
}
