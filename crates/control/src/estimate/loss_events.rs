//! From reports to loss events, at the sender: a packet reported missing is lost once three later
//! ones have arrived; losses within a round trip of an event's first packet belong to that event; a
//! packet that turns up after all undoes its loss [rfc5348].
//!
//! The RFC does this at the receiver, which must guess when a lost packet would have arrived. The
//! sender knows when it left, so events are separated by departures. A packet that no feedback
//! mentions, because the feedback was lost, is not a loss.

use super::loss_intervals::LossIntervals;
use crate::PacketReport;
use legato_units::{TimeDelta, Timestamp};
use std::collections::VecDeque;

/// Finds loss events and keeps their intervals.
#[derive(Clone, Debug)]
pub struct LossEvents {
    intervals: LossIntervals,
    /// Reported missing, with too few later arrivals to count as lost; ascending.
    pending: VecDeque<Pending>,
    /// The latest losses, to be undone should they arrive: the packet and the first packet of its event.
    lost: VecDeque<(u64, u64)>,
    /// First packet of the newest event, and when it left.
    event: Option<(u64, Timestamp)>,
    /// Loss events so far; never decreases.
    events: u64,
    /// Highest packet number reported on.
    highest: Option<u64>,
}

#[derive(Clone, Copy, Debug)]
struct Pending {
    seq: u64,
    departure: Timestamp,
    later_arrivals: u8,
}

impl LossEvents {
    /// Nothing reported yet; `min_discount` as in [`LossIntervals::new`].
    pub fn new(min_discount: f64) -> Self {
        Self {
            intervals: LossIntervals::new(min_discount),
            pending: VecDeque::with_capacity(MAX_PENDING),
            lost: VecDeque::with_capacity(MAX_LOST),
            event: None,
            events: 0,
            highest: None,
        }
    }

    /// The intervals between events.
    #[inline]
    pub fn intervals(&self) -> &LossIntervals {
        &self.intervals
    }

    /// Loss events ever seen, including those undone.
    #[inline]
    pub fn events(&self) -> u64 {
        self.events
    }

    /// Take one report. `rtt` is an event's duration; `first_interval` gives the synthetic interval
    /// before the first event, in packets.
    #[inline]
    pub fn on_report(&mut self, report: &PacketReport, rtt: TimeDelta, first_interval: impl FnOnce() -> f64) {
        let seq = report.transport_seq;
        self.intervals.on_reported(seq);
        if !report.arrived() {
            self.on_missing(seq, report.departure);
            return;
        }
        let late = self.highest.is_some_and(|highest| seq <= highest);
        self.highest = Some(self.highest.map_or(seq, |highest| highest.max(seq)));
        if self.pending.is_empty() && !late && !report.ce {
            return;
        }
        let mut first_interval = Some(first_interval);
        if late {
            self.on_late(seq);
        }
        if report.ce {
            // [rfc5348] §5.1: a mark signals congestion as soon as it arrives.
            self.on_congestion(seq, report.departure, rtt, &mut first_interval);
        }
        for pending in self.pending.iter_mut().take_while(|pending| pending.seq < seq) {
            pending.later_arrivals += 1;
        }
        // [rfc5348] §5.1: lost once NDUPACK packets with higher numbers have arrived.
        while self.pending.front().is_some_and(|pending| pending.later_arrivals >= NDUPACK) {
            let Some(Pending { seq, departure, .. }) = self.pending.pop_front() else { break };
            let event = self.on_congestion(seq, departure, rtt, &mut first_interval);
            if self.lost.len() == MAX_LOST {
                self.lost.pop_front();
            }
            self.lost.push_back((seq, event));
        }
    }

    fn on_missing(&mut self, seq: u64, departure: Timestamp) {
        let late = self.highest.is_some_and(|highest| seq <= highest);
        self.highest = Some(self.highest.map_or(seq, |highest| highest.max(seq)));
        // A long outage is one event whatever its length, so packets beyond the ring need no place.
        // Reports are in send order; a straggler would only break the ring's order.
        if self.pending.len() < MAX_PENDING && !late {
            self.pending.push_back(Pending { seq, departure, later_arrivals: 0 });
        }
    }

    /// A packet arrived after a later one: it may have been counted as lost.
    fn on_late(&mut self, seq: u64) {
        if let Some(place) = self.pending.iter().position(|pending| pending.seq == seq) {
            self.pending.remove(place);
        } else if let Some(place) = self.lost.iter().position(|(lost, _)| *lost == seq) {
            // [rfc5348] §5.1: a hole that is filled late is no loss; the rate is recomputed.
            let Some((_, event)) = self.lost.remove(place) else { return };
            if !self.lost.iter().any(|(_, other)| *other == event) {
                self.intervals.merge(event);
                // The next loss may begin an event again.
                self.event = self.event.filter(|(first, _)| *first != event);
            }
        }
    }

