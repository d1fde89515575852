//! The sending end: camera, encoder, packetizer, pacer, retransmission, parity, and the rate
//! controller that steers them.

use crate::FeedbackFormat;
use crate::best_of_two::BestOfTwo;
use crate::parity::ParityShare;
use crate::rtx_allowance::RtxAllowance;
use crate::rtx_store::RtxStore;
use crate::send_history::SendHistory;
use legato_control::steering::{AnyController, Steered};
use legato_control::{Decision, Event, PacerQueue, PacketKind, SentPacket, TransportFeedback};
use legato_media::pacer::{Pacer, PacerConfig};
use legato_media::packet::{AUDIO_SSRC, MediaPacket, RTX_SSRC, VIDEO_SSRC};
use legato_media::packetizer::{self, PACKET_OVERHEAD_BYTES};
use legato_media::{EncodedFrame, Encoder, EncoderBudget, Source, SourceFrame, Version};
use legato_trace::{End, FrameEncoded, PacketSent, Record, TraceSink};
use legato_units::{Burst, DataRate, DataSize, Ecn, PeerTimestamp, TimeDelta, Timestamp};
use legato_wire::ntp::CompactNtp;

mod parity;
mod pause;
mod rtcp;
mod stale_frames;

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
    rtx_store: RtxStore,
    rtx_allowance: RtxAllowance,
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
    keyframe_wanted: bool,
    last_keyframe: Timestamp,
    rtp_seq: u32,
    rtx_seq: u16,
    fec_seq: u32,
    fec_credit_bytes: u64,
    parity: ParityShare,
    /// Retransmissions that are sent again behind the next frame.
    repeats: Vec<MediaPacket>,
    /// Extra bytes of a parity packet over the largest packet of its frame.
    parity_overhead_bytes: u16,
    rtx_bytes: u64,
    last_budget: Timestamp,
    /// When the encoder is given a new bitrate.
    next_encoder_rate: Timestamp,
    rtx_rate: DataRate,
    encoder_bitrate: DataRate,
    round_trip_time: TimeDelta,
    next_audio: Option<Timestamp>,
    audio_seq: u32,
    next_report: Timestamp,
    /// The latest reference time of the other end: its SSRC, the time, and when it came.
    reference_time: Option<(u32, CompactNtp, Timestamp)>,
    packets_sent: u32,
    octets_sent: u32,
}

