//! What can be recorded of media that others send: packets by their clear headers, and what the link reports.
//!
//! There are no frame or encoder records; a frame counts as captured when its first packet leaves. The sender's
//! target is what it reports.

use crate::clock::Clock;
use crate::error::Error;
use crate::network::event::{LinkEvent, Media};
use crate::network::link::{CapacityMean, Link};
use crate::outcome::{CallReport, Outcome, Progress};
use legato_control::{Decision, PacketKind};
use legato_trace::{LogLevel, PacketArrived, PacketSent, Record, Recorder, SERIES_INTERVAL, Sample, TraceSink};
use legato_units::{Burst, DataRate, TimeDelta, Timestamp};
use legato_wire::rtp;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

/// Records a call from its first media packet on.
pub struct Listener {
    clock: Clock,
    begun: bool,
    end: Timestamp,
    /// Everything recorded goes here.
    pub recorder: Recorder,
    progress: Arc<Mutex<Progress>>,
    shared_clock: Arc<Mutex<Clock>>,
    repair_types: Vec<u8>,
    /// Whether arrivals are known to belong to frames.
    has_frames: bool,
    /// Frames by their RTP time, numbered in order of arrival.
    numbers: BTreeMap<u32, u64>,
    target: DataRate,
    capacity: CapacityMean,
    told: Progress,
}

/// The maximum wait for media.
const BEGIN_TIMEOUT: TimeDelta = TimeDelta::from_secs(20);

impl Listener {
    /// `clock` counts until media begin, and then the link's.
    pub fn new(
        clock: Clock,
        duration: TimeDelta,
        level: LogLevel,
        progress: Arc<Mutex<Progress>>,
        shared_clock: Arc<Mutex<Clock>>,
    ) -> Self {
        let mut recorder = Recorder::default();
        recorder.begin(level, Timestamp::ZERO);
        Self {
            clock,
            begun: false,
            end: Timestamp::ZERO + duration,
            recorder,
            progress,
            shared_clock,
            repair_types: Vec::new(),
            has_frames: true,
            numbers: BTreeMap::new(),
            target: DataRate::ZERO,
            capacity: CapacityMean::default(),
            told: Progress::default(),
        }
    }

    /// Frames will stay unknown.
    pub fn expect_no_frames(&mut self) {
        self.has_frames = false;
    }

    /// The call's time.
    pub fn now(&self) -> Timestamp {
        self.clock.now()
    }

    /// The call's clock.
    pub fn clock(&self) -> Clock {
        self.clock
    }

    /// Whether media have begun.
    pub fn has_begun(&self) -> bool {
        self.begun
    }

    /// When it ends, or has waited long enough.
    pub fn due(&self) -> Timestamp {
        if self.begun { self.end } else { Timestamp::ZERO + BEGIN_TIMEOUT }
    }

    /// Whether its time is up. An error: no media came.
    pub fn is_over(&self) -> Result<bool, Error> {
        let over = self.now() >= self.due();
        if over && !self.begun {
            let waited = BEGIN_TIMEOUT.as_millis() / 1_000;
            return Err(Error::Connection(format!("no media came in {waited} s")));
        }
        Ok(over)
    }

    /// End now. An error: before it began.
    pub fn stop(&mut self) -> Result<(), Error> {
        if self.begun { Ok(()) } else { Err(Error::Connection("stopped before media began".to_owned())) }
    }

    /// The controller's target, from now on.
    pub fn aim(&mut self, target: DataRate) {
        if target != self.target {
            self.target = target;
            if self.begun {
                self.recorder.record(self.clock.now(), &Record::Decision(&Decision::of_target(target)));
            }
            self.share_progress();
        }
    }

    /// Payload types of retransmission.
    pub fn expect_repair(&mut self, payload_types: Vec<u8>) {
        self.repair_types = payload_types;
    }

    /// Record what the network reports.
    pub fn take(&mut self, event: &LinkEvent) {
        match *event {
            LinkEvent::Begun(clock) => {
                (self.clock, self.begun) = (clock, true);
                *self.shared_clock.lock().unwrap_or_else(PoisonError::into_inner) = clock;
                self.recorder.record(Timestamp::ZERO, &Record::Decision(&Decision::of_target(self.target)));
            }
            LinkEvent::Sent(media, ref header) => self.sent(media, header),
            LinkEvent::Arrived(Media { transport_seq, size_bytes, departure }, at) => {
                self.told.arrived_bytes += u64::from(size_bytes);
                let burst = Burst::single(PacketArrived { transport_seq, size_bytes, departure });
                self.recorder.record(at, &Record::PacketsArrived { burst, arrivals: &[at] });
            }
            LinkEvent::Dropped(Media { transport_seq, departure, .. }, reason) => {
                self.recorder.record(departure, &Record::PacketDropped { transport_seq, departure, reason });
            }
            LinkEvent::FeedbackSent(at, size_bytes) => self.recorder.record(at, &Record::FeedbackSent { size_bytes }),
            LinkEvent::Sample(sample) => {
                self.capacity.take(sample.capacity);
                let (capacity, queue) = (sample.capacity, sample.queue);
                if self.recorder.wants_samples() && sample.at <= self.end {
                    let sample_of = Sample { capacity, queue, target_bitrate: self.target, ..Sample::default() };
                    self.recorder.sample(sample.at, sample_of);
                }
            }
            LinkEvent::Datagram { .. } => {}
        }
        self.share_progress();
    }

    fn share_progress(&mut self) {
        let time = self.clock.now() - Timestamp::ZERO;
        self.told = Progress { connected: self.begun, time, target: self.target, ..self.told };
        *self.progress.lock().unwrap_or_else(PoisonError::into_inner) = self.told;
    }

    /// Pictures on the screen so far.
    pub fn shown_frames(&mut self, shown: u64) {
        self.told.shown_frames = shown;
    }

    fn sent(&mut self, Media { transport_seq, size_bytes, departure }: Media, header: &rtp::Header) {
        let kind = self.kind(header.payload_type);
        if self.has_frames && kind == PacketKind::Video && !self.numbers.contains_key(&header.timestamp) {
            let frame = self.numbers.len() as u64;
            self.numbers.insert(header.timestamp, frame);
            self.recorder.record(departure, &Record::FrameCaptured { frame });
        }
        self.told.sent_bytes += u64::from(size_bytes);
        let (ssrc, queued) = (header.ssrc, TimeDelta::ZERO);
        let packet = PacketSent { transport_seq, ssrc, kind, size_bytes, sequence: None, queued };
        self.recorder.record(departure, &Record::PacketsSent(Burst::single(packet)));
    }

    /// What a packet carries: padding looks like retransmission.
    pub fn kind(&self, payload_type: u8) -> PacketKind {
        if self.repair_types.contains(&payload_type) { PacketKind::Retransmission } else { PacketKind::Video }
    }

    /// The end, with what is already in `report`.
    pub fn finish(self, link: Link, report: CallReport) -> Outcome {
        let Self { recorder, clock, numbers, capacity, .. } = self;
        let end = clock.now().min(self.end).max(Timestamp::ZERO + SERIES_INTERVAL);
        let lateness = link.finish().figures();
        Outcome {
            recorder,
            report: CallReport { lateness, end, ..report },
            capacity_mean: capacity.mean(),
            clock,
            numbers,
            coded: None,
            seen: Vec::new(),
        }
    }
}
