//! Every controller on random networks, most of them nasty: nothing panics, every figure is finite,
//! decisions stay within the limits, packets are conserved, and where there is capacity there is
//! progress.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use legato_control::{REGISTRY, Side};
use legato_sim::{
    CallParts, CapacitySpec, ControllerSpec, GilbertElliottSpec, JitterSpec, LoadedCapacity, LoadedClip, ReorderSpec,
    Scenario, Seed, run_call,
};
use legato_trace::{LogLevel, Recorder, Value};

const NETWORKS: u64 = 250;

/// Uniform draws of one network.
struct Draw(u64, u64);

impl Draw {
    fn between(&mut self, least: f64, most: f64) -> f64 {
        self.1 += 1;
        let unit = (Seed(self.0).derived(&format!("draw {}", self.1)) >> 11) as f64 / (1u64 << 53) as f64;
        least + unit * (most - least)
    }
    fn chance(&mut self, ratio: f64) -> bool {
        self.between(0.0, 1.0) < ratio
    }
}

fn scenario(seed: u64, controller: &str) -> Scenario {
    let mut draw = Draw(seed, 0);
    let mut scenario = Scenario { duration_s: 12.0, ..Scenario::default() };
    scenario.controller = ControllerSpec { name: controller.to_owned(), config: Default::default() };
    let mut steps = vec![(0.0, draw.between(5e4, 8e6) as u64)];
    for n in 1..6 {
        let rate = if draw.chance(0.2) { 0.0 } else { draw.between(1e3, 8e6) };
        steps.push((f64::from(n) * 2.0, rate as u64));
    }
    steps.push((11.0, 1_000_000));
    let forward = &mut scenario.forward;
    forward.capacity = Some(CapacitySpec { steps: Some(steps), ..CapacitySpec::default() });
    forward.propagation_ms = draw.between(0.0, 300.0);
    forward.loss_ratio = if draw.chance(0.5) { draw.between(0.0, 0.4) } else { 0.0 };
    forward.queue.kind = ["drop_tail", "codel", "pie"][draw.between(0.0, 2.999) as usize].to_owned();
    forward.queue.limit_packets = Some(draw.between(1.0, 400.0) as u32);
    forward.gilbert_elliott = draw.chance(0.3).then(GilbertElliottSpec::default);
    forward.jitter = draw.chance(0.3).then(JitterSpec::default);
    forward.reorder = draw.chance(0.3).then(ReorderSpec::default);
    scenario.reverse.propagation_ms = draw.between(0.0, 300.0);
    scenario.reverse.loss_ratio = if draw.chance(0.3) { draw.between(0.0, 0.9) } else { 0.0 };
    scenario.audio = draw.chance(0.3).then(Default::default);
    scenario.receiver.nack = Some(draw.chance(0.7));
    scenario.clock.offset_ms = draw.between(-1e6, 1e6);
    scenario.clock.drift_ppm = draw.between(-100.0, 100.0);
    scenario
}

#[test]
fn every_controller_survives_random_networks() {
    let profile = concat!(env!("CARGO_MANIFEST_DIR"), "/../../profiles/foreman.safetensors");
    let clips = [LoadedClip::statistical(), LoadedClip::load(profile).unwrap()];
    let decoders = [("x264", "strict"), ("openh264", "sliced"), ("grace_standin", "loss_tolerant")];
    let mut recorder = Recorder::default();
    for entry in REGISTRY.iter().filter(|entry| entry.side == Side::Sender) {
        for seed in 0..NETWORKS {
            let mut scenario = scenario(seed, entry.name);
            let (encoder, decoder) = decoders[seed as usize % 3];
            (scenario.video.encoder, scenario.video.decoder) = (encoder.to_owned(), decoder.to_owned());
            let forward = LoadedCapacity::load(scenario.forward.capacity.as_ref().unwrap(), "".as_ref()).unwrap();
            let parts = CallParts {
                forward: Some(forward),
                reverse: None,
                clip: clips[seed as usize % 2].clone(),
                controller: scenario.controller.clone(),
            };
            let name = format!("{} on network {seed}", entry.name);
            let summary = run_call(&scenario, &parts, seed, LogLevel::Packets, &mut recorder)
                .unwrap_or_else(|error| panic!("{name}: {error}"));
            summary.for_each(|value| {
                if let Value::Figure(Some(figure)) = value {
                    assert!(figure.is_finite(), "{name}: {summary:?}");
                }
            });
            assert!(summary.packets_received > 0, "{name} sent nothing that came");
            for row in recorder.series() {
                let target = row.sample.target_bitrate.as_bps();
                assert!((50_000..=6_000_000).contains(&target), "{name}: {target}");
            }
            let fates = recorder.packets().iter();
            let (came, gone) = fates.fold((0, 0), |(came, gone), row| {
                assert!(row.arrived.is_none() || row.dropped.is_none(), "{name}: {row:?} has two fates");
                assert!(row.arrived.is_none_or(|at| at >= row.sent), "{name}: {row:?} came before it left");
                (came + u64::from(row.arrived.is_some()), gone + u64::from(row.dropped.is_some()))
            });
            assert_eq!(came, summary.packets_received, "{name}");
            assert!(came + gone <= summary.packets_sent, "{name}");
        }
    }
}
