//! What the link passes: the lower of two memories of its service, so that a fall is believed within a frame or two and
//! a rise within a second or so.

use super::service_rate::ServiceRate;
use legato_control::RateLimits;
use legato_control::estimate::arrivals::Arrival;
use legato_units::{ByteRate, Bytes, DataSize, PerSecond, Seconds};

/// A rate between the smallest rate that keeps a call and twice the application's maximum.
#[derive(Clone, Debug)]
pub struct Capacity {
    fast: ServiceRate,
    slow: ServiceRate,
    /// Any packet since the last update came behind others of the call: the link's rate shows.
    behind: bool,
    measured: bool,
    rate: ByteRate,
}

/// How small frames are read.
#[derive(Clone, Copy, Debug)]
pub struct SmallFrames {
    /// A frame that is done early shows the capacity for one so many times as large.
    pub max_stretch_ratio: f64,
    /// Without a frame large enough to measure, the capacity grows by this ratio.
    pub growth: PerSecond,
}

impl Capacity {
    /// One that forgets to 1/e within these times, before anything is measured.
    pub fn new(fast_memory: Seconds, slow_memory: Seconds, limits: RateLimits) -> Self {
        Self {
            fast: ServiceRate::new(fast_memory),
            slow: ServiceRate::new(slow_memory),
            behind: false,
            measured: false,
            rate: ByteRate::from(limits.start).max(LEAST),
        }
    }

    /// Count an arrival, for which the link worked on so many bytes.
    pub fn read(&mut self, arrival: &Arrival, passed: DataSize) {
        self.fast.add(arrival, passed);
        self.slow.add(arrival, passed);
        self.behind |= !arrival.found_idle;
    }

    /// Update from the arrivals of the time `since`; frames leave an `interval` apart.
    pub fn update(&mut self, since: Seconds, interval: Seconds, small: SmallFrames, limits: RateLimits) {
        let measured = |rate: &ServiceRate| rate.rate(interval, small.max_stretch_ratio);
        match (measured(&self.fast), measured(&self.slow)) {
            (Some(fast), Some(slow)) if self.behind => {
                (self.rate, self.measured) = (fast.min(slow), true);
            }
            // Frames of one packet or two measure nothing.
            _ if self.rate < PACKET * MEASURING_PACKETS / interval => {
                self.rate *= 1.0 + small.growth * since.min(LONGEST_GROWTH);
            }
            _ => {}
        }
        self.behind = false;
        let most = ByteRate::from(limits.max) * OVER_MAX_RATIO;
        self.rate = self.rate.clamp(LEAST, most.max(LEAST));
    }

    /// For want of feedback.
    pub fn halve(&mut self) {
        self.rate = (self.rate * 0.5).max(LEAST);
    }

    /// The estimate.
    pub fn rate(&self) -> ByteRate {
        self.rate
    }

    /// The same, unless the link has just kept a single packet long.
    pub fn now(&self) -> ByteRate {
        self.fast.pending().unwrap_or(ByteRate::INFINITY).min(self.rate)
    }

    /// The rate at which single packets come out, which delay variation may make larger than the capacity.
    pub fn passing(&self) -> ByteRate {
        self.slow.passing().unwrap_or(ByteRate::ZERO).max(self.rate)
    }

    /// Whether it was ever measured.
    pub fn is_measured(&self) -> bool {
        self.measured
    }
}

/// A rate reduced to drain a `wait` within a time: a fifth at least, so that a call goes on.
pub fn draining_ratio(wait: Seconds, within: Seconds) -> f64 {
    1.0 - (wait / within).min(MOST_FOR_DRAINING)
}

/// As large as packets of video are; two of them show how far apart the link lets them go.
const PACKET: Bytes = Bytes::new(1_200.0);
const MEASURING_PACKETS: f64 = 2.0;
const LONGEST_GROWTH: Seconds = Seconds::from_millis(200.0);
/// A packet of audio now and then: below, nothing would ever be measured again.
const LEAST: ByteRate = ByteRate::new(500.0);
/// Room to see that the application's maximum has room above it.
const OVER_MAX_RATIO: f64 = 2.0;
const MOST_FOR_DRAINING: f64 = 0.8;

