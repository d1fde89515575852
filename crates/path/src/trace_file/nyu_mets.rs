//! NYU-METS: iperf's throughput, one row per second. Each row states its unit, and the units change within a file;
//! where iperf reconnected, its messages are between the rows, and a new run begins.

use super::error::Fault;
use super::rate_over_time::SECOND;
use super::rows::{field, fields, lines, rate};
use super::steps::StepBuilder;
use super::trace::Part;

/// Bits per second of one unit.
pub(super) fn bits_per(unit: &str) -> Option<f64> {
    match unit {
        "bits/sec" => Some(1.0),
        "Kbits/sec" => Some(1e3),
        "Mbits/sec" => Some(1e6),
        "Gbits/sec" => Some(1e9),
        _ => None,
    }
}

pub(super) fn parse(text: &str) -> Result<Vec<Part>, Fault> {
    let mut runs = Vec::new();
    let mut run = StepBuilder::new();
    let mut seconds = 0;
    for (count, row) in lines(text).enumerate() {
        let (n, line) = row?;
        let mut columns = fields(line);
        let (value, unit) = (columns.next().unwrap_or(""), columns.next().unwrap_or(""));
        if count == 0 && unit.eq_ignore_ascii_case("unit") {
            continue;
        }
        if IPERF_WORDS.contains(&value) && IPERF_WORDS.contains(&unit) {
            if !run.is_empty() {
                runs.push(core::mem::replace(&mut run, StepBuilder::new()));
                seconds = 0;
            }
            continue;
        }
        let bps = bits_per(unit)
            .ok_or_else(|| Fault::new("unit", unit, "is not one of bits/sec, Kbits/sec, Mbits/sec").on(n))?;
        run.push(SECOND * seconds, rate(value, bps, "value", n)?, "second", n)?;
        seconds += 1;
    }
    if !run.is_empty() {
        runs.push(run);
    }
    named_runs(runs, "run")
}

/// Throughput in Mbit/s is the first of eight columns.
pub(super) fn parse_multivariate(text: &str) -> Result<Vec<Part>, Fault> {
    let mut run = StepBuilder::new();
    for (second, row) in lines(text).enumerate() {
        let (n, line) = row?;
        let mbps = field(line, 0, "throughput_mbps", n)?;
        run.push(SECOND * second as i64, rate(mbps, 1e6, "throughput_mbps", n)?, "second", n)?;
    }
    Ok(vec![run.finish(None, Some(SECOND))?])
}

/// Runs that send anything, numbered from 0 in order.
fn named_runs(runs: Vec<StepBuilder>, what: &str) -> Result<Vec<Part>, Fault> {
    let parts = runs.into_iter().enumerate().map(|(n, run)| run.finish(Some(format!("{what}.{n}")), Some(SECOND)));
    parts.collect()
}

/// The log's two columns when a connection breaks.
const IPERF_WORDS: [&str; 6] = ["", "connected", "connection", "terminated", "the", "to"];
