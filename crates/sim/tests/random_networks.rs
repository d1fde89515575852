//! Every controller on the networks of random_networks.toml: nothing panics, every figure is finite,
//! decisions stay within the limits, packets are conserved, and there is progress.
//!
//! `LEGATO_NETWORKS=100` runs the first hundred.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use legato_controllers::{REGISTRY, entry};
use legato_media::DecoderKind;
use legato_sim::{
    AggregationSpec, BreakersSpec, CallParts, CapacitySpec, ControllerSpec, EncoderKind, FeedbackTiming,
    GilbertElliottSpec, JitterSpec, LoadedCapacity, LoadedClip, PolicerSpec, Policies, QueueKind, ReorderSpec,
    Scenario, Seed, TokenBucketSpec, run_call,
};
use legato_trace::{LogLevel, Recorder, Summary, Value};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU64, Ordering};

/// The plan.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Networks {
    networks: u64,
    duration_s: f64,
    packets_each: u64,
    least_progress_bps: f64,
    range: Ranges,
    share: Shares,
    rescue: Rescue,
    /// Controllers of which less progress is required, by name.
    excuse: BTreeMap<String, Excuse>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Excuse {
    /// If more feedback than this is lost, anything counts as progress.
    reverse_loss_ratio: f64,
}

type Range = [f64; 2];

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Ranges {
    first_capacity_bps: Range,
    capacity_bps: Range,
    change_s: Range,
    propagation_ms: Range,
    queue_packets: Range,
    loss_ratio: Range,
    good_to_bad_ratio: Range,
    bad_to_good_ratio: Range,
    jitter_ms: Range,
    reorder_ratio: Range,
    reorder_ms: Range,
    policer_bps: Range,
    bucket_bps: Range,
    bucket_bytes: Range,
    aggregation_ms: Range,
    clump_packets: Range,
    feedback_ms: Range,
    reverse_propagation_ms: Range,
    reverse_loss_ratio: Range,
    clock_offset_ms: Range,
    clock_drift_ppm: Range,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Shares {
    outage_ratio: f64,
    loss_ratio: f64,
    burst_loss_ratio: f64,
    jitter_ratio: f64,
    reorder_ratio: f64,
    policer_ratio: f64,
    token_bucket_ratio: f64,
    aggregation_ratio: f64,
    slow_feedback_ratio: f64,
    reverse_loss_ratio: f64,
    audio_ratio: f64,
    nack_ratio: f64,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Rescue {
    rescue_bps: u64,
    rescue_s: f64,
}

/// Uniform draws of one network.
struct Draw(u64, u64);

impl Draw {
    fn of(&mut self, [least, most]: Range) -> f64 {
        self.1 += 1;
        let unit = (Seed(self.0).derived(&format!("draw {}", self.1)) >> 11) as f64 / (1u64 << 53) as f64;
        least + unit * (most - least)
    }
    fn chance(&mut self, ratio: f64) -> bool {
        self.of([0.0, 1.0]) < ratio
    }
}

impl Networks {
    fn load() -> Self {
        let mut plan: Self = toml::from_str(include_str!("random_networks.toml")).unwrap();
        if let Ok(networks) = std::env::var("LEGATO_NETWORKS") {
            plan.networks = networks.parse().expect("LEGATO_NETWORKS is a number");
        }
        plan
    }

    /// Network `seed` without a controller.
    fn scenario(&self, seed: u64) -> Scenario {
        let (range, share) = (&self.range, &self.share);
        let mut draw = Draw(seed, 0);
        let mut scenario = Scenario { duration_s: self.duration_s, ..Scenario::default() };
        // The controllers themselves, without the fuse behind them.
        scenario.sender.circuit_breakers = BreakersSpec::Off;
        let mut steps = vec![(0.0, draw.of(range.first_capacity_bps) as u64)];
        let rescue_at = self.duration_s - self.rescue.rescue_s;
        let mut at = draw.of(range.change_s);
        while at < rescue_at {
            let outage = draw.chance(share.outage_ratio);
            steps.push((at, if outage { 0 } else { draw.of(range.capacity_bps) as u64 }));
            at += draw.of(range.change_s);
        }
        steps.push((rescue_at, self.rescue.rescue_bps));
        let forward = &mut scenario.forward;
        forward.capacity = Some(CapacitySpec { steps: Some(steps), ..CapacitySpec::default() });
        forward.propagation_ms = draw.of(range.propagation_ms);
        forward.queue.kind = [QueueKind::DropTail, QueueKind::CoDel, QueueKind::Pie][draw.of([0.0, 2.999]) as usize];
        forward.queue.limit_packets = Some(draw.of(range.queue_packets) as u32);
        if draw.chance(share.loss_ratio) {
            forward.loss_ratio = draw.of(range.loss_ratio);
        }
        forward.gilbert_elliott = draw.chance(share.burst_loss_ratio).then(|| GilbertElliottSpec {
            good_to_bad_ratio: draw.of(range.good_to_bad_ratio),
            bad_to_good_ratio: draw.of(range.bad_to_good_ratio),
            ..GilbertElliottSpec::default()
        });
        forward.jitter = draw
            .chance(share.jitter_ratio)
            .then(|| JitterSpec { std_ms: draw.of(range.jitter_ms), ..JitterSpec::default() });
        forward.reorder = draw
            .chance(share.reorder_ratio)
            .then(|| ReorderSpec { packet_ratio: draw.of(range.reorder_ratio), extra_ms: draw.of(range.reorder_ms) });
        scenario.reverse.propagation_ms = draw.of(range.reverse_propagation_ms);
        if draw.chance(share.reverse_loss_ratio) {
            scenario.reverse.loss_ratio = draw.of(range.reverse_loss_ratio);
        }
        scenario.audio = draw.chance(share.audio_ratio).then(Default::default);
        scenario.receiver.nack = Some(draw.chance(share.nack_ratio));
        scenario.clock.offset_ms = draw.of(range.clock_offset_ms);
        scenario.clock.drift_ppm = draw.of(range.clock_drift_ppm);
        (scenario.video.encoder, scenario.video.decoder) = [
            (Some(EncoderKind::X264), DecoderKind::Strict),
            (Some(EncoderKind::OpenH264), DecoderKind::Sliced),
            (Some(EncoderKind::GraceStandin), DecoderKind::LossTolerant),
        ][seed as usize % 3];
        // Drawn last: the networks are the same for the rest.
        let forward = &mut scenario.forward;
        forward.policer = draw.chance(share.policer_ratio).then(|| PolicerSpec {
            rate_bps: draw.of(range.policer_bps) as u64,
            burst_bytes: draw.of(range.bucket_bytes) as u64,
        });
        forward.token_bucket = draw.chance(share.token_bucket_ratio).then(|| TokenBucketSpec {
            rate_bps: draw.of(range.bucket_bps) as u64,
            burst_bytes: draw.of(range.bucket_bytes) as u64,
            ..TokenBucketSpec::default()
        });
        forward.aggregation = draw.chance(share.aggregation_ratio).then(|| AggregationSpec {
            wait_ms: draw.of(range.aggregation_ms),
            max_packets: draw.of(range.clump_packets) as u32,
        });
        if draw.chance(share.slow_feedback_ratio) {
            let interval_ms = draw.of(range.feedback_ms);
            scenario.receiver.feedback_timing = FeedbackTiming::Rtcp;
            scenario.receiver.min_feedback_interval_ms = interval_ms;
            scenario.receiver.max_feedback_interval_ms = interval_ms;
        }
        scenario
    }
}

fn clips() -> [LoadedClip; 2] {
    let profile = concat!(env!("CARGO_MANIFEST_DIR"), "/../../profiles/foreman.safetensors");
    [LoadedClip::statistical(), LoadedClip::load(profile, None).unwrap()]
}

fn call(
    scenario: &mut Scenario,
    controller: &str,
    clip: &LoadedClip,
    seed: u64,
    level: LogLevel,
    recorder: &mut Recorder,
) -> Summary {
    // The pipeline's guarantees for learned controllers hold for any action, a constant one included.
    let config = if entry(controller).unwrap().learned {
        toml::toml! { policy = "hand" }
    } else {
        Default::default()
    };
    scenario.controller = ControllerSpec { name: controller.to_owned(), config };
    let load = |spec: &CapacitySpec| LoadedCapacity::load(spec, "".as_ref()).unwrap();
    let parts = CallParts {
        forward: scenario.forward.capacity.as_ref().map(load),
        reverse: scenario.reverse.capacity.as_ref().map(load),
        clip: clip.clone(),
        controller: scenario.controller.clone(),
        steered: false,
        policies: Policies::default(),
        events: None,
    };
    run_call(scenario, &parts, seed, level, recorder).unwrap()
}

/// The fault of a call, if any.
fn judge(plan: &Networks, scenario: &Scenario, summary: &Summary, recorder: &Recorder) -> Result<(), String> {
    let mut odd = Ok(());
    summary.for_each(|value| {
        if let Value::Figure(Some(figure)) = value
            && !figure.is_finite()
        {
            odd = Err(format!("a figure is {figure}: {summary:?}"));
        }
    });
    odd?;
    let excuse = plan.excuse.get(&scenario.controller.name);
    let excused = excuse.is_some_and(|excuse| scenario.reverse.loss_ratio > excuse.reverse_loss_ratio);
    if summary.receiver_rate_bps < if excused { 1.0 } else { plan.least_progress_bps } {
        return Err(format!("only {} bit/s arrived", summary.receiver_rate_bps));
    }
    let limits = &scenario.limits;
    for row in recorder.series() {
        let target = row.sample.target_bitrate.as_bps();
        if !(limits.min_bps..=limits.max_bps).contains(&target) {
            return Err(format!("a target of {target} bit/s"));
        }
    }
    if recorder.level() < LogLevel::Packets {
        return Ok(());
    }
    let (mut came, mut gone) = (0, 0);
    for row in recorder.packets() {
        if row.arrived.is_some() && row.dropped.is_some() {
            return Err(format!("{row:?} has two fates"));
        }
        if row.arrived.is_some_and(|at| at < row.sent) {
            return Err(format!("{row:?} arrived before it left"));
        }
        came += u64::from(row.arrived.is_some());
        gone += u64::from(row.dropped.is_some());
    }
    if came != summary.packets_received || came + gone > summary.packets_sent {
        return Err(format!("{came} arrived and {gone} were lost of {summary:?}"));
    }
    Ok(())
}

#[test]
fn every_controller_survives_random_networks() {
    let (plan, clips, next) = (Networks::load(), clips(), AtomicU64::new(0));
    let work = || {
        let mut recorder = Recorder::default();
        let mut failures = Vec::new();
        loop {
            let seed = next.fetch_add(1, Ordering::Relaxed);
            if seed >= plan.networks {
                return failures;
            }
            let mut scenario = plan.scenario(seed);
            let level = if seed % plan.packets_each == 0 { LogLevel::Packets } else { LogLevel::Series };
            for entry in REGISTRY {
                let clip = &clips[seed as usize % 2];
                let run = AssertUnwindSafe(|| {
                    let summary = call(&mut scenario, entry.name, clip, seed, level, &mut recorder);
                    judge(&plan, &scenario, &summary, &recorder)
                });
                let verdict = catch_unwind(run).unwrap_or_else(|_| Err("panicked".to_owned()));
                if let Err(what) = verdict {
                    let (forward, reverse) = (&scenario.forward, &scenario.reverse);
                    failures.push(format!(
                        "{} on network {seed} (loss {:.2} forward, {:.2} reverse; {:?} of {:?} packets): {what}",
                        entry.name,
                        forward.loss_ratio,
                        reverse.loss_ratio,
                        forward.queue.kind,
                        forward.queue.limit_packets,
                    ));
                }
            }
        }
    };
    let failures: Vec<String> = std::thread::scope(|scope| {
        let threads = std::thread::available_parallelism().map_or(1, usize::from);
        let workers: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        workers.into_iter().flat_map(|worker| worker.join().unwrap()).collect()
    });
    assert!(failures.is_empty(), "{} failures:\n{}", failures.len(), failures.join("\n"));
}

/// The controllers that ignore feedback by design.
const HEEDS_NO_SILENCE: [&str; 3] = ["clairvoyant", "fixed", "oracle"];

/// Without feedback for three seconds at least half of the rate must go: of the target, or of the sending rate
/// if a congestion window holds packets back, as gcc's does.
#[test]
fn three_seconds_without_feedback_halve_the_rate() {
    let mut recorder = Recorder::default();
    let text = "duration_s = 16.0\nforward = { capacity = { constant_bps = 2000000 } }\n\
                reverse = { capacity = { steps = [[0.0, 2000000], [10.0, 0]] } }";
    let mut scenario = Scenario::parse(text, "silence.toml").unwrap();
    let mut failures = Vec::new();
    let heeds = |name: &&str| !HEEDS_NO_SILENCE.contains(name);
    for name in REGISTRY.iter().map(|entry| entry.name).filter(heeds) {
        call(&mut scenario, name, &LoadedClip::statistical(), 1, LogLevel::Series, &mut recorder);
        let mean = |from: usize, to: usize, figure: fn(&legato_trace::SeriesRow) -> f64| {
            recorder.series()[from..to].iter().map(figure).sum::<f64>() / (to - from) as f64
        };
        let sent = |row: &legato_trace::SeriesRow| f64::from(row.sending_rate_bps());
        let target = |row: &legato_trace::SeriesRow| row.sample.target_bitrate.as_bps_f64();
        // The last half second: one that was still rising halves its highest rate.
        let (sent_before, target_before) = (mean(95, 100, sent), mean(95, 100, target));
        let (sent_after, target_after) = (mean(133, 143, sent), mean(133, 143, target));
        let floor = 1.05 * scenario.limits.min_bps as f64;
        if sent_after > (0.5 * sent_before).max(floor) && target_after > (0.5 * target_before).max(floor) {
            failures.push(format!(
                "{name}: sent {sent_before} then {sent_after}, target {target_before} then {target_after}"
            ));
        }
    }
    assert!(failures.is_empty(), "{failures:#?}");
}
