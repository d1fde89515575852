//! The acknowledged rate, as libwebrtc's `RobustThroughputEstimator` computes it [libwebrtc-m150]. Over the last second
//! (at least 20, at most 500 packets, never more than 5 s) it is the smaller of the rate at which packets were sent and
//! the rate at which they arrived. The longest gap between arrivals is replaced by the second longest: a link that
//! stalls for a moment and then releases everything has not lost capacity.
//!
//! The window is not walked at every feedback: running sums are kept, and so are the eight longest
//! gaps. As gaps leave, new ones come; only when fewer than two are left is the window searched again.

use crate::ReportedPacket;
use legato_units::{Burst, DataRate, DataSize, PeerTimestamp, TimeDelta, Timestamp};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Parameters of the acknowledged rate.
// [libwebrtc-m150] robust_throughput_estimator.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ThroughputConfig {
    /// The rate is measured over the packets of the last this many milliseconds.
    #[schemars(range(min = 50, max = 5_000))]
    pub window_ms: u32,
    /// The rate is measured over at least this many packets, even if they took longer than the window, up to 5 s.
    #[schemars(range(min = 10, max = 500))]
    pub min_packets: u32,
}

impl Default for ThroughputConfig {
    fn default() -> Self {
        Self { window_ms: 1_000, min_packets: 20 }
    }
}

/// The window over arrived packets, in order of arrival.
#[derive(Clone, Debug)]
pub struct RobustThroughput {
    config: ThroughputConfig,
    window: Ring,
    bytes: u64,
    /// Neighbours in the window the second of which left before the first.
    inversions: usize,
    /// The latest departure among packets that fell out of the window.
    discarded_departure: Timestamp,
    gaps: Gaps,
}

impl Default for RobustThroughput {
    fn default() -> Self {
        Self::new(ThroughputConfig::default())
    }
}

#[derive(Clone, Copy, Debug)]
struct Packet {
    departure: Timestamp,
    arrival: PeerTimestamp,
    size_bytes: u64,
}

/// Packets are numbered from the first ever; those from `first` to `end` are kept.
#[derive(Clone, Debug)]
struct Ring {
    packets: Box<[Packet; RING]>,
    first: usize,
    end: usize,
}

impl Default for Ring {
    fn default() -> Self {
        let none = Packet { departure: Timestamp::ZERO, arrival: PeerTimestamp::from_nanos(0), size_bytes: 0 };
        Self { packets: Box::new([none; RING]), first: 0, end: 0 }
    }
}

impl Ring {
    #[inline]
    fn get(&self, index: usize) -> Packet {
        self.packets[index % RING]
    }
    #[inline]
    fn set(&mut self, index: usize, packet: Packet) {
        self.packets[index % RING] = packet;
    }
    #[inline]
    fn len(&self) -> usize {
        self.end - self.first
    }
    fn iter(&self) -> impl DoubleEndedIterator<Item = Packet> + Clone + '_ {
        (self.first..self.end).map(|index| self.get(index))
    }
}

/// The longest gaps before packets of the window, longest first. No gap outside this list is longer
/// than one in it.
#[derive(Clone, Copy, Debug)]
struct Gaps {
    longest: [Gap; KEPT_GAPS],
    len: usize,
    /// The shortest of them; the maximum if there are none.
    shortest: TimeDelta,
    /// A packet came out of order: search again.
    stale: bool,
}

/// `at` is the ring's number of the packet after the gap.
#[derive(Clone, Copy, Debug, Default)]
struct Gap {
    span: TimeDelta,
    at: usize,
}

impl RobustThroughput {
    /// No packet has arrived.
    pub fn new(config: ThroughputConfig) -> Self {
        Self {
            config,
            window: Ring::default(),
            bytes: 0,
            inversions: 0,
            discarded_departure: Timestamp::from_nanos(i64::MIN),
            gaps: Gaps::default(),
        }
    }

    /// Take one arrived packet; mostly in order of arrival.
    #[inline(always)]
    pub fn on_packet(&mut self, departure: Timestamp, arrival: PeerTimestamp, size: DataSize) {
        if self.window.len() == RING {
            // More than the window may hold, so the first is too old whatever comes next.
            self.drop_first();
        }
        let packet = Packet { departure, arrival, size_bytes: size.as_bytes().min(MAX_SIZE_BYTES) };
        let end = self.window.end;
        if self.window.len() > 0 {
            let last = self.window.get(end - 1);
            if arrival < last.arrival {
                return self.insert(packet);
            }
            self.inversions += usize::from(departure < last.departure);
            self.gaps.push(Gap { span: arrival - last.arrival, at: end });
        }
        self.bytes += packet.size_bytes;
        self.window.set(end, packet);
        self.window.end = end + 1;
    }

