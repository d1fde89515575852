//! What the link passes: the lower of two memories of its service, so that a fall is believed within a frame or two and
//! a rise within a second or so.

use super::service_rate::ServiceRate;
use legato_control::RateLimits;
use legato_control::estimate::arrivals::Arrival;
use legato_units::DataSize;

/// In bytes a second, between the smallest rate that keeps a call and twice the application's maximum.
#[derive(Clone, Debug)]
pub struct Capacity {
    fast: ServiceRate,
    slow: ServiceRate,
    /// Any packet since the last update came behind others of ours: the link's rate shows.
    behind: bool,
    measured: bool,
    bytes_per_s: f64,
}

/// What is made of frames that are small.
#[derive(Clone, Copy, Debug)]
pub struct SmallFrames {
    /// A frame that is done early shows the capacity for one so many times as large.
    pub max_stretch_ratio: f64,
    /// Without a frame large enough to measure, the capacity grows by this ratio a second.
    pub growth_ratio: f64,
}

impl Capacity {
    /// One that forgets to 1/e within `fast_memory_ms` and `slow_memory_ms`, before anything is measured.
    pub fn new(fast_memory_ms: f64, slow_memory_ms: f64, limits: RateLimits) -> Self {
        Self {
            fast: ServiceRate::new(fast_memory_ms / 1e3),
            slow: ServiceRate::new(slow_memory_ms / 1e3),
            behind: false,
            measured: false,
            bytes_per_s: (limits.start.as_bps_f64() / 8.0).max(MIN_BYTES_PER_S),
        }
    }

    /// Count an arrival, for which the link worked on so many bytes.
    pub fn read(&mut self, arrival: &Arrival, passed: DataSize) {
        self.fast.add(arrival, passed);
        self.slow.add(arrival, passed);
        self.behind |= !arrival.found_idle;
    }

    /// Draw conclusions from what came in `since_s`; frames leave `interval_s` apart.
    pub fn update(&mut self, since_s: f64, interval_s: f64, small: SmallFrames, limits: RateLimits) {
        let measured = |rate: &ServiceRate| rate.bytes_per_s(interval_s, small.max_stretch_ratio);
        match (measured(&self.fast), measured(&self.slow)) {
            (Some(fast), Some(slow)) if self.behind => {
                (self.bytes_per_s, self.measured) = (fast.min(slow), true);
            }
            // Frames of one packet or two measure nothing.
            _ if self.bytes_per_s < MEASURING_PACKETS * PACKET_BYTES / interval_s => {
                self.bytes_per_s *= 1.0 + small.growth_ratio * since_s.min(LONGEST_GROWTH_S);
            }
            _ => {}
        }
        self.behind = false;
        let most = OVER_MAX_RATIO * limits.max.as_bps_f64() / 8.0;
        self.bytes_per_s = self.bytes_per_s.clamp(MIN_BYTES_PER_S, most.max(MIN_BYTES_PER_S));
    }

    /// For want of feedback.
    pub fn halve(&mut self) {
        self.bytes_per_s = (0.5 * self.bytes_per_s).max(MIN_BYTES_PER_S);
    }

    /// As it is known.
    pub fn bytes_per_s(&self) -> f64 {
        self.bytes_per_s
    }

    /// The same, unless the link has just kept a single packet long.
    pub fn now_bytes_per_s(&self) -> f64 {
        self.fast.pending_bytes_per_s().unwrap_or(f64::INFINITY).min(self.bytes_per_s)
    }

    /// The rate at which single packets come out, which delay variation may make larger than the capacity.
    pub fn passing_bytes_per_s(&self) -> f64 {
        self.slow.passing_bytes_per_s().unwrap_or(0.0).max(self.bytes_per_s)
    }

    /// Whether it was ever measured.
    pub fn is_measured(&self) -> bool {
        self.measured
    }
}

/// What is left of a rate where `wait_s` shall be drained within `drain_ms`: a fifth at least, so that a call goes on.
pub fn draining_ratio(wait_s: f64, drain_ms: f64) -> f64 {
    1.0 - (wait_s / (drain_ms / 1e3)).min(MOST_FOR_DRAINING)
}

