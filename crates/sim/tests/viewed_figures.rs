//! What every captured frame is charged, and what the link alone costs: over whole calls of every controller.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use legato_controllers::{REGISTRY, entry};
use legato_sim::{CallParts, ControllerSpec, Scenario, run_call};
use legato_trace::{CallFacts, FrameRow, LogLevel, Record, Recorder, Summary, TraceSink};
use legato_units::{TimeDelta, Timestamp};

const DURATION_S: i64 = 20;
/// Slow, dead for 1.5 s, slow and slower; with loss, so that frames are repaired and given up.
const NETWORK: &str = "duration_s = 20.0\nforward.loss_ratio = 0.02\n\
    forward.capacity.steps = [[0.0, 1_500_000], [6.0, 0], [7.5, 1_000_000], [12.0, 250_000], [15.0, 1_200_000]]\n";

fn call(text: &str, controller: &str) -> (Summary, Vec<FrameRow>) {
    let mut scenario = Scenario::parse(text, "test.toml").unwrap();
    // No trained policy: the counts do not depend on the decisions.
    let learned = entry(controller).unwrap().learned;
    let config = if learned {
        toml::toml! { policy = "hand" }
    } else {
        toml::Table::new()
    };
    scenario.controller = ControllerSpec { name: controller.to_owned(), config };
    let parts = CallParts::load(&scenario, "".as_ref()).unwrap();
    let mut recorder = Recorder::default();
    let summary = run_call(&scenario, &parts, 1, LogLevel::Series, &mut recorder).unwrap();
    (summary, recorder.frames().to_vec())
}

/// Delays in ms of frames up to the last second, and how many came on time: by the definition, frame by frame.
fn by_definition(frames: &[FrameRow]) -> (Vec<f64>, [usize; 2]) {
    let end = Timestamp::from_secs(DURATION_S);
    let judged = |row: &FrameRow| end - row.captured > TimeDelta::from_secs(1);
    let waits = frames.iter().enumerate().filter(|(_, row)| judged(row)).map(|(place, row)| {
        let shown = frames[place..].iter().filter_map(|later| later.rendered).min().unwrap_or(end);
        ((shown - row.captured).as_nanos() / 1_000) as f64 / 1e3
    });
    let within = |ms| {
        let limit = TimeDelta::from_millis(ms);
        let in_time = |row: &&FrameRow| row.rendered.is_some_and(|at| at - row.captured <= limit);
        frames.iter().filter(|row| judged(row)).filter(in_time).count()
    };
    (waits.collect(), [within(150), within(400)])
}

fn figures(summary: &Summary) -> [f64; 5] {
    [
        summary.viewed_delay_p50_ms,
        summary.viewed_delay_p95_ms,
        summary.viewed_delay_p98_ms,
        summary.on_time_150ms_ratio,
        summary.on_time_400ms_ratio,
    ]
    .map(|figure| figure.expect("20 s of frames"))
}

#[test]
fn every_controllers_figures_are_those_of_the_definition() {
    for entry in REGISTRY {
        let (summary, frames) = call(NETWORK, entry.name);
        let (mut waits, on_time) = by_definition(&frames);
        waits.sort_by(f64::total_cmp);
        let rank = |share: f64| waits[(share * waits.len() as f64).ceil() as usize - 1];
        let [early, late] = on_time.map(|frames| frames as f64 / waits.len() as f64);
        assert_eq!(figures(&summary), [rank(0.5), rank(0.95), rank(0.98), early, late], "{}", entry.name);
        assert!(early <= late && late <= 1.0 - skipped(&frames) + 1e-12, "{}", entry.name);
        let mean = waits.iter().sum::<f64>() / waits.len() as f64;
        let found = summary.viewed_delay_mean_ms.unwrap();
        assert!((found - mean).abs() < 1e-3, "{}: {found}, by definition {mean}", entry.name);
    }
}

