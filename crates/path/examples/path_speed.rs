//! Nanoseconds a packet costs on a typical path: 1 % loss, a drop-tail bottleneck, propagation and
//! jitter, packets of a 2.5 Mbit/s call. `cargo run --release -p legato-path --example path_speed`
#![expect(clippy::disallowed_methods, reason = "a benchmark reads the clock")]

use legato_path::capacity::{AfterLast, LinkCapacity, Mahimahi, Opportunities, RateSteps, Steps};
use legato_path::queue::{CoDel, CoDelConfig, QueueLimit};
use legato_path::stage::{Bottleneck, Jitter, JitterConfig, Loss, Propagation, QueuedBottleneck};
use legato_path::{Ecn, Packet, Path, PathStage};
use legato_units::{DataRate, DataSize, TimeDelta, Timestamp};
use rand_chacha::ChaCha8Rng;
use rand_core::SeedableRng;
use std::hint::black_box;
use std::sync::Arc;
use std::time::Instant;

/// Packets a path, unless the first argument says otherwise; the second chooses paths by a word.
const PACKETS: i64 = 10_000_000;

fn main() {
    let packets = std::env::args().nth(1).and_then(|count| count.parse().ok()).unwrap_or(PACKETS);
    let limit = QueueLimit::Bytes(DataSize::from_bytes(93_750));
    let steps = (0..60).map(|s| (TimeDelta::from_secs(s), DataRate::from_kbps(2_000 + (s * 700 % 1_300) as u64)));
    let table = Arc::new(RateSteps::new(steps, TimeDelta::from_secs(60), AfterLast::Repeat).expect("valid"));
    let slots = Arc::new(Opportunities::new((1..60_000).map(|n| n * 4 + n % 3)).expect("valid"));
    let constant = || LinkCapacity::constant(DataRate::from_mbps(3));

    report(packets, "bottleneck, propagation (constant)", [Bottleneck::new(constant(), limit).into(), fixed()]);
    report(
        packets,
        "loss, bottleneck, propagation, jitter (constant)",
        typical(Bottleneck::new(constant(), limit).into()),
    );
    report(packets, "… (steps of 1 s)", typical(Bottleneck::new(Steps::new(table.clone()), limit).into()));
    report(packets, "… (mahimahi)", typical(Bottleneck::new(Mahimahi::new(slots), limit).into()));
    let codel = CoDel::new(CoDelConfig::default());
    report(packets, "… (steps, CoDel)", typical(QueuedBottleneck::new(Steps::new(table), Box::new(codel)).into()));
}

fn fixed() -> PathStage<[u32; 4]> {
    Propagation::fixed(TimeDelta::from_millis(40)).into()
}

fn typical(bottleneck: PathStage<[u32; 4]>) -> [PathStage<[u32; 4]>; 4] {
    let rng = ChaCha8Rng::seed_from_u64;
    let loss = Loss::new(0.01, rng(1)).expect("a ratio");
    [loss.into(), bottleneck, fixed(), Jitter::new(JitterConfig::default(), rng(2)).into()]
}

fn report<const N: usize>(packets: i64, what: &str, stages: [PathStage<[u32; 4]>; N]) {
    let mut path = Path::new(stages);
    if std::env::args().nth(2).is_some_and(|only| !what.contains(&only)) {
        return;
    }
    let (mut sum, mut out) = (0, 0u64);
    let began = Instant::now();
    for n in 0..packets {
        let now = Timestamp::from_nanos(n * 3_600_000);
        let size = DataSize::from_bytes(1_000 + (n as u64 / 9 % 8) * 25);
        path.push(now, Packet { size, flow: 0, ecn: Ecn::NotEct, payload: [n as u32; 4] });
        // Several at a time: one by one, the processor's wrong guesses at whether the next event is
        // an arrival or a departure would be measured too, and they are the caller's.
        if n % 32 != 31 {
            continue;
        }
        while path.next_arrival().is_some_and(|at| at <= now) {
            if let Some(delivered) = path.pop(now) {
                sum += delivered.at.as_nanos() & 1;
                out += 1;
            }
        }
    }
    let ns = began.elapsed().as_nanos() as f64 / packets as f64;
    println!("{ns:6.1} ns/packet  {what}: {out} out, {} lost", path.drops().total());
    black_box(sum);
}
