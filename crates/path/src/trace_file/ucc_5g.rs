//! UCC 5G: G-NetTrack Pro's log of a saturating download, about one row per second, in kbit/s. The
//! uplink carries only acknowledgements and is not a trace.
//!
//! The log skips seconds (the last value holds) and repeats some (their mean counts).

use super::date::seconds_since_1970;
use super::error::Fault;
use super::rate_over_time::SECOND;
use super::rows::{Header, field, lines, rate};
use super::steps::StepBuilder;
use super::trace::Part;
use legato_units::{DataRate, TimeDelta};

pub(super) fn parse(text: &str) -> Result<Vec<Part>, Fault> {
    let mut lines = lines(text);
    let (_, header) = lines.next().ok_or_else(|| Fault::whole("is empty"))??;
    let header = Header::new(header);
    let (time_index, rate_index) = (header.index("Timestamp")?, header.index("DL_bitrate")?);
    let mut run = StepBuilder::new();
    // The second being summed: its time, Σ bit/s, rows, and its first line.
    let mut second: Option<(i64, u64, u64, u64)> = None;
    for row in lines {
        let (n, line) = row?;
        let stamp = field(line, time_index, "Timestamp", n)?;
        let no_time = || Fault::new("Timestamp", stamp, "is not YYYY.MM.DD_hh.mm.ss").on(n);
        let at = stamp.split_once('_').and_then(|(day, clock)| seconds_since_1970(day, '.', clock, '.'));
        let at = at.ok_or_else(no_time)?;
        let bps = rate(field(line, rate_index, "DL_bitrate", n)?, 1e3, "DL_bitrate", n)?.as_bps();
        match &mut second {
            Some((when, sum, rows, _)) if *when == at => {
                *sum += bps;
                *rows += 1;
            }
            _ => {
                finish_second(&mut run, second.replace((at, bps, 1, n)))?;
            }
        }
    }
    finish_second(&mut run, second)?;
    Ok(vec![run.finish(None, Some(SECOND))?])
}

fn finish_second(run: &mut StepBuilder, second: Option<(i64, u64, u64, u64)>) -> Result<(), Fault> {
    let Some((at, sum, rows, n)) = second else { return Ok(()) };
    run.push(TimeDelta::from_secs(at), DataRate::from_bps(sum / rows), "Timestamp", n)
}
