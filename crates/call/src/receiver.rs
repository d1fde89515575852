//! The receiving end: feedback, repair, frame assembly, decoding, playout, and an optional
//! receiver-side rate controller. All its times are by its own clock.

use crate::FeedbackFormat;
use crate::arrival_log::ArrivalLog;
use crate::feedback_schedule::FeedbackSchedule;
use crate::keyframe_requests::{KeyframeRequests, Patience};
use crate::nack_list::NackList;
use crate::receiver_side::ReceiverSide;
use crate::report_times::ReportTimes;
use crate::stream_log::StreamLog;
use legato_control::steering::{AnyController, Steered};
use legato_control::{Event, FeedbackRule, FrameReport, PacketKind, ReceivedPacket};
use legato_media::frame_buffer::{BufferedFrame, FrameAssembly, FrameBuffer, Inserted};
use legato_media::packet::{AUDIO_SSRC, MediaPacket, VIDEO_SSRC};
use legato_media::playout::{PlayoutConfig, Repair};
use legato_media::{Decoder, EncodedFrame, JitterBuffer, Quality, SourceFrame};
use legato_trace::{End, FrameDecoded, Record, TraceSink};
use legato_units::{Burst, DataSize, PeerTimestamp, TimeDelta, Timestamp};
use legato_wire::ntp::{self, CompactNtp, Ntp};
use legato_wire::rtcp::{self, Compound, ExtendedBlock, Message};
use rand_chacha::ChaCha8Rng;
use std::collections::VecDeque;

/// Parameters of a [`Receiver`].
#[derive(Clone, Copy, Debug)]
pub struct ReceiverConfig {
    /// The call begins here, by the receiver's clock.
    pub start: Timestamp,
    /// The minimum and maximum interval of transport feedback by [`FeedbackRule::BitrateShare`].
    pub feedback_interval: (TimeDelta, TimeDelta),
    /// When transport feedback is sent.
    pub feedback_rule: FeedbackRule,
    /// The minimum and maximum interval of receiver reports: each is drawn from between them.
    pub report_interval: (TimeDelta, TimeDelta),
    /// Whether to request missing packets.
    pub nack: bool,
    /// The re-request interval; `None`: once per round trip, as repairs show it.
    pub nack_interval: Option<TimeDelta>,
    /// How long a decoder that accepts incomplete frames waits for a frame's missing packets once a
    /// later frame has begun.
    pub partial_wait: TimeDelta,
    /// When frames are shown.
    pub playout: PlayoutConfig,
    /// The format of feedback.
    pub feedback: FeedbackFormat,
}

/// A driver's input to a receiver.
#[derive(Clone, Copy, Debug)]
pub enum ReceiverInput<'a> {
    /// The time of the last `Deadline` has come.
    Deadline,
    /// A media packet came.
    Media(&'a MediaPacket),
    /// RTCP from the sender.
    Rtcp(&'a [u8]),
    /// If no bytes travel: the facts that they would reveal about a frame, with its capture time by the sender's clock.
    /// Not used before a packet of the frame has come.
    Coded(EncodedFrame, PeerTimestamp),
}

/// What the driver must do.
#[derive(Clone, Debug, PartialEq)]
pub enum ReceiverOutput {
    /// Put this RTCP on the reverse path.
    Send(Vec<u8>),
    /// Show this now.
    Render(RenderedFrame),
    /// Nothing more until then.
    Deadline(Timestamp),
}

/// A picture to show.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RenderedFrame {
    /// Counts captured frames from 0.
    pub frame: u64,
    /// When it was captured, sender's clock.
    pub captured: PeerTimestamp,
    /// When it became decodable, own clock.
    pub decodable: Timestamp,
    /// What the viewer sees, if pixels were measured.
    pub quality: Option<Quality>,
}

