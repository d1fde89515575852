//! Controllers that decide more than the bitrate, in whole calls: `salsify` picks the size of each
//! frame, `fbra` sends parity. Their papers' claims, in bands.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use legato_sim::{CallParts, Scenario, run_call};
use legato_trace::{FrameRow, GaugeRow, LogLevel, PacketRow, Recorder, SeriesRow, Summary};
use legato_units::{TimeDelta, Timestamp};

struct Outcome {
    summary: Summary,
    series: Vec<SeriesRow>,
    frames: Vec<FrameRow>,
    packets: Vec<PacketRow>,
    gauges: Vec<GaugeRow>,
}

impl Outcome {
    fn receiver_kbps(&self, from_s: f64, to_s: f64) -> f64 {
        let bins = &self.series[(from_s * 10.0) as usize..(to_s * 10.0) as usize];
        bins.iter().map(|row| f64::from(row.receiver_rate_bps()) / 1e3).sum::<f64>() / bins.len() as f64
    }
    /// Sizes in bytes of the sent frames captured over `[from, to)` seconds.
    fn sizes(&self, from_s: f64, to_s: f64) -> Vec<u32> {
        let within = |frame: &&FrameRow| (at(from_s)..at(to_s)).contains(&frame.captured);
        self.frames.iter().filter(within).filter_map(|frame| frame.encoded.map(|coded| coded.size_bytes)).collect()
    }
    /// The longest one-way delay of packets sent over `[from, to)` seconds.
    fn longest_delay(&self, from_s: f64, to_s: f64) -> TimeDelta {
        let within = |packet: &&PacketRow| (at(from_s)..at(to_s)).contains(&packet.sent);
        let delay = |packet: &PacketRow| packet.arrived.map(|arrived| arrived - packet.sent);
        self.packets.iter().filter(within).filter_map(delay).max().unwrap()
    }
}

fn at(s: f64) -> Timestamp {
    Timestamp::ZERO + TimeDelta::from_secs_f64(s)
}

/// A call of the statistical source.
fn call(controller: &str, duration_s: f64, forward: &str, more: &str) -> Outcome {
    let text = format!(
        "duration_s = {duration_s:?}\ncontroller = {controller}\n{more}\n[forward]\npropagation_ms = 25.0\n{forward}\n"
    );
    let scenario = Scenario::parse(&text, "test.toml").unwrap();
    let parts = CallParts::load(&scenario, "".as_ref()).unwrap();
    let mut recorder = Recorder::default();
    let summary = run_call(&scenario, &parts, 1, LogLevel::Packets, &mut recorder).unwrap();
    let (series, frames, packets) =
        (recorder.series().to_vec(), recorder.frames().to_vec(), recorder.packets().to_vec());
    let gauges = recorder.gauges().to_vec();
    Outcome { summary, series, frames, packets, gauges }
}

const STEPS: &str =
    "queue = { limit_ms = 1000.0 }\ncapacity = { steps = [[0.0, 4000000], [20.0, 1000000], [40.0, 2500000]] }";

/// [fouladi2018]: the frame after the first feedback obeys a capacity that fell from 4 to 1 Mbit/s. That feedback is
/// back 25 + 50 + 25 ms after the step, and the next picture comes 33 ms later.
#[test]
fn salsify_reacts_within_one_frame_of_the_first_feedback() {
    let outcome = call("{ name = \"salsify\" }", 60.0, STEPS, "");
    let rates = [(10.0, 20.0), (21.0, 40.0), (41.0, 60.0)].map(|(from_s, to_s)| outcome.receiver_kbps(from_s, to_s));
    assert!(rates[0] > 3_200.0 && rates[1] > 900.0 && rates[2] > 2_000.0, "{rates:?}");
    // What 4 Mbit/s carry in a frame's time is more than 1 Mbit/s carries in 100 ms.
    let (before, after) = (outcome.sizes(19.0, 20.0), outcome.sizes(20.134, 22.0));
    assert!(before.iter().any(|&bytes| bytes > 12_500), "{before:?}");
    assert!(after.iter().all(|&bytes| bytes <= 12_500), "{after:?}");
    // 25 ms of propagation, and the bytes in flight drain within 100 ms; feedback comes every 50 ms.
    for (from_s, to_s) in [(10.0, 20.0), (20.5, 40.0), (40.5, 60.0)] {
        let longest = outcome.longest_delay(from_s, to_s);
        assert!(longest < TimeDelta::from_millis(200), "{longest:?} from {from_s} s on");
    }
    assert!(outcome.summary.frame_drop_ratio.unwrap() < 0.1);
}

/// [nagy2014]: on a link that steps, all four states are seen: DOWN 0, STAY 1, PROBE 2, UP 3.
#[test]
fn fbra_is_seen_in_all_its_states() {
    let outcome = call("{ name = \"fbra\" }", 60.0, STEPS, "");
    let mut seen = [0; 4];
    for row in outcome.gauges.iter().filter(|row| row.name == "fbra_state") {
        seen[row.value as usize] += 1;
    }
    assert!(seen.iter().all(|&times| times >= 20), "{seen:?}");
    // Parity is sent, counted, and a part of the rate.
    let fec_ratio = outcome.summary.fec_ratio.unwrap();
    assert!((0.01..=0.3).contains(&fec_ratio), "{fec_ratio}");
}

/// 2 % of packets are lost, no queue ever fills and nothing is retransmitted: with parity in each frame most of that
/// is repaired, without it nothing is.
#[test]
fn fbras_parity_makes_good_for_random_loss() {
    let lossy = "loss_ratio = 0.02\ncapacity = { constant_bps = 4000000 }";
    let more = "limits = { max_bps = 1000000 }\nreceiver = { nack = false }";
    let residual = |controller| {
        let summary = call(controller, 60.0, lossy, more).summary;
        let (loss, residual) = (summary.loss_ratio.unwrap(), summary.residual_loss_ratio.unwrap());
        assert!((0.015..=0.03).contains(&loss), "{loss}");
        (residual, summary.frames_rendered)
    };
    let (with, without) =
        (residual("{ name = \"fbra\" }"), residual("{ name = \"fbra\", config = { protect = false } }"));
    assert!(with.0 < 0.004 && without.0 > 0.015, "{with:?} {without:?}");
    assert!(with.1 > without.1 + 200, "{with:?} {without:?}");
}
