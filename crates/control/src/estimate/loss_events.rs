//! From reports to loss events, at the sender [rfc5348]. A packet reported missing is lost once three later ones have
//! arrived. Losses within a round trip of an event's first packet belong to that event. A packet that turns up after
//! all undoes its loss.
//!
//! When a lost packet would have arrived is interpolated between the packets around it, by the receiver's clock;
//! where the reports have no arrival times, its departure takes their place. A packet that no feedback mentions,
//! because the feedback was lost, is not a loss.

use super::loss_intervals::LossIntervals;
use crate::PacketReport;
use legato_units::{PeerTimestamp, TimeDelta, Timestamp};
use std::collections::VecDeque;

/// Finds loss events and keeps their intervals.
#[derive(Clone, Debug)]
pub struct LossEvents {
    intervals: LossIntervals,
    /// Reported missing, with too few later arrivals to count as lost; ascending.
    pending: VecDeque<Pending>,
    /// The latest losses, to be undone should they arrive: the packet and the first packet of its event.
    lost: VecDeque<(u64, u64)>,
    /// The newest event.
    event: Option<Event>,
    /// Loss events so far; never decreases.
    events: u64,
    /// Highest packet number reported on.
    highest: Option<u64>,
    /// S_before and T_before of the next loss: the highest packet that arrived in order.
    last_arrival: Option<(u64, PeerTimestamp)>,
}

/// A loss event, by its first packet.
#[derive(Clone, Copy, Debug)]
struct Event {
    seq: u64,
    at: Instant,
    /// A mark behind its first packet is among the losses that can be undone: it never will be.
    marked: bool,
}

/// When a packet arrived or would have arrived, and when it left.
#[derive(Clone, Copy, Debug)]
struct Instant {
    departure: Timestamp,
    arrival: Option<PeerTimestamp>,
}

#[derive(Clone, Copy, Debug)]
struct Pending {
    seq: u64,
    departure: Timestamp,
    later_arrivals: u8,
    /// S_before and T_before.
    before: Option<(u64, PeerTimestamp)>,
    /// S_after and T_after.
    after: Option<(u64, PeerTimestamp)>,
}

impl Pending {
    /// T_loss, known once a later packet has arrived.
    fn instant(&self) -> Instant {
        let Self { seq, departure, before, after, .. } = *self;
        let arrival = match (before, after) {
            (Some((s_before, t_before)), Some((s_after, t_after))) => {
                // [rfc5348] §5.2: T_loss = T_before + (T_after - T_before) (S_loss - S_before) / (S_after - S_before).
                let span = (t_after - t_before).as_nanos() as f64;
                let share = (seq - s_before) as f64 / (s_after - s_before) as f64;
                Some(t_before + TimeDelta::from_nanos((span * share) as i64))
            }
            // Nothing arrived before it: it would have come with the first that did.
            (None, after) => after.map(|(_, at)| at),
            (Some(_), None) => None,
        };
        Instant { departure, arrival }
    }
}

