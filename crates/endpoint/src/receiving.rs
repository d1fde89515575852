//! The other direction: a browser sends to us, and a receiver-side controller's target goes back as REMB.
//!
//! What else a receiver says is str0m's: transport-wide feedback every 50 ms, NACK, receiver reports. So a browser's own
//! rate control works, and REMB is a cap on it; without a controller it works alone. The video is put
//! together, decoded and shown (`viewer.rs`); key frames are asked for by the rules of `call::Receiver`.
//!
//! Missing: RFC 8888 feedback: str0m has none. A codec that changes within the call: only the negotiated one is
//! decoded.

use crate::clock::{Clock, wait};
use crate::connection::coded_psnr::{self, CodedPsnr};
use crate::connection::known_names::KnownNames;
use crate::connection::offered::OfferedVideo;
use crate::connection::transport_seq::TransportSeq;
use crate::error::Error;
use crate::listener::Listener;
use crate::mail::{Mail, link_report};
use crate::network::ends::Ends;
use crate::network::event::{LinkEvent, Media};
use crate::network::link::{Link, Place};
use crate::outcome::{CallReport, Outcome};
use crate::thread::CallThread;
use crate::viewing::decoder::Decoder;
use crate::viewing::viewer::{Viewer, ViewerConfig};
use legato_call::{ReceiverSide, VideoPacket};
use legato_codec::Coding;
use legato_control::{Event as ControllerEvent, PacketKind, RateController, ReceivedPacket};
use legato_media::packetizer::IP_UDP_BYTES;
use legato_media::playout::PlayoutConfig;
use legato_trace::{LogLevel, Record, TraceSink};
use legato_units::{DataSize, PeerTimestamp, TimeDelta, Timestamp};
use std::net::SocketAddr;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};
use str0m::bwe::Bitrate;
use str0m::change::SdpOffer;
use str0m::media::KeyframeRequestKind;
use str0m::net::{Protocol, Receive};
use str0m::rtp::rtcp::Rtcp;
use str0m::rtp::{RawPacket, RtpHeader, RtpPacket, Ssrc};
use str0m::{Candidate, Event, IceConnectionState, Input, Output, Rtc, RtcConfig};

/// The parts of a receiving end.
pub struct ReceivingSetup {
    /// What the other end codes with. This build must have its decoder.
    pub coding: Coding,
    /// Decides what the other end may send; `None`: only its own rate control does.
    pub controller: Option<Box<dyn RateController>>,
    /// The network; forward leads from the other end to us.
    pub place: Place,
    /// The duration, from the first media packet.
    pub duration: TimeDelta,
    /// The level of recording.
    pub level: LogLevel,
    /// When pictures are shown.
    pub playout: PlayoutConfig,
    /// Whether to request missing packets again, of a codec that needs them all.
    pub nack: bool,
    /// Luma columns of the other end's camera, if it may send smaller pictures.
    pub sent_width: Option<u16>,
}

/// Answer the other end's offer: the answer, and the thread of our end.
pub(crate) fn open(setup: ReceivingSetup, offer: &str) -> Result<(String, CallThread), Error> {
    let ReceivingSetup { coding, controller, place, duration, level, playout, nack, sent_width } = setup;
    let nack = nack && !coding.shows_in_part();
    let (outside, local) = place.outside()?;
    let base = Clock::starting_now();
    let refused = |error: &dyn std::fmt::Display| Error::Sdp(format!("the offer of the other end: {error}"));
    coding.check()?;
    let (format, video) = (coding.codec().rtp, OfferedVideo::of(offer, coding));
    if video.types.is_empty() {
        return Err(refused(&format!("no {} in it", format.name)));
    }
    let names = KnownNames::new(format, &video);
    let mut rtc = library_config(&names).build(base.instant(base.now()));
    let candidate = Candidate::host(local, "udp").map_err(|error| Error::System(format!("{local}: {error}")))?;
    rtc.add_local_candidate(candidate);
    let parsed = SdpOffer::from_sdp_string(&names.in_offer(offer)).map_err(|error| refused(&error))?;
    let answer = rtc.sdp_api().accept_offer(parsed).map_err(|error| refused(&error))?.to_sdp_string();
    let answer = names.in_answer(&answer);
    let thread = CallThread::start(base, |mail, inbox, shared| {
        let decoder = {
            let mail = mail.clone();
            Decoder::start(coding, sent_width, move |decoded| mail.send(Mail::Decoded(decoded)).is_ok())?
        };
        let link = place.open(Ends::Receiver(outside), link_report(mail))?;
        let mut listener = Listener::new(base, duration, level, shared);
        listener.expect_repair(video.repair.clone());
        let viewer = Viewer::new(coding, decoder, ViewerConfig { playout, nack }, Timestamp::ZERO);
        let viewer = if video.parity.is_empty() { viewer } else { viewer.expecting_parity() };
        let end = ReceivingEnd {
            rtc,
            local,
            link,
            listener,
            viewer,
            video,
            nack,
            stream: None,
            restored: None,
            controller: ReceiverSide::new(controller.map(Into::into)),
            transport_seq: TransportSeq::default(),
            due: Timestamp::ZERO,
            report: CallReport::default(),
        };
        Ok(move || end.run(&inbox))
    })?;
    Ok((answer, thread))
}

