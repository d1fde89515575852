//! The rules one by one, against figures worked by hand.

use super::*;

const NOW: Timestamp = Timestamp::from_secs(10);

fn rules(target_kbps: u64) -> Rules {
    Rules::new(RulesConfig::default(), DataRate::from_kbps(target_kbps), NOW - TimeDelta::from_millis(50))
}

/// A quiet path of 2 Mbit/s, well known, at which 1 Mbit/s arrives.
fn quiet() -> View {
    View {
        capacity: Some(DataRate::from_mbps(2)),
        doubt_ratio: 0.0,
        queue_s: 0.0,
        queue_doubt_s: 0.0,
        jitter_s: 0.0,
        receive_rate: DataRate::from_mbps(1),
        unusual_loss_ratio: 0.0,
        marked: false,
        silence: TimeDelta::ZERO,
        news: true,
    }
}

fn after(target_kbps: u64, view: &View) -> f64 {
    let mut rules = rules(target_kbps);
    rules.look(NOW, view);
    rules.target().as_kbps_f64()
}

#[test]
fn with_a_short_queue_the_target_climbs_to_below_the_capacity() {
    // e^(1.2 x 0.05) = 1.0618.
    assert!((after(1_000, &quiet()) - 1_061.8).abs() < 0.1);
    // The rule gives 1.5 x 1 Mbit/s + 20 kbit/s, which does not reach 2 Mbit/s minus 8 %.
    assert_eq!(after(1_510, &quiet()), 1_520.0);
    let used = View { receive_rate: DataRate::from_mbps(2), ..quiet() };
    assert_eq!(after(1_830, &used), 1_840.0);
    assert_eq!(after(1_900, &used), 1_900.0, "a short queue does not shrink the margin");
    assert_eq!(after(2_100, &used), 2_000.0, "but the excess over the capacity goes");
}

#[test]
fn greater_uncertainty_lets_the_target_climb_higher() {
    // e^(2 x 0.1) = 1.2214: up to 2 x 0.92 x 1.2214 = 2.2474 Mbit/s.
    let unsure = View { receive_rate: DataRate::from_mbps(2), doubt_ratio: 0.1, ..quiet() };
    assert!((after(2_200, &unsure) - 2_247.4).abs() < 0.1);
}

#[test]
fn a_long_queue_brings_the_target_below_the_capacity_at_once() {
    let long = View { queue_s: 0.05, ..quiet() };
    assert_eq!(after(2_500, &long), 1_840.0);
    assert_eq!(after(1_500, &long), 1_500.0, "which drains by itself");
}

/// The target after a queue of 50 ms for 300 ms.
fn standing(target_kbps: u64, view: &View) -> (Rules, Timestamp) {
    let mut rules = rules(target_kbps);
    let mut now = NOW;
    for _ in 0..6 {
        now += TimeDelta::from_millis(50);
        rules.look(now, view);
    }
    (rules, now)
}

#[test]
fn a_standing_queue_is_drained() {
    // 50 ms of 500 are a tenth: 1 Mbit/s, the receiver rate, x 0.92 x 0.9.
    let long = View { queue_s: 0.05, ..quiet() };
    assert!((standing(2_500, &long).0.target().as_kbps_f64() - 828.0).abs() < 0.1);
    // A lower capacity counts: 0.8 x 0.92 x 0.9.
    let low = View { capacity: Some(DataRate::from_kbps(800)), ..long };
    assert!((standing(2_500, &low).0.target().as_kbps_f64() - 662.4).abs() < 0.1);
    // No queue is drained by more than 40 % at once.
    let endless = View { queue_s: 9.0, ..quiet() };
    assert!((standing(2_500, &endless).0.target().as_kbps_f64() - 552.0).abs() < 0.1);
}

#[test]
fn a_cut_is_given_time_to_show_and_none_follows_while_the_queue_shrinks() {
    let long = View { queue_s: 0.05, ..quiet() };
    let (mut rules, now) = standing(2_500, &long);
    let first = rules.target();
    let less = View { receive_rate: DataRate::from_kbps(700), ..long };
    rules.look(now + TimeDelta::from_millis(100), &less);
    assert_eq!(rules.target(), first, "too soon");
    rules.look(now + TimeDelta::from_millis(400), &View { queue_s: 0.04, ..less });
    assert_eq!(rules.target(), first, "it shrinks");
    rules.look(now + TimeDelta::from_millis(450), &View { queue_s: 0.06, ..less });
    assert!(rules.target() < first, "it grows again");
}

#[test]
fn between_the_two_thresholds_and_in_noise_the_target_holds() {
    assert_eq!(after(1_000, &View { queue_s: 0.02, ..quiet() }), 1_000.0);
    // Jitter of 10 ms moves both thresholds by 20: 40 ms is not a long queue, and 20 ms is a short one.
    assert_eq!(after(1_000, &View { queue_s: 0.04, jitter_s: 0.01, ..quiet() }), 1_000.0);
    assert!(after(1_000, &View { queue_s: 0.02, jitter_s: 0.01, ..quiet() }) > 1_000.0);
}

#[test]
fn unusual_loss_cuts_the_receiver_rate_by_half_of_itself_and_is_remembered() {
    let mut rules = rules(1_200);
    // The receiver rate of 1 Mbit/s x (1 - 0.1).
    rules.look(NOW, &View { unusual_loss_ratio: 0.2, ..quiet() });
    assert_eq!(rules.target().as_kbps_f64(), 900.0);
    // 300 ms later and near 1 Mbit/s the climb is careful: e^(0.05 x 2^0.15 x 0.3).
    rules.look(NOW + TimeDelta::from_millis(300), &View { receive_rate: DataRate::from_kbps(890), ..quiet() });
    assert!((rules.target().as_kbps_f64() - 915.1).abs() < 0.1);
    assert_eq!(after(1_000, &View { unusual_loss_ratio: 0.07, ..quiet() }), 1_000.0, "some holds");
}

#[test]
fn a_mark_causes_one_cut() {
    let mut rules = rules(1_000);
    let marked = View { marked: true, ..quiet() };
    rules.look(NOW, &marked);
    rules.look(NOW + TimeDelta::from_millis(50), &marked);
    assert_eq!(rules.target().as_kbps_f64(), 850.0);
}

#[test]
fn a_second_of_silence_halves_the_target_and_time_alone_never_raises_it() {
    let mut rules = rules(1_000);
    for look in 1..=10 {
        let silence = TimeDelta::from_millis(500 + 100 * look);
        rules.look(NOW + TimeDelta::from_millis(100 * look - 50), &View { silence, news: false, ..quiet() });
    }
    let target = rules.target().as_kbps_f64();
    assert!((499.0..501.0).contains(&target), "{target}");
    assert_eq!(after(1_000, &View { news: false, ..quiet() }), 1_000.0);
}

#[test]
fn before_anything_is_known_nothing_changes() {
    assert_eq!(after(300, &View { capacity: None, ..quiet() }), 300.0);
}
