//! How much arrived recently and how much is missing: receive rate and loss over sliding windows.

use legato_units::{DataRate, DataSize, TimeDelta, Timestamp};

/// Counts arrivals in bins of 100 ms.
#[derive(Clone)]
pub struct Arrivals {
    bins: [Bin; BINS],
    /// The current bin.
    current: usize,
    /// When it ends.
    bin_end: Timestamp,
    started: Timestamp,
    last: Timestamp,
    /// Packets missing until then are not counted.
    forgiven_until: Timestamp,
    highest: Option<u64>,
    /// Loss of the last seconds, to find the permanent loss.
    seconds: [Option<f64>; SECONDS],
    second: usize,
    bins_of_second: usize,
    /// CE marks since the last call of `take_mark`.
    marked: bool,
}

#[derive(Clone, Copy, Default)]
struct Bin {
    bytes: u64,
    packets: u64,
    /// Packets that should have arrived in it, by sequence numbers.
    expected: u64,
}

/// Short enough to follow the rate, long enough to hold several packets at 1 Mbit/s.
const BIN: TimeDelta = TimeDelta::from_millis(100);
/// Loss is taken over ten bins, a second; the rate over the last five.
const BINS: usize = 10;
const RATE_BINS: usize = 5;
/// A loss ratio present in every one of this many seconds is permanent loss.
const SECONDS: usize = 10;
/// More than this never counts as permanent: a path that loses as much is overloaded.
const MAX_USUAL_LOSS: f64 = 0.25;
/// Missing packets are not counted for the one time after a silence of the other.
const OUTAGE: TimeDelta = TimeDelta::from_millis(400);
/// Sequence numbers further on than this belong to another stream.
const RESYNC: u64 = 10_000;

impl Arrivals {
    /// Nothing has arrived yet.
    pub fn new(start: Timestamp) -> Self {
        Self {
            bins: [Bin::default(); BINS],
            current: 0,
            bin_end: start + BIN,
            started: start,
            last: start,
            forgiven_until: start,
            highest: None,
            seconds: [None; SECONDS],
            second: 0,
            bins_of_second: 0,
            marked: false,
        }
    }

    /// Count a packet.
    #[inline]
    pub fn push(&mut self, now: Timestamp, transport_seq: u64, size: DataSize, ce: bool) {
        self.advance(now);
        // What an outage swallowed says nothing about the rate, nor does its queue, which arrives first.
        if now - self.last > OUTAGE {
            self.forgiven_until = now + OUTAGE;
        }
        self.last = now;
        let expected = match self.highest {
            Some(highest) if transport_seq > highest && now < self.forgiven_until => 1,
            Some(highest) if transport_seq > highest && transport_seq - highest <= RESYNC => transport_seq - highest,
            // Late or repeated: it already counted as expected.
            Some(highest) if transport_seq <= highest && highest - transport_seq <= RESYNC => 0,
            _ => 1,
        };
        if expected > 0 {
            self.highest = Some(transport_seq);
        }
        let bin = &mut self.bins[self.current];
        bin.bytes = bin.bytes.saturating_add(size.as_bytes());
        bin.packets += 1;
        bin.expected += expected;
        self.marked |= ce;
    }

    /// Let time pass.
    #[inline]
    pub fn advance(&mut self, now: Timestamp) {
        if now < self.bin_end {
            return;
        }
        let passed = (now - self.bin_end).as_nanos() / BIN.as_nanos() + 1;
        // After a pause longer than the history, everything is already forgotten.
        for _ in 0..passed.min((BINS * SECONDS) as i64) {
            self.next_bin();
        }
        self.bin_end += BIN * passed;
    }

    fn next_bin(&mut self) {
        self.bins_of_second += 1;
        if self.bins_of_second == BINS {
            self.bins_of_second = 0;
            self.seconds[self.second] = self.loss_ratio();
            self.second = (self.second + 1) % SECONDS;
        }
        self.current = (self.current + 1) % BINS;
        self.bins[self.current] = Bin::default();
    }

    /// Mean over the last half second, or since the start.
    pub fn rate(&self, now: Timestamp) -> DataRate {
        let bytes = (0..RATE_BINS).map(|back| self.bins[(self.current + BINS - back) % BINS].bytes).sum();
        let window = BIN * (RATE_BINS as i64 - 1) + (now - (self.bin_end - BIN));
        let window = window.min(now - self.started).max(BIN);
        DataRate::from_bps_f64(DataSize::from_bytes(bytes).as_bytes_f64() * 8.0 / window.as_secs_f64())
    }