/// The receiving end of a call.
pub struct Receiver {
    config: ReceiverConfig,
    controller: ReceiverSide,
    decoder: Box<dyn Decoder>,
    accepts_partial: bool,
    now: Timestamp,
    arrivals: ArrivalLog,
    /// Replaces it with [`FeedbackFormat::Ccfb`].
    streams: Option<StreamLog>,
    nacks: NackList,
    frames: FrameBuffer,
    pictures: JitterBuffer<RenderedFrame>,
    outbox: VecDeque<Vec<u8>>,
    nack_scratch: Vec<u16>,
    schedule: FeedbackSchedule,
    /// Something arrived that no feedback has reported yet.
    unreported: bool,
    keyframes: KeyframeRequests,
    /// Cached [`Receiver::give_up_time`]; frames change it, time does not.
    give_up: Option<Timestamp>,
    last_sr: Option<(CompactNtp, Timestamp)>,
    reports: ReportTimes,
    loss: LossSinceReport,
    /// Of the audio stream; absent before its first packet.
    audio_loss: Option<LossSinceReport>,
    /// Everything is done and `due` is valid; most packets leave it so.
    settled: bool,
    due: Timestamp,
    /// For the next feedback.
    spare: Vec<u8>,
}

#[derive(Clone, Copy, Debug, Default)]
struct LossSinceReport {
    received: u32,
    received_before: u32,
    highest: u32,
    highest_before: u32,
}

impl LossSinceReport {
    #[inline]
    fn push(&mut self, seq: u32) {
        self.received += 1;
        self.highest = self.highest.max(seq + 1);
    }

    /// The report since the last one.
    fn block(&mut self, ssrc: u32) -> rtcp::ReportBlock {
        let expected = self.highest - self.highest_before;
        let received = self.received - self.received_before;
        let lost = expected.saturating_sub(received);
        self.highest_before = self.highest;
        self.received_before = self.received;
        rtcp::ReportBlock {
            ssrc,
            fraction_lost: (lost * 256).checked_div(expected).unwrap_or(0).min(255) as u8,
            cumulative_lost: self.highest as i32 - self.received as i32,
            highest_seq: self.highest.saturating_sub(1),
            interarrival_jitter: 0,
            last_sr: CompactNtp(0),
            delay_since_last_sr: 0,
        }
    }
}

/// This end's SSRC.
const RECEIVER_SSRC: u32 = 0x1e6a_8001;
/// [libwebrtc-m150] FrameBuffer: the maximum number of frames held back.
const MAX_BUFFERED_FRAMES: usize = 800;

impl Receiver {
    /// A receiver that starts at `config.start`; `controller` is a receiver-side one, `rng` draws when reports leave.
    pub fn new(
        config: ReceiverConfig,
        controller: Option<AnyController>,
        decoder: Box<dyn Decoder>,
        rng: ChaCha8Rng,
    ) -> Self {
        let patience = if config.nack { Patience::Repair } else { Patience::Reordering };
        Self {
            controller: ReceiverSide::new(controller),
            accepts_partial: decoder.accepts_partial(),
            decoder,
            now: config.start,
            arrivals: ArrivalLog::default(),
            streams: (config.feedback == FeedbackFormat::Ccfb).then(StreamLog::default),
            nacks: NackList::asking_each(config.nack_interval),
            frames: FrameBuffer::default(),
            pictures: JitterBuffer::new(config.playout, config.start),
            outbox: VecDeque::new(),
            nack_scratch: Vec::new(),
            schedule: FeedbackSchedule::new(config.feedback_rule, config.feedback_interval, config.start),
            unreported: false,
            keyframes: KeyframeRequests::new(patience),
            give_up: None,
            last_sr: None,
            reports: ReportTimes::new(config.start, config.report_interval, rng),
            loss: LossSinceReport::default(),
            audio_loss: None,
            settled: false,
            due: config.start,
            spare: Vec::new(),
            config,
        }
    }

    /// Process one input.
    #[inline(always)]
    pub fn handle(&mut self, now: Timestamp, input: ReceiverInput<'_>, sink: &mut impl TraceSink) {
        // Neither makes anything due nor passes the time, so it may come while packets are taken ahead: a
        // coded frame is not used before a packet of it came.
        if let ReceiverInput::Coded(frame, captured) = input {
            return self.frames.expect(frame, captured);
        }
        debug_assert!(now >= self.now, "time never goes back");
        self.now = now;
        match input {
            ReceiverInput::Media(packet) => self.take_media(packet, sink),
            other => self.take(other, sink),
        }
    }

    #[inline(never)]
    fn take(&mut self, input: ReceiverInput<'_>, sink: &mut impl TraceSink) {
        match input {
            ReceiverInput::Media(packet) => self.take_media(packet, sink),
            ReceiverInput::Deadline => {
                self.settled = false;
                self.meet_deadlines(sink);
            }
            ReceiverInput::Coded(frame, captured) => self.frames.expect(frame, captured),
            ReceiverInput::Rtcp(bytes) => {
                sink.record(self.now, &Record::RtcpArrived { by: End::Sender, bytes });
                self.take_rtcp(bytes);
            }
        }
    }

