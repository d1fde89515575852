//! Where records go.

use crate::{Record, Sample};
use legato_units::{TimeDelta, Timestamp};

/// Takes records. `()` is one: tracing that is off costs nothing.
pub trait TraceSink {
    /// Keep what happened at `now`.
    fn record(&mut self, now: Timestamp, record: &Record<'_>);

    /// Whether `Record::Gauge` is wanted now; asking a controller for its state is not free.
    fn wants_gauges(&mut self, now: Timestamp) -> bool {
        let _ = now;
        false
    }

    /// Whether the driver shall tell a [`Sample`] every [`crate::SERIES_INTERVAL`].
    fn wants_samples(&self) -> bool {
        false
    }

    /// Whether anybody looks at what is shown and when. Where nobody does, a receiver without a
    /// controller of its own need not work it out.
    fn wants_renderings(&self) -> bool {
        true
    }

    /// What only the driver can see of the time up to `end`.
    fn sample(&mut self, end: Timestamp, sample: Sample) {
        let _ = (end, sample);
    }

    /// The feedback handed to the sender next took so long from the receiver.
    fn feedback_took(&mut self, delay: TimeDelta) {
        let _ = delay;
    }
}

impl TraceSink for () {
    #[inline(always)]
    fn record(&mut self, _now: Timestamp, _record: &Record<'_>) {}
}

/// A sink that stamps all records with one time: the driver's, where the recording end's own clock
/// is another.
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