fn library_config(names: &KnownNames) -> RtcConfig {
    let config = names.enable(RtcConfig::new()).set_rtp_mode(true).enable_raw_packets(true);
    let config = config.set_stats_interval(Some(STATISTICS_INTERVAL));
    // A browser takes any other number for its numbers.
    config.set_extension(MAX_EXTENSION_ID, coded_psnr::extension())
}

/// A packet that just came.
#[derive(Clone, Copy)]
struct Came {
    media: Media,
    /// Whether it was retransmitted.
    repeated: bool,
}

/// The work of the call's thread.
struct ReceivingEnd {
    rtc: Rtc,
    local: SocketAddr,
    link: Link,
    listener: Listener,
    viewer: Viewer,
    video: OfferedVideo,
    nack: bool,
    /// The video's.
    stream: Option<Ssrc>,
    /// Packets that parity restored; unknown until the first parity comes.
    restored: Option<u64>,
    controller: ReceiverSide,
    transport_seq: TransportSeq,
    /// When the connection is due next.
    due: Timestamp,
    report: CallReport,
}

/// Media packets that parity has restored so far.
const RESTORED: &str = "receiver.restored_packets";
/// Identifiers of one byte end here; an offer's own override it.
const MAX_EXTENSION_ID: u8 = 14;
/// The connection reports the round-trip time at this interval: that of the reports that it is measured by.
const STATISTICS_INTERVAL: Duration = Duration::from_secs(1);

impl ReceivingEnd {
    fn run(mut self, inbox: &Receiver<Mail>) -> Result<Outcome, Error> {
        self.drain()?;
        while !self.report.stopped && !self.listener.is_over()? {
            let deadline = self.deadline().unwrap_or(Timestamp::MAX);
            let due = self.listener.due().min(self.due).min(deadline).min(self.viewer.due(self.listener.now()));
            match inbox.recv_timeout(wait(self.listener.now(), due)) {
                Ok(Mail::Stop) | Err(RecvTimeoutError::Disconnected) => {
                    self.listener.stop()?;
                    self.report.stopped = true;
                }
                Ok(Mail::Link(LinkEvent::Datagram { bytes, peer, media, .. })) => self.receive(&bytes, peer, media)?,
                Ok(Mail::Decoded(decoded)) => self.viewer.decoded(self.listener.now(), decoded),
                // The browser's target matters only if no controller of Legato decides.
                Ok(Mail::Target(target)) if !self.controller.decides() => self.listener.aim(target),
                Ok(Mail::Link(event)) => {
                    let begun = self.listener.has_begun();
                    let before = self.listener.clock();
                    self.listener.take(&event);
                    if !begun && self.listener.has_begun() {
                        // Due times are by the clock that counts from now on.
                        self.due = self.listener.clock().at(before.instant(self.due));
                    }
                }
                Ok(Mail::Answer(_) | Mail::Encoded(_) | Mail::RepairTypes(_) | Mail::Target(_))
                | Err(RecvTimeoutError::Timeout) => {}
            }
            let now = self.listener.now();
            if self.deadline().is_some_and(|deadline| deadline <= now) {
                self.tell(now, &ControllerEvent::Deadline);
            }
            self.look_on(now);
            if self.due <= now {
                self.tick(now)?;
            }
        }
        let (seen, received) = self.viewer.finish();
        Ok(Outcome { seen, received, ..self.listener.finish(self.link, self.report) })
    }