    /// Take packets that left at one instant and arrived at `times`, in order.
    #[inline]
    pub fn on_run(&mut self, burst: &Burst<ReportedPacket>, times: &[PeerTimestamp]) {
        let departure = burst.first.departure;
        let (len, end) = (self.window.len(), self.window.end);
        let newest = if len > 0 { Some(self.window.get(end - 1)) } else { None };
        let in_order = newest.is_some_and(|newest| times.first().is_some_and(|&first| first >= newest.arrival));
        let (Some(newest), true) = (newest, in_order && len + times.len() <= RING) else {
            for (place, &arrival) in (0..).zip(times) {
                self.on_packet(departure, arrival, DataSize::from_bytes(burst.size_bytes(place)));
            }
            return;
        };
        self.inversions += usize::from(departure < newest.departure);
        let (mut at, mut before) = (end, newest.arrival);
        let larger = usize::from(burst.packets - burst.smaller);
        let size_bytes = burst.first.size.as_bytes().min(MAX_SIZE_BYTES);
        let (large, small) = times.split_at(larger.min(times.len()));
        for (times, size_bytes) in [(large, size_bytes), (small, size_bytes.saturating_sub(1))] {
            for &arrival in times {
                self.gaps.push(Gap { span: arrival - before, at });
                self.window.set(at, Packet { departure, arrival, size_bytes });
                before = arrival;
                at += 1;
            }
            self.bytes += size_bytes * times.len() as u64;
        }
        self.window.end = at;
    }

    /// Drop old packets. Call once after the packets of a feedback.
    #[inline]
    pub fn trim(&mut self) {
        if self.window.len() == 0 {
            return;
        }
        let end = self.window.end;
        let last = self.window.get(end - 1).arrival;
        let (mut at, mut bytes, mut discarded) = (self.window.first, self.bytes, self.discarded_departure);
        let mut first = self.window.get(at);
        let span = TimeDelta::from_millis(i64::from(self.config.window_ms));
        let min_packets = self.config.min_packets as usize;
        // The last packet is no older than itself, so this never empties the window.
        while end - at > 1 {
            let len = end - at;
            let oldest = if len > min_packets { last - span } else { last - MAX_SPAN };
            if first.arrival >= oldest && len <= MAX_PACKETS {
                break;
            }
            discarded = discarded.max(first.departure);
            bytes -= first.size_bytes;
            at += 1;
            let next = self.window.get(at);
            self.inversions -= usize::from(next.departure < first.departure);
            self.gaps.remove(Gap { span: next.arrival - first.arrival, at });
            first = next;
        }
        (self.window.first, self.bytes, self.discarded_departure) = (at, bytes, discarded);
    }

    #[inline(always)]
    fn drop_first(&mut self) {
        let first = self.window.get(self.window.first);
        if first.departure > self.discarded_departure {
            self.discarded_departure = first.departure;
        }
        self.bytes -= first.size_bytes;
        self.window.first += 1;
        if self.window.first < self.window.end {
            let next = self.window.get(self.window.first);
            self.inversions -= usize::from(next.departure < first.departure);
            self.gaps.remove(Gap { span: next.arrival - first.arrival, at: self.window.first });
        }
    }

    /// The delivered rate; `None` before ten packets have arrived.
    pub fn rate(&mut self) -> Option<DataRate> {
        if self.window.len() < REQUIRED_PACKETS {
            return None;
        }
        self.refresh_gaps();
        let [first, last] = [self.window.first, self.window.end - 1].map(|index| self.window.get(index));
        let [longest, second, ..] = self.gaps.longest;
        let span = last.arrival - first.arrival - longest.span + second.span;
        // n packets span n − 1 intervals. A bottleneck spaces a packet by the packet's size, so the first packet's
        // bytes do not count at the receiver. A pacer spaces it by the size of the previous one, so the last one's do
        // not count at the sender.
        let received = rate_over(self.bytes - first.size_bytes, span);
        Some(self.sent_rate().map_or(received, |sent| sent.min(received)))
    }

    fn sent_rate(&self) -> Option<DataRate> {
        let first = self.window.get(self.window.first);
        if self.inversions > 0 || first.departure < self.discarded_departure {
            return self.sent_rate_reordered();
        }
        // In order: the last departure is the last packet's; among equal ones the first counts.
        let departure = self.window.get(self.window.end - 1).departure;
        let last = self.window.iter().rev().take_while(|packet| packet.departure == departure).last()?;
        Some(rate_over(self.bytes - last.size_bytes, departure - first.departure))
    }

