//! Only runs one scenario many times: for profilers and instruction counters. `cargo run --release
//! -p legato-sim --example speed -- SCENARIO.toml RUNS [PROFILE]`

use legato_sim::{CallParts, LoadedClip, Scenario, SessionParts, run_call, run_session};
use legato_trace::{LogLevel, Recorder};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let file = arguments.next().ok_or("which scenario?")?;
    let runs: u64 = arguments.next().map_or(Ok(1), |runs| runs.parse())?;
    let clip = arguments.next().map_or_else(|| Ok(LoadedClip::statistical()), |path| LoadedClip::load(&path, None))?;
    let scenario = Scenario::parse(&std::fs::read_to_string(&file)?, &file)?;
    let folder = std::path::Path::new(&file).parent().unwrap_or("".as_ref());
    let parts = CallParts { clip, ..CallParts::load(&scenario, folder)? };
    let session_parts = SessionParts::load(&scenario, folder)?;
    let mut recorders = vec![Recorder::default()];
    let mut packets = 0;
    let mut last = None;
    for seed in 0..runs {
        if scenario.is_shared() {
            let (calls, traffic) =
                run_session(&scenario, &parts, &session_parts, seed, LogLevel::Summary, &mut recorders)?;
            packets += calls.iter().map(|call| call.packets_sent).sum::<u64>();
            packets += traffic.iter().map(|flow| flow.packets_sent).sum::<u64>();
            last = calls.into_iter().next();
        } else {
            let summary = run_call(&scenario, &parts, seed, LogLevel::Summary, &mut recorders[0])?;
            packets += summary.packets_sent;
            last = Some(summary);
        }
    }
    println!("{runs} runs of {} s, {packets} packets", scenario.duration_s);
    println!("{last:#?}");
    Ok(())
}
