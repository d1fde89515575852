//! A drop-tail queue in front of a link, computed when the packet arrives.
//!
//! A packet leaves when the link has sent everything before it and then itself: `departure = transmit_end(max(now, last
//! departure), size)`. That needs no event, only a ring of the waiting packets. The stage knows the waiting time at
//! once too, so a step mark ([`Bottleneck::with_step_mark`]) falls on the packet that has waited too long, as it would
//! at the queue's end. [`super::QueuedBottleneck`] with a [`crate::queue::DropTail`] does the same step by step; a test
//! keeps the two equal packet by packet.

use super::Lost;
use super::burst::{by_size, is_whole, pass_each};
use super::{DropReason, Eager, Stage};
use crate::Ecn;
use crate::capacity::{Capacity, LinkCapacity};
use crate::queue::QueueLimit;
use legato_units::{Burst, DataRate, DataSize, TimeDelta, Timestamp};

/// An eager bottleneck with a drop-tail queue.
#[derive(Clone, Debug)]
pub struct Bottleneck {
    capacity: LinkCapacity,
    limit: QueueLimit,
    limit_bytes: u64,
    limit_packets: usize,
    /// Whether the limit follows the capacity.
    rescales: bool,
    waiting: Waiting,
    last_departure: Timestamp,
    /// Mark packets that wait longer than this.
    mark_above: TimeDelta,
}

/// Waiting packets: when their transmission begins, and their size. That is also when they leave the
/// queue; the packet in transmission fills no buffer. Some may have left already.
#[derive(Clone, Debug)]
struct Waiting {
    /// Those before `first` have left.
    packets: Vec<(Timestamp, u64)>,
    first: usize,
    /// Of those from `first` on.
    bytes: u64,
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
            waiting: Waiting { packets: Vec::with_capacity(64), first: 0, bytes: 0 },
            last_departure: Timestamp::ZERO,
            mark_above: TimeDelta::MAX,
        }
    }

    /// Mark ECN-capable packets that wait longer than this, like the step of a queue for L4S (RFC 9332
    /// section 2.5.1.1 gives it as an example); the others wait unmarked.
    #[must_use]
    pub fn with_step_mark(mut self, mark_above: TimeDelta) -> Self {
        self.mark_above = mark_above;
        self
    }

    /// Whether there is no room for `packets` packets of `bytes` in total, if nothing has left since
    /// the last [`Waiting::serve`].
    #[inline]
    fn is_full(&self, packets: usize, bytes: u64) -> bool {
        self.waiting.bytes.saturating_add(bytes) > self.limit_bytes
            || self.waiting.len().saturating_add(packets) > self.limit_packets
    }
}

impl Waiting {
    #[inline]
    fn len(&self) -> usize {
        self.packets.len() - self.first
    }

    #[inline]
    fn push(&mut self, start: Timestamp, bytes: u64) {
        self.packets.push((start, bytes));
        self.bytes += bytes;
    }

    /// Remove packets that have left by `now`.
    #[inline(never)]
    fn serve(&mut self, now: Timestamp) {
        let waiting = &self.packets[self.first..];
        let served = waiting.partition_point(|&(start, _)| start <= now);
        self.bytes -= waiting[..served].iter().map(|&(_, bytes)| bytes).sum::<u64>();
        self.first += served;
        // Move the rest up only if it is smaller than the part that has gone.
        if 2 * self.first >= self.packets.len() {
            self.packets.drain(..self.first);
            self.first = 0;
        }
    }
}

/// Send packets of one size that came at `now` in order, after the departure `last`; `at` receives when
/// each has left. Returns the last departure, this one's or the previous one.
#[inline(always)]
fn line_up(
    capacity: &mut (impl Capacity + ?Sized),
    waiting: &mut Waiting,
    (now, last): (Timestamp, Timestamp),
    size: DataSize,
    at: &mut [Timestamp],
) -> Timestamp {
    let begin = now.max(last);
    let departure = capacity.transmit_run(begin, size, at);
    // Each waits until the previous one is gone; only the first may find the link free.
    let Some(before) = at.len().checked_sub(1) else { return last };
    let first = if begin > now { Some(begin) } else { None };
    let behind = at[..before].iter().copied();
    waiting.bytes += size.as_bytes() * (before as u64 + u64::from(first.is_some()));
    waiting.packets.extend(first.map(|start| (start, size.as_bytes())));
    waiting.packets.extend(behind.map(|start| (start, size.as_bytes())));
    departure
}

impl Stage for Bottleneck {
    fn backlog(&mut self, now: Timestamp) -> DataSize {
        self.waiting.serve(now);
        DataSize::from_bytes(self.waiting.bytes)
    }