    /// Take packets that left together and arrived one after the other at `arrivals`: no more than
    /// [`Receiver::plain_ahead`] of them, all before the receiver is due. The outcome is the same as by
    /// [`Receiver::handle`] of each.
    #[inline]
    pub fn take_burst(
        &mut self,
        burst: &Burst<MediaPacket>,
        arrivals: impl ExactSizeIterator<Item = Timestamp>,
        sink: &mut impl TraceSink,
    ) {
        debug_assert!(burst.packets <= self.plain_ahead(burst), "the others make something due");
        let Some((first, last)) = self.arrivals.push_run(arrivals) else { return };
        debug_assert!(first >= self.now, "time never goes back");
        self.now = last;
        self.unreported = true;
        self.schedule.take_plain(&burst.first, burst.packets, burst.bytes());
        self.loss.received += u32::from(burst.packets);
        self.nacks.insert_next(u32::from(burst.packets));
        self.loss.highest = self.loss.highest.max(self.nacks.next_seq());
        if self.frames.insert_plain((first, last), &burst.first, burst.packets) == Inserted::Completes {
            let missing_before = self.nacks.missing();
            self.hand_over(sink);
            self.look_for_gaps(missing_before, sink);
        }
    }

    /// How many packets of `burst` may come in a row of which none but the last makes anything due: in order, of a
    /// frame that has begun, or begins behind a whole one. The last may complete the frame.
    #[inline]
    pub fn plain_ahead(&self, burst: &Burst<MediaPacket>) -> u16 {
        let first = &burst.first;
        let plain = self.settled
            && (self.unreported || self.due <= self.schedule.next())
            && self.schedule.is_plain()
            && !self.controller.decides()
            && first.kind == PacketKind::Video
            && self.nacks.next_seq() == first.rtp_seq
            && self.arrivals.next_seq() == Some(first.transport_seq);
        if !plain {
            return 0;
        }
        // A decoder that takes partial frames waits for none until a later one has begun.
        let may_begin = self.accepts_partial
            && !self.keyframes.is_wanted()
            && !self.nacks.has_gaps()
            && self.frames.len() <= MAX_BUFFERED_FRAMES;
        self.frames.room(first, may_begin).min(burst.packets)
    }

    /// The controller, if it is steered from outside.
    pub fn steered(&mut self) -> Option<&mut dyn Steered> {
        self.controller.steered()
    }

    /// A buffer from `Send` that the driver no longer needs.
    #[inline]
    pub fn recycle(&mut self, mut bytes: Vec<u8>) {
        bytes.clear();
        self.spare = bytes;
    }

    /// Whether the last result of [`Receiver::poll`] is still valid: polling is not needed.
    #[inline]
    pub fn is_settled(&self) -> bool {
        self.settled
    }

    /// The next thing to do.
    #[inline]
    pub fn poll(&mut self, sink: &mut impl TraceSink) -> ReceiverOutput {
        if self.settled {
            return ReceiverOutput::Deadline(self.due.max(self.now));
        }
        if let Some(bytes) = self.outbox.pop_front() {
            let size_bytes = crate::rtcp_wire_size(bytes.len()).as_bytes() as u32;
            sink.record(self.now, &Record::FeedbackSent { size_bytes });
            sink.record(self.now, &Record::RtcpSent { by: End::Receiver, bytes: &bytes });
            return ReceiverOutput::Send(bytes);
        }
        if self.pictures.front().is_some_and(|(due, _)| due <= self.now) {
            return self.render(sink);
        }
        self.settled = true;
        self.due = self.deadline();
        ReceiverOutput::Deadline(self.due)
    }

    #[inline]
    fn deadline(&self) -> Timestamp {
        let mut due = self.reports.next();
        // Feedback is due even while there is nothing to report: thus the first packet after a feedback
        // makes nothing due, and is taken in line like the others.
        if self.unreported || self.schedule.next() > self.now {
            due = due.min(self.schedule.next());
        }
        if let Some((render, _)) = self.pictures.front() {
            due = due.min(render);
        }
        if let Some(give_up) = self.give_up {
            due = due.min(give_up);
        }
        if self.config.nack
            && let Some(nack) = self.nacks.next_deadline()
        {
            due = due.min(nack);
        }
        if let Some(wanted) = self.controller.next_deadline() {
            due = due.min(wanted);
        }
        due.max(self.now)
    }

