//! Whole calls under a receiver-side controller: named like any other, its estimate sent back as REMB
//! bytes, obeyed by `remote`.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use legato_sim::{CallParts, LoadedClip, Policies, Scenario, run_call};
use legato_trace::{LogLevel, Recorder, SeriesRow, Summary};

struct Outcome {
    summary: Summary,
    series: Vec<SeriesRow>,
}

impl Outcome {
    /// The bins of 100 ms over `[from, to)` seconds.
    fn bins(&self, from_s: f64, to_s: f64) -> &[SeriesRow] {
        &self.series[(from_s * 10.0) as usize..(to_s * 10.0) as usize]
    }
    fn mean(&self, from_s: f64, to_s: f64, figure: impl Fn(&SeriesRow) -> f64) -> f64 {
        let bins = self.bins(from_s, to_s);
        bins.iter().map(figure).sum::<f64>() / bins.len() as f64
    }
    fn target_kbps(&self, from_s: f64, to_s: f64) -> f64 {
        self.mean(from_s, to_s, |row| row.sample.target_bitrate.as_kbps_f64())
    }
    fn queue_ms(&self, from_s: f64, to_s: f64) -> f64 {
        self.mean(from_s, to_s, |row| row.sample.queue.map_or(0.0, |queue| queue.as_millis_f64()))
    }
}

fn call(duration_s: f64, controller: &str, forward: &str, more: &str) -> Outcome {
    let text = format!("duration_s = {duration_s:?}\ncontroller = {controller}\n{more}\n[forward]\n{forward}\n");
    let scenario = Scenario::parse(&text, "test.toml").unwrap();
    let parts = CallParts::load(&scenario, "".as_ref()).unwrap();
    let mut recorder = Recorder::default();
    let summary = run_call(&scenario, &parts, 1, LogLevel::Series, &mut recorder).unwrap();
    Outcome { summary, series: recorder.series().to_vec() }
}

const UKF: &str = "{ name = \"ukf\" }";

#[test]
fn a_step_of_the_capacity_is_followed_over_a_whole_call() {
    let forward = "propagation_ms = 50.0\nqueue = { limit_ms = 300.0, rescale = true }\n\
                   capacity = { steps = [[0.0, 2000000], [15.0, 700000], [30.0, 2500000]] }";
    let outcome = call(45.0, UKF, forward, "");
    for (from, to, capacity_kbps) in [(5.0, 15.0, 2_000.0), (17.0, 30.0, 700.0), (32.0, 45.0, 2_500.0)] {
        let target = outcome.target_kbps(from, to) / capacity_kbps;
        assert!((0.8..=1.02).contains(&target), "{target} of {capacity_kbps} kbit/s");
        let queue = outcome.queue_ms(from, to);
        assert!(queue < 90.0, "{queue} ms at {capacity_kbps} kbit/s");
    }
    let used = outcome.mean(32.0, 45.0, |row| f64::from(row.receiver_rate_bps())) / 2.5e6;
    assert!(used > 0.75, "{used} of the capacity");
    let lost = 1.0 - outcome.summary.packets_received as f64 / outcome.summary.packets_sent as f64;
    assert!(lost < 0.03, "{lost}");
}

#[test]
fn random_loss_and_jitter_do_not_stop_it() {
    let capacity = "capacity = { constant_bps = 1500000 }";
    for (what, least) in [("loss_ratio = 0.1", 0.7), ("jitter = { std_ms = 5.0 }", 0.75), ("loss_ratio = 0.0", 0.8)] {
        let outcome = call(40.0, UKF, &format!("propagation_ms = 50.0\n{what}\n{capacity}"), "");
        let used = outcome.mean(10.0, 40.0, |row| f64::from(row.receiver_rate_bps())) / 1.5e6;
        assert!(used > least, "{used} of the capacity with {what}");
        let queue = outcome.queue_ms(10.0, 40.0);
        assert!(queue < 80.0, "{queue} ms with {what}");
    }
}

#[test]
fn the_name_alone_puts_remote_at_the_sender() {
    let forward = "capacity = { constant_bps = 1000000 }";
    let short = call(10.0, UKF, forward, "");
    let long = call(10.0, "{ name = \"remote\" }", forward, "receiver_controller = { name = \"ukf\" }");
    assert_eq!(short.summary, long.summary);
}

#[test]
fn two_controllers_at_the_receiver_are_refused() {
    let text = "controller = { name = \"ukf\" }\nreceiver_controller = { name = \"ukf\" }";
    let scenario = Scenario::parse(text, "test.toml").unwrap();
    let controller = scenario.controller.clone();
    let parts = CallParts {
        forward: None,
        reverse: None,
        clip: LoadedClip::statistical(),
        controller,
        steered: false,
        policies: Policies::default(),
        events: None,
    };
    let error = run_call(&scenario, &parts, 1, LogLevel::Summary, &mut Recorder::default()).unwrap_err();
    assert!(error.to_string().contains("name one of them"), "{error}");
}

#[test]
fn three_seconds_without_an_estimate_halve_the_rate_and_the_next_restores_it() {
    let forward = "capacity = { constant_bps = 2000000 }";
    let reverse = "reverse = { capacity = { steps = [[0.0, 1000000], [15.0, 0], [20.0, 1000000]] } }";
    let outcome = call(30.0, UKF, forward, reverse);
    let before = outcome.target_kbps(14.0, 15.0);
    let after = outcome.target_kbps(18.2, 18.4);
    assert!(after <= 0.5 * before, "{after} kbit/s three seconds after {before}");
    let restored = outcome.target_kbps(25.0, 30.0);
    assert!(restored > 0.7 * before, "{restored} kbit/s after {before}");
}
