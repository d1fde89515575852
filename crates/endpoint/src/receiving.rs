//! The other direction: a browser sends to us, and a receiver-side controller's target goes back as REMB.
//!
//! The controller is the simulator's object, told of each packet as `call::Receiver` tells it, and its target is sent
//! as often: at once when it falls by 3 %, else each 200 ms. What else a receiver says is str0m's: transport-wide
//! feedback each 50 ms, NACK, receiver reports. So the browser's own rate control works, and REMB is a cap on it;
//! without a controller it works alone.
//!
//! Missing: nothing is put together to frames or decoded, so a controller is told of no frames, and there is no
//! picture to judge. RFC 8888 feedback: str0m has none.

use crate::call::{CallReport, CallThread, Outcome, Progress, bind};
use crate::clock::{Clock, wait};
use crate::error::Error;
use crate::link::{Datagram, Ends, Link};
use crate::listener::{Listener, repair_types};
use crate::mail::{Mail, Media};
use legato_control::{Event as ControllerEvent, PacketKind, RateController, ReceivedPacket};
use legato_path::Path;
use legato_trace::{LogLevel, Record, Recorder, Summary, TraceSink};
use legato_units::{DataRate, DataSize, PeerTimestamp, TimeDelta, Timestamp};
use std::net::SocketAddr;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::Instant;
use str0m::bwe::Bitrate;
use str0m::change::SdpOffer;
use str0m::net::{Protocol, Receive};
use str0m::rtp::{RtpPacket, Ssrc};
use str0m::{Candidate, Event, IceConnectionState, Input, Output, Rtc, RtcConfig};

/// What a call is made of in which the other end sends.
pub struct ReceivingSetup {
    /// Decides what the other end may send; `None`: its own rate control alone.
    pub controller: Option<Box<dyn RateController>>,
    /// From the other end to us.
    pub forward: Path<Datagram>,
    /// And back.
    pub reverse: Path<Datagram>,
    /// How long it lasts, from the first media packet.
    pub duration: TimeDelta,
    /// How much is recorded.
    pub level: LogLevel,
}

/// A call under way in which the other end sends; it ends when this is dropped.
pub struct ReceivingCall {
    answer: String,
    thread: CallThread,
}

impl ReceivingCall {
    /// Bind a socket on the loopback interface and answer the other end's offer.
    pub fn open(setup: ReceivingSetup, offer: &str) -> Result<Self, Error> {
        let (socket, local) = bind()?;
        let base = Clock::starting_now();
        let refused = |error: &dyn std::fmt::Display| Error::Sdp(format!("the offer of the other end: {error}"));
        let config = RtcConfig::new().clear_codecs().enable_h264(true).set_rtp_mode(true);
        let mut rtc = config.build(base.instant(base.now()));
        let candidate = Candidate::host(local, "udp").map_err(|error| Error::System(format!("{local}: {error}")))?;
        rtc.add_local_candidate(candidate);
        let parsed = SdpOffer::from_sdp_string(offer).map_err(|error| refused(&error))?;
        let answer = rtc.sdp_api().accept_offer(parsed).map_err(|error| refused(&error))?.to_sdp_string();
        let ReceivingSetup { controller, forward, reverse, duration, level } = setup;
        let repair = Mail::RepairTypes(repair_types(offer));
        let thread = CallThread::start(base, |mail, inbox, progress, shared_clock| {
            let link = Link::start(Ends::Receiver(socket), forward, reverse, mail)?;
            let mut listener = Listener::new(base, duration, level, progress, shared_clock);
            listener.take(&repair);
            let end = ReceivingEnd {
                rtc,
                local,
                link,
                listener,
                controller,
                last_remb: None,
                due: Timestamp::ZERO,
                report: CallReport::default(),
            };
            Ok(move || end.run(&inbox))
        })?;
        Ok(Self { answer, thread })
    }

    /// The answer, for the other end.
    pub fn answer(&self) -> &str {
        &self.answer
    }

    /// How far it is.
    pub fn progress(&self) -> Progress {
        self.thread.progress()
    }

    /// The call's time; before its media began, time since it was set up.
    pub fn now(&self) -> Timestamp {
        self.thread.now()
    }

    /// What the other end's rate control aims at, where no controller of ours decides.
    pub fn aims_at(&self, target: DataRate) {
        // A call that is over has no use for it.
        let _ = self.thread.send(Mail::Target(target));
    }

    /// End it before its time.
    pub fn stop(&self) {
        self.thread.stop();
    }

    /// Wait for the end and make the figures.
    pub fn finish(self) -> Result<(Summary, Recorder, CallReport), Error> {
        self.thread.finish(&[])
    }
}

/// The work of the call's thread.
struct ReceivingEnd {
    rtc: Rtc,
    local: SocketAddr,
    link: Link,
    listener: Listener,
    controller: Option<Box<dyn RateController>>,
    last_remb: Option<(DataRate, Timestamp)>,
    /// When the connection is due next.
    due: Timestamp,
    report: CallReport,
}

/// As of `call::Receiver`: at once on a fall of 3 %, else each so often.
const REMB_INTERVAL: TimeDelta = TimeDelta::from_millis(200);