/// The share of frames that were never shown.
fn skipped(frames: &[FrameRow]) -> f64 {
    let judged = frames.iter().filter(|row| Timestamp::from_secs(DURATION_S - 1) > row.captured);
    judged.clone().filter(|row| row.rendered.is_none()).count() as f64 / judged.count() as f64
}

/// The same call if frames later than `limit` had not been shown.
fn without_late_frames(frames: &[FrameRow], limit: TimeDelta) -> Summary {
    let mut recorder = Recorder::default();
    recorder.begin(LogLevel::Summary, Timestamp::ZERO);
    frames.iter().for_each(|row| recorder.record(row.captured, &Record::FrameCaptured { frame: 0 }));
    for (frame, row) in (0..).zip(frames) {
        let in_time = row.rendered.filter(|&at| at - row.captured <= limit);
        in_time.iter().for_each(|&at| recorder.record(at, &Record::FrameRendered { frame }));
    }
    recorder.finish(CallFacts { end: Timestamp::from_secs(DURATION_S), ..CallFacts::default() })
}

#[test]
fn no_controller_improves_by_dropping_its_late_frames() {
    for entry in REGISTRY {
        let (_, frames) = call(NETWORK, entry.name);
        let all = figures(&without_late_frames(&frames, TimeDelta::MAX));
        for limit_ms in [1_000, 400, 200, 100] {
            let fewer = figures(&without_late_frames(&frames, TimeDelta::from_millis(limit_ms)));
            assert!((0..3).all(|n| fewer[n] >= all[n]), "{} at {limit_ms} ms: {fewer:?}, {all:?}", entry.name);
            assert!((3..5).all(|n| fewer[n] <= all[n]), "{} at {limit_ms} ms: {fewer:?}, {all:?}", entry.name);
        }
    }
}

/// [`NETWORK`] passes nothing from 6.0 to 7.5 s, and a picture is captured every 33 ms.
#[test]
fn every_controller_stalls_at_least_as_long_as_the_link_is_dead() {
    for entry in REGISTRY {
        let (summary, _) = call(NETWORK, entry.name);
        assert_eq!(summary.dead_link_s, Some(1.5), "{}", entry.name);
        let floor_s = summary.stall_floor_ratio.unwrap() * DURATION_S as f64;
        assert!((1.5..1.54).contains(&floor_s), "{}: {floor_s} s", entry.name);
        // A picture that playout held back when the link died shortens the stall by that delay.
        let stalled_s = summary.stall_ratio * DURATION_S as f64;
        assert!(stalled_s > floor_s - 0.25, "{} stalled {stalled_s} s", entry.name);
    }
}

#[test]
fn the_floor_is_that_of_all_links_on_the_way() {
    let network = |outage: &str| {
        format!("duration_s = 20.0\nforward.capacity.steps = [[0.0, 1_500_000], [6.0, 0], [7.5, 1_500_000]]\n{outage}")
    };
    let alone = call(&network(""), "gcc").0;
    let text = network(
        "[[links]]\nname = \"far\"\ncapacity = { steps = [[0.0, 900_000], [10.0, 0], [12.0, 900_000]] }\n\
         [[calls]]\nroute = [\"far\"]",
    );
    let far = call_in_session(&text);
    assert_eq!((alone.dead_link_s, far.dead_link_s), (Some(1.5), Some(2.0)));
    let floor_s = far.stall_floor_ratio.unwrap() * DURATION_S as f64;
    assert!((2.0..2.04).contains(&floor_s), "{floor_s} s");
}

fn call_in_session(text: &str) -> Summary {
    let scenario = Scenario::parse(text, "test.toml").unwrap();
    let parts = CallParts::load(&scenario, "".as_ref()).unwrap();
    let session = legato_sim::SessionParts::load(&scenario, "".as_ref()).unwrap();
    let (summaries, _) =
        legato_sim::run_session(&scenario, &parts, &session, 1, LogLevel::Summary, &mut Vec::new()).unwrap();
    summaries.into_iter().next().unwrap()
}