impl Instant {
    /// Whether this is more than `rtt` after `other`.
    fn is_after(&self, other: &Self, rtt: TimeDelta) -> bool {
        match (self.arrival, other.arrival) {
            (Some(new), Some(old)) => new - old > rtt,
            _ => self.departure > other.departure + rtt,
        }
    }
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
            last_arrival: None,
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
        let arrival = report.arrival().map(|at| (seq, at));
        if !late {
            self.last_arrival = arrival.or(self.last_arrival);
        }
        if self.pending.is_empty() && !late && !report.ce {
            return;
        }
        let mut first_interval = Some(first_interval);
        if late {
            self.on_late(seq);
        }
        for pending in self.pending.iter_mut().take_while(|pending| pending.seq < seq) {
            pending.later_arrivals += 1;
            pending.after = pending.after.or(arrival);
        }
        // [rfc5348] §5.1: lost once NDUPACK packets with higher numbers have arrived. [rfc5348] §5.1: a mark makes
        // packets still missing before it part of the congestion at once.
        while let Some(&pending) = self.pending.front()
            && (pending.later_arrivals >= NDUPACK || (report.ce && pending.seq < seq))
        {
            self.pending.pop_front();
            let event = self.on_congestion(pending.seq, pending.instant(), rtt, &mut first_interval);
            self.remember(pending.seq, event);
        }
        if report.ce {
            // [rfc5348] §5.1: a mark signals congestion as soon as it arrives.
            let at = Instant { departure: report.departure, arrival: report.arrival() };
            let began = self.on_congestion(seq, at, rtt, &mut first_interval);
            if let Some(event) = self.event.as_mut().filter(|event| began != seq && !event.marked) {
                // Should the packet that began the event turn up, the mark still holds.
                event.marked = true;
                self.remember(seq, began);
            }
        }
    }

    /// This packet belongs to the loss event that began at `event`, which lasts while any of its packets is still
    /// missing.
    fn remember(&mut self, seq: u64, event: u64) {
        if self.lost.len() == MAX_LOST {
            self.lost.pop_front();
        }
        self.lost.push_back((seq, event));
    }

    fn on_missing(&mut self, seq: u64, departure: Timestamp) {
        let late = self.highest.is_some_and(|highest| seq <= highest);
        self.highest = Some(self.highest.map_or(seq, |highest| highest.max(seq)));
        // A long outage is one event whatever its length, so packets beyond the ring need no place.
        // Reports are in send order; a straggler would only break the ring's order.
        if self.pending.len() < MAX_PENDING && !late {
            let before = self.last_arrival;
            self.pending.push_back(Pending { seq, departure, later_arrivals: 0, before, after: None });
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
                self.event = self.event.filter(|newest| newest.seq != event);
            }
        }
    }

    /// A packet was lost or marked. Returns the first packet of its event.
    fn on_congestion(
        &mut self,
        seq: u64,
        at: Instant,
        rtt: TimeDelta,
        first_interval: &mut Option<impl FnOnce() -> f64>,
    ) -> u64 {
        // [rfc5348] §5.2: up to R after the event's first packet a loss belongs to the event.
        if let Some(event) = self.event
            && (seq <= event.seq || !at.is_after(&event.at, rtt))
        {
            return event.seq;
        }
        self.event = Some(Event { seq, at, marked: false });
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
            place: None,
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
        // The event at 50 lasts while 52 is still lost.
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

    /// A packet that arrived at `ms`, or did not.
    fn at(seq: u64, ms: Option<i64>) -> PacketReport {
        let arrival = |ms: i64| PeerTimestamp::from_nanos(ms * 1_000_000);
        PacketReport { fate: ms.map_or(Fate::Missing, |ms| Fate::Arrived(Some(arrival(ms)))), ..report(seq, true) }
    }

    fn events_of(reports: &[PacketReport]) -> LossEvents {
        let mut events = LossEvents::new(1.0);
        reports.iter().for_each(|report| events.on_report(report, RTT, || 40.0));
        events
    }

    /// [rfc5348] §5.2, worked by hand: packets leave every 10 ms and arrive every 20, for the queue grows. Packet 10 would
    /// have arrived at 1,000 + 20 · 10 = 1,200 ms. Packet 15 (1,300 ms) is within R = 100 ms of it and packet 16
    /// (1,320 ms) is not, though it left 60 ms after it.
    #[test]
    fn events_are_told_apart_by_when_the_lost_packets_would_have_arrived() {
        let run = |missing: &[u64]| {
            let reports: Vec<_> =
                (0..30).map(|seq| at(seq, (!missing.contains(&seq)).then_some(1_000 + 20 * seq as i64))).collect();
            events_of(&reports).events()
        };
        assert_eq!(run(&[10, 15]), 1);
        assert_eq!(run(&[10, 16]), 2);
    }

    /// [rfc5348] §5.2, worked by hand: 9 arrives at 1,000 ms and 12 at 1,060: 10 at 1,020, 11 at 1,040.
    #[test]
    fn the_arrival_of_a_lost_packet_lies_between_those_around_it() {
        let mut events = events_of(&[at(9, Some(1_000)), at(10, None), at(11, None), at(12, Some(1_060))]);
        let arrivals: Vec<_> = events.pending.iter().map(|pending| pending.instant().arrival).collect();
        assert_eq!(arrivals, [1_020, 1_040].map(|ms| Some(PeerTimestamp::from_nanos(ms * 1_000_000))));
        // Nothing arrived before the first: it would have come with the next.
        events = events_of(&[at(10, None), at(11, Some(1_060))]);
        assert_eq!(events.pending[0].instant().arrival, Some(PeerTimestamp::from_nanos(1_060_000_000)));
    }

    /// [rfc5348] §5.1: n - 1 arrives, n does not, n + 1 is unmarked and n + 2 marked: the event is found at n + 2, and
    /// begins with n.
    #[test]
    fn a_mark_begins_its_event_with_what_is_missing_before_it() {
        let marked = PacketReport { ce: true, ..report(12, true) };
        let mut events = events_of(&[report(9, true), report(10, false), report(11, true), marked]);
        assert_eq!((events.events(), events.event.map(|event| event.seq)), (1, Some(10)));
        // Packet 10 was only late: the mark holds.
        events.on_report(&report(10, true), RTT, || 40.0);
        assert!(events.intervals().any());
    }

    #[test]
    fn an_outage_longer_than_the_ring_is_one_event_in_bounded_memory() {
        let missing: Vec<u64> = (10..5_000).collect();
        let events = events(5_010, &missing);
        assert!(events.events() >= 1);
        assert!(events.pending.capacity() < 1_000);
    }
}