impl ReceivingEnd {
    fn run(mut self, inbox: &Receiver<Mail>) -> Result<Outcome, Error> {
        self.drain()?;
        while !self.report.stopped && !self.listener.is_over()? {
            let deadline = self.deadline().unwrap_or(Timestamp::MAX);
            let due = self.listener.due().min(self.due).min(deadline);
            match inbox.recv_timeout(wait(self.listener.now(), due)) {
                Ok(Mail::Stop) | Err(RecvTimeoutError::Disconnected) => {
                    self.listener.stop()?;
                    self.report.stopped = true;
                }
                Ok(Mail::Datagram { bytes, peer, media, .. }) => self.receive(&bytes, peer, media)?,
                // What the browser aims at is of interest where nobody else decides.
                Ok(Mail::Target(_)) if self.controller.is_some() => {}
                Ok(mail) => {
                    let begun = self.listener.has_begun();
                    let before = self.listener.clock();
                    self.listener.take(&mail);
                    if !begun && self.listener.has_begun() {
                        // What was due is due by the clock that counts from now on.
                        self.due = self.listener.clock().at(before.instant(self.due));
                    }
                }
                Err(RecvTimeoutError::Timeout) => {}
            }
            let now = self.listener.now();
            if self.deadline().is_some_and(|deadline| deadline <= now) {
                self.tell(now, &ControllerEvent::Deadline);
            }
            if self.due <= now {
                self.tick(now)?;
            }
        }
        Ok(self.listener.finish(self.link, self.report))
    }

    /// The controller's; before media there is nothing to decide.
    fn deadline(&self) -> Option<Timestamp> {
        self.controller.as_ref().filter(|_| self.listener.has_begun())?.next_deadline()
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
        self.drain_with(media)
    }

    fn drain(&mut self) -> Result<(), Error> {
        self.drain_with(None)
    }

    /// Do what the connection wants; `media`: the packet it was just given.
    fn drain_with(&mut self, media: Option<Media>) -> Result<(), Error> {
        loop {
            match self.rtc.poll_output().map_err(|error| failed(&error))? {
                Output::Timeout(at) => {
                    self.due = self.listener.clock().at(at);
                    return Ok(());
                }
                Output::Transmit(transmit) => {
                    let (now, bytes) = (self.listener.now(), transmit.contents.to_vec());
                    if matches!(bytes[..], [128..=191, 192..=223, ..]) && self.listener.has_begun() {
                        let size_bytes = bytes.len() as u32 + u32::from(legato_media::packetizer::IP_UDP_BYTES);
                        self.listener.take(&Mail::FeedbackSent(now, size_bytes));
                    }
                    self.link.send(now, bytes, transmit.destination, None);
                }
                Output::Event(Event::IceConnectionStateChange(IceConnectionState::Disconnected)) => {
                    let at = self.listener.now().as_secs_f64();
                    return Err(Error::Connection(format!("the other end no longer answers, {at:.1} s into the call")));
                }
                Output::Event(Event::RtpPacket(packet)) => {
                    if let Some(media) = media {
                        self.take_packet(&packet, media);
                    }
                }
                Output::Event(_) => {}
            }
        }
    }

    fn take_packet(&mut self, packet: &RtpPacket, media: Media) {
        let extensions = &packet.header.ext_vals;
        let kind = self.listener.kind(*packet.header.payload_type);
        let since = |at: Instant| PeerTimestamp::from_nanos(self.listener.clock().at(at).as_nanos());
        let received = ReceivedPacket {
            transport_seq: media.transport_seq,
            ssrc: *packet.header.ssrc,
            size: DataSize::from_bytes(u64::from(media.size_bytes)),
            kind,
            departure: extensions.abs_send_time.map(since),
            ce: false,
        };
        let now = self.listener.now();
        self.tell(now, &ControllerEvent::PacketReceived(received));
        if kind == PacketKind::Video {
            self.send_remb(now, packet.header.ssrc);
        }
    }

    fn tell(&mut self, now: Timestamp, event: &ControllerEvent) {
        let Some(controller) = &mut self.controller else { return };
        controller.on_event(now, event);
        let recorder = &mut self.listener.recorder;
        if recorder.wants_gauges(now) {
            controller.observe(&mut |name, value| recorder.record(now, &Record::Gauge { name, value }));
        }
    }

    fn send_remb(&mut self, now: Timestamp, ssrc: Ssrc) {
        let Some(controller) = &self.controller else { return };
        let target = controller.decision().target_bitrate;
        let send = self
            .last_remb
            .is_none_or(|(last, at)| target.as_bps_f64() <= 0.97 * last.as_bps_f64() || at + REMB_INTERVAL <= now);
        if send {
            self.last_remb = Some((target, now));
            self.listener.aim(target);
            if let Some(stream) = self.rtc.direct_api().stream_rx(&ssrc) {
                stream.request_remb(Bitrate::bps(target.as_bps()));
                // It leaves with the next tick.
                self.due = now;
            }
        }
    }
}

fn failed(error: &dyn std::fmt::Display) -> Error {
    Error::Connection(format!("the connection failed: {error}"))
}