    /// Leaves out packets that left before one already dropped: they were overtaken, and counting
    /// from their departure would make the rate too small.
    fn sent_rate_reordered(&self) -> Option<DataRate> {
        let (mut packets, mut bytes, mut last_bytes) = (0, 0, 0);
        let mut bounds: Option<(Timestamp, Timestamp)> = None;
        for packet in self.window.iter().filter(|packet| packet.departure >= self.discarded_departure) {
            packets += 1;
            bytes += packet.size_bytes;
            let (first, last) = bounds.unwrap_or((packet.departure, packet.departure));
            if bounds.is_none() || packet.departure > last {
                last_bytes = packet.size_bytes;
            }
            bounds = Some((first.min(packet.departure), last.max(packet.departure)));
        }
        let (first, last) = bounds?;
        (packets >= REQUIRED_PACKETS).then(|| rate_over(bytes - last_bytes, last - first))
    }

    /// A packet that arrived before the last: insert it in order. More than a second early means
    /// that the peer's clock was reset.
    #[cold]
    fn insert(&mut self, packet: Packet) {
        let end = self.window.end;
        if self.window.get(end - 1).arrival - packet.arrival > MAX_REORDERING {
            *self = Self::new(self.config);
            return;
        }
        let mut index = end;
        while index > self.window.first && self.window.get(index - 1).arrival > packet.arrival {
            let later = self.window.get(index - 1);
            self.window.set(index, later);
            index -= 1;
        }
        self.window.set(index, packet);
        self.window.end = end + 1;
        self.bytes += packet.size_bytes;
        self.gaps.stale = true;
        let departures = self.window.iter().zip(self.window.iter().skip(1));
        self.inversions = departures.filter(|(first, second)| second.departure < first.departure).count();
    }

    #[inline]
    fn refresh_gaps(&mut self) {
        if self.gaps.stale || self.gaps.len < 2 {
            self.find_gaps();
        }
    }

    #[inline(never)]
    fn find_gaps(&mut self) {
        self.gaps = Gaps::default();
        for at in self.window.first + 1..self.window.end {
            let gap = Gap { span: self.window.get(at).arrival - self.window.get(at - 1).arrival, at };
            if self.gaps.len < KEPT_GAPS {
                self.gaps.len += 1;
                self.gaps.sort_in(gap);
            } else {
                self.gaps.push(gap);
            }
        }
    }
}

impl Default for Gaps {
    fn default() -> Self {
        Self { longest: [Gap::default(); KEPT_GAPS], len: 0, shortest: TimeDelta::MAX, stale: false }
    }
}

impl Gaps {
    /// A gap at the end of the window.
    #[inline(always)]
    fn push(&mut self, gap: Gap) {
        // Gaps shorter than the shortest kept may already be missing, so only longer ones join.
        if gap.span >= self.shortest {
            self.len = (self.len + 1).min(KEPT_GAPS);
            self.sort_in(gap);
        }
    }

    /// Insert `gap` in order; the last one makes room.
    #[inline(never)]
    fn sort_in(&mut self, gap: Gap) {
        let mut index = self.len - 1;
        while index > 0 && self.longest[index - 1].span <= gap.span {
            self.longest[index] = self.longest[index - 1];
            index -= 1;
        }
        self.longest[index] = gap;
        self.shortest = self.longest[self.len - 1].span;
    }

    /// A gap at the front of the window leaves.
    #[inline(always)]
    fn remove(&mut self, gap: Gap) {
        if gap.span >= self.shortest {
            self.take_out(gap);
        }
    }

    #[inline(never)]
    fn take_out(&mut self, gap: Gap) {
        if let Some(index) = self.longest[..self.len].iter().position(|kept| kept.at == gap.at) {
            self.longest.copy_within(index + 1..self.len, index);
            self.len -= 1;
            self.shortest = self.longest[..self.len].last().map_or(TimeDelta::MAX, |last| last.span);
        }
    }
}

fn rate_over(bytes: u64, span: TimeDelta) -> DataRate {
    DataSize::from_bytes(bytes) / span.max(MIN_SPAN)
}

// [libwebrtc-m150] robust_throughput_estimator.
/// The window, and what a feedback may add before it is trimmed.
const RING: usize = 512;
/// Far more than any packet; keeps the sums in range.
const MAX_SIZE_BYTES: u64 = 1 << 32;
/// Enough to make searching again rare.
const KEPT_GAPS: usize = 8;
const MAX_PACKETS: usize = 500;
const REQUIRED_PACKETS: usize = 10;
const MAX_SPAN: TimeDelta = TimeDelta::from_secs(5);
const MIN_SPAN: TimeDelta = TimeDelta::from_millis(1);
const MAX_REORDERING: TimeDelta = TimeDelta::from_secs(1);

#[cfg(test)]
#[path = "robust_throughput_tests.rs"]
mod tests;
