//! ECN marks from queue to controller, and RFC 8888 feedback in place of transport-wide, in whole calls.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use legato_sim::{CallParts, LoadedCapacity, LoadedClip, Policies, Scenario, run_call};
use legato_trace::{LogLevel, Recorder, Summary};

/// A call of 20 s over 1 Mbit/s, unless `more` overrides it.
fn call(controller: &str, more: &str) -> (Summary, Recorder) {
    seeded(controller, more, 1)
}

fn seeded(controller: &str, more: &str, seed: u64) -> (Summary, Recorder) {
    let capacity =
        if more.contains("forward.capacity") { "" } else { "[forward.capacity]\nconstant_bps = 1_000_000\n" };
    let text = format!("duration_s = 20.0\ncontroller = {controller}\n[audio]\n{capacity}{more}");
    let scenario = Scenario::parse(&text, "marks.toml").unwrap();
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
    let summary = run_call(&scenario, &parts, seed, LogLevel::Packets, &mut recorder).unwrap();
    (summary, recorder)
}

const TOO_FAST: &str = "{ name = \"fixed\", config = { target_bitrate_bps = 1_030_000 } }";
/// Little enough that PIE's probability stays near the 10 % up to which it marks.
const A_LITTLE_TOO_FAST: &str = "{ name = \"fixed\", config = { target_bitrate_bps = 1_000_000 } }";
const GCC: &str = "{ name = \"gcc\" }";

fn drops(recorder: &Recorder, reason: &str) -> usize {
    recorder.packets().iter().filter(|packet| packet.dropped == Some(reason)).count()
}

#[test]
fn where_an_aqm_would_drop_it_marks_those_who_are_capable() {
    for (kind, controller) in [("codel", TOO_FAST), ("pie", A_LITTLE_TOO_FAST)] {
        let queue = format!("[forward.queue]\nkind = \"{kind}\"\n");
        let (off, dropped) = call(controller, &queue);
        assert_eq!(off.ce_ratio, Some(0.0));
        assert!(drops(&dropped, "aqm") > 20, "{kind}");
        for ecn in ["ect0", "ect1"] {
            let (on, marked) = call(controller, &format!("{queue}[sender]\necn = \"{ecn}\""));
            let (marks, left, before) = (on.ce_ratio, drops(&marked, "aqm"), drops(&dropped, "aqm"));
            println!("{kind} {ecn}: {marks:?} marked, {left} of {before} drops left");
            assert!(marks > Some(0.0), "{kind} {ecn}: {marks:?}");
            // PIE marks up to a probability of 10 % and drops beyond: a sender that ignores marks soon drives it
            // there, so that few packets are marked.
            assert!(if kind == "pie" { left < before } else { left == 0 }, "{kind} {ecn}: {left} of {before}");
            assert_eq!(marked.packets().iter().filter(|packet| packet.ce && packet.dropped.is_some()).count(), 0);
        }
        let (refused, _) = call(controller, &format!("{queue}ecn = false\n[sender]\necn = \"ect0\""));
        assert_eq!(refused.ce_ratio, Some(0.0));
        // A sender without ECN sees the same queue either way.
        assert_eq!(call(controller, &format!("{queue}ecn = false")).0, off);
    }
}

#[test]
fn a_step_marks_exactly_those_who_wait_longer_by_the_fast_road_and_by_the_slow_one() {
    let marks = |more: &str| {
        let (summary, recorder) =
            call(TOO_FAST, &format!("[sender]\necn = \"ect1\"\n[forward.queue]\nmark_above_ms = 20.0\n{more}"));
        let marked: Vec<_> = recorder.packets().iter().map(|packet| (packet.packet.transport_seq, packet.ce)).collect();
        // RTCP is in the queue too, and the previous packet may be in transmission: a packet of 1,200 bytes takes 10 ms.
        for row in recorder.packets() {
            if let Some(arrived) = row.arrived {
                let waited_ms = (arrived - row.sent).as_millis_f64() - 25.0 - f64::from(row.packet.size_bytes) * 8e-3;
                assert_eq!(row.ce, waited_ms > 20.0 + 1e-6, "{waited_ms}");
            }
        }
        (summary, marked)
    };
    let (fast, marked) = marks("");
    assert!(fast.ce_ratio.is_some_and(|ratio| (0.5..1.0).contains(&ratio)), "{:?}", fast.ce_ratio);
    // A stage that may reorder, and never does, takes every packet one by one.
    let (slow, same) = marks("[forward.reorder]\npacket_ratio = 0.0");
    assert_eq!((fast, marked), (slow, same));
}

/// RFC 8888 reports to 1/1024 s what transport-wide feedback reports to 1/4 ms: gcc performs equally with both.
#[test]
fn gcc_does_as_well_on_either_feedback() {
    let cases = [
        "",
        "[forward]\nloss_ratio = 0.02",
        "[forward]\njitter = { std_ms = 3.0 }",
        "[forward.capacity]\nsteps = [[0.0, 2_000_000], [8.0, 800_000], [14.0, 1_500_000]]",
        "[forward]\nreorder = { packet_ratio = 0.02, extra_ms = 15.0 }",
    ];
    for case in cases {
        // A single call depends on each loss; the mean of eight calls does not.
        let mean = |more: &str, figure: fn(&Summary) -> Option<f64>| {
            let figures = (1..=8).map(|seed| figure(&seeded(GCC, &format!("{case}{more}"), seed).0).unwrap());
            figures.sum::<f64>() / 8.0
        };
        let both = |figure| (mean("", figure), mean("\n[receiver]\nfeedback = \"ccfb\"", figure));
        let (twcc, ccfb) = both(|summary| summary.utilisation_ratio);
        let (twcc_ms, ccfb_ms) = both(|summary| summary.one_way_delay_p95_ms);
        println!("{case:?}: utilisation {twcc:.3} {ccfb:.3}, p95 {twcc_ms:.1} {ccfb_ms:.1} ms");
        assert!((0.9..=1.1).contains(&(ccfb / twcc)), "{case:?}: {twcc} {ccfb}");
        assert!((0.7..=1.3).contains(&(ccfb_ms / twcc_ms)), "{case:?}: {twcc_ms} {ccfb_ms} ms");
    }
}
