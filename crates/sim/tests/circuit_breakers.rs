//! The circuit breakers of [rfc8083] over whole calls: where allowed, they end the calls that must end; they leave
//! every other unchanged, to the byte, and by default all.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use legato_sim::{CallParts, Scenario, run_call};
use legato_trace::{LogLevel, Recorder, SeriesRow, Summary};

/// Breakers that end a call.
const CEASE: &str = "sender.circuit_breakers = \"cease\"\n";

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
    let lasting =
        |seconds: u32| call(&format!("{CEASE}duration_s = {seconds}.0\n[audio]\n[reverse]\nloss_ratio = 1.0"));
    let (summary, series) = lasting(30);
    let ended = ended_at_s(&series).expect("a breaker trips");
    assert!((14.9..15.3).contains(&ended), "{ended} s");
    assert_eq!(summary.packets_sent, lasting(16).0.packets_sent, "neither video nor audio goes on");
}

/// [rfc8083] §4.2: the path dies at 10.2 s; five reports later, half to one and a half seconds apart, it ends.
#[test]
fn a_call_that_does_not_arrive_ends_after_five_reports() {
    let dead = "duration_s = 60.0\n[forward.capacity]\nsteps = [[0.0, 2000000], [10.2, 0]]";
    let (_, series) = call(&format!("{CEASE}{dead}"));
    let ended = ended_at_s(&series).expect("a breaker trips");
    assert!((12.7..=19.0).contains(&ended), "{ended} s");
    let (_, series) = call(dead);
    assert_eq!(ended_at_s(&series), None, "by default nothing is done about it");
}

/// As in a browser, an outage of 25 s is over when the link is back. By default this is at once; where a tripped
/// breaker means a new call, it is within the time that the breaker took to trip. A call that ceased does not come
/// back.
#[test]
fn a_call_comes_back_after_an_outage() {
    let outage = "duration_s = 80.0\n[audio]\n[forward.capacity]\nsteps = [[0.0, 2000000], [10.2, 0], [35.2, 2000000]]";
    let goodput = |way: &str| {
        let (_, series) = call(&format!("{way}{outage}"));
        let mean = |from: usize, to: usize| {
            let rows = &series[from..to];
            rows.iter().map(|row| row.receiver_rate_bps()).sum::<f32>() / rows.len() as f32
        };
        (mean(380, 430), mean(600, 800))
    };
    let (soon, late) = goodput("");
    assert!(soon > 1e5 && late > 5e5, "{soon} and {late} bit/s");
    let (_, late) = goodput("sender.circuit_breakers = \"restart\"\n");
    assert!(late > 5e5, "{late} bit/s");
    assert_eq!(goodput(CEASE), (0.0, 0.0));
}

/// [rfc8083] §4.3: 5 Mbit/s into 0.6 Mbit/s are divided by ten, which fits; the rate returns by 4 % a second at most, and
/// when that floods the link again the sending ends.
#[test]
fn a_call_that_floods_is_divided_by_ten_and_ends_if_it_floods_again() {
    let text = "duration_s = 60.0\n[controller]\nname = \"fixed\"\nconfig.target_bitrate_bps = 5000000\n\
                [forward.capacity]\nconstant_bps = 600000";
    let (_, series) = call(&format!("{CEASE}{text}"));
    let targets: Vec<u64> = series.iter().map(|row| row.sample.target_bitrate.as_bps()).collect();
    let reduced = targets.iter().position(|&bps| bps < 5_000_000).expect("a breaker acts");
    assert!((30..80).contains(&reduced) && (150_000..=600_000).contains(&targets[reduced]), "{reduced}");
    let ended = targets.iter().position(|&bps| bps == 0).expect("in the end");
    assert!(ended > reduced + 50, "{reduced} {ended}");
    // Reports are up to 1.5 s apart.
    assert!(targets[reduced..ended].windows(2).all(|pair| pair[1] as f64 <= 1.065 * pair[0] as f64));
    assert!(targets[ended..].iter().all(|&bps| bps == 0));
}

#[test]
fn calls_that_harm_nobody_are_the_same_with_and_without() {
    let harmless = [
        "[forward.capacity]\nsteps = [[0.0, 1000000], [10.0, 2500000], [20.0, 1200000], [30.0, 2000000]]",
        "[forward]\nloss_ratio = 0.1\ncapacity = { constant_bps = 2000000 }",
        "[forward]\npropagation_ms = 150.0\njitter = { std_ms = 10.0 }\ncapacity = { constant_bps = 500000 }",
    ];
    let dead_for_a_while = "[forward.capacity]\nsteps = [[0.0, 3000000], [12.0, 0], [24.0, 3000000]]";
    for controller in ["gcc", "nada", "oracle"] {
        let with = |response: &str, path: &str| {
            let head = format!(
                "duration_s = 40.0\ncontroller.name = \"{controller}\"\nsender.circuit_breakers = \"{response}\"\n"
            );
            let (summary, series) = call(&(head + path));
            (format!("{summary:?}"), series.iter().map(|row| format!("{row:?}")).collect::<Vec<_>>())
        };
        for path in harmless {
            assert!(with("cease", path) == with("off", path), "{controller} over {path}");
        }
        assert!(with("report", dead_for_a_while) == with("off", dead_for_a_while), "{controller}");
    }
}
