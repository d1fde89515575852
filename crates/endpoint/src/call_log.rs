//! The records of every call on the network: the link's reports, and the call's progress.

use crate::clock::Clock;
use crate::network::capacity_log::CapacityLog;
use crate::network::event::{LinkEvent, LinkSample, Media};
use crate::network::link::Link;
use crate::outcome::{CallReport, Outcome, Progress};
use crate::thread::Shared;
use legato_trace::{LogLevel, Record, Recorder, SERIES_INTERVAL, TraceSink};
use legato_units::{Burst, TimeDelta, Timestamp};
use std::collections::BTreeMap;
use std::sync::Arc;

/// The records of a call, and its owner's view of it.
pub struct CallLog {
    /// Everything recorded goes here.
    pub recorder: Recorder,
    /// Captured frames by the RTP time of their packets.
    pub numbers: BTreeMap<u32, u64>,
    /// How far it is.
    pub progress: Progress,
    /// When its media end.
    pub end: Timestamp,
    capacity: CapacityLog,
    shared: Arc<Shared>,
}

impl CallLog {
    /// Nothing recorded yet.
    pub fn new(duration: TimeDelta, level: LogLevel, shared: Arc<Shared>) -> Self {
        let mut recorder = Recorder::default();
        recorder.begin(level, Timestamp::ZERO);
        Self {
            recorder,
            numbers: BTreeMap::new(),
            progress: Progress::default(),
            end: Timestamp::ZERO + duration,
            capacity: CapacityLog::default(),
            shared,
        }
    }

    /// Media begin, by this clock.
    pub fn begin(&mut self, clock: Clock) {
        self.progress.connected = true;
        self.shared.set_clock(clock);
    }

    /// Let the owner see how far it is.
    pub fn share(&mut self, now: Timestamp) {
        self.progress.time = now - Timestamp::ZERO;
        self.shared.set_progress(self.progress);
    }

    /// Records the fate of a media packet on the link, or of feedback.
    pub fn take(&mut self, event: &LinkEvent) {
        match *event {
            LinkEvent::Arrived(media, at) => {
                self.progress.arrived_bytes += u64::from(media.size_bytes);
                self.recorder.record(at, &Record::PacketsArrived { burst: Burst::single(media), arrivals: &[at] });
            }
            LinkEvent::Dropped(Media { transport_seq, departure, .. }, reason) => {
                self.recorder.record(departure, &Record::PacketDropped { transport_seq, departure, reason });
            }
            LinkEvent::FeedbackSent(at, size_bytes) => self.recorder.record(at, &Record::FeedbackSent { size_bytes }),
            _ => {}
        }
    }

    /// Count a bin of the link's capacity; whether it is wanted in the series.
    pub fn count(&mut self, sample: &LinkSample) -> bool {
        self.capacity.take(sample.capacity);
        self.recorder.wants_samples() && sample.at <= self.end
    }

    /// The end, with the data already in `report`.
    pub fn finish(self, clock: Clock, link: Link, report: CallReport) -> Outcome {
        let end = clock.now().min(self.end).max(Timestamp::ZERO + SERIES_INTERVAL);
        let lateness = link.finish().figures();
        Outcome {
            recorder: self.recorder,
            report: CallReport { lateness, end, ..report },
            capacity: self.capacity,
            clock,
            numbers: self.numbers,
            coded: None,
            seen: Vec::new(),
            received: None,
        }
    }
}
