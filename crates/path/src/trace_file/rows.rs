//! Lines, fields and numbers of text files, with the line number for the error message.

use super::error::Fault;
use crate::capacity::{MAX_RATE, MAX_SEGMENTS};
use legato_units::{DataRate, TimeDelta};

/// A file as text, without a byte-order mark.
pub(super) fn text(bytes: &[u8]) -> Result<&str, Fault> {
    let text = core::str::from_utf8(bytes).map_err(|error| {
        let line = bytes[..error.valid_up_to()].iter().filter(|&&byte| byte == b'\n').count() as u64 + 1;
        Fault::new("byte", format_args!("{:#04x}", bytes[error.valid_up_to()]), "is not UTF-8 text").on(line)
    })?;
    Ok(text.strip_prefix('\u{feff}').unwrap_or(text))
}

/// Non-empty lines and their numbers; no more than a table may have.
pub(super) fn lines(text: &str) -> impl Iterator<Item = Result<(u64, &str), Fault>> {
    let lines = text.lines().enumerate().map(|(n, line)| (n as u64 + 1, line.trim()));
    lines.filter(|(_, line)| !line.is_empty() && !line.starts_with('#')).enumerate().map(|(count, (n, line))| {
        if count > MAX_SEGMENTS {
            return Err(Fault::new("lines", count, "are more than a million").on(n));
        }
        Ok((n, line))
    })
}

/// A line's fields: by commas, semicolons or tabs if it has any, else by blanks.
pub(super) fn fields(line: &str) -> impl Iterator<Item = &str> {
    let separator = [',', ';', '\t'].into_iter().find(|&separator| line.contains(separator));
    let separated = separator.map(|separator| line.split(separator).map(str::trim));
    let blank = separator.is_none().then(|| line.split_ascii_whitespace());
    separated.into_iter().flatten().chain(blank.into_iter().flatten())
}

/// The columns of a header line.
pub(super) struct Header<'a>(Vec<&'a str>);

impl<'a> Header<'a> {
    pub(super) fn new(line: &'a str) -> Self {
        Self(fields(line).collect())
    }

    /// A required column.
    pub(super) fn index(&self, name: &str) -> Result<usize, Fault> {
        let index = self.0.iter().position(|column| column.eq_ignore_ascii_case(name));
        index.ok_or_else(|| Fault::new("column", name, "is missing").on(1))
    }
}

/// The field of a line in a column.
pub(super) fn field<'a>(line: &'a str, index: usize, key: &str, n: u64) -> Result<&'a str, Fault> {
    fields(line).nth(index).ok_or_else(|| Fault::new("row", line, format!("has no column {key}")).on(n))
}

/// A number, finite and not negative.
pub(super) fn number(field: &str, key: &str, line: u64) -> Result<f64, Fault> {
    let fault = |reason| Fault::new(key, field, reason).on(line);
    let value: f64 = field.parse().map_err(|_| fault("is not a number"))?;
    if !value.is_finite() {
        return Err(fault("is not finite"));
    }
    if value < 0.0 {
        return Err(fault("is below zero"));
    }
    Ok(value)
}

/// A rate in bit/s from a number in a unit.
pub(super) fn rate(field: &str, bps_per_unit: f64, key: &str, line: u64) -> Result<DataRate, Fault> {
    let bps = number(field, key, line)? * bps_per_unit;
    if bps > MAX_RATE.as_bps_f64() {
        return Err(Fault::new(key, field, "is above 100 Gbit/s").on(line));
    }
    Ok(DataRate::from_bps_f64(bps))
}

/// A time from a number in a unit; including clocks that count from 1970.
pub(super) fn time(field: &str, ns_per_unit: f64, key: &str, line: u64) -> Result<TimeDelta, Fault> {
    let ns = number(field, key, line)? * ns_per_unit;
    if ns > MAX_CLOCK_NS {
        return Err(Fault::new(key, field, "is not a valid time").on(line));
    }
    Ok(TimeDelta::from_nanos(ns.round_ties_even() as i64))
}

/// The year 2255.
const MAX_CLOCK_NS: f64 = 9e18;