/// As large as packets of video are; two of them show how far apart the link lets them go.
const PACKET_BYTES: f64 = 1_200.0;
const MEASURING_PACKETS: f64 = 2.0;
const LONGEST_GROWTH_S: f64 = 0.2;
/// A packet of audio now and then: below, nothing would ever be measured again.
const MIN_BYTES_PER_S: f64 = 500.0;
/// Room to see that the application's maximum has room above it.
const OVER_MAX_RATIO: f64 = 2.0;
const MOST_FOR_DRAINING: f64 = 0.8;

#[cfg(test)]
mod tests {
    use super::*;
    use legato_units::{DataRate, PeerTimestamp, TimeDelta, Timestamp};

    const LIMITS: RateLimits =
        RateLimits { min: DataRate::from_kbps(50), start: DataRate::from_kbps(80), max: DataRate::from_kbps(800) };
    const SMALL: SmallFrames = SmallFrames { max_stretch_ratio: 4.0, growth_ratio: 1.5 };
    const FRAME_S: f64 = 0.04;

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
            capacity.update(FRAME_S, FRAME_S, SMALL, LIMITS);
        }
    }

    /// Five packets of 1,000 bytes, 10 ms apart: 100,000 bytes a second.
    #[test]
    fn a_burst_measures() {
        let mut capacity = Capacity::new(150.0, 1_000.0, LIMITS);
        assert!(!capacity.is_measured());
        frames(&mut capacity, 0..50, 5, 10);
        assert!(capacity.is_measured() && (capacity.bytes_per_s() / 100e3 - 1.0).abs() < 0.01);
    }

    /// From 10,000 bytes a second by 6 % per frame of 40 ms, up to two packets a frame: 60,000.
    #[test]
    fn frames_that_measure_nothing_let_it_grow() {
        let mut capacity = Capacity::new(150.0, 1_000.0, LIMITS);
        frames(&mut capacity, 0..1, 1, 0);
        assert!((capacity.bytes_per_s() - 10_600.0).abs() < 1e-6);
        frames(&mut capacity, 1..100, 1, 0);
        assert!((60e3..64e3).contains(&capacity.bytes_per_s()), "{}", capacity.bytes_per_s());
    }

    /// The maximum of 800 kbit/s is 100,000 bytes a second.
    #[test]
    fn it_stays_between_what_a_call_needs_and_twice_the_maximum() {
        let mut capacity = Capacity::new(150.0, 1_000.0, LIMITS);
        frames(&mut capacity, 0..50, 5, 1);
        assert!((capacity.bytes_per_s() - 200e3).abs() < 1e-6);
        (0..40).for_each(|_| capacity.halve());
        assert!((capacity.bytes_per_s() - 500.0).abs() < 1e-9);
    }

    /// A packet of 1,000 bytes that waited 100 ms came alone: 10,000 bytes a second, until the next one comes.
    #[test]
    fn a_packet_that_was_kept_long_bounds_this_moment() {
        let mut capacity = Capacity::new(150.0, 1_000.0, LIMITS);
        frames(&mut capacity, 0..50, 5, 10);
        let late = |waited_ms| Arrival {
            departure: Timestamp::from_millis(2_000),
            arrival: PeerTimestamp::from_nanos((2_000 + waited_ms) * 1_000_000),
            queuing: TimeDelta::from_millis(waited_ms),
            service: TimeDelta::from_millis(waited_ms),
            found_idle: waited_ms == 100,
        };
        let known = capacity.bytes_per_s();
        capacity.read(&late(100), DataSize::from_bytes(1_000));
        assert!((capacity.now_bytes_per_s() - 10e3).abs() < 1e-6 && capacity.bytes_per_s() == known);
        capacity.read(&late(101), DataSize::from_bytes(1_000));
        assert_eq!(capacity.now_bytes_per_s(), known);
    }

    #[test]
    fn draining_leaves_a_fifth() {
        assert!((draining_ratio(0.03, 300.0) - 0.9).abs() < 1e-12);
        assert!((draining_ratio(3.0, 300.0) - 0.2).abs() < 1e-12);
    }
}
