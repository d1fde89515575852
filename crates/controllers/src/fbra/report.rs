//! What feedback reports over an interval: goodput, losses and how many parity repaired, one-way
//! delay.
//!
//! [nagy2014] takes this from the receiver's RTCP reports, with run lengths of lost and discarded
//! packets. Here it is reconstructed from transport-wide feedback: losses are packets reported
//! missing, recovered ones are inferred, and packets that came too late to be shown (discards) are
//! unknown.

use super::state::Loss;
use legato_control::{Fate, PacketKind, PacketReport};
use legato_units::{DataRate, DataSize, PeerTimestamp, TimeDelta, Timestamp};

/// A report interval in progress.
#[derive(Clone, Debug)]
pub(super) struct Interval {
    pub(super) began: Timestamp,
    /// Losses of packets that left before this have already counted.
    news_since: Option<Timestamp>,
    arrived: DataSize,
    /// Media and parity packets, lost ones included.
    packets: u32,
    lost: u32,
    last_loss: Option<u32>,
    block: Block,
    delay_sum: TimeDelta,
    delays: u32,
}

/// Media up to its parity: lost packets are repaired by as many parity packets.
#[derive(Clone, Copy, Debug, Default)]
struct Block {
    lost: u32,
    last_loss: u32,
    parity_seen: bool,
    parity_arrived: u32,
}

impl Interval {
    pub(super) fn new(began: Timestamp, news_since: Option<Timestamp>) -> Self {
        Self {
            began,
            news_since,
            arrived: DataSize::ZERO,
            packets: 0,
            lost: 0,
            last_loss: None,
            block: Block::default(),
            delay_sum: TimeDelta::ZERO,
            delays: 0,
        }
    }

    /// Takes one report; `delay` where it has an arrival time.
    pub(super) fn on_report(&mut self, report: &PacketReport, delay: Option<TimeDelta>) {
        if report.arrived() {
            self.arrived += report.size;
        }
        if let Some(delay) = delay {
            self.delay_sum += delay;
            self.delays += 1;
        }
        if !matches!(report.kind, PacketKind::Fec | PacketKind::Video) {
            return;
        }
        let parity = report.kind == PacketKind::Fec;
        if !parity && self.block.parity_seen {
            self.close_block();
        }
        self.packets += 1;
        self.block.parity_seen |= parity;
        match report.fate {
            Fate::Arrived(_) => self.block.parity_arrived += u32::from(parity),
            Fate::Missing if self.news_since.is_some_and(|since| report.departure < since) => {}
            // Lost parity is not lost media, but it is a loss: it ends a probe.
            Fate::Missing if parity => self.lost += 1,
            Fate::Missing => {
                self.block.lost += 1;
                self.block.last_loss = self.packets;
            }
        }
    }

    fn close_block(&mut self) {
        let block = std::mem::take(&mut self.block);
        self.lost += block.lost;
        if block.lost > block.parity_arrived {
            self.last_loss = Some(block.last_loss);
        }
    }

    /// The worst of the losses; closes the open block.
    pub(super) fn loss(&mut self) -> Loss {
        self.close_block();
        match (self.lost, self.last_loss) {
            (0, _) => Loss::None,
            // In the later half of the interval, as its run lengths would show.
            (_, Some(last)) if last > self.packets / 2 => Loss::Recent,
            _ => Loss::Past,
        }
    }

    pub(super) fn goodput(&self, now: Timestamp) -> DataRate {
        self.arrived / (now - self.began).max(TimeDelta::from_millis(1))
    }

    pub(super) fn is_empty(&self) -> bool {
        self.packets == 0 && self.delays == 0
    }

    /// Mean over the interval.
    pub(super) fn delay(&self) -> Option<TimeDelta> {
        (self.delays > 0).then(|| self.delay_sum / i64::from(self.delays))
    }
}

/// One-way delays above the minimum: the peer's clock has an offset, so the minimum itself is taken
/// as half the minimum round trip, by symmetry.
#[derive(Clone, Debug, Default)]
pub(super) struct OneWayDelay {
    first: Option<(Timestamp, PeerTimestamp)>,
    min: TimeDelta,
    min_round_trip: Option<TimeDelta>,
}

impl OneWayDelay {
    /// The delay of a packet minus the first one's; may be negative.
    fn relative(&mut self, report: &PacketReport) -> Option<TimeDelta> {
        let arrival = report.arrival()?;
        let (departure_0, arrival_0) = *self.first.get_or_insert((report.departure, arrival));
        let delay = (arrival - arrival_0) - (report.departure - departure_0);
        self.min = self.min.min(delay);
        Some(delay)
    }

    /// The delay of a packet now known to have arrived.
    pub(super) fn of(&mut self, now: Timestamp, report: &PacketReport) -> Option<TimeDelta> {
        let delay = self.relative(report)?;
        let round_trip = (now - report.departure).max(SHORTEST_ROUND_TRIP);
        let min_round_trip = self.min_round_trip.map_or(round_trip, |min| min.min(round_trip));
        self.min_round_trip = Some(min_round_trip);
        Some(delay - self.min + min_round_trip / 2)
    }
}

/// The last delays, for their percentiles.
#[derive(Clone, Debug)]
pub(super) struct DelayHistory {
    entries: [(Timestamp, f64); HISTORY],
    len: usize,
    next: usize,
}

impl Default for DelayHistory {
    fn default() -> Self {
        Self { entries: [(Timestamp::ZERO, 0.0); HISTORY], len: 0, next: 0 }
    }
}