    /// Shows due pictures, reports frames to the controller, and requests missing packets from the other end.
    fn look_on(&mut self, now: Timestamp) {
        self.viewer.show(now);
        self.listener.shown_frames(self.viewer.shown());
        while let Some(report) = self.viewer.next_report() {
            self.tell(now, &ControllerEvent::FrameReport(report));
        }
        let Some(ssrc) = self.stream else { return };
        let target = self.controller.due_target(now);
        target.into_iter().for_each(|target| self.listener.aim(target));
        let keyframe = self.viewer.asks_for_keyframe(now);
        let mut api = self.rtc.direct_api();
        if let Some(stream) = api.stream_rx(&ssrc).filter(|_| keyframe || target.is_some()) {
            target.into_iter().for_each(|target| stream.request_remb(Bitrate::bps(target.as_bps())));
            if keyframe {
                stream.request_keyframe(KeyframeRequestKind::Pli);
            }
            // It leaves with the next tick.
            self.due = now;
        }
    }

    /// The controller's; before media there is nothing to decide.
    fn deadline(&self) -> Option<Timestamp> {
        self.controller.next_deadline().filter(|_| self.listener.has_begun())
    }

    fn tick(&mut self, now: Timestamp) -> Result<(), Error> {
        let instant = self.listener.clock().instant(now);
        self.rtc.handle_input(Input::Timeout(instant)).map_err(|error| failed(&error))?;
        self.drain()
    }

    fn receive(&mut self, bytes: &[u8], peer: SocketAddr, media: Option<Media>) -> Result<(), Error> {
        let now = self.listener.now();
        let instant = self.listener.clock().instant(now);
        // Anyone may have sent it, so nothing in it ends the call.
        let taken = Receive::new(Protocol::Udp, peer, self.local, bytes).is_ok_and(|received| {
            let input = Input::Receive(instant, received);
            self.rtc.accepts(&input) && self.rtc.handle_input(input).is_ok()
        });
        self.report.unreadable += u64::from(!taken);
        // The connection hides which packets were sent again; the clear header shows it.
        let repeated = bytes.get(1).is_some_and(|second| self.video.repair.contains(&(second & 0x7f)));
        self.drain_with(media.map(|media| Came { media, repeated }))
    }

    fn drain(&mut self) -> Result<(), Error> {
        self.drain_with(None)
    }

    /// Do what the connection requests; `came`: the packet it was just given.
    fn drain_with(&mut self, came: Option<Came>) -> Result<(), Error> {
        loop {
            match self.rtc.poll_output().map_err(|error| failed(&error))? {
                Output::Timeout(at) => {
                    self.due = self.listener.clock().at(at);
                    return Ok(());
                }
                Output::Transmit(transmit) => {
                    let (now, bytes) = (self.listener.now(), transmit.contents.to_vec());
                    if matches!(bytes[..], [128..=191, 192..=223, ..]) && self.listener.has_begun() {
                        let size_bytes = bytes.len() as u32 + u32::from(IP_UDP_BYTES);
                        self.listener.take(&LinkEvent::FeedbackSent(now, size_bytes));
                    }
                    self.link.send(self.listener.clock(), now, bytes, transmit.destination, None);
                }
                Output::Event(Event::IceConnectionStateChange(IceConnectionState::Disconnected)) => {
                    let at = self.listener.now().as_secs_f64();
                    return Err(Error::Connection(format!("the other end no longer answers, {at:.1} s into the call")));
                }
                Output::Event(Event::RtpPacket(packet)) => {
                    if let Some(came) = came {
                        self.take_video(&packet, came);
                    }
                }
                Output::Event(Event::RawPacket(raw)) => match *raw {
                    RawPacket::RtpRx(header, payload) => {
                        if let Some(came) = came {
                            self.take_packet(&header, payload.len(), came.media);
                        }
                    }
                    RawPacket::RtcpTx(rtcp) => self.note_request(&rtcp),
                    _ => {}
                },
                Output::Event(Event::MediaIngressStats(statistics)) => {
                    if let Some(rtt) = statistics.rtt.filter(|_| self.listener.has_begun()) {
                        let rtt = TimeDelta::from_nanos(rtt.as_nanos() as i64);
                        self.tell(self.listener.now(), &ControllerEvent::RoundTripTime(rtt));
                    }
                }
                Output::Event(_) => {}
            }
        }
    }

