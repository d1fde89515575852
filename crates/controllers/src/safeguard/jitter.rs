//! How much one-way delay varies, and how much is unusual on this path: a threshold that follows
//! the path's own variation.

use super::{Config, JitterOf};
use legato_control::TransportFeedback;
use legato_units::{PeerTimestamp, TimeDelta, Timestamp};

/// Jitter per interval: see [`JitterOf`].
#[derive(Clone, Debug)]
pub struct Jitter {
    /// Departure and arrival of the first packet: delays are relative to it.
    first: Option<(Timestamp, PeerTimestamp)>,
    /// Delays of the current interval.
    sum: TimeDelta,
    packets: i64,
    /// Delay of the last packet.
    last: Option<TimeDelta>,
    /// Differences between consecutive packets of the current interval.
    steps: TimeDelta,
    begun: Option<Timestamp>,
    /// Mean delay of the interval before.
    previous: Option<TimeDelta>,
    window: Window,
}

/// A jitter, and the threshold in force when it was measured.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Sample {
    /// The interval's jitter.
    pub jitter_ms: f64,
    /// The maximum tolerated jitter.
    pub threshold_ms: f64,
    /// Mean one-way delay of the interval before, and of this one, relative to the first packet's.
    pub before_ms: f64,
    pub delay_ms: f64,
}

impl Jitter {
    /// Nothing seen; the threshold looks back over `intervals`.
    pub fn new(intervals: usize) -> Self {
        Self {
            first: None,
            sum: TimeDelta::ZERO,
            packets: 0,
            last: None,
            steps: TimeDelta::ZERO,
            begun: None,
            previous: None,
            window: Window::new(intervals),
        }
    }

    /// Take a feedback; returns a sample when an interval with arrivals is over.
    pub fn push(&mut self, config: &Config, now: Timestamp, feedback: &TransportFeedback) -> Option<Sample> {
        for packet in feedback.reports.iter() {
            let Some(arrival) = packet.arrival() else { continue };
            let (departure, first_arrival) = *self.first.get_or_insert((packet.departure, arrival));
            let delay = (arrival - first_arrival) - (packet.departure - departure);
            self.sum += delay;
            // [rfc3550] section 6.4.1: D(i, j) is the difference of two packets' relative transit times
            self.steps += self.last.replace(delay).map_or(TimeDelta::ZERO, |last| (delay - last).abs());
            self.packets += 1;
        }
        let begun = *self.begun.get_or_insert(now);
        if now - begun < TimeDelta::from_millis(i64::from(config.interval_ms)) || self.packets == 0 {
            return None;
        }
        let mean = self.sum / self.packets;
        let mean_step = self.steps / self.packets;
        (self.sum, self.steps, self.packets, self.begun) = (TimeDelta::ZERO, TimeDelta::ZERO, 0, Some(now));
        let before = self.previous.replace(mean)?;
        let jitter = match config.jitter {
            JitterOf::IntervalMeans => (mean - before).abs(),
            JitterOf::Packets => mean_step,
        };
        let threshold_ms = self.window.threshold_ms(config);
        self.window.push(jitter.min(TimeDelta::from_millis_f64(LEARNED_RATIO * threshold_ms)));
        Some(Sample {
            jitter_ms: jitter.as_millis_f64(),
            threshold_ms,
            before_ms: before.as_millis_f64(),
            delay_ms: mean.as_millis_f64(),
        })
    }
}

/// Ours: how far beyond the threshold a jitter counts. Taken whole, the jumps that bad actions cause would soon raise the
/// threshold above any of them; a path that always jitters still raises it step by step.
const LEARNED_RATIO: f64 = 1.5;

/// The last jitters, with their sums in whole microseconds so that they stay exact.
#[derive(Clone, Debug)]
struct Window {
    jitters_us: Box<[u32]>,
    known: usize,
    next: usize,
    sum: u64,
    squares: u64,
}

/// A longer one is an outage, not jitter.
const MAX_JITTER_US: i64 = 1_000_000;

impl Window {
    fn new(intervals: usize) -> Self {
        Self { jitters_us: vec![0; intervals].into(), known: 0, next: 0, sum: 0, squares: 0 }
    }

