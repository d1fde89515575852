//! The scenario simulations of libwebrtc's goog_cc tests ([libwebrtc-m150], behaviours in bands),
//! over whole calls: a video stream of RFC 8593's statistical source, GCC, TWCC as bytes.
//!
//! Left out, with the reason: cases that need another sender on the link (TCP fairness), an adapter
//! change at the socket, or an audio-only call come with cross traffic and live calls.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use legato_sim::{CallParts, Scenario, run_call};
use legato_trace::{LogLevel, Recorder, SeriesRow, Summary};

struct Outcome {
    summary: Summary,
    series: Vec<SeriesRow>,
}

impl Outcome {
    /// Mean target in kbit/s over `[from, to)` seconds.
    fn target_kbps(&self, from_s: f64, to_s: f64) -> f64 {
        let bins = &self.series[(from_s * 10.0) as usize..(to_s * 10.0) as usize];
        bins.iter().map(|row| row.sample.target_bitrate.as_kbps_f64()).sum::<f64>() / bins.len() as f64
    }
}

/// A call over `forward` (a path's TOML) that starts at 300 kbit/s, as libwebrtc's tests do.
fn call(duration_s: f64, max_kbps: u64, forward: &str, more: &str) -> Outcome {
    let text = format!(
        "name = \"libwebrtc\"\nduration_s = {duration_s:?}\n\
         limits = {{ min_bps = 5000, start_bps = 300000, max_bps = {max_kbps}000 }}\n{more}\n[forward]\n{forward}\n"
    );
    let scenario = Scenario::parse(&text, "test.toml").unwrap();
    let parts = CallParts::load(&scenario, "".as_ref()).unwrap();
    let mut recorder = Recorder::default();
    let summary = run_call(&scenario, &parts, 1, LogLevel::Series, &mut recorder).unwrap();
    Outcome { summary, series: recorder.series().to_vec() }
}

#[test]
fn the_target_follows_the_capacity() {
    // 500 kbit/s, from 25 s 800 kbit/s, from 45 s 100 kbit/s; the queue is unlimited.
    let forward = "propagation_ms = 50.0\nqueue = { limit_ms = 2000.0 }\n\
                   capacity = { steps = [[0.0, 500000], [25.0, 800000], [45.0, 100000]] }";
    let outcome = call(100.0, 1_500, forward, "");
    let (first, second, third) =
        (outcome.target_kbps(22.0, 25.0), outcome.target_kbps(42.0, 45.0), outcome.target_kbps(92.0, 95.0));
    assert!((350.0..=550.0).contains(&first), "{first}");
    assert!((600.0..=900.0).contains(&second), "{second}");
    assert!((65.0..=115.0).contains(&third), "{third}");
}

#[test]
fn ten_percent_of_loss_at_2_mbps_leaves_more_than_100_kbps() {
    let forward = "propagation_ms = 100.0\nloss_ratio = 0.1\ncapacity = { constant_bps = 2000000 }";
    let outcome = call(120.0, 3_000, forward, "");
    let late = outcome.target_kbps(100.0, 120.0);
    assert!(late > 100.0, "{late}");
}

#[test]
fn twenty_percent_of_loss_does_not_make_the_target_dip_again_and_again() {
    let forward = "propagation_ms = 50.0\nloss_ratio = 0.2\ncapacity = { constant_bps = 2000000 }";
    let outcome = call(20.0, 3_000, forward, "");
    let kbps: Vec<f64> = outcome.series[20..].iter().map(|row| row.sample.target_bitrate.as_kbps_f64()).collect();
    for (n, window) in kbps.windows(6).enumerate() {
        let dips = window.windows(2).filter(|pair| pair[0] - pair[1] > 100.0).count();
        assert!(dips < 2, "{dips} dips of 100 kbit/s within 500 ms at {} s", 2.0 + n as f64 / 10.0);
    }
}

#[test]
fn a_path_that_stalls_is_not_filled_further() {
    // 1 Mbit/s for 10 s, then nothing for 10 s.
    let forward = "propagation_ms = 50.0\nqueue = { limit_ms = 20000.0, reference_bps = 1000000 }\n\
                   capacity = { steps = [[0.0, 1000000], [10.0, 0], [20.0, 1000000]] }";
    let stalled =
        call(30.0, 3_000, forward, "controller = { name = \"gcc\", config = { pushback = { drop_frames = false } } }");
    let lowered = stalled.target_kbps(13.0, 14.0);
    assert!(lowered < 60.0, "pushback lowers the target: {lowered}");
    let dropping = call(30.0, 3_000, forward, "");
    assert!(dropping.target_kbps(13.0, 14.0) > 300.0, "frames are dropped instead, the target stays");
}

