//! The buffer that the three queues share: packets, their arrival times, their bytes and the limit.

use super::QueueLimit;
use crate::Packet;
use legato_units::{DataRate, DataSize, Timestamp};
use std::collections::VecDeque;

#[derive(Debug)]
pub(super) struct Fifo<P> {
    packets: VecDeque<(Timestamp, Packet<P>)>,
    bytes: u64,
    limit: QueueLimit,
    limit_bytes: u64,
    limit_packets: usize,
}

impl<P> Fifo<P> {
    pub(super) fn new(limit: QueueLimit) -> Self {
        Self { packets: VecDeque::new(), bytes: 0, limit, limit_bytes: limit.bytes(), limit_packets: limit.packets() }
    }

    pub(super) fn has_room(&self, size: DataSize) -> bool {
        self.bytes.saturating_add(size.as_bytes()) <= self.limit_bytes && self.packets.len() < self.limit_packets
    }

    pub(super) fn push(&mut self, now: Timestamp, packet: Packet<P>) {
        self.bytes += packet.size.as_bytes();
        self.packets.push_back((now, packet));
    }

    /// The arrival time and the packet.
    pub(super) fn pop(&mut self) -> Option<(Timestamp, Packet<P>)> {
        let (came, packet) = self.packets.pop_front()?;
        self.bytes -= packet.size.as_bytes();
        Some((came, packet))
    }

    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }

    pub(super) fn rescales(&self) -> bool {
        self.limit.rescales()
    }

    pub(super) fn rescale(&mut self, capacity: DataRate) {
        self.limit_bytes = self.limit.bytes_at(capacity);
    }
}
