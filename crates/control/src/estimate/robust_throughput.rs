//! The acknowledged rate: what got through of late, as libwebrtc's `RobustThroughputEstimator`
//! has it [libwebrtc-m150]. Over the last second (at least 20, at most 500 packets, never more than
//! 5 s) it is the smaller of the rate at which packets were sent and the rate at which they
//! arrived, the longest gap between arrivals being replaced by the second longest: a link that
//! stops for a moment and then lets everything go has not lost capacity.
//!
//! The window is not walked at every feedback: sums run along, and the two longest gaps are looked
//! for anew only when one of them has left (two of n gaps, so about twice a window).

use legato_units::{DataRate, DataSize, PeerTimestamp, TimeDelta, Timestamp};
use std::collections::VecDeque;

/// The window over arrived packets, in order of arrival.
#[derive(Clone, Debug, Default)]
pub struct RobustThroughput {
    window: VecDeque<Packet>,
    bytes: u64,
    /// Neighbours in the window of which the second left before the first.
    inversions: usize,
    /// The latest departure among packets that fell out of the window.
    discarded_departure: Option<Timestamp>,
    gaps: Gaps,
    /// Counts packets ever put at the end, so that a gap can be told to have left.
    pushed: u64,
}

#[derive(Clone, Copy, Debug)]
struct Packet {
    departure: Timestamp,
    arrival: PeerTimestamp,
    size_bytes: u32,
}

/// The two longest gaps before packets of the window; `at` counts as `pushed` does.
#[derive(Clone, Copy, Debug, Default)]
struct Gaps {
    longest: Gap,
    second: Gap,
    /// A packet came out of order: look again.
    stale: bool,
}

#[derive(Clone, Copy, Debug, Default)]
struct Gap {
    span: TimeDelta,
    at: u64,
}

impl RobustThroughput {
    /// Take one arrived packet; mostly in order of arrival.
    #[inline]
    pub fn on_packet(&mut self, departure: Timestamp, arrival: PeerTimestamp, size: DataSize) {
        let size_bytes = u32::try_from(size.as_bytes()).unwrap_or(u32::MAX);
        let packet = Packet { departure, arrival, size_bytes };
        match self.window.back() {
            Some(last) if arrival < last.arrival => return self.insert(packet),
            Some(last) => {
                self.inversions += usize::from(departure < last.departure);
                self.gaps.push(Gap { span: arrival - last.arrival, at: self.pushed });
            }
            None => {}
        }
        self.bytes += u64::from(size_bytes);
        self.window.push_back(packet);
        self.pushed += 1;
    }

    /// Drop what is too old. Call once after the packets of a feedback.
    #[inline]
    pub fn trim(&mut self) {
        while let (Some(&first), Some(last)) = (self.window.front(), self.window.back()) {
            let (len, span) = (self.window.len(), last.arrival - first.arrival);
            let keep = len <= MAX_PACKETS && span <= MAX_SPAN && (len <= MIN_PACKETS || span <= SPAN);
            if keep {
                return;
            }
            self.discarded_departure = self.discarded_departure.max(Some(first.departure));
            self.bytes -= u64::from(first.size_bytes);
            self.window.pop_front();
            if let Some(next) = self.window.front() {
                self.inversions -= usize::from(next.departure < first.departure);
            }
        }
    }

    /// The rate that got through; `None` before ten packets did.
    pub fn rate(&mut self) -> Option<DataRate> {
        if self.window.len() < REQUIRED_PACKETS {
            return None;
        }
        let [first, last] = [*self.window.front()?, *self.window.back()?];
        self.refresh_gaps();
        let span = last.arrival - first.arrival - self.gaps.longest.span + self.gaps.second.span;
        // n packets span n − 1 intervals. A bottleneck spaces a packet by its own size, so the
        // first one's bytes do not count at the receiver; a pacer by the size of the one before, so
        // the last one's do not at the sender.
        let received = rate_over(self.bytes - u64::from(first.size_bytes), span);
        Some(self.sent_rate().map_or(received, |sent| sent.min(received)))
    }

