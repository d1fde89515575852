//! Controlled Delay, RFC 8289.
//!
//! A queue is bad when it persists, not when it peaks. CoDel watches how long each packet waited. Once no packet of a
//! whole interval waited less than the target, it drops one, and again after interval/√n for the n-th, until a packet
//! comes out below the target.

use super::fifo::Fifo;
use super::{Queue, QueueLimit, mark};
use crate::{DropReason, Packet};
use legato_units::{DataRate, DataSize, TimeDelta, Timestamp};

/// Parameters of CoDel; the defaults are those of RFC 8289 section 4.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CoDelConfig {
    /// The acceptable persistent delay: 5 ms.
    pub target: TimeDelta,
    /// How long it may be exceeded; about a worst-case round trip: 100 ms.
    pub interval: TimeDelta,
    /// No packet is dropped while at most this waits: one full packet.
    pub max_packet: DataSize,
    /// Mark packets of ECN-capable senders instead of dropping them.
    pub ecn: bool,
    /// The limit of the queue.
    pub limit: QueueLimit,
}

impl Default for CoDelConfig {
    fn default() -> Self {
        Self {
            target: TimeDelta::from_millis(5),
            interval: TimeDelta::from_millis(100),
            max_packet: DataSize::from_bytes(1_500),
            ecn: false,
            limit: QueueLimit::Packets(1_000),
        }
    }
}

/// A CoDel queue; see the module.
#[derive(Debug)]
pub struct CoDel<P> {
    config: CoDelConfig,
    line: Fifo<P>,
    /// When the delay will have exceeded the target for an interval.
    first_above: Option<Timestamp>,
    drop_next: Timestamp,
    count: u32,
    last_count: u32,
    dropping: bool,
}

impl<P> CoDel<P> {
    /// A queue with these parameters.
    pub fn new(config: CoDelConfig) -> Self {
        Self {
            config,
            line: Fifo::new(config.limit),
            first_above: None,
            drop_next: Timestamp::ZERO,
            count: 0,
            last_count: 0,
            dropping: false,
        }
    }

    /// The head of the queue, and whether it may be dropped. [rfc8289] §5.6
    fn take(&mut self, now: Timestamp) -> (Option<Packet<P>>, bool) {
        let Some((came, packet)) = self.line.pop() else {
            self.first_above = None;
            return (None, false);
        };
        if now - came < self.config.target || self.line.bytes() <= self.config.max_packet.as_bytes() {
            self.first_above = None;
            return (Some(packet), false);
        }
        match self.first_above {
            None => {
                self.first_above = Some(now.saturating_add(self.config.interval));
                (Some(packet), false)
            }
            Some(at) => (Some(packet), now >= at),
        }
    }

    /// [rfc8289] §5.3: t + interval / sqrt(count)
    fn control_law(&self, at: Timestamp) -> Timestamp {
        let interval = self.config.interval.as_nanos() as f64 / f64::from(self.count.max(1)).sqrt();
        at.saturating_add(TimeDelta::from_nanos(interval.round_ties_even() as i64))
    }

    /// Drop or mark. A marked packet is still the one to send.
    fn punish(&self, packet: Packet<P>, dropped: &mut Vec<Packet<P>>) -> Option<Packet<P>> {
        let mut packet = packet;
        if mark(self.config.ecn, &mut packet.ecn) {
            return Some(packet);
        }
        dropped.push(packet);
        None
    }
}

impl<P: Send> Queue<P> for CoDel<P> {
    fn push(&mut self, now: Timestamp, packet: Packet<P>) -> Result<(), (Packet<P>, DropReason)> {
        if !self.line.has_room(packet.size) {
            return Err((packet, DropReason::QueueFull));
        }
        self.line.push(now, packet);
        Ok(())
    }

    /// [rfc8289] §5.5
    fn pop(&mut self, now: Timestamp, dropped: &mut Vec<Packet<P>>) -> Option<Packet<P>> {
        let (mut head, mut may_drop) = self.take(now);
        if self.dropping {
            if !may_drop {
                self.dropping = false;
            }
            while self.dropping && now >= self.drop_next {
                self.count += 1;
                let marked = head.take().and_then(|packet| self.punish(packet, dropped));
                if marked.is_some() {
                    self.drop_next = self.control_law(self.drop_next);
                    return marked;
                }
                (head, may_drop) = self.take(now);
                if may_drop {
                    self.drop_next = self.control_law(self.drop_next);
                } else {
                    self.dropping = false;
                }
            }
        } else if may_drop {
            head = match head.take().and_then(|packet| self.punish(packet, dropped)) {
                None => self.take(now).0,
                marked => marked,
            };
            self.dropping = true;
            // Back within 16 intervals: continue near the previous pace.
            let delta = self.count.saturating_sub(self.last_count);
            let recent = now - self.drop_next < self.config.interval * 16;
            self.count = if delta > 1 && recent { delta } else { 1 };
            self.drop_next = self.control_law(now);
            self.last_count = self.count;
        }
        head
    }

