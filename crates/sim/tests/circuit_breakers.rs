//! The circuit breakers of [rfc8083] over whole calls: they end those that must end, and leave every
//! other unchanged, to the byte.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use legato_sim::{CallParts, Scenario, run_call};
use legato_trace::{LogLevel, Recorder, SeriesRow, Summary};

fn call(text: &str) -> (Summary, Vec<SeriesRow>) {
    let scenario = Scenario::parse(text, "test.toml").unwrap();
    let parts = CallParts::load(&scenario, "".as_ref()).unwrap();
    let mut recorder = Recorder::default();
    let summary = run_call(&scenario, &parts, 1, LogLevel::Series, &mut recorder).unwrap();
    (summary, recorder.series().to_vec())
}

/// When the target became zero for good.
fn ended_at_s(series: &[SeriesRow]) -> Option<f64> {
    let last = series.iter().rposition(|row| row.sample.target_bitrate.as_bps() > 0)?;
    (last + 1 < series.len()).then(|| (last + 1) as f64 / 10.0)
}

/// [rfc8083] §4.1 and §4.5: nothing is reported for 15 s; then nothing is sent.
#[test]
fn a_call_without_any_rtcp_ends_after_15_seconds() {
    let lasting = |seconds: u32| call(&format!("duration_s = {seconds}.0\n[audio]\n[reverse]\nloss_ratio = 1.0"));
    let (summary, series) = lasting(30);
    let ended = ended_at_s(&series).expect("a breaker trips");
    assert!((14.9..15.3).contains(&ended), "{ended} s");
    assert_eq!(summary.packets_sent, lasting(16).0.packets_sent, "neither video nor audio goes on");
}

/// [rfc8083] §4.2: the path dies at 10 s; five intervals of 5 s later, counted from a report, it ends.
#[test]
fn a_call_that_does_not_arrive_ends_after_five_intervals() {
    let (_, series) = call("duration_s = 60.0\n[forward.capacity]\nsteps = [[0.0, 2000000], [10.2, 0]]");
    let ended = ended_at_s(&series).expect("a breaker trips");
    assert!((35.0..=41.0).contains(&ended), "{ended} s");
}

#[test]
fn a_call_that_floods_is_divided_by_ten() {
    let text = "duration_s = 60.0\n[controller]\nname = \"fixed\"\nconfig.target_bitrate_bps = 5000000\n\
                [forward.capacity]\nconstant_bps = 300000";
    let (_, series) = call(text);
    let min = series.iter().map(|row| row.sample.target_bitrate.as_bps()).min().unwrap();
    assert!((150_000..=600_000).contains(&min), "{min}");
}

#[test]
fn calls_that_harm_nobody_are_the_same_with_and_without() {
    for controller in ["gcc", "nada", "oracle"] {
        for path in [
            "[forward.capacity]\nsteps = [[0.0, 1000000], [10.0, 2500000], [20.0, 600000], [30.0, 1000000]]",
            "[forward]\nloss_ratio = 0.1\ncapacity = { constant_bps = 2000000 }",
            "[forward]\npropagation_ms = 150.0\njitter = { std_ms = 10.0 }\ncapacity = { constant_bps = 500000 }",
            "[forward.capacity]\nsteps = [[0.0, 3000000], [12.0, 0], [24.0, 3000000]]",
        ] {
            let with = |on: bool| {
                let head =
                    format!("duration_s = 40.0\ncontroller.name = \"{controller}\"\nsender.circuit_breakers = {on}\n");
                let (summary, series) = call(&(head + path));
                (format!("{summary:?}"), series.iter().map(|row| format!("{row:?}")).collect::<Vec<_>>())
            };
            assert!(with(true) == with(false), "{controller} over {path}");
        }
    }
}
