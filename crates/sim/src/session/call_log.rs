//! The log of a call in a session: its recorder and, if it is steered from outside, what really happened
//! between two of its decisions.

use crate::truth::TruthLog;
use legato_trace::{Record, Recorder, Sample, TraceSink};
use legato_units::{TimeDelta, Timestamp};

/// A call's log.
pub struct CallLog {
    /// The source of figures and tables.
    pub recorder: Recorder,
    /// The current interval.
    pub truth: Option<TruthLog>,
}

impl TraceSink for CallLog {
    #[inline]
    fn record(&mut self, now: Timestamp, record: &Record<'_>) {
        self.recorder.record(now, record);
        if let Some(truth) = &mut self.truth {
            truth.record(now, record);
        }
    }

    fn wants_gauges(&mut self, now: Timestamp) -> bool {
        self.recorder.wants_gauges(now)
    }

    fn wants_samples(&self) -> bool {
        self.recorder.wants_samples()
    }

    fn wants_renderings(&self) -> bool {
        self.recorder.wants_renderings()
    }

    fn sample(&mut self, end: Timestamp, sample: Sample) {
        self.recorder.sample(end, sample);
    }

    fn feedback_took(&mut self, delay: TimeDelta) {
        self.recorder.feedback_took(delay);
        if let Some(truth) = &mut self.truth {
            truth.feedback_took(delay);
        }
    }
}