    fn backlog(&self) -> DataSize {
        DataSize::from_bytes(self.line.bytes())
    }
    fn rescales(&self) -> bool {
        self.line.rescales()
    }
    fn rescale(&mut self, capacity: DataRate) {
        self.line.rescale(capacity);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Ecn;

    fn packet(n: u32, ecn: Ecn) -> Packet<u32> {
        Packet { size: DataSize::from_bytes(1_000), flow: 0, ecn, payload: n }
    }

    /// A persistent queue: one packet in and one out per millisecond, each waiting 50 ms. Returns when packets were
    /// dropped (or marked), in ms.
    fn standing(config: CoDelConfig, ms: i64, ecn: Ecn) -> (Vec<i64>, Vec<i64>) {
        let mut queue = CoDel::new(config);
        let (mut drops, mut marks, mut dropped) = (Vec::new(), Vec::new(), Vec::new());
        let mut n = 0;
        for now in 0..ms {
            let at = Timestamp::from_millis(now);
            // Two if one was dropped, so that the queue persists.
            for _ in 0..1 + dropped.len() {
                assert!(queue.push(at, packet(n, ecn)).is_ok());
                n += 1;
            }
            dropped.clear();
            if now >= 50 {
                let out = queue.pop(at, &mut dropped);
                drops.extend(dropped.iter().map(|_| now));
                marks.extend(out.filter(|p| p.ecn == Ecn::Ce).map(|_| now));
            }
        }
        (drops, marks)
    }

    /// [rfc8289] §5.5 and §5.3, worked by hand: target 5 ms, interval 100 ms. The first packet comes out at 50 ms
    /// having waited 50 ms, the first drop is 100 ms later. The next are after 100/√1, 100/√2, 100/√3, 100/√4, … : 250,
    /// 320.7, 378.4, 428.4, 473.2, 514.0 ms, each at the next departure.
    #[test]
    fn drops_come_an_interval_after_the_target_is_exceeded_and_then_ever_faster() {
        let (drops, marks) = standing(CoDelConfig::default(), 520, Ecn::NotEct);
        assert_eq!(drops, [150, 250, 321, 379, 429, 474, 514]);
        assert!(marks.is_empty());
    }

    /// [rfc8289] §5.5, worked by hand: 8 drops before, 1 of them the first, so the next phase begins
    /// at 7 if it begins within 1.6 s: 100/√7 = 37.796447 ms; at 1 otherwise.
    #[test]
    fn a_dropping_phase_soon_after_the_last_continues_near_its_pace() {
        for (ago_ms, expected_count, spacing_ns) in [(1_599, 7, 37_796_447), (1_600, 1, 100_000_000)] {
            let now = Timestamp::from_secs(10);
            let mut queue = CoDel::new(CoDelConfig::default());
            (queue.count, queue.last_count) = (8, 1);
            queue.drop_next = now - TimeDelta::from_millis(ago_ms);
            queue.first_above = Some(now);
            for n in 0..5 {
                assert!(queue.push(Timestamp::from_secs(9), packet(n, Ecn::NotEct)).is_ok());
            }
            let mut dropped = Vec::new();
            assert_eq!(queue.pop(now, &mut dropped).map(|p| p.payload), Some(1));
            assert_eq!((dropped.len(), queue.count), (1, expected_count));
            assert_eq!(queue.drop_next, now + TimeDelta::from_nanos(spacing_ns));
        }
    }

    #[test]
    fn ecn_capable_packets_are_marked_instead_of_dropped() {
        let config = CoDelConfig { ecn: true, ..CoDelConfig::default() };
        let (drops, marks) = standing(config, 520, Ecn::Ect0);
        assert_eq!(marks, [150, 250, 321, 379, 429, 474, 514]);
        assert!(drops.is_empty());
        assert_eq!(standing(config, 520, Ecn::NotEct).0.len(), 7);
    }

    /// [rfc8289] §5.6.
    #[test]
    fn a_queue_below_the_target_or_of_one_packet_is_left_alone() {
        let mut queue = CoDel::new(CoDelConfig::default());
        let mut dropped = Vec::new();
        for n in 0..1_000 {
            assert!(queue.push(Timestamp::from_millis(n), packet(n as u32, Ecn::NotEct)).is_ok());
            assert!(queue.pop(Timestamp::from_millis(n + 4), &mut dropped).is_some());
        }
        // One packet in the queue at a time, however long it waits.
        for n in 0..10 {
            assert!(queue.push(Timestamp::from_secs(2 + n), packet(0, Ecn::NotEct)).is_ok());
            assert!(queue.pop(Timestamp::from_secs(3 + n), &mut dropped).is_some());
        }
        assert!(dropped.is_empty());
    }
}
