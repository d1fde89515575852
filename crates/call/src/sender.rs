//! The sending end: camera, encoder, packetizer, pacer, retransmission, parity, and the rate
//! controller that steers them.

use crate::FeedbackFormat;
use crate::best_of_two::BestOfTwo;
use crate::send_history::SendHistory;
use legato_control::steering::{AnyController, Steered};
use legato_control::{Decision, Event, PacerQueue, TransportFeedback};
use legato_media::pacer::{Pacer, PacerConfig};
use legato_media::packet::MediaPacket;
use legato_media::{EncodedFrame, Encoder, Source};
use legato_trace::{End, FrameEncoded, Record, TraceSink};
use legato_units::{Burst, DataRate, DataSize, Ecn, PeerTimestamp, TimeDelta, Timestamp};

mod audio;
mod budget;
mod encoder_rate;
mod keyframes;
mod numbering;
mod packets;
mod parity;
mod pause;
mod repair;
mod reports;
mod rtcp;
mod stale_frames;

use audio::Audio;
use encoder_rate::EncoderRate;
use keyframes::Keyframes;
use numbering::Numbering;
use parity::FrameParity;
use repair::Repair;
use reports::Reports;

/// Parameters of a [`Sender`].
#[derive(Clone, Copy, Debug)]
pub struct SenderConfig {
    /// The call begins here.
    pub start: Timestamp,
    /// How packets leave.
    pub pacer: PacerConfig,
    /// Fill up to the target bitrate with padding, whatever the controller asks for.
    pub pad_to_target: bool,
    /// Whether to answer NACKs.
    pub retransmit: bool,
    /// Skip a picture instead of coding it while the pacer holds more than this.
    pub max_pacer_queue: TimeDelta,
    /// How long the encoder keeps a bitrate before it is given the next; zero: each frame has the latest.
    pub encoder_interval: TimeDelta,
    /// An audio stream next to the video.
    pub audio: Option<AudioConfig>,
    /// The format of the receiver's feedback; any other is ignored.
    pub feedback: FeedbackFormat,
    /// The ECN field of media packets: `NotEct`, or ECN-capable. RTCP is never capable.
    pub ecn: Ecn,
}

/// A constant-rate audio stream.
#[derive(Clone, Copy, Debug)]
pub struct AudioConfig {
    /// Coded bitrate, excluding headers.
    pub bitrate: DataRate,
    /// The interval of its packets.
    pub interval: TimeDelta,
}

