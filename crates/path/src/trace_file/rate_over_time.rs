//! Columns of a time and a rate. A header states the units in its names (`time_s`, `time_ms`,
//! `rate_mbps`, `capacity_bps`, …); without one it is `time_s rate_mbps`. A row applies from its time
//! to the next row's; the first row's time counts as zero.

use super::error::Fault;
use super::rows::{field, fields, lines, number, rate, time};
use super::steps::StepBuilder;
use super::trace::{Part, Sample};
use legato_units::TimeDelta;

/// Whether one of these is the name of a time or a rate. A header that lacks the other is refused by name.
pub(super) fn is_header(columns: &[&str]) -> bool {
    columns.iter().any(|name| time_unit(name).is_some() || rate_unit(name).is_some())
}

pub(super) fn parse(text: &str) -> Result<Vec<Part>, Fault> {
    let mut lines = lines(text).peekable();
    let mut columns = Columns::default();
    if let Some(Ok((n, line))) = lines.peek()
        && fields(line).any(|field| field.parse::<f64>().is_err())
    {
        columns = Columns::named(line, *n)?;
        lines.next();
    }
    let mut builder = StepBuilder::new();
    let (mut rtt, mut loss_ratio, mut first) = (Vec::new(), Vec::new(), None);
    for row in lines {
        let (n, line) = row?;
        let (index, ns, key) = &columns.time;
        let at = time(field(line, *index, key, n)?, *ns, key, n)?;
        let (index, bps, rate_key) = &columns.rate;
        builder.push(at, rate(field(line, *index, rate_key, n)?, *bps, rate_key, n)?, key, n)?;
        let at = at - *first.get_or_insert(at);
        if let Some(index) = columns.rtt_ms {
            let text = field(line, index, "rtt_ms", n)?;
            let value = time(text, 1e6, "rtt_ms", n)?;
            if value > MAX_RTT {
                return Err(Fault::new("rtt_ms", text, "is above a minute").on(n));
            }
            rtt.push(Sample { at, value });
        }
        if let Some(index) = columns.loss_ratio {
            let text = field(line, index, "loss_ratio", n)?;
            let value = number(text, "loss_ratio", n)?;
            if value > 1.0 {
                return Err(Fault::new("loss_ratio", text, "is above 1").on(n));
            }
            loss_ratio.push(Sample { at, value });
        }
    }
    let mut part = builder.finish(None, None)?;
    part.series.rtt = rtt;
    part.series.loss_ratio = loss_ratio;
    Ok(vec![part])
}

/// The positions of the columns, their units in ns or bit/s, and their names.
struct Columns {
    time: (usize, f64, String),
    rate: (usize, f64, String),
    rtt_ms: Option<usize>,
    loss_ratio: Option<usize>,
}

impl Default for Columns {
    fn default() -> Self {
        Self { time: (0, 1e9, "time_s".into()), rate: (1, 1e6, "rate_mbps".into()), rtt_ms: None, loss_ratio: None }
    }
}

impl Columns {
    fn named(header: &str, n: u64) -> Result<Self, Fault> {
        let names: Vec<&str> = fields(header).collect();
        let find = |unit: fn(&str) -> Option<f64>, what: &str| {
            let mut found = names.iter().enumerate().filter_map(|(index, name)| Some((index, unit(name)?, *name)));
            let (index, unit, name) = found.next().ok_or_else(|| Fault::new("header", header, what).on(n))?;
            match found.next() {
                Some((_, _, second)) => Err(Fault::new("header", second, format!("is a second {name}")).on(n)),
                None => Ok((index, unit, name.to_owned())),
            }
        };
        Ok(Self {
            time: find(time_unit, "has no time (time_s, time_ms, time_us)")?,
            rate: find(rate_unit, "has no rate (rate_mbps, capacity_kbps, rate_bps)")?,
            rtt_ms: names.iter().position(|name| *name == "rtt_ms"),
            loss_ratio: names.iter().position(|name| *name == "loss_ratio"),
        })
    }
}

fn time_unit(name: &str) -> Option<f64> {
    let (stem, unit) = name.rsplit_once('_')?;
    let ns = match unit {
        "s" => 1e9,
        "ms" => 1e6,
        "us" => 1e3,
        "ns" => 1.0,
        _ => return None,
    };
    ["time", "timestamp", "t"].contains(&stem).then_some(ns)
}

fn rate_unit(name: &str) -> Option<f64> {
    let (stem, unit) = name.rsplit_once('_')?;
    let bps = match unit {
        "bps" => 1.0,
        "kbps" => 1e3,
        "mbps" => 1e6,
        "gbps" => 1e9,
        _ => return None,
    };
    ["rate", "capacity", "bandwidth", "throughput"].contains(&stem).then_some(bps)
}

/// The maximum round-trip time of a row.
pub(super) const MAX_RTT: TimeDelta = TimeDelta::from_secs(60);
/// The duration of a sample of these columns, for other formats of one row per second.
pub(super) const SECOND: TimeDelta = TimeDelta::from_secs(1);