    fn sent_rate(&self) -> Option<DataRate> {
        let first = self.window.front()?;
        if self.inversions > 0 || self.discarded_departure.is_some_and(|latest| first.departure < latest) {
            return self.sent_rate_reordered();
        }
        // In order: the last departure is the last packet's; of equal ones the first counts.
        let departure = self.window.back()?.departure;
        let last = self.window.iter().rev().take_while(|packet| packet.departure == departure).last()?;
        Some(rate_over(self.bytes - u64::from(last.size_bytes), last.departure - first.departure))
    }

    /// Leaves out packets that left before one already dropped: they were overtaken, and counting
    /// from their departure would make the rate too small.
    fn sent_rate_reordered(&self) -> Option<DataRate> {
        let (mut packets, mut bytes, mut last_bytes) = (0, 0, 0);
        let mut bounds: Option<(Timestamp, Timestamp)> = None;
        for packet in &self.window {
            if self.discarded_departure.is_some_and(|latest| packet.departure < latest) {
                continue;
            }
            packets += 1;
            bytes += u64::from(packet.size_bytes);
            let (first, last) = bounds.unwrap_or((packet.departure, packet.departure));
            if bounds.is_none() || packet.departure > last {
                last_bytes = u64::from(packet.size_bytes);
            }
            bounds = Some((first.min(packet.departure), last.max(packet.departure)));
        }
        let (first, last) = bounds?;
        (packets >= REQUIRED_PACKETS).then(|| rate_over(bytes - last_bytes, last - first))
    }

    /// A packet that arrived before the last: sort it in. More than a second early means that the
    /// peer's clock was set.
    #[cold]
    fn insert(&mut self, packet: Packet) {
        if self.window.back().is_some_and(|last| last.arrival - packet.arrival > MAX_REORDERING) {
            *self = Self::default();
            return;
        }
        let index = self.window.partition_point(|other| other.arrival <= packet.arrival);
        self.window.insert(index, packet);
        self.bytes += u64::from(packet.size_bytes);
        self.pushed += 1;
        self.gaps.stale = true;
        let departures = self.window.iter().zip(self.window.iter().skip(1));
        self.inversions = departures.filter(|(first, second)| second.departure < first.departure).count();
    }

    #[inline]
    fn refresh_gaps(&mut self) {
        let oldest = self.pushed - self.window.len() as u64;
        // The gap before the first packet lies outside the window.
        let left = |gap: &Gap| gap.span > TimeDelta::ZERO && gap.at <= oldest;
        if self.gaps.stale || left(&self.gaps.longest) || left(&self.gaps.second) {
            self.gaps = Gaps::default();
            for (index, (before, packet)) in self.window.iter().zip(self.window.iter().skip(1)).enumerate() {
                self.gaps.push(Gap { span: packet.arrival - before.arrival, at: oldest + 1 + index as u64 });
            }
        }
    }
}

impl Gaps {
    /// Of equal gaps the later one is kept: it stays in the window for longer.
    #[inline]
    fn push(&mut self, gap: Gap) {
        if gap.span >= self.longest.span {
            self.second = self.longest;
            self.longest = gap;
        } else if gap.span >= self.second.span {
            self.second = gap;
        }
    }
}

fn rate_over(bytes: u64, span: TimeDelta) -> DataRate {
    DataSize::from_bytes(bytes) / span.max(MIN_SPAN)
}

// [libwebrtc-m150] robust_throughput_estimator.
const MIN_PACKETS: usize = 20;
const MAX_PACKETS: usize = 500;
const REQUIRED_PACKETS: usize = 10;
const SPAN: TimeDelta = TimeDelta::from_secs(1);
const MAX_SPAN: TimeDelta = TimeDelta::from_secs(5);
const MIN_SPAN: TimeDelta = TimeDelta::from_millis(1);
const MAX_REORDERING: TimeDelta = TimeDelta::from_secs(1);

#[cfg(test)]
#[path = "robust_throughput_tests.rs"]
mod tests;
