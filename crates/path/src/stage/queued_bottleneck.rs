//! Any queue in front of a link, step by step.
//!
//! An active queue management decides when it removes a packet, by the queue at that time. So the stage holds packets,
//! and has a deadline at the end of each transmission.

use super::{DropReason, Lazy, Passage, Stage};
use crate::Packet;
use crate::capacity::{Capacity, LinkCapacity};
use crate::queue::Queue;
use legato_units::{DataRate, DataSize, Timestamp};
use std::collections::VecDeque;

/// A lazy bottleneck with any queue.
pub struct QueuedBottleneck<P> {
    capacity: LinkCapacity,
    queue: Box<dyn Queue<P>>,
    /// Packets that come after the next departure, not processed yet.
    arriving: VecDeque<(Timestamp, Packet<P>)>,
    on_wire: Option<(Timestamp, Packet<P>)>,
    /// Events not fetched yet, in order of time.
    done: VecDeque<Passage<P>>,
    /// Scratch for what a queue drops while it looks for a packet.
    dropped: Vec<Packet<P>>,
}

impl<P: Send> QueuedBottleneck<P> {
    /// A link of this capacity behind this queue.
    pub fn new(capacity: impl Into<LinkCapacity>, queue: Box<dyn Queue<P>>) -> Self {
        Self {
            capacity: capacity.into(),
            queue,
            arriving: VecDeque::new(),
            on_wire: None,
            done: VecDeque::new(),
            dropped: Vec::new(),
        }
    }

    /// The next departure or arrival at or before `now`, in order, and its visible result. At one
    /// instant a departure comes first: it makes the room the arrival may need.
    #[inline]
    fn step(&mut self, now: Timestamp) -> Option<Option<Passage<P>>> {
        let arrival = self.arriving.front().map_or(Timestamp::MAX, |&(at, _)| at);
        let departure = self.on_wire.as_ref().map_or(Timestamp::MAX, |&(at, _)| at);
        if departure.min(arrival) > now || departure.min(arrival) == Timestamp::MAX {
            return None;
        }
        if departure <= arrival {
            let left = self.on_wire.take().map(|(at, packet)| Passage::Exit(at, packet));
            self.start_next(departure);
            return Some(left);
        }
        let (at, packet) = self.arriving.pop_front()?;
        Some(self.arrive(at, packet))
    }

    /// The queue takes a packet or refuses it; an idle link takes it from there.
    #[inline]
    fn arrive(&mut self, at: Timestamp, packet: Packet<P>) -> Option<Passage<P>> {
        if self.queue.rescales() {
            self.queue.rescale(self.capacity.rate_at(at));
        }
        let refused = self.queue.push(at, packet).err();
        if self.on_wire.is_none() {
            self.start_next(at);
        }
        refused.map(|(packet, reason)| Passage::Dropped(at, packet, reason))
    }

    fn start_next(&mut self, now: Timestamp) {
        let next = self.queue.pop(now, &mut self.dropped);
        if !self.dropped.is_empty() {
            self.done.extend(self.dropped.drain(..).map(|packet| Passage::Dropped(now, packet, DropReason::Aqm)));
        }
        self.on_wire = next.map(|packet| (self.capacity.transmit_end(now, packet.size), packet));
    }
}

impl<P: Send> Stage for QueuedBottleneck<P> {
    fn backlog(&mut self, now: Timestamp) -> DataSize {
        while let Some(passage) = self.step(now) {
            // What `start_next` dropped in this step is in `done` already, and of the same instant.
            self.done.extend(passage);
        }
        self.queue.backlog()
    }

    fn capacity(&self, from: Timestamp, to: Timestamp) -> Option<DataRate> {
        Some(if to > from { self.capacity.mean_rate(from, to) } else { self.capacity.rate_at(from) })
    }
}

impl<P: Send> Lazy<P> for QueuedBottleneck<P> {
    /// Packets come in order of time, so one that comes before the next departure can be processed
    /// at once, even if that is in the future.
    fn push(&mut self, now: Timestamp, packet: Packet<P>) -> Passage<P> {
        let departure = self.on_wire.as_ref().map_or(Timestamp::MAX, |&(at, _)| at);
        if departure > now && self.arriving.is_empty() {
            return self.arrive(now, packet).unwrap_or(Passage::Held);
        }
        self.arriving.push_back((now, packet));
        Passage::Held
    }

    fn pop(&mut self, now: Timestamp) -> Option<Passage<P>> {
        if !self.done.is_empty() {
            return self.done.pop_front();
        }
        loop {
            if let Some(passage) = self.step(now)? {
                return Some(passage);
            }
            if !self.done.is_empty() {
                return self.done.pop_front();
            }
        }
    }

    /// Arrivals wait for the departure they come after, unless there is none.
    #[inline]
    fn next_deadline(&self) -> Option<Timestamp> {
        if let Some(Passage::Exit(at, _) | Passage::Dropped(at, ..)) = self.done.front() {
            return Some(*at);
        }
        let departure = self.on_wire.as_ref().map(|&(at, _)| at).filter(|&at| at < Timestamp::MAX);
        departure.or_else(|| self.arriving.front().map(|&(at, _)| at))
    }
}
