use super::*;
use LimitedBy::{Delay, DelayIncreased, HighRtt, Loss, LossIncreasing};

fn kbps(kbps: u64) -> DataRate {
    DataRate::from_kbps(kbps)
}

fn at(ms: i64) -> Timestamp {
    Timestamp::from_millis(ms)
}

fn controller(config: ProbeConfig) -> ProbeController {
    let mut probes = ProbeController::new(config, at(0));
    probes.set_bitrates(kbps(300), kbps(10_000), at(0));
    probes
}

/// A controller whose initial probes are over: estimate 500 kbit/s, nothing pending.
fn settled(config: ProbeConfig) -> ProbeController {
    let mut probes = controller(config);
    probes.set_estimate(kbps(500), Delay, at(10));
    probes.process(at(1_010));
    rates(&mut probes);
    probes
}

/// The rates of all waiting clusters.
fn rates(probes: &mut ProbeController) -> Vec<u64> {
    std::iter::from_fn(|| probes.poll()).map(|cluster| cluster.target_rate.as_bps() / 1_000).collect()
}

#[test]
fn the_call_starts_with_probes_of_three_and_six_start_rates() {
    let mut probes = controller(ProbeConfig::default());
    let clusters: Vec<_> = std::iter::from_fn(|| probes.poll()).collect();
    assert_eq!(clusters.iter().map(|cluster| cluster.target_rate).collect::<Vec<_>>(), [kbps(900), kbps(1_800)]);
    assert_eq!(clusters.iter().map(|cluster| cluster.id).collect::<Vec<_>>(), [1, 2]);
    for cluster in clusters {
        assert_eq!((cluster.min_duration, cluster.min_packets), (TimeDelta::from_millis(15), 5));
        assert_eq!(cluster.min_delta, TimeDelta::from_millis(2));
    }
}

#[test]
fn a_probe_that_reached_seven_tenths_leads_to_one_of_twice_the_estimate() {
    let mut probes = controller(ProbeConfig::default());
    rates(&mut probes);
    probes.set_estimate(kbps(1_260), Delay, at(100));
    assert_eq!(rates(&mut probes), [0; 0], "0.7 · 1,800 is not above 1,260");
    probes.set_estimate(kbps(1_261), Delay, at(100));
    assert_eq!(rates(&mut probes), [2_522]);
    probes.set_estimate(kbps(1_765), Delay, at(200));
    assert_eq!(rates(&mut probes), [0; 0]);
    probes.set_estimate(kbps(1_766), Delay, at(300));
    assert_eq!(rates(&mut probes), [3_532]);
}

#[test]
fn it_waits_a_second_for_a_result() {
    let mut probes = controller(ProbeConfig::default());
    rates(&mut probes);
    assert_eq!(probes.next_due(), Some(at(1_000)));
    probes.process(at(1_000));
    probes.set_estimate(kbps(1_800), Delay, at(1_001));
    assert_eq!(rates(&mut probes), [0; 0]);
    assert_eq!(probes.next_due(), None);
}

#[test]
fn probes_stop_at_the_bound() {
    let mut probes = ProbeController::new(ProbeConfig::default(), at(0));
    probes.set_bitrates(kbps(300), kbps(1_000), at(0));
    assert_eq!(rates(&mut probes), [900, 1_000]);
    probes.set_estimate(kbps(990), Delay, at(100));
    assert_eq!(rates(&mut probes), [0; 0], "there is no point in probing beyond the bound");
}

#[test]
fn a_raised_bound_is_probed_if_the_estimate_is_below() {
    let mut probes = settled(ProbeConfig::default());
    probes.set_bitrates(kbps(500), kbps(12_000), at(2_000));
    assert_eq!(rates(&mut probes), [12_000]);
    probes.set_bitrates(kbps(500), kbps(11_000), at(3_000));
    assert_eq!(rates(&mut probes), [0; 0]);
}

#[test]
fn the_initial_probe_is_repeated_for_five_seconds_if_configured() {
    let mut probes = controller(ProbeConfig { repeated_initial: true, ..ProbeConfig::default() });
    let first = std::iter::from_fn(|| probes.poll()).next().unwrap();
    assert_eq!((first.min_duration, first.min_delta), (TimeDelta::from_millis(100), TimeDelta::from_millis(20)));
    rates(&mut probes);
    for second in 1..5 {
        assert_eq!(probes.next_due(), Some(at(second * 1_000)));
        probes.process(at(second * 1_000 - 1));
        assert_eq!(rates(&mut probes), [0; 0]);
        probes.process(at(second * 1_000));
        assert_eq!(rates(&mut probes), [900]);
    }
    probes.process(at(5_000));
    assert_eq!(rates(&mut probes), [0; 0]);
    assert_eq!(probes.next_due(), None);
}

#[test]
fn allocated_media_ends_the_repeated_probes() {
    let mut probes = controller(ProbeConfig { repeated_initial: true, ..ProbeConfig::default() });
    rates(&mut probes);
    probes.set_allocated(kbps(1_000), at(500));
    probes.process(at(1_000));
    assert_eq!(rates(&mut probes), [0; 0]);
}

