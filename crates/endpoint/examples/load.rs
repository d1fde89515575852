//! The load of calls on a machine apart from their codec: several at once, frames of filler, str0m at the other ends.
//!
//! `cargo run --release -p legato-endpoint --example load -- CALLS SECONDS`; Linux, for the threads' times.

#![allow(clippy::unwrap_used, reason = "a measurement that cannot go on stops")]

#[path = "../tests/str0m_end/mod.rs"]
mod str0m_end;

use legato_endpoint::{CallSetup, Coding, PictureSource, Place};
use legato_media::FrameRate;
use legato_path::Path;
use legato_path::capacity::LinkCapacity;
use legato_path::queue::QueueLimit;
use legato_path::stage::{Bottleneck, Propagation};
use legato_trace::LogLevel;
use legato_units::{DataRate, TimeDelta};
use std::error::Error;
use std::thread;
use std::time::Duration;
use str0m_end::{answered, constant_rate, sent};

const TARGET: DataRate = DataRate::from_bps(1_500_000);

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1).map(|text| text.parse::<u32>());
    let calls = arguments.next().transpose()?.unwrap_or(8);
    let seconds = arguments.next().transpose()?.unwrap_or(20).max(6);
    let threads: Vec<_> = (0..calls).map(|_| thread::spawn(move || call(seconds))).collect();
    // From when all are connected to before the first ends.
    thread::sleep(Duration::from_secs(2));
    let before = cpu_ticks()?;
    thread::sleep(Duration::from_secs(u64::from(seconds - 4)));
    let spent_s = (cpu_ticks()? - before) as f64 / 100.0;
    for (number, thread) in threads.into_iter().enumerate() {
        println!("call {number}: {}", thread.join().map_err(|_| "a call died")?);
    }
    let share = spent_s / f64::from(seconds - 4) / f64::from(calls);
    println!("endpoint and link: {:.1} % of a processor per call", 100.0 * share);
    Ok(())
}

/// The outcome of a call.
fn call(seconds: u32) -> String {
    let capacity = LinkCapacity::constant(DataRate::from_mbps(3));
    let delay = || Propagation::fixed(TimeDelta::from_millis(20)).into();
    let forward = Path::new([Bottleneck::new(capacity, QueueLimit::Packets(100)).into(), delay()]);
    let place = Place::alone(forward, Path::new([delay()])).unwrap();
    let pictures = PictureSource::Filling { frame_rate: FrameRate::THIRTY };
    let setup = constant_rate((&pictures, Coding::default()), place, TARGET, TimeDelta::from_secs(i64::from(seconds)));
    let mut call = sent(CallSetup { level: LogLevel::Summary, ..setup });
    let mut other = answered(&mut call);
    other.run(|| call.progress().over);
    let ((summary, _, report), _) = call.finish(&[]).unwrap().remove(0);
    let (rate, late) = (summary.receiver_rate_bps / 1e6, report.lateness);
    let (packets, frames, repeated) = (other.video, other.markers, other.repeated);
    format!(
        "{rate:.2} Mbit/s in {packets} packets of {frames} frames and {repeated} repeated, late {:.2} ms p99, {:.2} p99.9",
        late.p99_ms, late.p999_ms
    )
}

/// CPU time of the calls' own threads, in hundredths of a second.
fn cpu_ticks() -> Result<u64, Box<dyn Error>> {
    let mut ticks = 0;
    for task in std::fs::read_dir("/proc/self/task")? {
        let stat = std::fs::read_to_string(task?.path().join("stat"))?;
        let (name, rest) = stat.rsplit_once(") ").ok_or("a thread without a name")?;
        if name.contains("(legato-") {
            ticks += rest.split(' ').skip(11).take(2).filter_map(|word| word.parse::<u64>().ok()).sum::<u64>();
        }
    }
    Ok(ticks)
}
