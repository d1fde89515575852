//! The contents of a trace file.

use super::Format;
use crate::capacity::{
    AfterLast, Capacity, CapacityError, Cut, LinkCapacity, Mahimahi, Opportunities, RateSteps, Steps,
};
use legato_units::{DataRate, DataSize, TimeDelta, Timestamp};
use std::sync::Arc;

/// The recorded capacity of a link. Cheap to clone: the data is shared.
#[derive(Clone, Debug)]
pub struct Trace {
    /// The file's name without folders and `.gz`; `#` and the part if the file has several.
    pub name: String,
    /// The data set: the known folder it lies in, or its format's name.
    pub family: String,
    /// The format of the file.
    pub format: Format,
    /// The part of its file: a direction, a run without gaps. Absent if there is only one.
    pub part: Option<String>,
    /// The capacity.
    pub profile: Profile,
    /// The other recorded series.
    pub series: Series,
    /// The rest of the path, where it was fitted.
    pub path: Option<MeasuredPath>,
}

/// The fitted values of a path in addition to its capacity.
#[derive(Clone, Debug)]
pub struct MeasuredPath {
    /// One-way propagation delay.
    pub propagation: TimeDelta,
    /// The size of the bottleneck's buffer.
    pub queue: DataSize,
    /// The rate of traffic that competed with the measured flow.
    pub cross_traffic: Vec<Sample<DataRate>>,
}

/// The two forms of a recorded capacity.
#[derive(Clone, Debug)]
pub enum Profile {
    /// Delivery opportunities of 1,500 bytes.
    Opportunities(Arc<Opportunities>),
    /// Rates over time.
    Rates(Arc<RateSteps>),
}

/// One value of a series, valid from its time on.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sample<T> {
    /// From the trace's start.
    pub at: TimeDelta,
    /// The value.
    pub value: T,
}

/// Conditions over time in addition to capacity; empty if the trace has none.
#[derive(Clone, Debug, Default)]
pub struct Series {
    /// Round-trip time.
    pub rtt: Vec<Sample<TimeDelta>>,
    /// Random loss ratio, 0 to 1.
    pub loss_ratio: Vec<Sample<f64>>,
    /// Packet delay variation, as given in the file.
    pub jitter: Vec<Sample<TimeDelta>>,
}

/// A trace before it is named after its file.
#[derive(Debug)]
pub(super) struct Part {
    pub(super) name: Option<String>,
    pub(super) profile: Profile,
    pub(super) series: Series,
    pub(super) path: Option<MeasuredPath>,
}

impl Trace {
    pub(super) fn new(path: &str, format: Format, part: Part, several: bool) -> Self {
        let file = path.rsplit(['/', '\\']).next().unwrap_or(path);
        let file = file.strip_suffix(".gz").unwrap_or(file);
        let known = path.split(['/', '\\']).rev().skip(1).find(|folder| FAMILIES.contains(folder));
        let part_name = part.name.filter(|_| several);
        Self {
            name: part_name.as_ref().map_or_else(|| file.to_owned(), |part| format!("{file}#{part}")),
            family: known.unwrap_or(format.name()).to_owned(),
            format,
            part: part_name,
            profile: part.profile,
            series: part.series,
            path: part.path,
        }
    }

    /// Its duration.
    pub fn duration(&self) -> TimeDelta {
        match &self.profile {
            Profile::Opportunities(table) => table.duration(),
            Profile::Rates(table) => table.duration(),
        }
    }

    /// Its mean rate.
    pub fn mean_rate(&self) -> DataRate {
        match &self.profile {
            Profile::Opportunities(table) => table.mean_rate(),
            Profile::Rates(table) => table.mean_rate(),
        }
    }

    /// The capacity of a window of it, faster or slower. Opportunities always repeat, as in Mahimahi;
    /// `after` is for rates. The whole at its own speed shares the trace's data; for anything else
    /// cut once and clone the result, which shares too.
    ///
    /// # Errors
    /// A window outside the trace, a scale that is not a positive number, or a window that never
    /// sends and repeats.
    pub fn capacity(&self, cut: &Cut, after: AfterLast) -> Result<LinkCapacity, CapacityError> {
        let whole = *cut == Cut::default();
        Ok(match &self.profile {
            Profile::Opportunities(table) if whole => Mahimahi::new(table.clone()).into(),
            Profile::Opportunities(table) => Mahimahi::new(Arc::new(table.cut(cut)?)).into(),
            Profile::Rates(table) if whole && after == AfterLast::Repeat => Steps::new(table.clone()).into(),
            Profile::Rates(table) => Steps::new(Arc::new(table.cut(cut, after)?)).into(),
        })
    }

    /// Its mean rate in steps of a given length, for plots; the last step may be shorter. At most a
    /// million.
    pub fn rates(&self, step: TimeDelta) -> Vec<DataRate> {
        let step = step.as_nanos().max(self.duration().as_nanos() / 1_000_000).max(1);
        let end = self.duration().as_nanos();
        let link = self.recorded();
        let starts = (0..(end + step - 1) / step).map(|n| n * step);
        let mean =
            |from: i64| link.mean_rate(Timestamp::from_nanos(from), Timestamp::from_nanos((from + step).min(end)));
        starts.map(mean).collect()
    }

    /// The whole at its own speed.
    pub(super) fn recorded(&self) -> LinkCapacity {
        match &self.profile {
            Profile::Opportunities(table) => Mahimahi::new(table.clone()).into(),
            Profile::Rates(table) => Steps::new(table.clone()).into(),
        }
    }
}

/// Folders that name a data set.
const FAMILIES: [&str; 9] =
    ["fcc", "hairpin", "ibox", "mahimahi", "nyc-lte", "nyu-mets", "starlink-mobile", "ucc-5g", "wifi-zhuge"];