impl DelayHistory {
    pub(super) fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Take the delay of a report and forget those older than `span`.
    pub(super) fn push(&mut self, now: Timestamp, delay_ms: f64, span: TimeDelta) {
        self.entries[self.next] = (now, delay_ms);
        self.next = (self.next + 1) % HISTORY;
        self.len = (self.len + 1).min(HISTORY);
        // The newest stays regardless of the others' age.
        while self.len > 1 && now - self.entries[(self.next + HISTORY - self.len) % HISTORY].0 > span {
            self.len -= 1;
        }
    }

    /// The 40th and the 80th percentile, nearest rank.
    pub(super) fn percentiles(&self) -> Option<(f64, f64)> {
        let mut sorted = [0.0; HISTORY];
        for (place, value) in sorted.iter_mut().enumerate().take(self.len) {
            *value = self.entries[(self.next + HISTORY - 1 - place) % HISTORY].1;
        }
        let sorted = &mut sorted[..self.len];
        sorted.sort_unstable_by(f64::total_cmp);
        let at = |percent: usize| sorted[(percent * sorted.len()).div_ceil(100) - 1];
        (!sorted.is_empty()).then(|| (at(40), at(80)))
    }
}

/// As many reports as 10 s hold at one every 160 ms, or 2 s at one every 30 ms.
const HISTORY: usize = 64;
/// Ratios of delays need a minimum: on a shorter path a queue means nothing.
const SHORTEST_ROUND_TRIP: TimeDelta = TimeDelta::from_millis(2);

#[cfg(test)]
mod tests {
    use super::*;

    fn report(seq: u64, kind: PacketKind, arrived: bool) -> PacketReport {
        let fate = if arrived { Fate::Arrived(None) } else { Fate::Missing };
        PacketReport {
            transport_seq: seq,
            ssrc: 1,
            size: DataSize::from_bytes(1_000),
            departure: Timestamp::from_millis(100),
            fate,
            ce: false,
            kind,
            probe_cluster: None,
            place: None,
        }
    }

    /// `v` media, `f` parity, lost ones in capitals.
    fn interval(packets: &str) -> Interval {
        let mut interval = Interval::new(Timestamp::ZERO, None);
        for (seq, packet) in packets.chars().enumerate() {
            let kind = if packet.eq_ignore_ascii_case(&'f') { PacketKind::Fec } else { PacketKind::Video };
            interval.on_report(&report(seq as u64, kind, packet.is_ascii_lowercase()), None);
        }
        interval
    }

    #[test]
    fn losses_are_recovered_by_as_many_parity_packets_of_their_block() {
        for (packets, loss) in [
            ("vvvvfvvvvf", Loss::None),
            ("vvvvfvvVvf", Loss::Past),
            ("vvvvfvVVvf", Loss::Recent),
            ("vvvvfvVVvff", Loss::Past),
            ("vvvvfvvVvF", Loss::Recent),
            // Early ones, and none since.
            ("vVVvfvvvvfvvvvf", Loss::Past),
            // Lost parity ends a probe; media is whole.
            ("vvvvFvvvvf", Loss::Past),
            // No parity at all.
            ("vvvvvvVvv", Loss::Recent),
            ("vVvvvvvvv", Loss::Past),
        ] {
            assert_eq!(interval(packets).loss(), loss, "{packets}");
        }
    }

    #[test]
    fn losses_from_before_the_undershoot_do_not_count() {
        let mut interval = Interval::new(Timestamp::ZERO, Some(Timestamp::from_millis(101)));
        interval.on_report(&report(0, PacketKind::Video, false), None);
        assert_eq!(interval.loss(), Loss::None);
    }

    /// 10,000 bytes in 100 ms are 800 kbit/s.
    #[test]
    fn goodput_is_what_arrived_over_the_interval() {
        assert_eq!(interval("vvvvvvvvvv").goodput(Timestamp::from_millis(100)), DataRate::from_kbps(800));
    }

    /// Nearest rank of 1 … 10: the 4th and the 8th; ten more, of which the first ten are too old: 14 and 18.
    #[test]
    fn percentiles_are_over_two_seconds() {
        let mut history = DelayHistory::default();
        assert_eq!(history.percentiles(), None);
        for n in 1..=10 {
            history.push(Timestamp::from_millis(n * 100), n as f64, TimeDelta::from_secs(2));
        }
        assert_eq!(history.percentiles(), Some((4.0, 8.0)));
        for n in 11..=20 {
            history.push(Timestamp::from_millis(2_000 + n * 100), n as f64, TimeDelta::from_secs(2));
        }
        assert_eq!(history.percentiles(), Some((14.0, 18.0)));
    }

    /// A round trip of 40 ms: 20 ms one way; 5 ms more for the second packet; the third took 3 ms less than the
    /// first, which must therefore have queued.
    #[test]
    fn delays_are_above_half_the_minimum_round_trip() {
        let mut delay = OneWayDelay::default();
        let mut of = |now_ms: i64, departure_ms: i64, arrival_ms: i64| {
            let arrival = PeerTimestamp::from_nanos((arrival_ms + 5_000_000) * 1_000_000);
            let fate = Fate::Arrived(Some(arrival));
            let departure = Timestamp::from_millis(departure_ms);
            let report = PacketReport { departure, fate, ..report(0, PacketKind::Video, true) };
            delay.of(Timestamp::from_millis(now_ms), &report).unwrap()
        };
        assert_eq!(of(40, 0, 20), TimeDelta::from_millis(20));
        assert_eq!(of(60, 10, 35), TimeDelta::from_millis(25));
        assert_eq!(of(80, 30, 47), TimeDelta::from_millis(20));
        assert_eq!(of(90, 40, 60), TimeDelta::from_millis(23));
    }
}
