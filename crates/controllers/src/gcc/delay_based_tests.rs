//! The behaviours that libwebrtc's own tests require of the delay-based estimator [libwebrtc-m150]:
//! a stream of frames, all of whose packets leave at once, over a link of a given capacity.

use super::*;
use crate::gcc::probe_estimator::ProbeEstimator;
use legato_control::estimate::robust_throughput::RobustThroughput;
use legato_control::{Fate, PacketKind, PacketReport, ProbeCluster};

/// The estimators that feedback passes through, and one flow over one link.
struct Flow {
    delay_based: DelayBased,
    acknowledged: RobustThroughput,
    probes: ProbeEstimator,
    /// At the receiver, microseconds.
    now_us: i64,
    next_frame_us: i64,
    link_free_us: i64,
    capacity_kbps: i64,
    fps: i64,
    peer_offset_ms: i64,
    estimate: DataRate,
    updated: bool,
    first: bool,
}

const SEND_OFFSET_US: i64 = 1_000_000;
const MTU: i64 = 1_200;

impl Flow {
    fn new(fps: i64) -> Self {
        let mut probes = ProbeEstimator::default();
        for (id, min_packets, bytes) in [(0, 5, 2_000), (1, 8, 4_000), (2, 5, 5_000)] {
            let min_duration = TimeDelta::from_millis(10);
            let target_rate = DataSize::from_bytes(bytes) / min_duration;
            probes.on_issued(&ProbeCluster { id, target_rate, min_duration, min_packets, min_delta: TimeDelta::ZERO });
        }
        Self {
            delay_based: DelayBased::new(AimdConfig::default(), Trendline::default(), DataRate::from_kbps(5)),
            acknowledged: RobustThroughput::default(),
            probes,
            now_us: 100_000_000,
            next_frame_us: 0,
            link_free_us: 100_000_000,
            capacity_kbps: 1_000,
            fps,
            peer_offset_ms: 0,
            estimate: DataRate::ZERO,
            updated: false,
            first: true,
        }
    }

    /// Feedback for packets (sent, arrived, bytes), in microseconds, at `now_us`.
    fn feed_back(&mut self, packets: &[(i64, i64, i64)], probe: Option<u32>) {
        let now = Timestamp::from_nanos(self.now_us * 1_000);
        self.delay_based.begin_feedback(now);
        for &(sent_us, arrived_us, bytes) in packets {
            let departure = Timestamp::from_nanos(sent_us * 1_000);
            let arrival = PeerTimestamp::from_nanos((arrived_us + self.peer_offset_ms * 1_000) * 1_000);
            let size = DataSize::from_bytes(bytes as u64);
            self.acknowledged.on_packet(departure, arrival, size);
            self.probes.on_packet(&PacketReport {
                transport_seq: 0,
                ssrc: 0,
                size,
                departure,
                fate: Fate::Arrived(Some(arrival)),
                ce: false,
                kind: PacketKind::Video,
                probe_cluster: probe,
                place: None,
            });
            self.delay_based.on_packet(departure, arrival, now, size);
        }
        self.acknowledged.trim();
        let update = self.delay_based.end_feedback(self.acknowledged.rate(), self.probes.take(), false, now);
        if let Some(estimate) = update.estimate {
            self.estimate = estimate;
            self.updated = true;
        }
    }

    /// One packet that left at `sent_us` arrives now.
    fn arrive(&mut self, sent_us: i64, bytes: i64, probe: Option<u32>) {
        self.feed_back(&[(sent_us, self.now_us, bytes)], probe);
    }

    /// A frame of the stream at `rate`, reported once its last packet has arrived. Returns over-use:
    /// the estimate came out below the rate.
    fn frame(&mut self, rate: DataRate) -> bool {
        let sent_us = self.now_us;
        let frame_bits = (rate.as_bps() as i64 + self.fps / 2) / self.fps;
        let count = ((frame_bits + 4 * MTU) / (8 * MTU)).max(1);
        let bytes = (frame_bits + 4 * count) / (8 * count);
        let mut packets = Vec::new();
        for _ in 0..count {
            let on_link_us = (8_000 * bytes + self.capacity_kbps / 2) / self.capacity_kbps;
            self.link_free_us = self.link_free_us.max(sent_us) + on_link_us;
            packets.push((sent_us + SEND_OFFSET_US, self.link_free_us, bytes));
        }
        self.next_frame_us = sent_us + (1_000_000 + self.fps / 2) / self.fps;
        self.now_us = self.link_free_us;
        self.updated = false;
        self.feed_back(&packets, None);
        self.now_us = self.next_frame_us;
        let overuse = self.updated && !self.first && self.estimate < rate;
        self.first &= !self.updated;
        overuse
    }

