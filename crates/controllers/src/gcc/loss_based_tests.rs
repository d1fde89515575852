//! The behaviours that libwebrtc's own tests require of LossBasedBweV2 [libwebrtc-m150], with
//! packets of 15,000 bytes at both ends of each observation of 250 ms.

use super::*;
use LossState::{Decreasing, DelayBased, Increasing, IncreasingWithPadding};
use legato_control::{Fate, PacketKind};
use legato_units::{DataSize, PeerTimestamp};

struct Path {
    loss: LossBased,
    seq: u64,
    observation: i64,
    delay_based: Option<DataRate>,
    in_alr: bool,
}

/// Two observations at most, one suffices: the fixture's configuration, otherwise the defaults.
fn short() -> LossConfig {
    LossConfig { observations: 2, min_observations: 1, ..LossConfig::default() }
}

fn kbps(kbps: u64) -> DataRate {
    DataRate::from_kbps(kbps)
}

impl Path {
    /// Starts with an estimate, as if the delay-based one had been adopted.
    fn new(config: LossConfig, estimate: DataRate) -> Self {
        let mut loss = LossBased::new(config);
        loss.best = Some(estimate);
        loss.estimate = estimate;
        Self { loss, seq: 0, observation: 0, delay_based: None, in_alr: false }
    }

    fn bounded(mut self, min: DataRate, max: DataRate) -> Self {
        self.loss.set_bounds(min, max);
        self
    }

    /// One observation of packets (ms since its start, bytes, arrived).
    fn observe(&mut self, packets: &[(i64, u64, bool)]) -> (DataRate, LossState) {
        let start_ms = self.observation * 250;
        self.observation += 1;
        self.feed(start_ms, packets)
    }

    fn feed(&mut self, start_ms: i64, packets: &[(i64, u64, bool)]) -> (DataRate, LossState) {
        let reports: PacketReports = packets
            .iter()
            .map(|&(ms, bytes, arrived)| {
                self.seq += 1;
                report(self.seq, start_ms + ms, bytes, arrived)
            })
            .collect();
        self.loss.update(&Feedback::of(&reports), self.delay_based, self.in_alr);
        (self.loss.estimate().unwrap_or(DataRate::MAX), self.loss.state())
    }

    fn all_arrive(&mut self) -> (DataRate, LossState) {
        self.observe(&[(0, PACKET, true), (250, PACKET, true)])
    }

    fn half_is_lost(&mut self) -> (DataRate, LossState) {
        self.observe(&[(0, PACKET, true), (250, PACKET, false)])
    }

    fn all_is_lost(&mut self) -> (DataRate, LossState) {
        self.observe(&[(0, PACKET, false), (250, PACKET, false)])
    }

    /// Ten packets 250 ms apart, the last one lost.
    fn a_tenth_is_lost(&mut self, lost_bytes: u64) -> (DataRate, LossState) {
        let mut packets: Vec<_> = (0..10).map(|n| (n * 250, PACKET, true)).collect();
        packets[9] = (9 * 250, lost_bytes, false);
        self.observe(&packets)
    }
}

const PACKET: u64 = 15_000;

fn report(seq: u64, sent_ms: i64, bytes: u64, arrived: bool) -> PacketReport {
    let arrival = PeerTimestamp::from_nanos((sent_ms + 10) * 1_000_000);
    PacketReport {
        transport_seq: seq,
        ssrc: 1,
        size: DataSize::from_bytes(bytes),
        departure: Timestamp::from_millis(sent_ms),
        fate: if arrived { Fate::Arrived(Some(arrival)) } else { Fate::Missing },
        ce: false,
        kind: PacketKind::Video,
        probe_cluster: None,
        place: None,
    }
}

/// [libwebrtc-m150] upper bound: 100 kbit/s over the loss beyond 5 %, worked by hand. At 50 % that
/// is 222 kbit/s, although a comment in the source says 450.
#[test]
fn the_upper_bound_is_the_balance_over_the_excess_of_loss() {
    let mut loss = LossBased::new(LossConfig::default());
    loss.set_bounds(kbps(10), kbps(9_000));
    for (ratio, bps) in [(0.1, 2_000_000), (0.2, 666_667), (0.3, 400_000), (0.5, 222_222), (1.0, 105_263)] {
        loss.average_loss = ratio;
        assert_eq!(loss.upper_bound(), DataRate::from_bps(bps), "{ratio}");
    }
    loss.average_loss = 0.05;
    assert_eq!(loss.upper_bound(), kbps(9_000));
}