    /// Most packets are the next of the current frame: nothing becomes due earlier.
    #[inline(always)]
    fn take_media(&mut self, packet: &MediaPacket, sink: &mut impl TraceSink) {
        match &mut self.streams {
            None => self.arrivals.push(self.now, packet.transport_seq),
            Some(streams) => streams.push(self.now, packet.ssrc, packet.stream_seq(), packet.ecn),
        }
        let at_once = self.schedule.take(self.now, packet);
        if !self.unreported {
            self.unreported = true;
            self.schedule.resume(self.now);
            // Nothing else changes, so due events stay due.
            self.settled &= self.due <= self.schedule.next();
        }
        self.settled &= !at_once;
        if self.controller.decides() {
            self.tell_arrival(*packet);
        }
        let missing_before = self.nacks.missing();
        let wanted = match packet.kind {
            PacketKind::Video => {
                self.loss.push(packet.rtp_seq);
                self.nacks.insert(self.now, packet.rtp_seq)
            }
            PacketKind::Retransmission => self.nacks.insert(self.now, packet.rtp_seq),
            PacketKind::Fec => true,
            PacketKind::Audio => {
                self.audio_loss.get_or_insert_default().push(packet.rtp_seq);
                false
            }
            PacketKind::Padding => false,
        };
        if wanted {
            match self.frames.insert(self.now, packet) {
                Inserted::Begins | Inserted::Completes => self.hand_over(sink),
                // Neither the next frame nor its missing packets have changed.
                Inserted::Adds | Inserted::Refused => {}
            }
        }
        self.look_for_gaps(missing_before, sink);
    }

    /// A gap that stays becomes due with time, and `due` has that time.
    #[inline(always)]
    fn look_for_gaps(&mut self, missing_before: usize, sink: &mut impl TraceSink) {
        if self.nacks.missing() != missing_before || (self.nacks.has_gaps() && (!self.settled || self.now >= self.due))
        {
            self.settled = false;
            if self.config.nack && self.nacks.is_due(self.now) {
                self.ask_again(sink);
            }
        }
    }

    fn meet_deadlines(&mut self, sink: &mut impl TraceSink) {
        if self.unreported && self.schedule.next() <= self.now {
            self.send_feedback();
        }
        if self.reports.next() <= self.now {
            self.send_report();
        }
        if self.config.nack && self.nacks.is_due(self.now) {
            self.ask_again(sink);
        }
        if self.give_up.is_some_and(|due| due <= self.now) {
            self.hand_over(sink);
        }
        if self.controller.next_deadline().is_some_and(|due| due <= self.now) {
            self.tell(&Event::Deadline, sink);
        }
    }

    /// Foreign bytes: what cannot be parsed is ignored, like a lost datagram.
    fn take_rtcp(&mut self, bytes: &[u8]) {
        let Ok(compound) = Compound::parse(bytes) else { return };
        for packet in compound {
            let Ok(message) = packet.and_then(|packet| packet.message()) else { return };
            match message {
                Message::SenderReport(report) => self.last_sr = Some((report.info.ntp.compact(), self.now)),
                Message::ExtendedReport(report) => report.blocks().for_each(|block| self.learn_round_trip_time(block)),
                _ => {}
            }
        }
    }

    // [rfc3611] §4.5: as for a reception report, with the receiver's own reference time.
    fn learn_round_trip_time(&mut self, block: ExtendedBlock) {
        let ExtendedBlock::DelaySinceLast { ssrc: RECEIVER_SSRC, last_rr, delay_since_last_rr } = block else { return };
        let arrival = CompactNtp::from_timestamp(self.now);
        if let Some(rtt) = ntp::round_trip_time(arrival, last_rr, delay_since_last_rr) {
            self.settled = false;
            self.schedule.set_round_trip(rtt);
            self.tell(&Event::RoundTripTime(rtt), &mut ());
        }
    }