    fn capacity(&self, from: Timestamp, to: Timestamp) -> Option<DataRate> {
        Some(if to > from { self.capacity.mean_rate(from, to) } else { self.capacity.rate_at(from) })
    }
}

impl Eager for Bottleneck {
    #[inline]
    fn transit(&mut self, now: Timestamp, size: DataSize, ecn: &mut Ecn) -> Result<Timestamp, DropReason> {
        if self.rescales {
            self.limit_bytes = self.limit.bytes_at(self.capacity.rate_at(now));
        }
        let bytes = size.as_bytes();
        // Departures meanwhile matter only once the queue seems full.
        if self.is_full(1, bytes) || self.waiting.packets.len() == self.waiting.packets.capacity() {
            self.waiting.serve(now);
            if self.is_full(1, bytes) {
                return Err(DropReason::QueueFull);
            }
        }
        let start = now.max(self.last_departure);
        if start - now > self.mark_above && ecn.is_capable() {
            *ecn = Ecn::Ce;
        }
        self.last_departure = self.capacity.transmit_end(start, size);
        if start > now {
            self.waiting.push(start, bytes);
        }
        Ok(self.last_departure)
    }

    #[inline]
    fn pass(&mut self, burst: &Burst<DataSize>, at: &mut [Timestamp], lost: &mut Vec<Lost>) {
        let (packets, bytes) = (usize::from(burst.packets), burst.bytes());
        let together = is_whole(at, lost) && at.first() == at.last() && !self.rescales;
        let Some(&now) = at.first().filter(|_| together) else { return pass_each(self, burst, at, lost) };
        let spare = self.waiting.packets.capacity() - self.waiting.packets.len();
        if spare < packets || self.is_full(packets, bytes) {
            self.waiting.serve(now);
            if self.is_full(packets, bytes) {
                return pass_each(self, burst, at, lost);
            }
        }
        // All find room regardless of departures meanwhile.
        let mut rest = at;
        for (packets, size) in by_size(burst) {
            let (run, behind) = rest.split_at_mut(packets);
            let (waiting, last) = (&mut self.waiting, (now, self.last_departure));
            self.last_departure = match &mut self.capacity {
                LinkCapacity::Constant(link) => line_up(link, waiting, last, size, run),
                LinkCapacity::Mahimahi(link) => line_up(link, waiting, last, size, run),
                LinkCapacity::Steps(link) => line_up(link, waiting, last, size, run),
            };
            rest = behind;
        }
    }

    fn marks(&self) -> bool {
        self.mark_above < TimeDelta::MAX
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use legato_units::TimeDelta;

    fn send(stage: &mut Bottleneck, ms: i64, bytes: u64) -> Option<f64> {
        match stage.transit(Timestamp::from_millis(ms), DataSize::from_bytes(bytes), &mut Ecn::NotEct) {
            Ok(at) => Some(at.as_millis_f64()),
            Err(_) => None,
        }
    }
    fn backlog(stage: &mut Bottleneck, ms: i64) -> u64 {
        Stage::backlog(stage, Timestamp::from_millis(ms)).as_bytes()
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
        // At 10 ms the second goes into transmission and makes room.
        assert_eq!(backlog(&mut stage, 10), 1_250);
        assert_eq!(send(&mut stage, 10, 1_250), Some(40.0));
        assert_eq!(send(&mut stage, 10, 1), None);
        assert_eq!(backlog(&mut stage, 30), 0);
        assert_eq!(send(&mut stage, 55, 125), Some(56.0));
    }

    /// 1 Mbit/s, 1,250 bytes = 10 ms each: the fourth of a burst waits 30 ms.
    #[test]
    fn ecn_capable_packets_that_wait_longer_than_the_step_are_marked() {
        let link = LinkCapacity::constant(DataRate::from_mbps(1));
        let mut stage = Bottleneck::new(link, QueueLimit::Unlimited).with_step_mark(TimeDelta::from_millis(20));
        let mut burst = |ecn: Ecn| {
            [ecn; 4].map(|mut ecn| {
                assert!(stage.transit(Timestamp::ZERO, DataSize::from_bytes(1_250), &mut ecn).is_ok());
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
        // 30 that wait, one in transmission.
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
        assert_eq!(stage.transit(Timestamp::ZERO, DataSize::from_bytes(9), &mut Ecn::NotEct), Ok(Timestamp::MAX));
        assert!(send(&mut stage, 1, 9).is_some() && send(&mut stage, 2, 9).is_some());
        assert_eq!(send(&mut stage, 3, 9), None);
    }
}
