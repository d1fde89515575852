//! The behaviours that libwebrtc's own tests require of filter and detector [libwebrtc-overuse-estimator].

use super::*;
use crate::estimate::arrival_groups::ArrivalGroups;
use crate::estimate::overuse::{OveruseConfig, OveruseDetector};
use legato_units::{DataSize, PeerTimestamp, TimeDelta, Timestamp};

/// Frames of packets of 1,200 bytes, all of a frame leaving and arriving together; times in whole milliseconds.
struct Frames {
    packets: u32,
    period_ms: i64,
    deviation_ms: f64,
    sent_ms: i64,
    due_ms: i64,
    received_ms: i64,
    random: u64,
    groups: ArrivalGroups,
    filter: DelayFilter,
    detector: OveruseDetector,
}

impl Frames {
    fn new(packets: u32, period_ms: i64, deviation_ms: f64) -> Self {
        Self {
            packets,
            period_ms,
            deviation_ms,
            sent_ms: 10,
            due_ms: 0,
            received_ms: 0,
            random: 123_456_789,
            groups: ArrivalGroups::default(),
            filter: DelayFilter::default(),
            detector: OveruseDetector::new(OveruseConfig::default()),
        }
    }

    /// The sum of twelve uniform numbers has a deviation of one.
    fn gaussian(&mut self) -> f64 {
        let mut uniform = || {
            self.random = self.random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (self.random >> 11) as f64 / (1_u64 << 53) as f64
        };
        (0..12).map(|_| uniform()).sum::<f64>() - 6.0
    }

    /// One frame, `drift_ms` later than the one before; the verdict after it.
    fn frame(&mut self, drift_ms: i64) -> BandwidthUsage {
        for _ in 0..self.packets {
            let (sent, now) = (Timestamp::from_millis(self.sent_ms), Timestamp::from_millis(self.received_ms));
            let arrival = PeerTimestamp::from_nanos(now.as_nanos());
            if let Some(delta) = self.groups.on_packet(sent, arrival, now, DataSize::from_bytes(1_200)) {
                self.filter.update(&delta, self.detector.usage());
                let signal_ms = self.detector.scale(self.filter.deltas()) * self.filter.offset_ms();
                self.detector.detect(signal_ms, self.filter.has_risen(), delta.departure, arrival);
            }
        }
        self.sent_ms += self.period_ms;
        self.due_ms += self.period_ms + drift_ms;
        let late_ms = (self.gaussian() * self.deviation_ms + 0.5) as i64;
        self.received_ms = self.received_ms.max(self.due_ms + late_ms);
        self.detector.usage()
    }

    fn false_alarms(&mut self, frames: u32) -> usize {
        (0..frames).filter(|_| self.frame(0) == BandwidthUsage::Overusing).count()
    }

    fn frames_until_over_use(&mut self, drift_ms: i64) -> usize {
        1 + (0..1_000).position(|_| self.frame(drift_ms) == BandwidthUsage::Overusing).expect("over-use is found")
    }
}

/// 2 Mbit/s in 30 frames a second and 100 kbit/s in 10: libwebrtc's tests expect seven frames of both.
#[test]
fn on_a_calm_path_one_millisecond_a_frame_is_found_after_seven_frames() {
    for (packets, period_ms) in [(6, 33), (1, 100)] {
        let mut frames = Frames::new(packets, period_ms, 0.0);
        assert_eq!(frames.false_alarms(100_000), 0);
        assert_eq!(frames.frames_until_over_use(1), 7, "{packets} packets every {period_ms} ms");
    }
}

/// With deviations of 3 and 10 ms libwebrtc's tests expect 20 and 44 frames of its random numbers.
#[test]
fn noise_raises_no_alarm_and_delays_the_verdict() {
    for (deviation_ms, expected) in [(3.0, 12..30), (10.0, 25..70)] {
        let mut frames = Frames::new(1, 100, deviation_ms);
        assert_eq!(frames.false_alarms(100_000), 0, "{deviation_ms} ms");
        let found = frames.frames_until_over_use(1);
        assert!(expected.contains(&found), "{found} frames with {deviation_ms} ms");
    }
}

/// Whatever the noise, libwebrtc's tests expect four frames.
#[test]
fn a_tenth_of_a_second_a_frame_is_found_after_four() {
    for deviation_ms in [3.0, 10.0] {
        let mut frames = Frames::new(1, 333, deviation_ms);
        frames.false_alarms(10_000);
        assert_eq!(frames.frames_until_over_use(100), 4, "{deviation_ms} ms");
    }
}

#[test]
fn arrivals_five_milliseconds_early_and_late_in_turn_are_no_over_use() {
    let mut frames = Frames::new(1, 10, 0.0);
    for n in 0..1_000 {
        assert_eq!(frames.frame(if n % 2 == 0 { 5 } else { -5 }), BandwidthUsage::Normal, "frame {n}");
    }
}

/// One step by hand: a group 2 ms late of the same size, from the initial state.
/// [draft-ietf-rmcat-gcc-02] §5.3: e = 0.1 + 0.001; var = 0.99 · 50 + 0.01 · (0.02 − 2)² at 30 groups a second.
#[test]
fn one_step_by_hand() {
    let mut filter = DelayFilter::default();
    let departure = TimeDelta::from_nanos(33_333_333);
    let delta = GroupDelta { departure, arrival: departure + TimeDelta::from_millis(2), size_bytes: 0 };
    filter.update(&delta, BandwidthUsage::Normal);
    let variance = 0.99 * 50.0 + 0.01 * (0.02_f64 - 2.0) * (0.02 - 2.0);
    assert!((filter.noise_variance() - variance).abs() < 1e-6, "{}", filter.noise_variance());
    assert!((filter.offset_ms() - 2.0 * 0.101 / (variance + 0.101)).abs() < 1e-9, "{}", filter.offset_ms());
    assert!(filter.has_risen() && filter.deltas() == 1);
}
