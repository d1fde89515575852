//! A drop-tail queue in front of a link, worked out when the packet comes.
//!
//! A packet leaves when the link has sent everything before it and then itself:
//! `departure = transmit_end(max(now, last departure), size)`. That needs no event, only a ring of
//! what still waits. How long it waits is known at once too, so a step mark ([`Bottleneck::with_step_mark`])
//! falls on the packet that has waited too long, as it would at the queue's end. [`super::QueuedBottleneck`] with a [`crate::queue::DropTail`] does the same
//! step by step; a test holds the two equal packet by packet.

use super::{DropReason, Eager, Transit};
use crate::Ecn;
use crate::capacity::{Capacity, LinkCapacity};
use crate::queue::QueueLimit;
use legato_units::{DataRate, DataSize, TimeDelta, Timestamp};
use std::collections::VecDeque;

/// An eager bottleneck with a drop-tail queue.
#[derive(Clone, Debug)]
pub struct Bottleneck {
    capacity: LinkCapacity,
    limit: QueueLimit,
    limit_bytes: u64,
    limit_packets: usize,
    /// The limit follows the capacity.
    rescales: bool,
    /// Packets that wait: when their transmission begins, and their size. That is also when they
    /// leave the queue; the packet on the wire fills no buffer. Some may have left already.
    waiting: VecDeque<(Timestamp, u64)>,
    waiting_bytes: u64,
    last_departure: Timestamp,
    /// Mark what waits longer.
    mark_above: TimeDelta,
}

impl Bottleneck {
    /// A link of this capacity behind a queue of this limit.
    pub fn new(capacity: impl Into<LinkCapacity>, limit: QueueLimit) -> Self {
        Self {
            capacity: capacity.into(),
            limit,
            limit_bytes: limit.bytes(),
            limit_packets: limit.packets(),
            rescales: limit.rescales(),
            waiting: VecDeque::with_capacity(64),
            waiting_bytes: 0,
            last_departure: Timestamp::ZERO,
            mark_above: TimeDelta::MAX,
        }
    }

    /// Mark capable packets that wait longer than this, as the step of a queue for L4S does (RFC 9332
    /// section 2.5.1.1 gives it as an example); the others wait unmarked.
    #[must_use]
    pub fn with_step_mark(mut self, mark_above: TimeDelta) -> Self {
        self.mark_above = mark_above;
        self
    }

    /// Whether there is no room for so many bytes, if nothing has left since the last
    /// [`Bottleneck::serve`].
    #[inline]
    fn is_full(&self, bytes: u64) -> bool {
        self.waiting_bytes.saturating_add(bytes) > self.limit_bytes || self.waiting.len() >= self.limit_packets
    }

    /// Take out what has left by `now`.
    #[inline(never)]
    fn serve(&mut self, now: Timestamp) {
        let served = self.waiting.partition_point(|&(start, _)| start <= now);
        self.waiting_bytes -= self.waiting.drain(..served).map(|(_, bytes)| bytes).sum::<u64>();
    }
}

impl Eager for Bottleneck {
    #[inline(always)]
    fn transit(&mut self, now: Timestamp, size: DataSize, ecn: &mut Ecn) -> Transit {
        if self.rescales {
            self.limit_bytes = self.limit.bytes_at(self.capacity.rate_at(now));
        }
        let bytes = size.as_bytes();
        // What has left meanwhile matters only once the queue looks full.
        if self.is_full(bytes) || self.waiting.len() == self.waiting.capacity() {
            self.serve(now);
            if self.is_full(bytes) {
                return Transit::Dropped(DropReason::QueueFull);
            }
        }
        let start = now.max(self.last_departure);
        if start - now > self.mark_above && ecn.is_capable() {
            *ecn = Ecn::Ce;
        }
        self.last_departure = self.capacity.transmit_end(start, size);
        if start > now {
            self.waiting.push_back((start, bytes));
            self.waiting_bytes += bytes;
        }
        Transit::Exit(self.last_departure)
    }

    fn backlog(&mut self, now: Timestamp) -> DataSize {
        self.serve(now);
        DataSize::from_bytes(self.waiting_bytes)
    }