    /// A packet was lost or marked. Returns the first packet of its event.
    fn on_congestion(
        &mut self,
        seq: u64,
        departure: Timestamp,
        rtt: TimeDelta,
        first_interval: &mut Option<impl FnOnce() -> f64>,
    ) -> u64 {
        if let Some((first, began)) = self.event
            // [rfc5348] §5.2: within R of the event's first packet a loss belongs to the event.
            // Deviates from [rfc5348] §5.2: departures, not interpolated arrivals.
            && (seq <= first || departure <= began + rtt)
        {
            return first;
        }
        self.event = Some((seq, departure));
        self.events += 1;
        match first_interval.take() {
            Some(make_up) if !self.intervals.any() => self.intervals.begin(seq, make_up()),
            _ => self.intervals.push(seq),
        }
        seq
    }
}

// [rfc5348] §5.1: NDUPACK.
const NDUPACK: u8 = 3;
/// Enough for a second of video; see `on_missing`.
const MAX_PENDING: usize = 256;
/// How many losses can be undone.
const MAX_LOST: usize = 64;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Fate, PacketKind};
    use legato_units::DataSize;

    const RTT: TimeDelta = TimeDelta::from_millis(100);

    /// Packets leave every 10 ms.
    fn report(seq: u64, arrived: bool) -> PacketReport {
        PacketReport {
            transport_seq: seq,
            ssrc: 1,
            size: DataSize::from_bytes(1_000),
            departure: Timestamp::from_millis(seq as i64 * 10),
            fate: if arrived { Fate::Arrived(None) } else { Fate::Missing },
            ce: false,
            kind: PacketKind::Video,
            probe_cluster: None,
        }
    }

    /// Reports on packets `0..count`, of which `missing` did not arrive.
    fn events(count: u64, missing: &[u64]) -> LossEvents {
        let mut events = LossEvents::new(1.0);
        for seq in 0..count {
            events.on_report(&report(seq, !missing.contains(&seq)), RTT, || 40.0);
        }
        events
    }

    /// [rfc5348] §5.1: two later arrivals are not enough, three are.
    #[test]
    fn a_packet_is_lost_when_three_later_ones_have_arrived() {
        assert_eq!(events(13, &[10]).events(), 0);
        assert_eq!(events(14, &[10]).events(), 1);
        // A missing packet after it does not count as an arrival.
        assert_eq!(events(14, &[10, 11]).events(), 0);
    }

    /// [rfc5348] §5.2: packets 10 to 20 left within 100 ms of packet 10; packet 21 did not.
    #[test]
    fn losses_within_a_round_trip_are_one_event() {
        assert_eq!(events(40, &[10, 15, 20]).events(), 1);
        let two = events(40, &[10, 21]);
        assert_eq!(two.events(), 2);
        // The first interval is synthetic (40), the second counts 11 packets: (11 + 40) / 2; I_0 = 19.
        assert_eq!(two.intervals().mean_of_last_two(), Some(25.5));
        assert!((two.intervals().open_packets() - 19.0).abs() < 1e-9);
    }

    #[test]
    fn a_packet_that_turns_up_before_it_is_lost_is_not() {
        let mut events = events(12, &[10]);
        events.on_report(&report(10, true), RTT, || 40.0);
        for seq in 12..20 {
            events.on_report(&report(seq, true), RTT, || 40.0);
        }
        assert_eq!(events.events(), 0);
    }

    /// [rfc5348] §5.1: the loss is undone, and with it the event.
    #[test]
    fn a_packet_that_turns_up_late_undoes_its_event() {
        let mut events = events(60, &[10, 30, 50, 52]);
        assert_eq!(events.intervals().mean_of_last_two(), Some(20.0));
        events.on_report(&report(30, true), RTT, || 40.0);
        // Events at 10 and 50 are left: I_1 = 40, and 40 synthetic.
        assert_eq!(events.intervals().mean_of_last_two(), Some(40.0));
        // The event at 50 stands while 52 is still lost.
        events.on_report(&report(50, true), RTT, || 40.0);
        assert!((events.intervals().open_packets() - 10.0).abs() < 1e-9);
        events.on_report(&report(52, true), RTT, || 40.0);
        assert!((events.intervals().open_packets() - 50.0).abs() < 1e-9);
        events.on_report(&report(10, true), RTT, || 40.0);
        assert!(!events.intervals().any());
        assert_eq!(events.intervals().loss_event_ratio(), 0.0);
    }

    /// [rfc5348] §5.1: marked packets need no later arrivals.
    #[test]
    fn a_mark_is_an_event_at_once() {
        let mut events = events(10, &[]);
        events.on_report(&PacketReport { ce: true, ..report(10, true) }, RTT, || 40.0);
        assert_eq!(events.events(), 1);
    }

    #[test]
    fn an_outage_longer_than_the_ring_is_one_event_in_bounded_memory() {
        let missing: Vec<u64> = (10..5_000).collect();
        let events = events(5_010, &missing);
        assert!(events.events() >= 1);
        assert!(events.pending.capacity() < 1_000);
    }
}
