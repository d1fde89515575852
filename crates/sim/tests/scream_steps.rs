//! SCReAM over whole calls: the steps of RFC 8867 §5.1, its forward delays of 50 and 100 ms, and a drop-tail queue of
//! 300 ms at the reference rate. Video is RFC 8593's statistical source, with audio. The bands are those each version
//! keeps; docs/papers/scream.md lists which of the suite's thresholds it misses.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use legato_sim::{CallParts, Scenario, run_call};
use legato_trace::{LogLevel, Recorder};

/// One segment of constant capacity.
#[derive(Debug)]
struct Segment {
    /// Received over available, in the last ten seconds.
    utilisation: f64,
    /// 95th percentile of the bottleneck's queue, without the three seconds after a drop of capacity.
    queue_p95_ms: f64,
    /// Lost packets, without the three seconds after a drop.
    loss_ratio: f64,
}

const STEPS: [(f64, f64, f64); 4] =
    [(0.0, 40.0, 1.0e6), (40.0, 60.0, 2.5e6), (60.0, 80.0, 0.6e6), (80.0, 100.0, 1.0e6)];

fn segments(controller: &str, propagation_ms: f64) -> Vec<Segment> {
    let text = format!(
        "name = \"5.1\"\nduration_s = 100.0\nlimits = {{ min_bps = 150000, start_bps = 150000, max_bps = 3000000 }}\n\
         {controller}\n[audio]\n[forward]\npropagation_ms = {propagation_ms:?}\n\
         queue = {{ limit_ms = 300.0, reference_bps = 1000000 }}\n\
         capacity = {{ steps = [[0.0, 1000000], [40.0, 2500000], [60.0, 600000], [80.0, 1000000]] }}\n\
         [reverse]\npropagation_ms = {propagation_ms:?}\n"
    );
    let scenario = Scenario::parse(&text, "test.toml").unwrap();
    let parts = CallParts::load(&scenario, "".as_ref()).unwrap();
    let mut recorder = Recorder::default();
    run_call(&scenario, &parts, 1, LogLevel::Packets, &mut recorder).unwrap();
    STEPS.iter().map(|&(from, to, capacity_bps)| segment(&recorder, from, to, capacity_bps)).collect()
}

fn segment(recorder: &Recorder, from: f64, to: f64, capacity_bps: f64) -> Segment {
    let dropped = from == 60.0;
    let settled = from + if dropped { 3.0 } else { 0.0 };
    let received: u64 = recorder
        .packets()
        .iter()
        .filter(|row| row.arrived.is_some_and(|at| (to - 10.0..to).contains(&at.as_secs_f64())))
        .map(|row| u64::from(row.packet.size_bytes))
        .sum();
    let bins = &recorder.series()[(settled * 10.0) as usize..(to * 10.0) as usize];
    let mut queues: Vec<f64> =
        bins.iter().filter_map(|row| row.sample.queue).map(|queue| queue.as_millis_f64()).collect();
    queues.sort_by(f64::total_cmp);
    let sent = recorder.packets().iter().filter(|row| (settled..to).contains(&row.sent.as_secs_f64()));
    let (lost, all) = sent.fold((0, 0), |(lost, all), row| (lost + u32::from(row.dropped.is_some()), all + 1));
    Segment {
        utilisation: received as f64 * 8.0 / 10.0 / capacity_bps,
        queue_p95_ms: queues[queues.len() * 95 / 100],
        loss_ratio: f64::from(lost) / f64::from(all),
    }
}

/// A profile, and its bands: minimum utilisation, maximum queue, and maximum queue after the drop.
const BANDS: [(&str, f64, f64, f64); 5] = [
    ("{ name = \"scream\" }", 0.85, 280.0, 320.0),
    ("{ name = \"scream\", config = { competing_flows = false } }", 0.85, 190.0, 210.0),
    ("{ name = \"scream-v2\" }", 0.75, 110.0, 120.0),
    ("{ name = \"scream-v2\", config = { profile = \"v2-ericsson\" } }", 0.7, 210.0, 210.0),
    ("{ name = \"scream-v2\", config = { profile = \"v2-libwebrtc\" } }", 0.4, 80.0, 80.0),
];

#[test]
fn each_version_keeps_its_bands() {
    for (controller, used, queue_ms, queue_after_drop_ms) in BANDS {
        for propagation_ms in [50.0, 100.0] {
            let segments = segments(&format!("controller = {controller}"), propagation_ms);
            println!("{controller} {propagation_ms} ms: {segments:#.3?}");
            for ((from, ..), segment) in STEPS.iter().zip(&segments) {
                let case = format!("{controller} {propagation_ms} ms from {from} s: {segment:?}");
                let limit_ms = if *from == 60.0 { queue_after_drop_ms } else { queue_ms };
                assert!(segment.utilisation >= used, "{case}");
                assert!(segment.queue_p95_ms <= limit_ms, "{case}");
                assert!(segment.loss_ratio <= 0.02, "{case}");
            }
        }
    }
}
