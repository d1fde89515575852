//! Pauses of the media in a simulated call: the effect of the scenario key, end to end.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use legato_sim::{CallParts, LoadedCapacity, LoadedClip, Policies, Scenario, run_call};
use legato_trace::{LogLevel, Recorder, Summary};
use legato_units::{TimeDelta, Timestamp};

/// A call over 2 Mbit/s with these pauses.
fn call(pauses: &str) -> (Summary, Recorder) {
    let text = format!("duration_s = 20.0\n[audio]\n[forward.capacity]\nconstant_bps = 2_000_000\n{pauses}");
    let scenario = Scenario::parse(&text, "pauses.toml").unwrap();
    let forward = LoadedCapacity::load(scenario.forward.capacity.as_ref().unwrap(), ".".as_ref()).unwrap();
    let clip = LoadedClip::statistical();
    let parts = CallParts {
        forward: Some(forward),
        reverse: None,
        clip,
        controller: scenario.controller.clone(),
        steered: false,
        policies: Policies::default(),
        events: None,
    };
    let mut recorder = Recorder::default();
    let summary = run_call(&scenario, &parts, 1, LogLevel::Packets, &mut recorder).unwrap();
    (summary, recorder)
}

#[test]
fn a_pause_is_silent_is_no_freeze_and_ends_with_a_key_frame() {
    let (summary, recorder) = call("[[pauses]]\nstart_s = 8.0\nend_s = 14.0");
    let at = |s: f64| Timestamp::ZERO + TimeDelta::from_secs_f64(s);
    let sent = |from: f64, to: f64| recorder.packets().iter().filter(|p| p.sent >= at(from) && p.sent < at(to)).count();
    assert_eq!((sent(8.3, 14.0), sent(14.0, 15.0) > 50), (0, true));
    let resumed = recorder.frames().iter().find(|frame| frame.captured >= at(8.0)).unwrap();
    assert_eq!((resumed.captured, resumed.encoded.unwrap().keyframe), (at(14.0), true));
    assert!(resumed.rendered.unwrap() < at(14.5));
    assert_eq!((summary.freezes, summary.plis, summary.stalls_per_s), (0, 0, 0.0));
}

#[test]
fn a_call_that_ends_in_a_pause_ends_without_a_freeze() {
    let (summary, recorder) = call("[[pauses]]\nstart_s = 2.0\nend_s = 4.0\n[[pauses]]\nstart_s = 10.0\nend_s = 60.0");
    // After the first pause the key frame may take its time in the network; that is not part of the pause.
    assert!(recorder.freezes().iter().all(|freeze| freeze.duration < TimeDelta::from_millis(500)));
    // 8 s at 30 pictures a second, whose intervals vary.
    assert!((230..=250).contains(&summary.frames_captured), "{}", summary.frames_captured);
}
