//! Queues in front of a link: which packets wait, and which are dropped or marked.

mod codel;
mod drop_tail;
mod fifo;
mod limit;
mod pie;

pub use codel::{CoDel, CoDelConfig};
pub use drop_tail::DropTail;
pub use limit::QueueLimit;
pub use pie::{Pie, PieConfig};

use crate::{DropReason, Ecn, Packet};
use legato_units::{DataRate, DataSize, Timestamp};

/// A queue. Times never go back.
pub trait Queue<P>: Send {
    /// Take a packet in.
    ///
    /// # Errors
    /// The packet itself and the reason, if the queue refuses it.
    fn push(&mut self, now: Timestamp, packet: Packet<P>) -> Result<(), (Packet<P>, DropReason)>;

    /// The next packet for the link. Packets the queue drops on the way to it are appended to
    /// `dropped`.
    fn pop(&mut self, now: Timestamp, dropped: &mut Vec<Packet<P>>) -> Option<Packet<P>>;

    /// The waiting bytes.
    fn backlog(&self) -> DataSize;

    /// Whether the limit follows the link's capacity, so that [`Queue::rescale`] must be called.
    fn rescales(&self) -> bool {
        false
    }

    /// The link's capacity now.
    fn rescale(&mut self, capacity: DataRate) {
        let _ = capacity;
    }
}

/// Mark a packet instead of dropping it: true if its sender supports ECN.
fn mark(enabled: bool, ecn: &mut Ecn) -> bool {
    let able = enabled && *ecn != Ecn::NotEct;
    if able {
        *ecn = Ecn::Ce;
    }
    able
}
