//! A trace's records of its path in addition to the capacity: propagation delay and loss over time; for a fitted path
//! also its queue and the cross traffic.

use super::trace::Sample;
use super::{Series, Trace};
use crate::capacity::Cut;
use crate::over_time::OverTime;
use legato_units::{DataRate, DataSize, TimeDelta};

/// The conditions of a path, as far as a trace has them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Conditions {
    /// One-way propagation delay. Where the trace has a round-trip time, half of it.
    pub propagation: Option<OverTime<TimeDelta>>,
    /// The same of the way back; absent where only one way was measured.
    pub return_propagation: Option<OverTime<TimeDelta>>,
    /// Random loss, 0 to 1.
    pub loss_ratio: Option<OverTime<f64>>,
    /// The limit of the bottleneck's queue.
    pub queue: Option<DataSize>,
    /// The rate of traffic on the bottleneck that does not react.
    pub cross_traffic: Option<OverTime<DataRate>>,
}

impl Conditions {
    /// Whether the trace holds nothing but the capacity.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

impl Trace {
    /// The conditions during the part of it that [`Trace::capacity`] plays and repeats. A scale multiplies the cross
    /// traffic as it does the capacity, and the queue's bytes, so that the queue's time stays.
    pub fn conditions(&self, cut: &Cut) -> Conditions {
        let rest = (self.duration() - cut.start).max(TimeDelta::from_nanos(1));
        let length = cut.duration.unwrap_or(rest).min(rest);
        let Series { rtt, loss_ratio, .. } = &self.series;
        let half = window(rtt, cut.start, length).map(|rtt| rtt.map(|rtt| rtt / 2));
        let mut conditions = Conditions {
            propagation: half.clone(),
            return_propagation: half,
            loss_ratio: window(loss_ratio, cut.start, length),
            ..Conditions::default()
        };
        if let Some(path) = &self.path {
            conditions.propagation = Some(OverTime::constant(path.propagation));
            let bytes = path.queue.as_bytes() as f64 * cut.scale;
            conditions.queue = Some(DataSize::from_bytes(bytes.round_ties_even() as u64));
            let cross_traffic = window(&path.cross_traffic, cut.start, length);
            conditions.cross_traffic = cross_traffic.map(|rates| rates.map(|rate| rate.scale(cut.scale)));
        }
        conditions
    }

    /// Its minimum rate, and the share of its duration at that rate; absent for delivery opportunities. Where a log has
    /// a floor, as Hairpin's, that is it.
    pub fn minimum(&self) -> Option<(DataRate, f64)> {
        let super::Profile::Rates(table) = &self.profile else { return None };
        let steps: Vec<_> = table.steps().collect();
        let ends = steps.iter().skip(1).map(|&(start, _)| start).chain([self.duration()]);
        let minimum = steps.iter().map(|&(_, rate)| rate).min()?;
        let at_minimum = steps.iter().zip(ends).filter(|((_, rate), _)| *rate == minimum);
        let lasts: TimeDelta = at_minimum.map(|(&(start, _), end)| end - start).sum();
        Some((minimum, lasts.as_secs_f64() / self.duration().as_secs_f64()))
    }
}

/// The samples of `[start, start + length)` as values that repeat after it; the first sample holds before its time.
fn window<T: Copy + PartialEq>(samples: &[Sample<T>], start: TimeDelta, length: TimeDelta) -> Option<OverTime<T>> {
    let first = samples.partition_point(|sample| sample.at <= start).max(1) - 1;
    let held = samples.get(first)?.value;
    let inside = samples.iter().filter(|sample| sample.at > start && sample.at < start + length);
    let steps = [(TimeDelta::ZERO, held)].into_iter().chain(inside.map(|sample| (sample.at - start, sample.value)));
    // Readers refuse times that do not increase, and the window ends after each of these.
    OverTime::new(steps, Some(length)).ok()
}