/// [libwebrtc-m150] upper bound of the inherent loss: 0.05 + 100 kbit/s over the bandwidth.
#[test]
fn the_inherent_loss_is_bounded_by_the_bandwidth() {
    let loss = LossBased::new(LossConfig::default());
    let maximum = |rate| loss.feasible(Channel { inherent_loss: 1.0, bandwidth: kbps(rate) });
    for (rate, expected) in [(100, 1.0), (500, 0.25), (1_000, 0.15), (3_000, 0.0833333)] {
        assert!((maximum(rate) - expected).abs() < 1e-6, "{rate} kbit/s: {}", maximum(rate));
    }
    assert_eq!(maximum(0), 1.0);
    assert_eq!(loss.feasible(Channel { inherent_loss: 0.0, bandwidth: kbps(500) }), 1e-3);
}

#[test]
fn without_a_first_estimate_or_enough_observations_it_is_not_ready() {
    let mut loss = LossBased::new(short());
    let reports = [report(1, 0, PACKET, true), report(2, 250, PACKET, true)];
    loss.update(&Feedback::of(&reports.into_iter().collect()), None, false);
    assert!(!loss.is_ready() && loss.estimate().is_none());
    let mut path = Path::new(LossConfig::default(), kbps(600));
    path.delay_based = Some(kbps(700));
    for _ in 0..2 {
        assert_eq!(path.all_arrive().0, kbps(700), "the delay-based estimate stands in");
        assert!(!path.loss.is_ready());
    }
    path.all_arrive();
    assert!(path.loss.is_ready());
}

#[test]
fn less_than_250_ms_is_not_an_observation() {
    let mut path = Path::new(short(), kbps(600));
    path.feed(0, &[(0, PACKET, false), (249, PACKET, false)]);
    assert!(!path.loss.is_ready());
    let (estimate, _) = path.feed(250, &[(0, PACKET, false)]);
    assert!(path.loss.is_ready() && estimate < kbps(600));
}

#[test]
fn without_loss_it_is_the_delay_based_estimate() {
    let mut path = Path::new(short(), kbps(600));
    path.delay_based = Some(kbps(5_000));
    assert_eq!(path.all_arrive(), (kbps(5_000), DelayBased));
}

#[test]
fn when_all_is_lost_it_backs_off_to_the_delivered_rate() {
    let mut path = Path::new(short(), kbps(600)).bounded(kbps(10), kbps(1_000_000));
    path.delay_based = Some(kbps(5_000));
    path.loss.set_acknowledged(kbps(100));
    assert!(path.all_is_lost().0 <= kbps(100));
}

#[test]
fn an_application_limited_sender_does_not_back_off_to_its_sending_rate() {
    let mut path = Path::new(short(), kbps(600)).bounded(kbps(10), kbps(1_000_000));
    path.delay_based = Some(kbps(5_000));
    path.in_alr = true;
    path.loss.set_acknowledged(kbps(100));
    let (estimate, _) = path.all_is_lost();
    assert!(estimate > kbps(100) && estimate < kbps(600), "{estimate}");
}

/// With the fixture of those tests: other candidates, steps, bounds and weights.
#[test]
fn half_and_then_all_lost_ends_at_or_below_the_delivered_rate() {
    let config = LossConfig {
        candidate_ratios: [1.1, 1.0, 0.95],
        bandwidth_bias: 0.01,
        max_inherent_loss_balance_bps: 14_000,
        max_inherent_loss_offset_ratio: 0.9,
        newton_iterations: 2,
        newton_step: 0.4,
        upper_bound_balance_bps: 90_000,
        upper_bound_loss_offset_ratio: 0.1,
        average_temporal_weight: 0.97,
        temporal_weight: 0.98,
        min_observations: 1,
        max_increase_ratio: 1.5,
        ramp_up_ratio: 1.2,
        ..LossConfig::default()
    };
    let mut path = Path::new(config, kbps(600));
    path.loss.set_acknowledged(kbps(300));
    path.half_is_lost();
    path.observation += 1;
    assert!(path.all_is_lost().0 <= kbps(300));
}

