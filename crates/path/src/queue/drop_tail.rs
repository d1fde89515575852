//! First in, first out; a packet that finds it full is dropped.

use super::fifo::Fifo;
use super::{Queue, QueueLimit};
use crate::{DropReason, Packet};
use legato_units::{DataRate, DataSize, Timestamp};

/// A drop-tail queue.
#[derive(Debug)]
pub struct DropTail<P>(Fifo<P>);

impl<P> DropTail<P> {
    /// A queue of this limit.
    pub fn new(limit: QueueLimit) -> Self {
        Self(Fifo::new(limit))
    }
}

impl<P: Send> Queue<P> for DropTail<P> {
    fn push(&mut self, now: Timestamp, packet: Packet<P>) -> Result<(), (Packet<P>, DropReason)> {
        if !self.0.has_room(packet.size) {
            return Err((packet, DropReason::QueueFull));
        }
        self.0.push(now, packet);
        Ok(())
    }
    fn pop(&mut self, _now: Timestamp, _dropped: &mut Vec<Packet<P>>) -> Option<Packet<P>> {
        self.0.pop().map(|(_, packet)| packet)
    }
    fn backlog(&self) -> DataSize {
        DataSize::from_bytes(self.0.bytes())
    }
    fn rescales(&self) -> bool {
        self.0.rescales()
    }
    fn rescale(&mut self, capacity: DataRate) {
        self.0.rescale(capacity);
    }
}