/// A driver's input to a sender.
#[derive(Clone, Copy, Debug)]
pub enum SenderInput<'a> {
    /// The time of the last `Deadline` has come.
    Deadline,
    /// The encoder, which works in parallel with the call, has finished the picture captured then.
    Encoded(EncodedFrame, Timestamp),
    /// An event from the application or the network.
    Event(&'a Event),
    /// Media capture stops (true) or resumes with a key frame (false); RTCP goes on either way.
    Pause(bool),
    /// RTCP from the receiver.
    Rtcp(&'a [u8]),
}

/// What the driver must do.
#[derive(Clone, Debug, PartialEq)]
pub enum SenderOutput {
    /// A frame was coded; its packets follow. A driver without pixels passes it to the receiver in
    /// place of the bytes.
    Coded(EncodedFrame, PeerTimestamp),
    /// Put these packets on the forward path, in order. They travel as values: `wire` turns them
    /// into RTP if bytes are needed.
    Media(Burst<MediaPacket>),
    /// Put this compound RTCP packet on the forward path.
    Rtcp(Vec<u8>),
    /// Nothing more until then.
    Deadline(Timestamp),
}

/// The sending end of a call.
pub struct Sender {
    config: SenderConfig,
    controller: AnyController,
    encoder: Box<dyn Encoder>,
    source: Source,
    pacer: Pacer,
    history: SendHistory,
    now: Timestamp,
    decision: Decision,
    /// The controller got an event since the decision was read.
    stale: bool,
    /// Whether the decision was recorded at all.
    told_decision: bool,
    /// [`AnyController::revision`] when it was.
    revision: Option<u64>,
    /// Reused, so that feedback costs no allocation.
    feedback: Event,
    coded: Option<(EncodedFrame, PeerTimestamp)>,
    paused: bool,
    /// Frames since the last skipped one.
    kept: u32,
    best_of_two: BestOfTwo,
    keyframes: Keyframes,
    rate: EncoderRate,
    numbering: Numbering,
    parity: FrameParity,
    repair: Repair,
    audio: Audio,
    reports: Reports,
}

impl Sender {
    /// A sender that starts at `config.start`.
    pub fn new(
        config: SenderConfig,
        controller: impl Into<AnyController>,
        encoder: Box<dyn Encoder>,
        source: Source,
    ) -> Self {
        let controller = controller.into();
        let decision = controller.decision();
        let mut pacer = Pacer::new(config.pacer, config.start);
        pacer.obey(config.start, &decision, DataSize::ZERO);
        Self {
            controller,
            encoder,
            source,
            pacer,
            history: SendHistory::new(config.feedback),
            now: config.start,
            decision,
            stale: true,
            told_decision: false,
            revision: None,
            feedback: Event::TransportFeedback(TransportFeedback::default()),
            coded: None,
            paused: false,
            kept: 0,
            best_of_two: BestOfTwo::default(),
            keyframes: Keyframes::new(config.start),
            rate: EncoderRate::new(config.encoder_interval, config.start),
            numbering: Numbering::default(),
            parity: FrameParity::default(),
            repair: Repair::new(),
            audio: Audio::new(config.audio, config.start),
            reports: Reports::new(config.start),
            config,
        }
    }

    /// The same without sender reports, for a connection that writes them.
    pub fn without_reports(self) -> Self {
        Self { reports: Reports::none(), ..self }
    }

    /// Process one input.
    pub fn handle(&mut self, now: Timestamp, input: SenderInput<'_>, sink: &mut impl TraceSink) {
        debug_assert!(now >= self.now, "time never goes back");
        self.now = now;
        match input {
            SenderInput::Deadline => {}
            SenderInput::Encoded(frame, capture) => self.take_frame(frame, capture, sink),
            SenderInput::Event(event) => self.tell(event),
            SenderInput::Pause(paused) => self.pause(paused, sink),
            SenderInput::Rtcp(bytes) => {
                sink.record(now, &Record::RtcpArrived { by: End::Receiver, bytes });
                self.take_rtcp(bytes, sink);
            }
        }
        // Due work waits for its own turn: feedback from the other end comes first at equal times.
        if !matches!(input, SenderInput::Rtcp(_)) {
            self.meet_deadlines(sink);
        }
        self.refresh(sink);
    }

    fn meet_deadlines(&mut self, sink: &mut impl TraceSink) {
        let now = self.now;
        if self.controller.next_deadline().is_some_and(|due| due <= now) {
            self.tell(&Event::Deadline);
        }
        if self.source.next_capture() <= now {
            self.capture(sink);
        }
        if self.audio.next().is_some_and(|due| due <= now)
            && let Some(packet) = self.audio.pop(now, !self.decision.sending.cease)
        {
            self.pacer.push(packet);
        }
    }

    /// The next thing to do.
    #[inline]
    pub fn poll(&mut self, sink: &mut impl TraceSink) -> SenderOutput {
        if let Some((frame, captured)) = self.coded.take() {
            return SenderOutput::Coded(frame, captured);
        }
        if let Some(burst) = self.pop() {
            return SenderOutput::Media(self.depart(burst, sink));
        }
        // A new decision may release more; under the old one the pacer was just polled.
        if self.refresh(sink)
            && let Some(burst) = self.pop()
        {
            return SenderOutput::Media(self.depart(burst, sink));
        }
        if self.reports.next() <= self.now {
            let bytes = self.reports.pop(self.now);
            sink.record(self.now, &Record::RtcpSent { by: End::Sender, bytes: &bytes });
            return SenderOutput::Rtcp(bytes);
        }
        SenderOutput::Deadline(self.deadline())
    }

    /// The decision in force.
    pub fn decision(&self) -> &Decision {
        &self.decision
    }

    /// The controller, if it is steered from outside.
    pub fn steered(&mut self) -> Option<&mut dyn Steered> {
        self.controller.steered()
    }

    /// Drain time of the pacer's queue.
    pub fn pacer_queue(&self) -> TimeDelta {
        self.pacer.drain_time()
    }

    fn deadline(&self) -> Timestamp {
        let mut due = self.source.next_capture().min(self.reports.next());
        // What the pacer holds when a breaker trips, it holds for good.
        let departure = if self.decision.sending.cease { None } else { self.pacer.next_deadline(self.now) };
        for other in [departure, self.controller.next_deadline(), self.audio.next()] {
            due = other.map_or(due, |other| due.min(other));
        }
        due.max(self.now)
    }

    #[inline]
    fn tell(&mut self, event: &Event) {
        self.controller.on_event(self.now, event);
        self.stale = true;
    }

    /// Read the decision after events; the pacer obeys at once, the encoder at its next frame. Returns whether the
    /// pacer may release packets that it held before.
    fn refresh(&mut self, sink: &mut impl TraceSink) -> bool {
        if !self.stale {
            return false;
        }
        self.stale = false;
        let gauges = sink.wants_gauges(self.now);
        let revision = self.controller.revision();
        if revision.is_some() && revision == self.revision && !gauges {
            return self.look_at_window();
        }
        self.revision = revision;
        let mut changed = false;
        while let Some(cluster) = self.controller.poll_probe() {
            changed = true;
            if self.paused {
                continue;
            }
            sink.record(self.now, &Record::Probe { rate: cluster.target_rate });
            self.pacer.add_probe(self.now, cluster);
        }
        let decision = self.controller.decision();
        if decision == self.decision && self.told_decision {
            changed |= self.look_at_window();
        } else if decision.sending.cease {
            changed = true;
            self.told_decision = true;
            self.decision = decision;
            sink.record(self.now, &Record::Decision(&self.decision));
        } else {
            changed = true;
            self.told_decision = true;
            if self.decision.sending.cease {
                self.begin_again();
            }
            self.decision = decision;
            self.pacer.obey(self.now, &self.paced(), self.history.in_flight());
            sink.record(self.now, &Record::Decision(&self.decision));
        }
        if gauges {
            let now = self.now;
            let mut gauge = |name, value| sink.record(now, &Record::Gauge { name, value });
            self.controller.observe(&mut gauge);
            self.encoder.observe(&mut gauge);
        }
        changed
    }

    /// With a window, the bytes in flight may release packets or hold them. Returns whether there is a window.
    #[inline]
    fn look_at_window(&mut self) -> bool {
        self.pacer.set_in_flight(&self.decision, self.history.in_flight());
        self.decision.congestion_window.is_some()
    }

    /// Take a picture and have it coded.
    fn capture(&mut self, sink: &mut impl TraceSink) {
        let picture = self.encoder.look(self.source.capture());
        sink.record(self.now, &Record::FrameCaptured { frame: picture.frame });
        self.tell(&Event::FrameCaptured(picture.info()));
        self.refresh(sink);
        self.drop_stale_frames();
        let waiting = self.pacer.drain_time().max(self.pacer.held_for(self.now));
        let held = self.decision.sending.cease || waiting > self.config.max_pacer_queue;
        if held || self.leaves_out() {
            return;
        }
        let before = self.rate.given();
        let budget = self.budget();
        if budget.bitrate != before {
            sink.record(self.now, &Record::EncoderBitrate(budget.bitrate));
        }
        if let Some(frame) = self.code(picture, budget) {
            self.take_frame(frame, picture.capture, sink);
        }
    }

    /// Packetise a coded frame and queue it.
    fn take_frame(&mut self, frame: EncodedFrame, capture: Timestamp, sink: &mut impl TraceSink) {
        if frame.keyframe {
            self.keyframes.coded(self.now);
        }
        let packets = self.packetize(&frame);
        for packet in self.repair.behind_frame(self.now) {
            self.pacer.push_behind(packet);
        }
        sink.record(
            self.now,
            &Record::FrameEncoded(FrameEncoded {
                frame: frame.frame,
                sequence: frame.sequence,
                size_bytes: frame.size.as_bytes() as u32,
                packets,
                qp: frame.qp,
                height: frame.height,
                keyframe: frame.keyframe,
                psnr_db: frame.psnr_db,
            }),
        );
        // The RTP timestamp carries the capture time by this clock.
        self.coded = Some((frame, PeerTimestamp::from_nanos(capture.as_nanos())));
        self.tell(&Event::FrameEncoded(frame.info()));
        self.tell(&Event::PacerQueue(PacerQueue { size: self.pacer.queued(), drain: self.pacer.drain_time() }));
    }
}
