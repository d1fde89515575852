//! Where records go.

use crate::Record;
use legato_units::{DataRate, TimeDelta, Timestamp};

/// Takes records. `()` is a sink too: disabled tracing costs nothing.
pub trait TraceSink {
    /// Record an event at `now`.
    fn record(&mut self, now: Timestamp, record: &Record<'_>);

    /// Whether `Record::Gauge` is wanted now; reading a controller's state is not free.
    fn wants_gauges(&mut self, now: Timestamp) -> bool {
        let _ = now;
        false
    }

    /// Whether the driver shall report a [`Sample`] every [`SERIES_INTERVAL`].
    fn wants_samples(&self) -> bool {
        false
    }

    /// Whether renderings are wanted. If not, a receiver without a controller need not compute them.
    fn wants_renderings(&self) -> bool {
        true
    }

    /// The driver's view of the time up to `end`.
    fn sample(&mut self, end: Timestamp, sample: Sample) {
        let _ = (end, sample);
    }

    /// The next feedback passed to the sender took this long from the receiver.
    fn feedback_took(&mut self, delay: TimeDelta) {
        let _ = delay;
    }
}

/// The bins of the time series.
pub const SERIES_INTERVAL: TimeDelta = TimeDelta::from_millis(100);

/// What only the driver can see, at the end of a bin.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Sample {
    /// Mean capacity of the forward bottleneck over the bin; absent without one.
    pub capacity: Option<DataRate>,
    /// The controller's target.
    pub target_bitrate: DataRate,
    /// The rate requested from the encoder; a recorder knows it by itself.
    pub encoder_bitrate: DataRate,
    /// The pacer's rate.
    pub pacing_rate: DataRate,
    /// Drain time of the bottleneck's backlog at the current capacity; absent during an outage.
    pub queue: Option<TimeDelta>,
    /// Drain time of the pacer's queue at the pacing rate.
    pub pacer_queue: TimeDelta,
}

impl TraceSink for () {
    #[inline(always)]
    fn record(&mut self, _now: Timestamp, _record: &Record<'_>) {}
}

/// A sink that stamps all records with one time: the driver's, if the recording end's own clock
/// differs.
pub struct At<'a, S>(pub &'a mut S, pub Timestamp);

impl<S: TraceSink> TraceSink for At<'_, S> {
    #[inline(always)]
    fn record(&mut self, _now: Timestamp, record: &Record<'_>) {
        self.0.record(self.1, record);
    }

    fn wants_gauges(&mut self, _now: Timestamp) -> bool {
        self.0.wants_gauges(self.1)
    }

    #[inline]
    fn wants_renderings(&self) -> bool {
        self.0.wants_renderings()
    }
}
