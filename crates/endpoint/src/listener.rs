//! Records of media that others send: packets by their clear headers, and the link's reports.
//!
//! There are no frame or encoder records; a frame counts as captured when its first packet leaves. The sender's target
//! is the reported one.

use crate::call_log::CallLog;
use crate::clock::Clock;
use crate::error::Error;
use crate::network::event::{LinkEvent, Media};
use crate::network::link::Link;
use crate::outcome::{CallReport, Outcome};
use crate::thread::Shared;
use legato_control::{Decision, PacketKind};
use legato_trace::{LogLevel, PacketSent, Record, Sample, TraceSink};
use legato_units::{Burst, DataRate, TimeDelta, Timestamp};
use legato_wire::rtp;
use std::sync::Arc;

/// Records a call from its first media packet on.
pub struct Listener {
    clock: Clock,
    begun: bool,
    /// Everything recorded goes here.
    pub log: CallLog,
    repair_types: Vec<u8>,
    /// Whether arrivals can be assigned to frames, which are numbered in order of arrival.
    has_frames: bool,
    target: DataRate,
}

/// The maximum wait for media.
const BEGIN_TIMEOUT: TimeDelta = TimeDelta::from_secs(20);

impl Listener {
    /// `clock` counts until media begin, and then the link's.
    pub fn new(clock: Clock, duration: TimeDelta, level: LogLevel, shared: Arc<Shared>) -> Self {
        let log = CallLog::new(duration, level, shared);
        Self { clock, begun: false, log, repair_types: Vec::new(), has_frames: true, target: DataRate::ZERO }
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
        if self.begun { self.log.end } else { Timestamp::ZERO + BEGIN_TIMEOUT }
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
                self.log.recorder.record(self.clock.now(), &Record::Decision(&Decision::of_target(target)));
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
                self.log.begin(clock);
                self.log.recorder.record(Timestamp::ZERO, &Record::Decision(&Decision::of_target(self.target)));
            }
            LinkEvent::Sent(media, ref header) => self.sent(media, header),
            LinkEvent::Sample(sample) => {
                if self.log.count(&sample) {
                    let (capacity, queue) = (sample.capacity, sample.queue);
                    let sample_of = Sample { capacity, queue, target_bitrate: self.target, ..Sample::default() };
                    self.log.recorder.sample(sample.at, sample_of);
                }
            }
            _ => self.log.take(event),
        }
        self.share_progress();
    }

    fn share_progress(&mut self) {
        self.log.progress.target = self.target;
        self.log.share(self.clock.now());
    }

    /// Pictures on the screen so far.
    pub fn shown_frames(&mut self, shown: u64) {
        self.log.progress.shown_frames = shown;
    }

    fn sent(&mut self, Media { transport_seq, size_bytes, departure }: Media, header: &rtp::Header) {
        let kind = self.kind(header.payload_type);
        if self.has_frames && kind == PacketKind::Video && !self.log.numbers.contains_key(&header.timestamp) {
            let frame = self.log.numbers.len() as u64;
            self.log.numbers.insert(header.timestamp, frame);
            self.log.recorder.record(departure, &Record::FrameCaptured { frame });
        }
        self.log.progress.sent_bytes += u64::from(size_bytes);
        let (ssrc, queued) = (header.ssrc, TimeDelta::ZERO);
        let packet = PacketSent { transport_seq, ssrc, kind, size_bytes, sequence: None, queued };
        self.log.recorder.record(departure, &Record::PacketsSent(Burst::single(packet)));
    }

    /// What a packet carries: padding looks like retransmission.
    pub fn kind(&self, payload_type: u8) -> PacketKind {
        if self.repair_types.contains(&payload_type) { PacketKind::Retransmission } else { PacketKind::Video }
    }

    /// The end, with the data already in `report`.
    pub fn finish(self, link: Link, report: CallReport) -> Outcome {
        self.log.finish(self.clock, link, report)
    }
}