/// The interval of sender reports: enough for a fresh round-trip time.
const REPORT_INTERVAL: TimeDelta = TimeDelta::from_secs(1);
/// [libwebrtc-m150] the minimum time between two key frames on request.
const MIN_KEYFRAME_INTERVAL: TimeDelta = TimeDelta::from_millis(300);
/// Until a report gives it.
const INITIAL_ROUND_TRIP_TIME: TimeDelta = TimeDelta::from_millis(100);

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
            rtx_store: RtxStore::default(),
            rtx_allowance: RtxAllowance::default(),
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
            keyframe_wanted: false,
            last_keyframe: config.start,
            rtp_seq: 0,
            rtx_seq: 0,
            fec_seq: 0,
            fec_credit_bytes: 0,
            parity: ParityShare::default(),
            repeats: Vec::new(),
            parity_overhead_bytes: 0,
            rtx_bytes: 0,
            last_budget: config.start,
            next_encoder_rate: config.start,
            rtx_rate: DataRate::ZERO,
            encoder_bitrate: DataRate::ZERO,
            round_trip_time: INITIAL_ROUND_TRIP_TIME,
            next_audio: config.audio.map(|_| config.start),
            audio_seq: 0,
            next_report: config.start + REPORT_INTERVAL,
            reference_time: None,
            packets_sent: 0,
            octets_sent: 0,
            config,
        }
    }

    /// The same without sender reports, for a connection that writes them.
    pub fn without_reports(self) -> Self {
        Self { next_report: Timestamp::MAX, ..self }
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
        if self.next_audio.is_some_and(|due| due <= now) {
            self.push_audio();
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
        if self.next_report <= self.now {
            let bytes = self.report();
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
        let mut due = self.source.next_capture().min(self.next_report);
        // What the pacer holds when a breaker trips, it holds for good.
        let departure = if self.decision.sending.cease { None } else { self.pacer.next_deadline(self.now) };
        for other in [departure, self.controller.next_deadline(), self.next_audio] {
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
        let budget = self.budget();
        if budget.bitrate != self.encoder_bitrate {
            self.encoder_bitrate = budget.bitrate;
            sink.record(self.now, &Record::EncoderBitrate(budget.bitrate));
        }
        if let Some(frame) = self.code(picture, budget) {
            self.take_frame(frame, picture.capture, sink);
        }
    }

    /// Packetise a coded frame and queue it.
    fn take_frame(&mut self, frame: EncodedFrame, capture: Timestamp, sink: &mut impl TraceSink) {
        if frame.keyframe {
            self.keyframe_wanted = false;
            self.last_keyframe = self.now;
        }
        let packets = self.packetize(&frame);
        self.push_repeats();
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

    /// Code a picture; `None` if the controller's budget has no room for it, or the frame comes later.
    #[inline]
    fn code(&mut self, picture: SourceFrame, budget: EncoderBudget) -> Option<EncodedFrame> {
        if self.decision.encoder.best_of_two {
            return self.best_of_two.code(self.encoder.as_mut(), self.now, picture, budget);
        }
        self.encoder.begin(self.now, picture, budget)
    }

    /// Whether to skip this frame, as the controller wants one captured frame in this many skipped.
    fn leaves_out(&mut self) -> bool {
        let Some(interval) = self.decision.encoder.drop_one_frame_in else {
            self.kept = 0;
            return false;
        };
        self.kept += 1;
        let drop = self.kept >= interval;
        if drop {
            self.kept = 0;
        }
        drop
    }

    /// What the target leaves for coded video: minus audio, parity, recent retransmissions, and
    /// headers.
    fn budget(&mut self) -> EncoderBudget {
        let fps = self.source.content().frame_rate;
        let interval = fps.interval();
        // Mean over about one second. Pictures may have been skipped since the last budget.
        let since = (self.now - self.last_budget).max(interval);
        self.last_budget = self.now;
        // Most calls lose nothing for a long time.
        if self.rtx_bytes > 0 || self.rtx_rate > DataRate::ZERO {
            let latest = DataSize::from_bytes(self.rtx_bytes) / since;
            self.rtx_bytes = 0;
            let weight = since.as_secs_f64().min(1.0);
            self.rtx_rate = self.rtx_rate.scale(1.0 - weight) + latest.scale(weight);
        }
        let audio = self.config.audio.map_or(DataRate::ZERO, |audio| {
            DataSize::from_bytes(u64::from(audio_packet_bytes(audio))) / audio.interval
        });
        let video = self
            .without_parity(interval)
            .saturating_sub(audio)
            // Repair never takes more than half: some picture is better than none.
            .saturating_sub(self.rtx_rate.min(self.decision.target_bitrate.scale(0.5)));
        let video = self.decision.encoder.drop_one_frame_in.map_or(video, |n| video.scale(1.0 - 1.0 / f64::from(n)));
        let coded = packetizer::coded_bitrate(video.as_bps(), whole_fps(fps.as_f64()));
        let pressing = self.keyframe_wanted && self.now - self.last_keyframe >= MIN_KEYFRAME_INTERVAL;
        EncoderBudget {
            bitrate: self.encoder_rate(DataRate::from_bps(coded)),
            max_frame_size: self.decision.encoder.max_frame_size,
            keyframe: pressing,
            version: Version::Budgeted,
        }
    }

    /// The bitrate that the encoder works with: the latest, or the one it was given before.
    fn encoder_rate(&mut self, latest: DataRate) -> DataRate {
        if self.now < self.next_encoder_rate {
            return self.encoder_bitrate;
        }
        self.next_encoder_rate = self.now + self.config.encoder_interval;
        latest
    }

    fn packetize(&mut self, frame: &EncodedFrame) -> u16 {
        if let Some(pieces) = self.encoder.pieces(frame) {
            return self.packetize_as(frame, &pieces);
        }
        let pieces = packetizer::pieces(frame.size.as_bytes() as u32 - u32::from(frame.head_bytes));
        let head = u16::from(frame.head_bytes > 0);
        let count = pieces.packets() + head;
        let largest = pieces.clone().next().unwrap_or(0);
        if head > 0 {
            let first = self.media_packet(frame, 0, count, frame.head_bytes);
            self.pacer.push(first);
            self.rtp_seq += 1;
        }
        let first = self.media_packet(frame, head, count, largest);
        self.rtp_seq += u32::from(pieces.packets());
        self.pacer.push_frame(first, &pieces);
        self.packetize_parity(frame, count, largest.max(frame.head_bytes));
        count
    }

    /// Packets that the codec made: each as large as it is.
    fn packetize_as(&mut self, frame: &EncodedFrame, pieces: &[u16]) -> u16 {
        let count = pieces.len() as u16;
        for (index, &bytes) in (0..count).zip(pieces) {
            let packet = self.media_packet(frame, index, count, bytes);
            self.pacer.push(packet);
            self.rtp_seq += 1;
        }
        self.packetize_parity(frame, count, pieces.iter().copied().max().unwrap_or(0));
        count
    }

    /// Behind a frame: what lost a packet has often lost its retransmission, too, a moment later. After a round trip the
    /// receiver has asked again.
    fn push_repeats(&mut self) {
        for packet in self.repeats.drain(..).filter(|packet| self.now - packet.enqueued <= self.round_trip_time) {
            self.rtx_allowance.spend(u64::from(packet.size_bytes));
            self.pacer.push_behind(MediaPacket { enqueued: self.now, departure: self.now, ..packet });
        }
    }

    fn media_packet(&self, frame: &EncodedFrame, index: u16, count: u16, payload_bytes: u16) -> MediaPacket {
        MediaPacket {
            transport_seq: 0,
            enqueued: self.now,
            departure: self.now,
            rtp_seq: self.rtp_seq,
            rtx_seq: 0,
            ssrc: VIDEO_SSRC,
            frame: frame.sequence as u32,
            index,
            count,
            size_bytes: payload_bytes + PACKET_OVERHEAD_BYTES,
            payload_bytes,
            kind: PacketKind::Video,
            ecn: Ecn::NotEct,
            probe_cluster: None,
        }
    }

    fn push_audio(&mut self) {
        let (Some(audio), Some(due)) = (self.config.audio, self.next_audio) else { return };
        self.next_audio = Some(due + audio.interval);
        if self.decision.sending.cease {
            return;
        }
        let size_bytes = audio_packet_bytes(audio);
        self.pacer.push(MediaPacket {
            transport_seq: 0,
            enqueued: self.now,
            departure: self.now,
            rtp_seq: self.audio_seq,
            rtx_seq: 0,
            ssrc: AUDIO_SSRC,
            frame: 0,
            index: 0,
            count: 0,
            size_bytes,
            payload_bytes: size_bytes - PACKET_OVERHEAD_BYTES,
            kind: PacketKind::Audio,
            ecn: Ecn::NotEct,
            probe_cluster: None,
        });
        self.audio_seq += 1;
    }

    /// The packets that may leave now. After a circuit breaker has tripped nothing may; reports go on ([rfc8083]
    /// section 4.5).
    #[inline]
    fn pop(&mut self) -> Option<Burst<MediaPacket>> {
        if self.decision.sending.cease || self.pacer.is_idle() {
            return None;
        }
        if self.decision.congestion_window.is_some() {
            // A window may be full after any packet.
            return self.pacer.pop(self.now).map(Burst::single);
        }
        self.pacer.pop_burst(self.now)
    }

    /// Packets leave: number and record them, and report each to the controller.
    #[inline]
    fn depart(&mut self, mut burst: Burst<MediaPacket>, sink: &mut impl TraceSink) -> Burst<MediaPacket> {
        burst.first.transport_seq = self.history.next_seq();
        burst.first.ecn = self.config.ecn;
        if burst.first.ssrc == RTX_SSRC {
            burst.first.rtx_seq = self.rtx_seq;
            self.rtx_seq = self.rtx_seq.wrapping_add(burst.packets);
        }
        let in_flight = self.history.in_flight();
        self.history.push(&burst);
        let first = &burst.first;
        let media = match first.kind {
            PacketKind::Video => {
                self.rtx_store.push(&burst);
                true
            }
            PacketKind::Retransmission => {
                self.rtx_bytes += burst.bytes();
                true
            }
            PacketKind::Fec => true,
            PacketKind::Audio | PacketKind::Padding => false,
        };
        let (packets, smaller) = (u32::from(burst.packets), burst.smaller);
        self.packets_sent = self.packets_sent.wrapping_add(packets);
        let payload_bytes = packets * u32::from(first.payload_bytes) - u32::from(smaller);
        self.octets_sent = self.octets_sent.wrapping_add(payload_bytes);
        let size = DataSize::from_bytes(u64::from(first.size_bytes));
        let sent = SentPacket {
            transport_seq: first.transport_seq,
            ssrc: first.ssrc,
            size,
            kind: first.kind,
            probe_cluster: first.probe_cluster,
            in_flight: in_flight + size,
            place: first.place(),
        };
        self.controller.on_event(self.now, &Event::PacketsSent(burst.with(sent)));
        self.stale = true;
        self.pacer.set_in_flight(&self.decision, self.history.in_flight());
        let sent = PacketSent {
            transport_seq: first.transport_seq,
            ssrc: first.ssrc,
            kind: first.kind,
            size_bytes: first.size_bytes,
            sequence: media.then_some(first.frame),
            queued: self.now - first.enqueued,
        };
        sink.record(self.now, &Record::PacketsSent(burst.with(sent)));
        burst
    }
}

fn audio_packet_bytes(audio: AudioConfig) -> u16 {
    (audio.bitrate * audio.interval).as_bytes().min(1_000) as u16 + PACKET_OVERHEAD_BYTES
}

/// Frame rates are whole numbers or close to one.
fn whole_fps(fps: f64) -> u32 {
    (fps + 0.5) as u32
}