#[test]
fn one_lost_observation_of_five_is_a_spike_and_a_second_is_not() {
    let mut path = Path::new(LossConfig { observations: 5, ..short() }, kbps(500));
    path.delay_based = Some(kbps(500));
    for _ in 0..5 {
        path.all_arrive();
    }
    path.all_is_lost();
    assert_eq!(path.all_arrive(), (kbps(500), DelayBased));
    let (estimate, state) = path.all_is_lost();
    assert!(estimate < kbps(500) && state == Decreasing, "{estimate} {state:?}");
}

#[test]
fn a_lossy_observation_at_twice_the_median_rate_is_not_a_spike() {
    let mut path = Path::new(LossConfig { observations: 5, ..short() }, kbps(500));
    path.delay_based = Some(kbps(500));
    for _ in 0..5 {
        path.all_arrive();
    }
    let burst =
        [(0, PACKET, false), (10, PACKET, false), (20, PACKET, false), (30, PACKET, false), (250, PACKET, false)];
    let (estimate, state) = path.observe(&burst);
    assert!(estimate <= kbps(500) && state == Decreasing, "{estimate} {state:?}");
}

#[test]
fn a_tenth_of_the_packets_with_most_of_the_bytes_counts_by_bytes() {
    let mut path = Path::new(short(), kbps(500));
    let (estimate, state) = path.a_tenth_is_lost(20 * PACKET);
    assert!(estimate < kbps(160) && state == Decreasing, "{estimate} {state:?}");
}

#[test]
fn a_balance_of_ten_kilobits_bounds_ten_percent_of_loss_at_200() {
    let config =
        LossConfig { candidate_ratios: [1.0; 3], upper_bound_balance_bps: 10_000, lower_bound_ratio: 0.0, ..short() };
    let mut path = Path::new(config, kbps(500)).bounded(kbps(10), kbps(1_000_000));
    path.loss.set_acknowledged(kbps(500));
    // 10 kbit/s / (0.1 − 0.05).
    assert_eq!(path.a_tenth_is_lost(PACKET), (kbps(200), Decreasing));
}

#[test]
fn the_estimate_is_never_above_the_bound() {
    let mut path = Path::new(short(), kbps(1_000)).bounded(kbps(10), kbps(1_000));
    for _ in 0..5 {
        assert!(path.all_arrive().0 <= kbps(1_000));
    }
}

#[test]
fn the_estimate_is_never_below_the_delivered_rate() {
    let mut path = Path::new(short(), kbps(2_500));
    assert!(path.all_is_lost().0 < kbps(1_000));
    path.loss.set_acknowledged(kbps(1_000));
    assert_eq!(path.all_is_lost().0, kbps(1_000));
    path.all_arrive();
    path.all_arrive();
    assert!(path.all_arrive().0 > kbps(1_000), "and it recovers from there");
}

/// After a decrease, at most 1.2 times the delivered rate while that is near the rate of the hold.
#[test]
fn in_a_hold_the_estimate_ramps_to_12_times_the_delivered_rate() {
    let config = LossConfig {
        bias_loss_threshold_ratio: 0.99,
        upper_bound_balance_bps: 10_000_000,
        lower_bound_ratio: 0.0,
        ..short()
    };
    let mut path = Path::new(config, kbps(600));
    path.delay_based = Some(kbps(5_000));
    path.loss.set_acknowledged(kbps(300));
    let (fallen, state) = path.all_is_lost();
    assert_eq!((fallen, state), (kbps(300), Decreasing));
    path.loss.set_acknowledged(fallen.scale(0.9));
    let mut result = path.all_arrive();
    for _ in 0..4 {
        if result.1 != IncreasingWithPadding {
            result = path.all_arrive();
        }
    }
    assert_eq!(result, (fallen.scale(0.9 * 1.2), IncreasingWithPadding));
    // And it does not fall with the delivered rate while nothing is lost.
    assert_eq!(path.all_arrive().0, result.0);
}

