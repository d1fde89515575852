//! What a path is made of.

use crate::Packet;
use legato_units::{DataSize, Timestamp};

/// One stage of a path.
///
/// A stage is either *eager*: `push` already knows when the packet leaves and says so (propagation,
/// loss, jitter, a drop-tail queue of known capacity); or *lazy*: `push` holds the packet and `pop`
/// hands it on when its time has come (CoDel, PIE, reordering). Eager stages cost no event a
/// packet, which is where the simulator's speed comes from.
///
/// Times given to `push` never go back, and neither do the exit times of one stage (but for
/// `reorder`, which is lazy so that they do not either). An eager stage in front may hand a lazy one
/// a packet of the *future*: the lazy one keeps it until then.
pub trait Stage<P>: Send {
    /// Take a packet that enters at `now`.
    fn push(&mut self, now: Timestamp, packet: Packet<P>) -> Passage<P>;

    /// The next thing due at or before `now` (lazy stages), until `None`.
    fn pop(&mut self, now: Timestamp) -> Option<Passage<P>> {
        let _ = now;
        None
    }

    /// When `pop` next has something (lazy stages).
    fn next_deadline(&self) -> Option<Timestamp> {
        None
    }

    /// Bytes that wait here at `now` for the bottleneck (zero for stages that are none).
    fn backlog(&mut self, now: Timestamp) -> DataSize {
        let _ = now;
        DataSize::ZERO
    }
}

/// What a stage did with a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Passage<P> {
    /// It leaves at that time, at or after the time it came.
    Exit(Timestamp, Packet<P>),
    /// It is held; `pop` will tell.
    Held,
    /// It is gone, since that time.
    Dropped(Timestamp, Packet<P>, DropReason),
}

/// Why a packet is gone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum DropReason {
    /// An active queue management decided so.
    Aqm,
    /// The queue was full.
    QueueFull,
    /// Random loss of the medium.
    Random,
}