    /// Pass frames to the decoder while the next one is whole or not worth waiting for.
    #[inline(never)]
    fn hand_over(&mut self, sink: &mut impl TraceSink) {
        self.settled = false;
        loop {
            if self.frames.next_is_complete() {
                self.decode_next(sink);
            } else if self.frames.len() > MAX_BUFFERED_FRAMES || self.frames.frames_before_keyframe().is_some() {
                // A whole key frame further on ends the wait: earlier frames are given up.
                self.decode_next(sink);
            } else if self.accepts_partial && self.partial_is_due() {
                self.decode_next(sink);
            } else {
                break;
            }
        }
        self.give_up = self.give_up_time();
        if self.keyframes.is_wanted() || self.give_up.is_some_and(|due| due <= self.now) || self.nacks.is_hopeless() {
            self.request_keyframe(sink);
            self.give_up = self.give_up_time();
        }
    }

    fn partial_is_due(&self) -> bool {
        self.frames.overtaken_since().is_some_and(|since| since + self.config.partial_wait <= self.now)
    }

    /// When waiting for the next frame ends.
    fn give_up_time(&self) -> Option<Timestamp> {
        if self.accepts_partial {
            return self.frames.overtaken_since().map(|since| since + self.config.partial_wait);
        }
        self.keyframes.due(self.now, &self.frames)
    }

    fn request_keyframe(&mut self, sink: &mut impl TraceSink) {
        if self.nacks.is_hopeless() {
            self.nacks.clear();
            self.keyframes.set_wanted(self.keyframes.is_wanted() || !self.accepts_partial);
        }
        // A decoder that takes partial frames goes on without the missing packets.
        if self.accepts_partial && !self.keyframes.is_wanted() {
            return;
        }
        if self.keyframes.take(self.now, &self.frames) {
            let mut bytes = Vec::with_capacity(16);
            rtcp::write_pli(&mut bytes, RECEIVER_SSRC, VIDEO_SSRC);
            self.outbox.push_back(bytes);
            sink.record(self.now, &Record::Pli);
        }
    }

    fn decode_next(&mut self, sink: &mut impl TraceSink) {
        let Some(frame) = self.frames.pop() else { return };
        let encoded = frame.assembled.encoded;
        if let Some(seq) = frame.next_rtp_seq {
            self.nacks.forget_below(seq);
        }
        let decoded = self.decoder.decode(self.now, &frame.assembled);
        // A decoder that cannot continue requests one once it is certain; one that waits for repair is
        // `strict`, and the wait itself requests it.
        let wanted = decoded.keyframe_needed || (!decoded.decodable && self.keyframes.is_wanted());
        self.keyframes.set_wanted(wanted);
        let quality = if decoded.decodable {
            decoded.quality
        } else {
            self.decoder.frozen(&SourceFrame {
                frame: encoded.frame,
                capture: Timestamp::from_nanos(frame.captured.as_nanos()),
                content: encoded.content,
                complexity: None,
            })
        };
        sink.record(
            self.now,
            &Record::FrameDecoded(FrameDecoded {
                frame: encoded.frame,
                lost_packets: frame.assembled.pieces_total - frame.assembled.pieces_received,
                decodable: decoded.decodable,
                quality_db: quality.map(|quality| (quality.ssim_db, quality.psnr_db)),
            }),
        );
        // When a picture is shown matters to viewers, and to a controller that gets frame reports.
        if decoded.decodable && (self.controller.decides() || sink.wants_renderings()) {
            let size = encoded.size.as_bytes() as u32;
            let repair = if frame.repaired { Repair::Took(self.nacks.round_trip_time()) } else { Repair::None };
            let rendered = RenderedFrame {
                frame: encoded.frame,
                captured: frame.captured,
                decodable: self.now,
                quality: decoded.quality,
            };
            self.pictures.push(self.now, frame.captured, size, repair, rendered);
        }
        if self.controller.decides() {
            self.tell_frame(&frame, decoded.decodable, sink);
        }
    }

    fn render(&mut self, sink: &mut impl TraceSink) -> ReceiverOutput {
        let frame = self.pictures.pop().expect("checked by poll");
        self.pictures.shown(self.now);
        sink.record(self.now, &Record::FrameRendered { frame: frame.frame });
        ReceiverOutput::Render(frame)
    }

