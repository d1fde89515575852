//! Where records go.

use crate::Record;
use legato_units::Timestamp;

/// Takes records. `()` is one: tracing that is off costs nothing.
pub trait TraceSink {
    /// Keep what happened at `now`.
    fn record(&mut self, now: Timestamp, record: &Record<'_>);

    /// Whether `Record::Gauge` is wanted now; asking a controller for its state is not free.
    fn wants_gauges(&mut self, now: Timestamp) -> bool {
        let _ = now;
        false
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
}