#[test]
fn while_application_limited_twice_the_estimate_is_probed_every_five_seconds() {
    let mut probes = settled(ProbeConfig::default());
    probes.set_alr_started(Some(at(2_000)));
    assert_eq!(probes.next_due(), Some(at(7_000)));
    probes.process(at(6_999));
    assert_eq!(rates(&mut probes), [0; 0]);
    probes.process(at(7_000));
    assert_eq!(rates(&mut probes), [1_000]);
    // It waits a second for the result; the next probe comes five after this one.
    probes.process(at(8_001));
    assert_eq!(probes.next_due(), Some(at(12_000)));
    probes.set_alr_started(None);
    assert_eq!(probes.next_due(), None);
}

#[test]
fn within_five_seconds_of_a_drop_085_of_the_old_rate_is_probed() {
    for (recovered_ms, expected) in [(8_999, vec![425]), (12_000, vec![])] {
        let mut probes = settled(ProbeConfig::default());
        probes.set_alr_started(Some(at(6_000)));
        probes.set_estimate(kbps(250), Delay, at(7_000));
        probes.request_after_drop(at(recovered_ms));
        assert_eq!(rates(&mut probes), expected, "recovered at {recovered_ms} ms");
    }
}

#[test]
fn a_drop_is_probed_for_three_seconds_after_the_application_limit_ended() {
    for (recovered_ms, expected) in [(9_999, vec![425]), (10_000, vec![])] {
        let mut probes = settled(ProbeConfig::default());
        probes.set_alr_ended(at(7_000));
        probes.set_estimate(kbps(250), Delay, at(7_000));
        probes.request_after_drop(at(recovered_ms));
        assert_eq!(rates(&mut probes), expected, "recovered at {recovered_ms} ms");
    }
}

#[test]
fn a_drop_without_application_limit_or_by_less_than_a_third_is_not_probed() {
    let mut unlimited = settled(ProbeConfig::default());
    unlimited.set_estimate(kbps(250), Delay, at(7_000));
    unlimited.request_after_drop(at(8_000));
    assert_eq!(rates(&mut unlimited), [0; 0]);
    let mut small = settled(ProbeConfig::default());
    small.set_alr_started(Some(at(6_500)));
    small.set_estimate(kbps(331), Delay, at(7_000));
    small.request_after_drop(at(8_000));
    assert_eq!(rates(&mut small), [0; 0]);
}

#[test]
fn growing_needs_are_probed_only_while_application_limited_and_up_to_twice_the_estimate() {
    let mut unlimited = settled(ProbeConfig::default());
    unlimited.set_allocated(kbps(2_000), at(2_000));
    assert_eq!(rates(&mut unlimited), [0; 0]);
    let mut limited = settled(ProbeConfig::default());
    limited.set_alr_started(Some(at(1_500)));
    limited.set_allocated(kbps(800), at(2_000));
    // Once and twice the allocation, the second bounded by twice the estimate of 500.
    assert_eq!(rates(&mut limited), [800, 1_000]);
    let mut far = settled(ProbeConfig::default());
    far.set_alr_started(Some(at(1_500)));
    far.set_allocated(kbps(3_000), at(2_000));
    assert_eq!(rates(&mut far), [1_000]);
    far.set_estimate(kbps(1_000), Delay, at(2_100));
    assert_eq!(rates(&mut far), [2_000], "further, as the estimate was the limit");
}

#[test]
fn probes_go_up_to_twice_what_is_allocated() {
    let mut probes = controller(ProbeConfig { allocated_bps: 500_000, ..ProbeConfig::default() });
    assert_eq!(rates(&mut probes), [900, 1_000]);
}

#[test]
fn nothing_is_probed_while_queues_move_round_trips_are_long_or_loss_limits() {
    for limited_by in [DelayIncreased, HighRtt, Loss] {
        let mut probes = settled(ProbeConfig::default());
        probes.set_alr_started(Some(at(2_000)));
        probes.set_estimate(kbps(500), limited_by, at(2_000));
        assert_eq!(probes.next_due(), None, "{limited_by:?}");
        probes.process(at(7_000));
        assert_eq!(rates(&mut probes), [0; 0], "{limited_by:?}");
    }
}

#[test]
fn while_a_loss_limited_estimate_grows_probes_are_at_most_half_above_it() {
    let mut probes = settled(ProbeConfig::default());
    probes.set_alr_started(Some(at(2_000)));
    probes.set_estimate(kbps(500), LossIncreasing, at(2_000));
    probes.process(at(7_000));
    assert_eq!(rates(&mut probes), [750]);
}

#[test]
fn an_estimate_above_the_configured_part_of_the_bound_is_not_probed() {
    let config = ProbeConfig { skip_above_ratio: 0.9, ..ProbeConfig::default() };
    let mut probes = settled(config);
    probes.set_alr_started(Some(at(2_000)));
    probes.set_estimate(kbps(9_001), Delay, at(2_000));
    probes.process(at(7_000));
    assert_eq!((rates(&mut probes), probes.next_due()), (vec![], None));
}

#[test]
fn another_route_starts_over_and_keeps_counting_clusters() {
    let mut probes = settled(ProbeConfig::default());
    probes.reset(at(10_000));
    probes.set_bitrates(kbps(200), kbps(10_000), at(10_000));
    let clusters: Vec<_> = std::iter::from_fn(|| probes.poll()).collect();
    assert_eq!(clusters.iter().map(|cluster| cluster.id).collect::<Vec<_>>(), [3, 4]);
    assert_eq!(clusters[0].target_rate, kbps(600));
}

#[test]
fn probing_can_be_turned_off() {
    let mut probes = controller(ProbeConfig { enabled: false, ..ProbeConfig::default() });
    assert_eq!((rates(&mut probes), probes.next_due()), (vec![], None));
}