    /// Any packet of the other end, as it was on the wire, for the controller.
    fn take_packet(&mut self, header: &RtpHeader, payload_bytes: usize, media: Media) {
        let extensions = &header.ext_vals;
        let kind = match self.listener.kind(*header.payload_type) {
            PacketKind::Retransmission if payload_bytes > 0 => PacketKind::Retransmission,
            _ if self.video.parity.contains(&header.payload_type) => PacketKind::Fec,
            PacketKind::Video if self.is_video(header) => PacketKind::Video,
            _ => PacketKind::Padding,
        };
        let since = |at: Instant| PeerTimestamp::from_nanos(self.listener.clock().at(at).as_nanos());
        let departure = extensions.abs_send_time.map(since);
        let transport_seq = extensions.transport_cc.map_or(media.transport_seq, |seq| self.transport_seq.unwrap(seq));
        let (ssrc, size) = (*header.ssrc, DataSize::from_bytes(u64::from(media.size_bytes)));
        let received = ReceivedPacket { transport_seq, ssrc, size, kind, departure, ce: false };
        self.tell(self.listener.now(), &ControllerEvent::PacketReceived(received));
    }

    fn is_video(&self, header: &RtpHeader) -> bool {
        self.video.ssrc.is_none_or(|ssrc| ssrc == *header.ssrc)
    }

    /// A new packet, retransmitted or not; a retransmitted one counts as its original.
    fn take_video(&mut self, packet: &RtpPacket, came: Came) {
        let header = &packet.header;
        if self.video.parity.contains(&header.payload_type) {
            self.take_parity(packet);
            return;
        }
        if !self.is_video(header) {
            return;
        }
        if self.stream.is_none() {
            self.stream = Some(header.ssrc);
            if let Some(stream) = self.rtc.direct_api().stream_rx(&header.ssrc).filter(|_| !self.nack) {
                stream.suppress_nack(true);
            }
        }
        let (now, seq) = (self.listener.now(), *packet.seq_no);
        if self.video.types.contains(&header.payload_type) {
            let (timestamp, marker, payload) = (header.timestamp, header.marker, &packet.payload[..]);
            let psnr_db = header.ext_vals.user_values.get().copied().and_then(CodedPsnr::db);
            let repeated = came.repeated;
            self.viewer.take(now, &VideoPacket { seq, timestamp, marker, repeated, psnr_db, payload });
        }
    }

    fn take_parity(&mut self, packet: &RtpPacket) {
        if self.restored.is_none()
            && let Some(stream) = self.rtc.direct_api().stream_rx(&packet.header.ssrc)
        {
            // Parity is of no use late, and is not sent again.
            stream.suppress_nack(true);
        }
        let now = self.listener.now();
        self.viewer.take_parity(now, packet.header.timestamp, &packet.payload);
        let restored = self.viewer.restored_packets();
        if restored != self.restored {
            let value = restored.unwrap_or(0) as f64;
            self.listener.log.recorder.record(now, &Record::Gauge { name: RESTORED, value });
            self.restored = restored;
        }
    }

    fn note_request(&mut self, rtcp: &Rtcp) {
        if !self.listener.has_begun() {
            return;
        }
        let now = self.listener.now();
        match rtcp {
            Rtcp::Nack(nack) => {
                let packets = nack.reports.iter().map(|entry| 1 + entry.blp.count_ones()).sum();
                self.listener.log.recorder.record(now, &Record::Nack { packets });
            }
            Rtcp::Pli(_) => self.listener.log.recorder.record(now, &Record::Pli),
            _ => {}
        }
    }

    fn tell(&mut self, now: Timestamp, event: &ControllerEvent) {
        self.controller.on_event(now, event, &mut self.listener.log.recorder);
    }
}

fn failed(error: &dyn std::fmt::Display) -> Error {
    Error::Connection(format!("the connection failed: {error}"))
}