#[test]
fn a_rise_that_bounds_prevent_is_still_one_bit_a_second() {
    let config = LossConfig {
        bias_loss_threshold_ratio: 0.99,
        upper_bound_balance_bps: 10_000_000,
        lower_bound_ratio: 0.0,
        hold_ratio: 0.0,
        padding_ms: 0,
        ..short()
    };
    let mut path = Path::new(config, kbps(600));
    path.delay_based = Some(kbps(5_000));
    path.loss.set_acknowledged(kbps(300));
    let (fallen, _) = path.all_is_lost();
    path.loss.set_acknowledged(fallen.scale(0.5));
    let mut result = path.all_arrive();
    for _ in 0..4 {
        if result.1 != Increasing {
            result = path.all_arrive();
        }
    }
    assert_eq!(result, (fallen + DataRate::from_bps(1), Increasing));
}

#[test]
fn a_hold_lasts_300_ms_and_ten_times_that_the_next_time() {
    let mut path = Path::new(LossConfig { hold_ratio: 10.0, ..short() }, kbps(2_500));
    let (fallen, state) = path.half_is_lost();
    assert_eq!(state, Decreasing);
    assert_eq!(path.all_arrive(), (fallen, Decreasing), "250 ms on: held");
    let (risen, state) = path.all_arrive();
    assert!(risen >= fallen && state == IncreasingWithPadding, "{risen} {state:?}");
    assert_eq!(path.loss.hold.duration, TimeDelta::from_secs(3));
}

#[test]
fn the_rate_of_a_hold_is_not_below_the_delivered_rate() {
    let mut path = Path::new(LossConfig { hold_ratio: 10.0, ..short() }, kbps(2_500));
    assert_eq!(path.half_is_lost().1, Decreasing);
    path.loss.set_acknowledged(kbps(1_000));
    assert_eq!(path.half_is_lost(), (kbps(1_000), Decreasing));
}

/// With the fixture of that test: an estimate cut by bounds is not stored as cut.
#[test]
fn a_hold_ends_where_the_delay_based_estimate_is_reached() {
    let config = LossConfig { hold_ratio: 3.0, bound_best_candidate: false, lower_bound_ratio: 0.0, ..short() };
    let mut path = Path::new(config, kbps(2_500));
    let (fallen, _) = path.half_is_lost();
    path.delay_based = Some(fallen + kbps(10));
    assert_eq!(path.all_arrive(), (fallen + kbps(10), DelayBased));
}

#[test]
fn within_300_ms_of_a_decrease_the_estimate_grows_by_at_most_13() {
    let mut path = Path::new(LossConfig { hold_ratio: 0.0, ..short() }, kbps(2_500));
    path.delay_based = Some(kbps(2_500));
    let (fallen, _) = path.all_is_lost();
    assert_eq!(fallen, DataRate::from_bps(105_263));
    assert!(path.all_arrive().0 <= fallen.scale(1.3));
}

#[test]
fn packets_that_a_later_feedback_finds_are_not_lost() {
    let mut path = Path::new(short(), kbps(2_500));
    path.delay_based = Some(kbps(2_500));
    let first = [report(1, 0, PACKET, true), report(2, 0, PACKET, false), report(3, 0, PACKET, true)];
    path.loss.update(&Feedback::of(&first.into_iter().collect()), path.delay_based, false);
    let second = [report(2, 0, PACKET, true), report(4, 250, PACKET, true), report(5, 0, PACKET, true)];
    path.loss.update(&Feedback::of(&second.into_iter().collect()), path.delay_based, false);
    assert_eq!(path.loss.estimate(), Some(kbps(2_500)));
    assert_eq!(path.loss.average_loss(), 0.0);
}

#[test]
fn loss_above_the_inherent_forbids_growth() {
    let mut path = Path::new(LossConfig { hold_ratio: 0.0, ..short() }, kbps(600));
    path.delay_based = Some(kbps(5_000));
    path.loss.set_acknowledged(kbps(300));
    let (fallen, _) = path.half_is_lost();
    assert!(path.half_is_lost().0 <= fallen);
}