    /// The rate of the next frame.
    fn follow(&self, rate: DataRate) -> DataRate {
        if self.updated { self.estimate } else { rate }
    }
}

fn kbps(kbps: u64) -> DataRate {
    DataRate::from_kbps(kbps)
}

/// Ten seconds on a megabit, then half of it: how long until the estimate is at most that.
fn drop_time_ms(peer_offset_ms: i64) -> i64 {
    let mut flow = Flow::new(30);
    let mut rate = kbps(900);
    let mut seen = false;
    for _ in 0..300 {
        let overuse = flow.frame(rate);
        if overuse {
            assert!(flow.estimate > kbps(800) && flow.estimate < kbps(1_100), "{}", flow.estimate);
            seen = true;
        }
        rate = flow.follow(rate);
        if seen && rate > kbps(1_000) {
            break;
        }
    }
    assert!(seen && rate.as_bps().abs_diff(1_000_000) <= 180_000, "{rate}");
    flow.peer_offset_ms = peer_offset_ms;
    flow.capacity_kbps = 500;
    let start_ms = flow.now_us / 1_000;
    let mut dropped_ms = None;
    for _ in 0..100 {
        flow.frame(rate);
        if flow.estimate <= kbps(500) {
            dropped_ms.get_or_insert(flow.now_us / 1_000);
        }
        rate = flow.follow(rate);
    }
    dropped_ms.expect("the estimate falls with the capacity") - start_ms
}

#[track_caller]
fn assert_near(actual: i64, expected: i64, tolerance: i64) {
    assert!((actual - expected).abs() <= tolerance, "{actual} is not {expected} ± {tolerance}");
}

#[test]
fn half_the_capacity_is_followed_within_500_ms() {
    assert_near(drop_time_ms(0), 500, 34);
}

#[test]
fn a_peers_clock_that_jumps_by_thirty_seconds_costs_under_half_a_second() {
    assert_near(drop_time_ms(30_000), 867, 34);
    assert_near(drop_time_ms(-30_000), 933, 34);
}

/// MTU packets at 50 fps for five seconds, the first five of them a probe.
fn steady_480() -> Flow {
    let mut flow = Flow::new(50);
    let mut sent_us = 0;
    for n in 0..=250 {
        flow.arrive(sent_us, MTU, (n < 5).then_some(2));
        if n < 3 {
            assert!(!flow.updated, "no estimate before four fifths of the probe are in");
        }
        flow.now_us += 20_000;
        sent_us += 20_000;
    }
    flow
}

#[test]
fn an_initial_probe_gives_an_estimate_that_grows_to_one_and_a_half_times_the_rate() {
    // 480 kbit/s are delivered: 1.5 · 480 + 10.
    assert_near(steady_480().estimate.as_bps() as i64, 730_000, 50_000);
}

#[test]
fn reordering_does_not_change_the_estimate() {
    let mut flow = steady_480();
    let mut sent_us = 251 * 20_000;
    for _ in 0..10 {
        flow.now_us += 40_000;
        sent_us += 40_000;
        flow.arrive(sent_us, 1_000, None);
        flow.arrive(sent_us - 20_000, 1_000, None);
    }
    assert_near(flow.estimate.as_bps() as i64, 730_000, 50_000);
}

#[test]
fn from_30_kilobits_a_stream_reaches_500_in_617_frames() {
    let mut flow = Flow::new(30);
    let mut rate = kbps(30);
    let mut frames = 0;
    while rate < kbps(500) {
        flow.frame(rate);
        rate = flow.follow(rate);
        frames += 1;
        assert!(frames < 2_000);
    }
    assert_eq!(frames, 617);
}