    fn push(&mut self, jitter: TimeDelta) {
        let old = u64::from(self.jitters_us[self.next]);
        let new = jitter.as_micros().clamp(0, MAX_JITTER_US) as u32;
        self.jitters_us[self.next] = new;
        self.sum = self.sum - old + u64::from(new);
        self.squares = self.squares - old * old + u64::from(new) * u64::from(new);
        self.next = (self.next + 1) % self.jitters_us.len();
        self.known = (self.known + 1).min(self.jitters_us.len());
    }

    /// Mean plus `deviations` standard deviations; the floor before a tenth of the window has passed, since a queue can
    /// be full by then.
    fn threshold_ms(&self, config: &Config) -> f64 {
        if self.known * 10 < self.jitters_us.len() || self.known < 2 {
            return config.min_threshold_ms;
        }
        let count = self.known as f64;
        let mean_us = self.sum as f64 / count;
        let variance = (self.squares as f64 / count - mean_us * mean_us).max(0.0);
        ((mean_us + config.n_std * variance.sqrt()) / 1e3).max(config.min_threshold_ms)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use legato_control::{Fate, PacketKind, PacketReport};
    use legato_units::DataSize;

    /// Worked by hand: 2, 4, 4, 4, 5, 5, 7, 9 ms have mean 5 and deviation 2.
    #[test]
    fn the_threshold_is_the_mean_and_some_deviations() {
        let mut window = Window::new(8);
        for ms in [99, 2, 4, 4, 4, 5, 5, 7, 9] {
            window.push(TimeDelta::from_millis(ms));
        }
        let config = Config { n_std: 2.0, min_threshold_ms: 1.0, ..Config::default() };
        assert_eq!(window.threshold_ms(&config), 9.0, "the 99 is forgotten");
        assert_eq!(window.threshold_ms(&Config { min_threshold_ms: 10.0, ..config }), 10.0);
    }

    /// [rfc3550] section 6.4.1: delays of 30, 34, 31 and 31 ms differ by 4, 3 and 0; the first by 2 from the last of
    /// the interval before. (2 + 4 + 3 + 0) / 4 = 2.25 ms.
    #[test]
    fn jitter_of_packets_is_their_mean_difference_within_an_interval() {
        let config = Config { jitter: JitterOf::Packets, ..Config::default() };
        let mut jitter = Jitter::new(4);
        let mut samples = Vec::new();
        for (n, delays_ms) in [&[32, 32][..], &[32, 32], &[30, 34, 31, 31]].into_iter().enumerate() {
            let departure = Timestamp::from_millis(50 * n as i64);
            let feedback = TransportFeedback {
                reports: delays_ms.iter().map(|&ms| report(departure, ms)).collect::<Vec<_>>().into(),
                in_flight: DataSize::ZERO,
                ..Default::default()
            };
            samples.push(jitter.push(&config, departure, &feedback).map(|sample| sample.jitter_ms));
        }
        assert_eq!(samples, [None, None, Some(2.25)]);
    }

    fn report(departure: Timestamp, delay_ms: i64) -> PacketReport {
        PacketReport {
            transport_seq: 0,
            ssrc: 1,
            size: DataSize::from_bytes(1_000),
            departure,
            fate: Fate::Arrived(Some(PeerTimestamp::from_nanos(departure.as_nanos() + delay_ms * 1_000_000))),
            ce: false,
            kind: PacketKind::Video,
            probe_cluster: None,
            place: None,
        }
    }

    #[test]
    fn jitter_is_the_difference_of_two_interval_means() {
        let config = Config { min_threshold_ms: 1.0, ..Config::default() };
        let mut jitter = Jitter::new(4);
        let mut samples = Vec::new();
        for (n, delay_ms) in [30_i64, 30, 34, 34, 20].into_iter().enumerate() {
            let departure = Timestamp::from_millis(50 * n as i64);
            let feedback = TransportFeedback {
                reports: vec![report(departure, delay_ms - 1), report(departure, delay_ms + 1)].into(),
                in_flight: DataSize::ZERO,
                ..Default::default()
            };
            samples.push(jitter.push(&config, departure, &feedback).map(|sample| sample.jitter_ms));
        }
        // The first begins an interval, the second ends it (it holds both), the third gives the first difference.
        assert_eq!(samples, [None, None, Some(4.0), Some(0.0), Some(14.0)]);
    }
}