#[test]
fn a_call_recovers_from_an_outage_that_loses_everything() {
    // The queue is short: everything sent during the outage is lost, and so is all feedback about it.
    let forward = "propagation_ms = 30.0\nqueue = { limit_ms = 200.0, reference_bps = 3000000 }\n\
                   capacity = { steps = [[0.0, 3000000], [10.0, 0], [20.0, 3000000]] }";
    let outcome = call(50.0, 3_000, forward, "");
    let late: f64 = outcome.series[400..].iter().map(|row| f64::from(row.receiver_rate_bps())).sum::<f64>() / 100.0;
    assert!(late > 500e3, "{late} bit/s twenty seconds after the outage");
}

#[test]
fn packets_do_not_pile_up_in_the_pacer() {
    let forward = "propagation_ms = 50.0\ncapacity = { constant_bps = 1000000 }";
    let outcome = call(60.0, 3_000, forward, "");
    let mean = outcome.summary.pacer_delay_mean_ms.unwrap();
    assert!(mean < 150.0, "{mean}");
}

#[test]
fn a_ramp_from_500_to_3000_kbps_is_followed() {
    // The full-stack ramp of the peer scenarios: 300–650 at 5 s … > 1,000 at 20 s after a step at 3 s.
    let forward = "propagation_ms = 25.0\nqueue = { limit_ms = 500.0, reference_bps = 500000 }\n\
                   capacity = { steps = [[0.0, 500000], [3.0, 3000000]] }";
    let outcome = call(40.0, 3_000, forward, "");
    let late = outcome.target_kbps(30.0, 40.0);
    assert!(late > 1_000.0, "{late}");
}

#[test]
fn feedback_that_is_lost_for_a_while_only_delays_what_it_would_have_said() {
    // A reverse path that loses every second report.
    let forward = "propagation_ms = 25.0\ncapacity = { constant_bps = 1000000 }";
    let clean = call(40.0, 1_500, forward, "");
    let lossy = call(40.0, 1_500, forward, "reverse = { loss_ratio = 0.5 }");
    let (clean, lossy) = (clean.target_kbps(20.0, 40.0), lossy.target_kbps(20.0, 40.0));
    assert!(lossy > 0.4 * clean && lossy < 1.2 * clean, "{clean} {lossy}");
}

/// `gcc-receiver` in whole calls: REMB and receiver reports as bytes, `remote` with its loss rule at the sender.
fn at_the_receiver(duration_s: f64, max_kbps: u64, forward: &str) -> Outcome {
    call(duration_s, max_kbps, forward, "controller = { name = \"gcc-receiver\" }")
}

#[test]
fn an_estimate_at_the_receiver_follows_the_capacity() {
    let forward = "propagation_ms = 50.0\nqueue = { limit_ms = 2000.0 }\n\
                   capacity = { steps = [[0.0, 500000], [25.0, 800000], [45.0, 100000]] }";
    let outcome = at_the_receiver(100.0, 1_500, forward);
    let (first, second, third) =
        (outcome.target_kbps(22.0, 25.0), outcome.target_kbps(42.0, 45.0), outcome.target_kbps(92.0, 95.0));
    assert!((350.0..=550.0).contains(&first), "{first}");
    assert!((550.0..=900.0).contains(&second), "{second}");
    assert!((60.0..=115.0).contains(&third), "{third}");
}

/// Before the receiver has an estimate it sends none: the loss rule alone lets the target grow, 8 % and 1 kbit/s per report.
#[test]
fn until_the_receiver_has_an_estimate_the_target_grows_with_the_receiver_reports() {
    let forward = "propagation_ms = 20.0\ncapacity = { constant_bps = 5000000 }";
    let outcome = at_the_receiver(6.0, 5_000, forward);
    let (early, late) = (outcome.target_kbps(0.0, 1.0), outcome.target_kbps(4.2, 4.9));
    assert!((299.0..=301.0).contains(&early), "{early}");
    // The first report says how many packets came before. Two to six of half to one and a half seconds follow: from
    // 300 · 1.08² + 2 = 352 to 300 · 1.08⁶ + 7 = 483, which the mean of the span may be between.
    assert!((335.0..=483.0).contains(&late), "{late}");
}

#[test]
fn loss_of_a_fifth_takes_the_target_down_though_the_delay_stays() {
    let forward = "propagation_ms = 50.0\nloss_ratio = 0.2\ncapacity = { constant_bps = 5000000 }";
    let outcome = at_the_receiver(60.0, 5_000, forward);
    let late = outcome.target_kbps(50.0, 60.0);
    assert!(late < 150.0, "{late}");
    let few = at_the_receiver(60.0, 5_000, &forward.replace("0.2", "0.01"));
    assert!(few.target_kbps(50.0, 60.0) > 600.0, "{}", few.target_kbps(50.0, 60.0));
}