    #[inline(never)]
    fn ask_again(&mut self, sink: &mut impl TraceSink) {
        let mut seqs = std::mem::take(&mut self.nack_scratch);
        seqs.clear();
        self.nacks.take_due(self.now, &mut seqs);
        let mut rest = &seqs[..];
        while !rest.is_empty() {
            let mut bytes = Vec::with_capacity(64);
            let written = rtcp::write_nack(&mut bytes, RECEIVER_SSRC, VIDEO_SSRC, rest.iter().copied());
            rest = &rest[written..];
            self.outbox.push_back(bytes);
        }
        if !seqs.is_empty() {
            sink.record(self.now, &Record::Nack { packets: seqs.len() as u32 });
        }
        self.nack_scratch = seqs;
    }

    fn send_feedback(&mut self) {
        loop {
            let mut bytes = std::mem::take(&mut self.spare);
            let told = match &mut self.streams {
                None => self.arrivals.write_feedback(&mut bytes, RECEIVER_SSRC, VIDEO_SSRC),
                Some(streams) => streams.write_feedback(&mut bytes, self.now, RECEIVER_SSRC),
            };
            if !told {
                self.spare = bytes;
                break;
            }
            self.outbox.push_back(bytes);
        }
        match &mut self.streams {
            None => self.arrivals.forget(self.now),
            Some(streams) => streams.forget(self.now),
        }
        self.unreported = false;
        self.schedule.sent(self.now);
    }

    fn send_report(&mut self) {
        self.reports.advance();
        let video = rtcp::ReportBlock {
            last_sr: self.last_sr.map_or(CompactNtp(0), |(sr, _)| sr),
            delay_since_last_sr: self.last_sr.map_or(0, |(_, at)| ntp::compact_span(self.now - at)),
            ..self.loss.block(VIDEO_SSRC)
        };
        let mut bytes = Vec::with_capacity(64);
        match &mut self.audio_loss {
            None => rtcp::write_receiver_report(&mut bytes, RECEIVER_SSRC, &[video]),
            // There are no sender reports on audio, and with them no round trip.
            Some(loss) => rtcp::write_receiver_report(&mut bytes, RECEIVER_SSRC, &[video, loss.block(AUDIO_SSRC)]),
        }
        // A controller here uses the round-trip time, or the schedule of feedback.
        if self.controller.decides() || self.schedule.needs_round_trips() {
            let now = ExtendedBlock::ReferenceTime(Ntp::from_timestamp(self.now));
            rtcp::write_extended_report(&mut bytes, RECEIVER_SSRC, &now);
        }
        self.outbox.push_back(bytes);
    }

    #[inline(never)]
    fn tell_arrival(&mut self, packet: MediaPacket) {
        let event = Event::PacketReceived(ReceivedPacket {
            transport_seq: packet.transport_seq,
            ssrc: packet.ssrc,
            size: DataSize::from_bytes(u64::from(packet.size_bytes)),
            kind: packet.kind,
            departure: Some(PeerTimestamp::from_nanos(packet.departure.as_nanos())),
            ce: packet.ecn.is_ce(),
        });
        self.tell(&event, &mut ());
        // Most arrivals make nothing due earlier.
        let wanted = self.controller.next_deadline();
        self.settled &= self.outbox.is_empty() && wanted.is_none_or(|wanted| wanted >= self.due);
    }

    fn tell_frame(&mut self, frame: &BufferedFrame, rendered: bool, sink: &mut impl TraceSink) {
        let encoded = &frame.assembled.encoded;
        let event = Event::FrameReport(FrameReport {
            frame: encoded.sequence,
            rendered,
            keyframe: encoded.keyframe,
            size: encoded.size,
            assembly: frame.arrivals.1 - frame.arrivals.0,
            interval: self.pictures.since_shown(self.now),
            height: encoded.height,
            psnr_db: encoded.psnr_db,
            // Frames are coded and queued at the instant of their capture.
            queued: Some(frame.captured),
        });
        self.tell(&event, sink);
    }

    /// Pass an event to the receiver-side controller; its target goes back as REMB.
    fn tell(&mut self, event: &Event, sink: &mut impl TraceSink) {
        self.controller.on_event(self.now, event, sink);
        if let Some(target) = self.controller.due_target(self.now) {
            let mut bytes = Vec::with_capacity(32);
            legato_wire::remb::write(&mut bytes, RECEIVER_SSRC, target, &[VIDEO_SSRC]);
            self.outbox.push_back(bytes);
        }
    }
}