#[cfg(test)]
mod tests {
    use super::*;
    use legato_units::{DataRate, PeerTimestamp, TimeDelta, Timestamp};

    const LIMITS: RateLimits =
        RateLimits { min: DataRate::from_kbps(50), start: DataRate::from_kbps(80), max: DataRate::from_kbps(800) };
    const SMALL: SmallFrames = SmallFrames { max_stretch_ratio: 4.0, growth: PerSecond::new(1.5) };
    const FRAME: Seconds = Seconds::new(0.04);

    fn unmeasured() -> Capacity {
        Capacity::new(Seconds::new(0.15), Seconds::new(1.0), LIMITS)
    }

    fn frames(capacity: &mut Capacity, frames: std::ops::Range<i64>, packets: i64, apart_ms: i64) {
        for n in frames {
            for k in 0..packets {
                let came = TimeDelta::from_millis(40 * n + apart_ms * k);
                let arrival = Arrival {
                    departure: Timestamp::from_millis(40 * n),
                    arrival: PeerTimestamp::from_nanos(came.as_nanos()),
                    queuing: TimeDelta::from_millis(apart_ms * k),
                    service: TimeDelta::from_millis(apart_ms * i64::from(k > 0)),
                    found_idle: k == 0,
                };
                capacity.read(&arrival, DataSize::from_bytes(1_000));
            }
            capacity.update(FRAME, FRAME, SMALL, LIMITS);
        }
    }

    /// Five packets of 1,000 bytes, 10 ms apart: 100,000 bytes a second.
    #[test]
    fn a_burst_measures() {
        let mut capacity = unmeasured();
        assert!(!capacity.is_measured());
        frames(&mut capacity, 0..50, 5, 10);
        assert!(capacity.is_measured() && (capacity.rate().get() / 100e3 - 1.0).abs() < 0.01);
    }

    /// From 10,000 bytes a second by 6 % per frame of 40 ms, up to two packets a frame: 60,000.
    #[test]
    fn frames_that_measure_nothing_let_it_grow() {
        let mut capacity = unmeasured();
        frames(&mut capacity, 0..1, 1, 0);
        assert!((capacity.rate().get() - 10_600.0).abs() < 1e-6);
        frames(&mut capacity, 1..100, 1, 0);
        assert!((60e3..64e3).contains(&capacity.rate().get()), "{}", capacity.rate().get());
    }

    /// The maximum of 800 kbit/s is 100,000 bytes a second.
    #[test]
    fn it_stays_between_what_a_call_needs_and_twice_the_maximum() {
        let mut capacity = unmeasured();
        frames(&mut capacity, 0..50, 5, 1);
        assert!((capacity.rate().get() - 200e3).abs() < 1e-6);
        (0..40).for_each(|_| capacity.halve());
        assert!((capacity.rate().get() - 500.0).abs() < 1e-9);
    }

    /// A packet of 1,000 bytes that waited 100 ms came alone: 10,000 bytes a second, until the next one comes.
    #[test]
    fn a_packet_that_was_kept_long_bounds_this_moment() {
        let mut capacity = unmeasured();
        frames(&mut capacity, 0..50, 5, 10);
        let late = |waited_ms| Arrival {
            departure: Timestamp::from_millis(2_000),
            arrival: PeerTimestamp::from_nanos((2_000 + waited_ms) * 1_000_000),
            queuing: TimeDelta::from_millis(waited_ms),
            service: TimeDelta::from_millis(waited_ms),
            found_idle: waited_ms == 100,
        };
        let known = capacity.rate().get();
        capacity.read(&late(100), DataSize::from_bytes(1_000));
        assert!((capacity.now().get() - 10e3).abs() < 1e-6 && capacity.rate().get() == known);
        capacity.read(&late(101), DataSize::from_bytes(1_000));
        assert_eq!(capacity.now().get(), known);
    }

    #[test]
    fn draining_leaves_a_fifth() {
        assert!((draining_ratio(Seconds::new(0.03), Seconds::new(0.3)) - 0.9).abs() < 1e-12);
        assert!((draining_ratio(Seconds::new(3.0), Seconds::new(0.3)) - 0.2).abs() < 1e-12);
    }
}
