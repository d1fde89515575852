//! Mahimahi: one delivery opportunity per line, in ms from the start; also `.pps`.

use super::error::Fault;
use super::trace::{Part, Profile, Series};
use crate::capacity::{CapacityError, MAX_DURATION, Opportunities};
use std::sync::Arc;

pub(super) fn parse(text: &str) -> Result<Vec<Part>, Fault> {
    let mut last = 0;
    let mut numbers = Vec::new();
    let mut times = Vec::new();
    for (index, line) in text.lines().enumerate() {
        let (n, line) = (index as u64 + 1, line.trim());
        if line.is_empty() {
            continue;
        }
        let fault = |reason| Fault::new("time_ms", line, reason).on(n);
        // Digits only: `parse` would accept a plus sign too.
        let digits = line.bytes().all(|byte| byte.is_ascii_digit());
        let ms: u64 = line.parse().ok().filter(|_| digits).ok_or_else(|| fault("is not a whole number of ms"))?;
        if ms > MAX_DURATION.as_millis() as u64 {
            return Err(fault("is more than 24 hours"));
        }
        if ms < last {
            return Err(fault("is before the previous line"));
        }
        last = ms;
        times.push(ms);
        numbers.push(n as u32);
    }
    let table = Opportunities::new(times.iter().copied()).map_err(|error| match error {
        CapacityError::TooFast { index } => {
            Fault::new("time_ms", times[index], "comes too often: above 100 Gbit/s").on(numbers[index].into())
        }
        CapacityError::Duration => Fault::new("time_ms", last, "is the last and so the period: it must be positive"),
        other => other.into(),
    })?;
    Ok(vec![Part {
        name: None,
        profile: Profile::Opportunities(Arc::new(table)),
        series: Series::default(),
        path: None,
    }])
}