    fn capacity(&self, from: Timestamp, to: Timestamp) -> Option<DataRate> {
        Some(if to > from { self.capacity.mean_rate(from, to) } else { self.capacity.rate_at(from) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use legato_units::TimeDelta;

    fn send(stage: &mut Bottleneck, ms: i64, bytes: u64) -> Option<f64> {
        match stage.transit(Timestamp::from_millis(ms), DataSize::from_bytes(bytes), &mut Ecn::NotEct) {
            Transit::Exit(at) => Some(at.as_millis_f64()),
            Transit::Dropped(_) => None,
        }
    }
    fn backlog(stage: &mut Bottleneck, ms: i64) -> u64 {
        Eager::backlog(stage, Timestamp::from_millis(ms)).as_bytes()
    }

    /// 1 Mbit/s, 1,250 bytes = 10 ms each, room for two that wait.
    #[test]
    fn packets_leave_one_after_another_and_the_third_that_waits_is_dropped() {
        let link = LinkCapacity::constant(DataRate::from_mbps(1));
        let mut stage = Bottleneck::new(link, QueueLimit::Bytes(DataSize::from_bytes(2_500)));
        assert_eq!(send(&mut stage, 0, 1_250), Some(10.0));
        assert_eq!(send(&mut stage, 0, 1_250), Some(20.0));
        assert_eq!(send(&mut stage, 1, 1_250), Some(30.0));
        assert_eq!(backlog(&mut stage, 1), 2_500);
        assert_eq!(send(&mut stage, 9, 1), None);
        // At 10 ms the second goes to the wire and makes room.
        assert_eq!(backlog(&mut stage, 10), 1_250);
        assert_eq!(send(&mut stage, 10, 1_250), Some(40.0));
        assert_eq!(send(&mut stage, 10, 1), None);
        assert_eq!(backlog(&mut stage, 30), 0);
        assert_eq!(send(&mut stage, 55, 125), Some(56.0));
    }

    /// 1 Mbit/s, 1,250 bytes = 10 ms each: the fourth of a burst waits 30 ms.
    #[test]
    fn who_waits_longer_than_the_step_is_marked_where_it_is_capable() {
        let link = LinkCapacity::constant(DataRate::from_mbps(1));
        let mut stage = Bottleneck::new(link, QueueLimit::Unlimited).with_step_mark(TimeDelta::from_millis(20));
        let mut burst = |ecn: Ecn| {
            [ecn; 4].map(|mut ecn| {
                assert!(matches!(
                    stage.transit(Timestamp::ZERO, DataSize::from_bytes(1_250), &mut ecn),
                    Transit::Exit(_)
                ));
                ecn
            })
        };
        assert_eq!(burst(Ecn::Ect1), [Ecn::Ect1, Ecn::Ect1, Ecn::Ect1, Ecn::Ce]);
        assert_eq!(burst(Ecn::NotEct), [Ecn::NotEct; 4]);
    }

    #[test]
    fn a_limit_in_packets_counts_those_that_wait() {
        let link = LinkCapacity::constant(DataRate::from_mbps(1));
        let mut stage = Bottleneck::new(link, QueueLimit::Packets(1));
        assert_eq!(send(&mut stage, 0, 1_250), Some(10.0));
        assert_eq!(send(&mut stage, 0, 1_250), Some(20.0));
        assert_eq!(send(&mut stage, 0, 1_250), None);
        assert_eq!(send(&mut stage, 10, 1_250), Some(30.0));
    }

    /// RFC 8867: 300 ms at the reference of 1 Mbit/s are 37,500 bytes, whatever the link does.
    #[test]
    fn a_limit_in_time_is_bytes_at_the_reference_unless_it_rescales() {
        let span = TimeDelta::from_millis(300);
        let mut fixed = Bottleneck::new(
            LinkCapacity::constant(DataRate::from_kbps(500)),
            QueueLimit::Time { span, reference: DataRate::from_mbps(1), rescale: false },
        );
        // 30 that wait, one on the wire.
        assert_eq!((0..100).filter(|_| send(&mut fixed, 0, 1_250).is_some()).count(), 31);
        let mut rescaled = Bottleneck::new(
            LinkCapacity::constant(DataRate::from_kbps(500)),
            QueueLimit::Time { span, reference: DataRate::from_mbps(1), rescale: true },
        );
        assert_eq!((0..100).filter(|_| send(&mut rescaled, 0, 1_250).is_some()).count(), 16);
    }

    #[test]
    fn a_packet_on_a_dead_link_never_leaves_and_the_queue_fills() {
        let mut stage = Bottleneck::new(LinkCapacity::constant(DataRate::ZERO), QueueLimit::Packets(2));
        assert_eq!(
            stage.transit(Timestamp::ZERO, DataSize::from_bytes(9), &mut Ecn::NotEct),
            Transit::Exit(Timestamp::MAX)
        );
        assert!(send(&mut stage, 1, 9).is_some() && send(&mut stage, 2, 9).is_some());
        assert_eq!(send(&mut stage, 3, 9), None);
    }
}
