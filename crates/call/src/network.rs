//! The network of a call, as its ends see it.

use legato_control::Side;
use legato_media::packet::MediaPacket;
use legato_units::{Burst, DataRate, DataSize, TimeDelta, Timestamp};

/// What lies between the two ends. Times are true time, the sender's clock. A real network shows only packets that
/// enter and leave it at this end; the defaults answer for the rest.
pub trait Network {
    /// Packets leave the sender.
    fn send(&mut self, now: Timestamp, burst: Burst<MediaPacket>);

    /// A compound RTCP packet, of `size` on the wire, leaves this end.
    fn send_rtcp(&mut self, from: Side, now: Timestamp, size: DataSize, bytes: Vec<u8>);

    /// When the next packet reaches this end, or the network has work to do that may make one arrive;
    /// [`Timestamp::MAX`] while nothing is due.
    fn next_arrival(&self, at: Side) -> Timestamp;

    /// The packets that reach the receiver by `now`; there may be none yet.
    fn pop_arrival(&mut self, now: Timestamp) -> Option<Arrival> {
        let _ = now;
        None
    }

    /// The packets that reach the sender by `now`; there may be none yet.
    fn pop_reply(&mut self, now: Timestamp) -> Option<Reply>;

    /// The media packets that reach the receiver next, one behind the other, and when, as far as that is certain.
    fn line(&self) -> Option<(&Burst<MediaPacket>, &[Timestamp])> {
        None
    }

    /// The first `packets` of [`Network::line`] are taken.
    fn skip(&mut self, packets: u16) {
        let _ = packets;
    }

    /// Whether the receiver may run ahead of the sender: nothing on the way back depends on the order in which packets
    /// enter and leave it.
    fn replies_are_certain(&self) -> bool {
        false
    }

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

/// The packets that reached the receiver.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Arrival {
    /// A media packet.
    Media(MediaPacket),
    /// A compound RTCP packet.
    Rtcp(Vec<u8>),
}

/// RTCP from the receiver.
#[derive(Clone, Debug)]
pub struct Reply {
    /// When it left.
    pub left: Timestamp,
    /// A compound packet.
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
