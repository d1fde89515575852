//! Rows of a time and a rate become runs of steps, split where the recording has a gap.

use super::error::Fault;
use super::trace::{Part, Profile, Series};
use crate::capacity::{AfterLast, MAX_DURATION, RateSteps};
use legato_units::{DataRate, TimeDelta};
use std::sync::Arc;

/// The steps of one run, in order. A row applies from its time to the next row's.
pub(super) struct StepBuilder {
    first: Option<TimeDelta>,
    steps: Vec<(TimeDelta, DataRate)>,
}

impl StepBuilder {
    pub(super) fn new() -> Self {
        Self { first: None, steps: Vec::new() }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.steps.is_empty()
    }

    /// When the last step begins, since the first.
    pub(super) fn last_start(&self) -> TimeDelta {
        self.steps.last().map_or(TimeDelta::ZERO, |&(start, _)| start)
    }

    /// A row; its time must be after the one before and within 24 hours of the first.
    pub(super) fn push(&mut self, at: TimeDelta, rate: DataRate, key: &str, n: u64) -> Result<(), Fault> {
        let first = *self.first.get_or_insert(at);
        let start = at - first;
        let shown = start.as_secs_f64();
        if self.steps.last().is_some_and(|&(before, _)| start <= before) || start.is_negative() {
            return Err(Fault::new(key, format_args!("{shown} s"), "is not after the previous time").on(n));
        }
        if start >= MAX_DURATION {
            return Err(Fault::new(key, format_args!("{shown} s"), "is more than 24 hours after the first").on(n));
        }
        self.steps.push((start, rate));
        Ok(())
    }

    /// The run, its last row as long as `last`, or as the previous row.
    pub(super) fn finish(self, name: Option<String>, last: Option<TimeDelta>) -> Result<Part, Fault> {
        let end = self.last_start();
        let before = self.steps.len().checked_sub(2).map_or(TimeDelta::ZERO, |index| self.steps[index].0);
        let last = last.unwrap_or(if end > before { end - before } else { TimeDelta::from_secs(1) });
        let last = last.max(TimeDelta::from_nanos(1));
        let duration = (end + last).min(MAX_DURATION);
        let table = RateSteps::new(self.steps, duration, AfterLast::Repeat)?;
        Ok(Part { name, profile: Profile::Rates(Arc::new(table)), series: Series::default(), path: None })
    }
}
