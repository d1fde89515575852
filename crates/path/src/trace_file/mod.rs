//! Recorded capacities of real links: every common format, detected by content.
//!
//! ```
//! use legato_path::capacity::{AfterLast, Cut};
//! use legato_path::trace_file;
//! let text = b"time_s,rate_mbps\n0,2.0\n1,0.5\n2,4.0\n";
//! let trace = &trace_file::parse(text, "dip.csv", None).unwrap()[0];
//! assert_eq!(trace.mean_rate().as_bps(), 2_166_666);
//! // Half as fast, from the second second on, again and again.
//! let cut = Cut { scale: 0.5, start: legato_units::TimeDelta::from_secs(1), duration: None };
//! let capacity = trace.capacity(&cut, AfterLast::Repeat).unwrap();
//! ```

mod conditions;
mod date;
mod errant;
mod error;
mod hairpin;
mod ibox;
mod inflate;
mod json;
mod mahimahi;
mod nyu_mets;
mod opennetlab;
mod rate_over_time;
mod rows;
mod starlink;
mod steps;
mod trace;
mod ucc_5g;
mod window;

pub use conditions::Conditions;
pub use error::Error;
pub use inflate::MAX_FILE;
pub use trace::{MeasuredPath, Profile, Sample, Series, Trace};
pub use window::{Challenge, Window};

use error::Fault;
use legato_units::TimeDelta;
use rows::{lines, text};
use std::io::Read;
use std::path::Path;

/// The format of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// A list of speed tests with their RTTs: not a trace, see [`read_base_rtts`].
    Errant,
    /// `time_s rate_mbps rtt loss_ratio` every 15 ms, the third with its unit (Hairpin).
    Hairpin,
    /// JSON: the bottleneck, buffer, propagation and cross traffic fitted to a path (iBox).
    Ibox,
    /// Delivery opportunities, one millisecond per line (Mahimahi, also `.pps` and `.up`/`.down`).
    Mahimahi,
    /// One `value,unit` per second (NYU-METS).
    NyuMets,
    /// Eight columns per second, the first in Mbit/s (NYU-METS multivariate).
    NyuMetsMultivariate,
    /// JSON with a `trace_pattern` (OpenNetLab, AlphaRTC).
    OpenNetLab,
    /// Two or more columns, a time and a rate: with a header that states units, or
    /// `time_s rate_mbps` without one (FCC, Pensieve, Zhuge, our own).
    RateOverTime,
    /// iperf3 down and up with GPS (Starlink on the Autobahn).
    Starlink,
    /// G-NetTrack Pro (UCC 5G).
    Ucc5g,
}

impl Format {
    /// All of them.
    pub const ALL: [Self; 10] = [
        Self::Errant,
        Self::Hairpin,
        Self::Ibox,
        Self::Mahimahi,
        Self::NyuMets,
        Self::NyuMetsMultivariate,
        Self::OpenNetLab,
        Self::RateOverTime,
        Self::Starlink,
        Self::Ucc5g,
    ];

    /// Its name in scenarios and on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Errant => "errant",
            Self::Hairpin => "hairpin",
            Self::Ibox => "ibox",
            Self::Mahimahi => "mahimahi",
            Self::NyuMets => "nyu-mets",
            Self::NyuMetsMultivariate => "nyu-mets-multivariate",
            Self::OpenNetLab => "opennetlab",
            Self::RateOverTime => "rate-over-time",
            Self::Starlink => "starlink",
            Self::Ucc5g => "ucc-5g",
        }
    }

    /// The format with that name.
    pub fn by_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|format| format.name() == name)
    }

    /// The format that a file's first lines show.
    fn detect(text: &str) -> Option<Self> {
        if text.trim_start().starts_with('{') {
            return Some(if ibox::is_profile(text) { Self::Ibox } else { Self::OpenNetLab });
        }
        let first = text.lines().map(str::trim).find(|line| !line.is_empty() && !line.starts_with('#'))?;
        let columns: Vec<&str> = rows::fields(first).collect();
        let has = |name: &str| columns.iter().any(|column| column.eq_ignore_ascii_case(name));
        let numbers = columns.iter().filter(|column| column.parse::<f64>().is_ok()).count();
        // Columns that a spreadsheet added behind the others are empty.
        let filled = columns.iter().rposition(|column| !column.is_empty()).map_or(0, |last| last + 1);
        if has("DL_bitrate") {
            Some(Self::Ucc5g)
        } else if has("timestamp_start_dl") {
            Some(Self::Starlink)
        } else if has("rtt_ms") && has("access_technology") {
            Some(Self::Errant)
        } else if filled == 2 && (has("unit") || nyu_mets::bits_per(columns[1]).is_some()) {
            Some(Self::NyuMets)
        } else if hairpin::is_row(&columns) {
            Some(Self::Hairpin)
        } else if columns.len() == 8 && numbers == 8 {
            Some(Self::NyuMetsMultivariate)
        } else if columns.len() == 1 && first.bytes().all(|byte| byte.is_ascii_digit()) {
            Some(Self::Mahimahi)
        } else if columns.len() >= 2 && (numbers == 2 || rate_over_time::is_header(&columns)) {
            Some(Self::RateOverTime)
        } else {
            None
        }
    }
}

