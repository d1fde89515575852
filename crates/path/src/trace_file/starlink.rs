//! Starlink on the Autobahn: iperf3 down and up, Mbit/s, about one row per second. Runs with
//! minutes between them share the file: each direction of each run is a trace, `down.N` and `up.N`.

use super::date::seconds_since_1970;
use super::error::Fault;
use super::rows::{Header, field, lines, rate};
use super::steps::StepBuilder;
use super::trace::Part;
use legato_units::TimeDelta;

pub(super) fn parse(text: &str) -> Result<Vec<Part>, Fault> {
    let mut parts = direction(text, "down", ["timestamp_start_dl", "timestamp_end_dl", "download"])?;
    parts.extend(direction(text, "up", ["timestamp_start_ul", "timestamp_end_ul", "upload"])?);
    Ok(parts)
}

fn direction(text: &str, name: &str, [start_key, end_key, rate_key]: [&str; 3]) -> Result<Vec<Part>, Fault> {
    let mut lines = lines(text);
    let (_, header) = lines.next().ok_or_else(|| Fault::whole("is empty"))??;
    let header = Header::new(header);
    let (start_at, end_at, rate_at) = (header.index(start_key)?, header.index(end_key)?, header.index(rate_key)?);
    let mut parts = Vec::new();
    let mut run = StepBuilder::new();
    let mut before: Option<(TimeDelta, TimeDelta)> = None;
    for row in lines {
        let (n, line) = row?;
        let start = clock(field(line, start_at, start_key, n)?, start_key, n)?;
        let end = clock(field(line, end_at, end_key, n)?, end_key, n)?;
        if end <= start {
            return Err(Fault::new(end_key, field(line, end_at, end_key, n)?, "is not after the start").on(n));
        }
        // The log repeats some rows.
        if before == Some((start, end)) {
            continue;
        }
        if let Some((began, ended)) = before
            && start - ended > GAP
        {
            let finished = core::mem::replace(&mut run, StepBuilder::new());
            parts.push(finished.finish(Some(format!("{name}.{}", parts.len())), Some(ended - began))?);
        }
        run.push(start, rate(field(line, rate_at, rate_key, n)?, 1e6, rate_key, n)?, start_key, n)?;
        before = Some((start, end));
    }
    if let Some((began, ended)) = before {
        parts.push(run.finish(Some(format!("{name}.{}", parts.len())), Some(ended - began))?);
    }
    Ok(parts)
}

/// `2024-04-19 16:23:00.001039872`, the fraction optional.
fn clock(text: &str, key: &str, n: u64) -> Result<TimeDelta, Fault> {
    let parse = || {
        let (day, clock) = text.split_once(' ')?;
        let (clock, fraction) = clock.split_once('.').unwrap_or((clock, ""));
        if fraction.len() > 9 || !fraction.bytes().all(|byte| byte.is_ascii_digit()) {
            return None;
        }
        let ns: i64 = format!("{fraction:0<9}").parse().ok()?;
        Some(TimeDelta::from_secs(seconds_since_1970(day, '-', clock, ':')?) + TimeDelta::from_nanos(ns))
    };
    parse().ok_or_else(|| Fault::new(key, text, "is not YYYY-MM-DD hh:mm:ss").on(n))
}

/// A longer pause begins a new run: the log says nothing about the link in between.
const GAP: TimeDelta = TimeDelta::from_secs(5);
