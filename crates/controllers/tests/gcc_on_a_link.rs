//! `gcc` in a closed loop over one bottleneck: it uses the capacity, gives way when it falls, and
//! is not driven down by loss it does not cause.

use crate::test_link::{Link, Observer, run};
use legato_control::{Context, Decision, Event, NoAssets, RateController, RateLimits};
use legato_controllers::entry;
use legato_units::{DataRate, TimeDelta, Timestamp};

/// Targets by time.
#[derive(Default)]
struct Targets(Vec<(Timestamp, u64)>);

impl Observer for Targets {
    fn on_event(&mut self, _now: Timestamp, _event: &Event) {}
    fn on_decision(&mut self, now: Timestamp, decision: &Decision, _controller: &mut dyn RateController) {
        self.0.push((now, decision.target_bitrate.as_bps()));
    }
}

impl Targets {
    fn mean_kbps(&self, from_s: i64, to_s: i64) -> u64 {
        let within = |at: Timestamp| at >= Timestamp::from_secs(from_s) && at < Timestamp::from_secs(to_s);
        let values: Vec<_> = self.0.iter().filter(|(at, _)| within(*at)).map(|(_, bps)| bps).collect();
        values.iter().copied().sum::<u64>() / values.len() as u64 / 1_000
    }
}

fn call(link: &Link, seconds: i64) -> Targets {
    let limits =
        RateLimits { min: DataRate::from_kbps(30), start: DataRate::from_kbps(300), max: DataRate::from_mbps(6) };
    let context = Context { limits, start: Timestamp::ZERO, seed: 1, assets: &NoAssets };
    let mut gcc =
        entry("gcc").expect("registered").build(&toml::Table::new(), context).expect("the defaults are valid");
    let mut targets = Targets::default();
    run(link, gcc.as_mut(), TimeDelta::from_secs(seconds), &mut targets);
    targets
}

fn steps(steps: &[(i64, u64)]) -> Vec<(Timestamp, DataRate)> {
    steps.iter().map(|&(s, kbps)| (Timestamp::from_secs(s), DataRate::from_kbps(kbps))).collect()
}

#[track_caller]
fn assert_within(kbps: u64, low: u64, high: u64) {
    assert!((low..=high).contains(&kbps), "{kbps} kbit/s is not within {low}..={high}");
}

/// [libwebrtc-m150] GoogCcScenario "target rate follows link capacity", with our own link.
#[test]
fn the_target_follows_the_capacity() {
    let link = Link { capacity: steps(&[(0, 500), (25, 800), (45, 100)]), ..Link::default() };
    let targets = call(&link, 95);
    assert_within(targets.mean_kbps(20, 25), 350, 550);
    assert_within(targets.mean_kbps(40, 45), 600, 900);
    assert_within(targets.mean_kbps(90, 95), 65, 115);
}

#[test]
fn probes_find_a_fast_link_within_two_seconds() {
    let link = Link { capacity: steps(&[(0, 20_000)]), ..Link::default() };
    assert_within(call(&link, 4).mean_kbps(2, 4), 4_000, 6_000);
}

#[test]
fn two_percent_of_random_loss_does_not_stop_it() {
    let link = Link { capacity: steps(&[(0, 2_000)]), loss: vec![(Timestamp::ZERO, 0.02)], ..Link::default() };
    assert_within(call(&link, 60).mean_kbps(30, 60), 1_200, 2_100);
}

#[test]
fn jitter_of_ten_milliseconds_is_not_taken_for_a_queue() {
    let link = Link { capacity: steps(&[(0, 2_000)]), jitter: TimeDelta::from_millis(10), ..Link::default() };
    assert_within(call(&link, 60).mean_kbps(30, 60), 1_300, 2_100);
}

/// [libwebrtc-m150] GoogCcScenario: ten percent loss at 2 Mbit/s and 200 ms leaves more than 100 kbit/s.
#[test]
fn ten_percent_of_loss_leaves_a_call() {
    let link = Link {
        capacity: steps(&[(0, 2_000)]),
        propagation: TimeDelta::from_millis(100),
        loss: vec![(Timestamp::ZERO, 0.1)],
        ..Link::default()
    };
    assert!(call(&link, 120).mean_kbps(100, 120) > 100);
}

/// [libwebrtc-m150] GoogCcScenario: from a calm megabit to 15 % loss, at most 300 kbit/s after 20 s
/// if loss is the only sign.
#[test]
fn heavy_loss_is_given_way_to() {
    let link = Link { loss: vec![(Timestamp::ZERO, 0.0), (Timestamp::from_secs(20), 0.4)], ..Link::default() };
    let targets = call(&link, 45);
    assert!(targets.mean_kbps(15, 20) > 500);
    assert!(targets.mean_kbps(40, 45) < 400, "{}", targets.mean_kbps(40, 45));
}

#[test]
fn without_feedback_the_target_falls_to_the_floor_and_comes_back() {
    let link = Link { feedback_gap: (Timestamp::from_secs(10), Timestamp::from_secs(40)), ..Link::default() };
    let targets = call(&link, 80);
    assert_within(targets.mean_kbps(8, 10), 700, 1_050);
    assert_within(targets.mean_kbps(35, 40), 30, 40);
    assert_within(targets.mean_kbps(60, 80), 400, 1_050);
}