/// One trace by its address: a file's path, and, if the file holds several traces, `#` and the
/// part's name (`throughput.csv#up.3`). Without it the longest part is taken, preferring up to
/// down.
///
/// # Errors
/// A file that cannot be read or is not a trace, or a missing part.
pub fn read(address: &str, format: Option<Format>) -> Result<Trace, Error> {
    let (path, part) = match address.rsplit_once('#') {
        Some((path, part)) if !Path::new(address).exists() => (path, Some(part)),
        _ => (address, None),
    };
    let mut traces = read_all(path, format)?;
    if let Some(part) = part {
        let index = traces.iter().position(|trace| trace.part.as_deref() == Some(part));
        let absent = || Fault::new("part", part, "is not in this file").within(path);
        return Ok(traces.swap_remove(index.ok_or_else(absent)?));
    }
    let downwards = |trace: &Trace| trace.part.as_deref().is_some_and(|part| part.starts_with("down"));
    // `max_by_key` returns the last of equals: iterate backwards, so that the first part wins.
    let index = (0..traces.len()).rev().max_by_key(|&n| (!downwards(&traces[n]), traces[n].duration()));
    Ok(traces.swap_remove(index.ok_or_else(|| Fault::whole("has no trace").within(path))?))
}

/// Every trace of a file, gzipped or not; at least one.
///
/// # Errors
/// A file that cannot be read, is above [`MAX_FILE`], or is not a trace.
pub fn read_all(path: &str, format: Option<Format>) -> Result<Vec<Trace>, Error> {
    parse(&bytes_of(path)?, path, format)
}

/// Every trace in a file's bytes; `name` is its path, for messages and the traces' names.
///
/// # Errors
/// Bytes that are not a trace.
pub fn parse(bytes: &[u8], name: &str, format: Option<Format>) -> Result<Vec<Trace>, Error> {
    let traces = parse_parts(bytes, format).and_then(|(format, parts)| {
        let several = parts.len() > 1;
        if parts.is_empty() {
            return Err(Fault::whole("has no trace"));
        }
        Ok(parts.into_iter().map(|part| Trace::new(name, format, part, several)).collect())
    });
    traces.map_err(|fault| fault.within(name))
}

fn parse_parts(bytes: &[u8], format: Option<Format>) -> Result<(Format, Vec<trace::Part>), Fault> {
    let bytes = inflate::inflated(bytes)?;
    let text = text(&bytes)?;
    if text.trim().is_empty() {
        return Err(Fault::whole("is empty"));
    }
    let unknown = || match lines(text).next() {
        Some(Ok((n, line))) => {
            let known = Format::ALL.map(Format::name)[1..].join(", ");
            Fault::new("row", line, format!("is of no known trace format: {known}")).on(n)
        }
        _ => Fault::whole("is not in a known trace format"),
    };
    let format = format.or_else(|| Format::detect(text)).ok_or_else(unknown)?;
    let parts = match format {
        Format::Errant => return Err(Fault::whole("lists base RTTs and is not a trace over time")),
        Format::Hairpin => hairpin::parse(text)?,
        Format::Ibox => ibox::parse(text)?,
        Format::Mahimahi => mahimahi::parse(text)?,
        Format::NyuMets => nyu_mets::parse(text)?,
        Format::NyuMetsMultivariate => nyu_mets::parse_multivariate(text)?,
        Format::OpenNetLab => opennetlab::parse(text)?,
        Format::RateOverTime => rate_over_time::parse(text)?,
        Format::Starlink => starlink::parse(text)?,
        Format::Ucc5g => ucc_5g::parse(text)?,
    };
    Ok((format, parts))
}

/// The base RTTs of a list of speed tests (ERRANT), to draw one from.
///
/// # Errors
/// A file that cannot be read, or whose `rtt_ms` are not times.
pub fn read_base_rtts(path: &str) -> Result<Vec<TimeDelta>, Error> {
    let bytes = bytes_of(path)?;
    let rtts = inflate::inflated(&bytes).and_then(|bytes| errant::parse(text(&bytes)?));
    rtts.map_err(|fault| fault.within(path))
}

/// A file's bytes, at most one more than the limit.
fn bytes_of(path: &str) -> Result<Vec<u8>, Error> {
    let failed = |error: std::io::Error| Error::Io { file: path.to_owned(), reason: error.to_string() };
    let file = std::fs::File::open(path).map_err(failed)?;
    let mut bytes = Vec::new();
    file.take(MAX_FILE as u64 + 1).read_to_end(&mut bytes).map_err(failed)?;
    Ok(bytes)
}

#[cfg(test)]
#[path = "tests.rs"]
mod tests;
