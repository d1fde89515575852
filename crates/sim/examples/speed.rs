//! Runs one scenario many times and nothing else: for profilers and instruction counters.
//! `cargo run --release -p legato-sim --example speed -- SCENARIO.toml CALLS [PROFILE]`

use legato_sim::{CallParts, LoadedCapacity, LoadedClip, Scenario, run_call};
use legato_trace::{LogLevel, Recorder};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let file = arguments.next().ok_or("which scenario?")?;
    let calls: u64 = arguments.next().map_or(Ok(1), |calls| calls.parse())?;
    let clip = arguments.next().map_or_else(|| Ok(LoadedClip::statistical()), |path| LoadedClip::load(&path))?;
    let scenario = Scenario::parse(&std::fs::read_to_string(&file)?, &file)?;
    let folder = std::path::Path::new(&file).parent().unwrap_or("".as_ref());
    let load = |spec: &Option<legato_sim::CapacitySpec>| spec.as_ref().map(|spec| LoadedCapacity::load(spec, folder));
    let parts = CallParts {
        forward: load(&scenario.forward.capacity).transpose()?,
        reverse: load(&scenario.reverse.capacity).transpose()?,
        clip,
        controller: scenario.controller.clone(),
    };
    let mut recorder = Recorder::default();
    let mut packets = 0;
    let mut last = None;
    for seed in 0..calls {
        let summary = run_call(&scenario, &parts, seed, LogLevel::Summary, &mut recorder)?;
        packets += summary.packets_sent;
        last = Some(summary);
    }
    println!("{calls} calls of {} s, {packets} packets", scenario.duration_s);
    println!("{last:#?}");
    Ok(())
}