#[test]
fn probes_of_800_and_1600_kilobits_are_accepted() {
    let mut flow = Flow::new(30);
    for _ in 0..5 {
        flow.now_us += 10_000;
        flow.arrive(flow.now_us, 1_000, Some(0));
    }
    assert!(flow.updated);
    for _ in 0..8 {
        flow.now_us += 5_000;
        flow.arrive(flow.now_us, 1_000, Some(1));
    }
    assert!(flow.estimate > kbps(1_500), "{}", flow.estimate);
}

#[test]
fn packets_between_those_of_a_probe_do_not_spoil_it() {
    let mut flow = Flow::new(30);
    for _ in 0..5 {
        flow.now_us += 5_000;
        flow.arrive(flow.now_us, 1_000, Some(0));
        flow.now_us += 5_000;
        flow.arrive(flow.now_us, 100, None);
    }
    assert!(flow.updated && flow.estimate >= kbps(800), "{}", flow.estimate);
}

/// Thousand-byte packets of cluster `id` that leave and arrive at these intervals.
fn probe(id: u32, packets: i64, sent_every_us: i64, arrive_every_us: i64) -> Option<DataRate> {
    let mut flow = Flow::new(30);
    for n in 1..=packets {
        flow.now_us += arrive_every_us;
        flow.arrive(n * sent_every_us, 1_000, Some(id));
    }
    flow.updated.then_some(flow.estimate)
}

#[test]
fn a_probe_that_arrives_ten_times_as_fast_is_refused() {
    assert_eq!(probe(0, 5, 10_000, 1_000), None);
}

#[test]
fn a_probe_that_arrives_slower_gives_095_of_its_arrival_rate() {
    let at_1142 = probe(1, 8, 5_000, 7_000).unwrap().as_bps() as i64;
    assert_near(at_1142, 1_083_000, 10_000);
    let at_4000 = probe(1, 8, 1_000, 2_000).unwrap().as_bps() as i64;
    assert_near(at_4000, 3_800_000, 10_000);
}

#[test]
fn over_use_right_at_the_start_is_detected_within_forty_frames() {
    let mut flow = Flow::new(90);
    flow.capacity_kbps = 200;
    flow.delay_based.set_bitrates(kbps(300), kbps(5));
    let mut rate = kbps(300);
    let overuse = (0..40).any(|_| {
        let overuse = flow.frame(rate);
        rate = flow.follow(rate);
        overuse
    });
    assert!(overuse);
    assert!(flow.estimate > kbps(160) && flow.estimate <= kbps(200), "{}", flow.estimate);
}

#[test]
fn packets_sent_within_a_group_show_a_queue_between_groups() {
    let mut flow = Flow::new(50);
    let mut sent_us = 0;
    for n in 0..=300 {
        flow.arrive(sent_us, 1_000, (n < 5).then_some(2));
        flow.now_us += 20_000;
        sent_us += 20_000;
    }
    assert!(flow.estimate >= kbps(400), "{}", flow.estimate);
    // Fifteen packets a millisecond apart and a pause of 5 ms, which arrives as one of 10.
    for _ in 0..100 {
        for _ in 0..15 {
            flow.arrive(sent_us, 100, None);
            flow.now_us += 1_000;
            sent_us += 1_000;
        }
        flow.now_us += 10_000;
        sent_us += 5_000;
    }
    assert!(flow.estimate < kbps(400), "{}", flow.estimate);
}

#[test]
fn submillisecond_timestamps_never_lower_the_estimate() {
    let mut flow = Flow::new(30);
    flow.delay_based.set_bitrates(kbps(300), kbps(5));
    let mut last = DataRate::ZERO;
    // Groups of ten packets 150 µs apart, every 33.35 ms, as they were sent.
    for _ in 0..1_000 {
        for packet in 0..10 {
            flow.arrive(flow.now_us, 200, None);
            flow.now_us += if packet == 9 { 32_000 } else { 150 };
        }
        assert!(flow.estimate >= last);
        last = flow.estimate;
    }
}

#[test]
fn two_seconds_without_feedback_start_the_line_over() {
    let mut flow = steady_480();
    assert!(flow.delay_based.trendline().threshold_ms() < 12.5);
    flow.now_us += 2_100_000;
    flow.arrive(10_000_000, 1_000, None);
    assert_eq!(flow.delay_based.trendline().threshold_ms(), 12.5);
}