    /// Lost within the last second, 0 to 1; `None` if nothing was expected.
    pub fn loss_ratio(&self) -> Option<f64> {
        let (packets, expected) =
            self.bins.iter().fold((0, 0), |(packets, expected), bin| (packets + bin.packets, expected + bin.expected));
        (expected > 0).then(|| 1.0 - (packets.min(expected) as f64 / expected as f64))
    }

    /// Lost within the last second beyond the permanent loss.
    pub fn unusual_loss_ratio(&self) -> f64 {
        let Some(loss) = self.loss_ratio() else { return 0.0 };
        let usual = self.seconds.iter().flatten().copied().reduce(f64::min).unwrap_or(loss);
        (loss - usual.min(MAX_USUAL_LOSS)).max(0.0)
    }

    /// Whether a packet was marked since the last call.
    pub fn take_mark(&mut self) -> bool {
        std::mem::take(&mut self.marked)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SIZE: DataSize = DataSize::from_bytes(1_250);

    /// One packet of 10,000 bits every 10 ms is 1 Mbit/s; every `nth` is lost.
    fn feed(arrivals: &mut Arrivals, from_ms: i64, to_ms: i64, lost_nth: Option<i64>) {
        for ms in (from_ms..to_ms).step_by(10) {
            if lost_nth.is_none_or(|nth| ms / 10 % nth != 1) {
                arrivals.push(Timestamp::from_millis(ms), (ms / 10) as u64, SIZE, false);
            }
        }
    }

    #[test]
    fn the_rate_is_that_of_the_last_half_second() {
        let mut arrivals = Arrivals::new(Timestamp::ZERO);
        feed(&mut arrivals, 0, 200, None);
        assert_eq!(arrivals.rate(Timestamp::from_millis(200)), DataRate::from_mbps(1));
        feed(&mut arrivals, 200, 2_000, None);
        let now = Timestamp::from_millis(2_000);
        arrivals.advance(now);
        assert_eq!(arrivals.rate(now), DataRate::from_mbps(1));
        arrivals.advance(Timestamp::from_millis(2_200));
        assert_eq!(arrivals.rate(Timestamp::from_millis(2_200)), DataRate::from_kbps(500));
        arrivals.advance(Timestamp::from_secs(4_000));
        assert_eq!(arrivals.rate(Timestamp::from_secs(4_000)), DataRate::ZERO);
        assert_eq!(arrivals.loss_ratio(), None);
    }

    #[test]
    fn permanent_loss_is_usual_and_more_is_not() {
        let mut arrivals = Arrivals::new(Timestamp::ZERO);
        feed(&mut arrivals, 0, 4_000, Some(10));
        assert!((arrivals.loss_ratio().unwrap() - 0.1).abs() < 0.02);
        assert!(arrivals.unusual_loss_ratio() < 0.02);
        feed(&mut arrivals, 4_000, 5_000, Some(2));
        assert!((arrivals.unusual_loss_ratio() - 0.4).abs() < 0.05, "{}", arrivals.unusual_loss_ratio());
    }

    #[test]
    fn late_packets_and_another_streams_numbers_are_not_losses() {
        let mut arrivals = Arrivals::new(Timestamp::ZERO);
        for seq in [1, 3, 2, 4, 5_000_000, 5_000_001, u64::MAX, 7] {
            arrivals.push(Timestamp::ZERO, seq, SIZE, false);
        }
        assert_eq!(arrivals.loss_ratio(), Some(0.0));
    }

    #[test]
    fn packets_swallowed_by_an_outage_are_not_losses() {
        let mut arrivals = Arrivals::new(Timestamp::ZERO);
        feed(&mut arrivals, 0, 1_000, None);
        feed(&mut arrivals, 1_500, 1_600, None);
        feed(&mut arrivals, 1_750, 1_800, None);
        assert_eq!(arrivals.loss_ratio(), Some(0.0));
    }

    #[test]
    fn a_mark_is_reported_once() {
        let mut arrivals = Arrivals::new(Timestamp::ZERO);
        arrivals.push(Timestamp::ZERO, 1, SIZE, true);
        assert!(arrivals.take_mark());
        assert!(!arrivals.take_mark());
    }
}
