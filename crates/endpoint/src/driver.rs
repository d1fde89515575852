//! The thread of a call: waits for mail or for the next deadline, and does what sender and connection request.
//!
//! It is to `call::Sender` what `call::Call` is in the simulator: it passes in the time and arrivals, and polls. A
//! packet's departure is the time at which this thread passes it to the link, encrypted in the same step. The
//! encoder runs elsewhere, so nothing here takes long.

use crate::clock::{Clock, wait};
use crate::connection::coded_psnr::CodedPsnr;
use crate::connection::peer::{Peer, PeerOutput, rtp_timestamp};
use crate::connection::rtcp_bytes::Received;
use crate::error::Error;
use crate::mail::Mail;
use crate::network::event::{LinkEvent, LinkSample, Media};
use crate::network::link::{CapacityMean, Link};
use crate::outcome::{CallReport, Outcome, Progress};
use crate::pictures::camera::CodedFrames;
use legato_call::{Pauses, Sender, SenderInput, SenderOutput, rtcp_wire_size};
use legato_control::PacketKind;
use legato_media::packet::MediaPacket;
use legato_trace::{End, LogLevel, PacketArrived, Record, Recorder, SERIES_INTERVAL, Sample, TraceSink};
use legato_units::{Burst, DataRate, TimeDelta, Timestamp};
use std::collections::{BTreeMap, VecDeque};
use std::net::SocketAddr;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::sync::{Arc, Mutex, PoisonError};

/// The thread's initial state.
pub(crate) struct Driver {
    pub sender: Sender,
    pub peer: Peer,
    pub frames: CodedFrames,
    pub link: Link,
    /// Since the call was set up; since media began, once they have.
    pub clock: Clock,
    pub end: Timestamp,
    pub pauses: Pauses,
    pub level: LogLevel,
    pub progress: Arc<Mutex<Progress>>,
    pub shared_clock: Arc<Mutex<Clock>>,
}

/// The call once media flow.
struct Running {
    driver: Driver,
    recorder: Recorder,
    report: CallReport,
    numbers: BTreeMap<u32, u64>,
    /// The encoder's report on its latest frames, by sequence number.
    psnr: VecDeque<(u32, CodedPsnr)>,
    /// When the sender is due next.
    sender_due: Timestamp,
    /// When the connection is.
    peer_due: Timestamp,
    capacity: CapacityMean,
    arrived_bytes: u64,
    sent_bytes: u64,
    last_capture: Timestamp,
}

/// The maximum time from the answer to media.
const CONNECT_TIMEOUT: TimeDelta = TimeDelta::from_secs(15);
/// The maximum number of frames whose packets are leaving.
const FRAMES_IN_FLIGHT: usize = 128;
/// The maximum wait for mail.
const MOST_WAIT: TimeDelta = TimeDelta::from_millis(200);

impl Driver {
    /// Connect, send, and report the result.
    pub fn run(mut self, inbox: &Receiver<Mail>) -> Result<Outcome, Error> {
        let connecting = self.connect(inbox)?;
        *self.shared_clock.lock().unwrap_or_else(PoisonError::into_inner) = self.clock;
        let mut recorder = Recorder::default();
        recorder.begin(self.level, Timestamp::ZERO);
        let running = Running {
            driver: self,
            recorder,
            report: CallReport { connecting, ..CallReport::default() },
            numbers: BTreeMap::new(),
            psnr: VecDeque::new(),
            sender_due: Timestamp::ZERO,
            peer_due: Timestamp::ZERO,
            capacity: CapacityMean::default(),
            arrived_bytes: 0,
            sent_bytes: 0,
            last_capture: Timestamp::ZERO,
        };
        running.run(inbox)
    }

    /// Until the connection stands and the network begins, whose clock is the call's from then on; returns how
    /// long the connection took from the answer.
    fn connect(&mut self, inbox: &Receiver<Mail>) -> Result<TimeDelta, Error> {
        let (mut answered, mut reached) = (None, None);
        loop {
            let now = self.clock.now();
            if let Some(since) = answered
                && now - since > CONNECT_TIMEOUT
            {
                let waited = CONNECT_TIMEOUT.as_millis() / 1_000;
                let end = if reached.is_none() { "the other end" } else { "the other way of the call" };
                return Err(Error::Connection(format!("{end} could not be reached in {waited} s")));
            }
            let due = loop {
                match self.peer.poll(now)? {
                    PeerOutput::Transmit(bytes, to) => self.link.send(self.clock, now, bytes, to, None),
                    PeerOutput::Connected => {
                        reached = Some(answered.map_or(TimeDelta::ZERO, |since| now - since));
                        self.progress.lock().unwrap_or_else(PoisonError::into_inner).reached = true;
                        self.link.ready(Clock::starting_now());
                    }
                    PeerOutput::Lost | PeerOutput::Rtcp(_) => {}
                    PeerOutput::Deadline(at) => break self.clock.at(at),
                }
            };
            let mail = inbox.recv_timeout(wait(now, due.min(now + MOST_WAIT)));
            let now = self.clock.now();
            match mail {
                Ok(Mail::Answer(answer)) => {
                    self.peer.answer(&answer)?;
                    answered = Some(now);
                }
                Ok(Mail::Link(LinkEvent::Begun(clock))) => {
                    self.clock = clock;
                    return Ok(reached.unwrap_or(TimeDelta::ZERO));
                }
                Ok(Mail::Link(LinkEvent::Datagram { bytes, peer, .. })) => {
                    self.peer.receive(self.clock.instant(now), &bytes, peer);
                }
                Ok(Mail::Stop) | Err(RecvTimeoutError::Disconnected) => {
                    return Err(Error::Connection("stopped before media began".to_owned()));
                }
                Ok(_) | Err(RecvTimeoutError::Timeout) => {}
            }
            self.peer.tick(self.clock.instant(now))?;
        }
    }
}

impl Running {
    fn run(mut self, inbox: &Receiver<Mail>) -> Result<Outcome, Error> {
        loop {
            let now = self.driver.clock.now();
            if now >= self.driver.end {
                return Ok(self.finish(now));
            }
            self.turn(now)?;
            self.tell_progress(now);
            let due = self.next_due();
            let mail = inbox.recv_timeout(wait(self.driver.clock.now(), due));
            let mut next = mail.map_err(|error| error == RecvTimeoutError::Disconnected);
            loop {
                match next {
                    Ok(Mail::Stop) | Err(true) => {
                        self.report.stopped = true;
                        return Ok(self.finish(now));
                    }
                    Ok(mail) => self.take(mail)?,
                    Err(false) => break,
                }
                next = inbox.try_recv().map_err(|_| false);
            }
        }
    }

    fn next_due(&self) -> Timestamp {
        self.sender_due.min(self.peer_due).min(self.driver.pauses.due()).min(self.driver.end)
    }

    /// Let sender and connection do what is due.
    fn turn(&mut self, now: Timestamp) -> Result<(), Error> {
        if let Some(paused) = self.driver.pauses.pop(now) {
            self.tell(now, SenderInput::Pause(paused))?;
        }
        if self.sender_due <= now {
            self.tell(now, SenderInput::Deadline)?;
        }
        if self.peer_due <= now {
            self.driver.peer.tick(self.driver.clock.instant(now))?;
            self.drain_peer(None)?;
        }
        Ok(())
    }

    fn take(&mut self, mail: Mail) -> Result<(), Error> {
        let now = self.driver.clock.now();
        match mail {
            Mail::Link(event) => return self.take_link_event(now, event),
            Mail::Encoded(coded) => {
                let (frame, capture) = coded.map_err(Error::Encoder)?;
                self.numbers.insert(rtp_timestamp(capture), frame.frame);
                self.psnr.truncate(FRAMES_IN_FLIGHT - 1);
                self.psnr.push_front((frame.sequence as u32, CodedPsnr::of_db(frame.psnr_db)));
                return self.tell(now, SenderInput::Encoded(frame, capture));
            }
            // The rest belongs to calls with other senders of media.
            _ => {}
        }
        Ok(())
    }

    fn take_link_event(&mut self, now: Timestamp, event: LinkEvent) -> Result<(), Error> {
        match event {
            LinkEvent::Datagram { bytes, peer, entered, .. } => return self.take_datagram(now, &bytes, peer, entered),
            LinkEvent::Arrived(media, at) => {
                let Media { transport_seq, size_bytes, departure } = media;
                self.arrived_bytes += u64::from(size_bytes);
                let burst = Burst::single(PacketArrived { transport_seq, size_bytes, departure });
                self.recorder.record(at, &Record::PacketsArrived { burst, arrivals: &[at] });
            }
            LinkEvent::Dropped(Media { transport_seq, departure, .. }, reason) => {
                self.recorder.record(now, &Record::PacketDropped { transport_seq, departure, reason });
            }
            LinkEvent::Sample(sample) => self.sample(sample),
            // Reports on media that others send.
            LinkEvent::Begun(_) | LinkEvent::FeedbackSent(..) | LinkEvent::Sent(..) => {}
        }
        Ok(())
    }

    fn take_datagram(
        &mut self,
        now: Timestamp,
        bytes: &[u8],
        peer: SocketAddr,
        entered: Timestamp,
    ) -> Result<(), Error> {
        self.driver.peer.receive(self.driver.clock.instant(now), bytes, peer);
        for received in self.drain_peer(None)? {
            let Received { bytes, nacked, keyframe } = received;
            let size_bytes = rtcp_wire_size(bytes.len()).as_bytes() as u32;
            self.recorder.record(entered, &Record::RtcpSent { by: End::Receiver, bytes: &bytes });
            self.recorder.record(entered, &Record::FeedbackSent { size_bytes });
            if nacked > 0 {
                self.recorder.record(entered, &Record::Nack { packets: nacked });
            }
            if keyframe {
                self.recorder.record(entered, &Record::Pli);
            }
            self.recorder.feedback_took(now - entered);
            self.tell(now, SenderInput::Rtcp(&bytes))?;
        }
        Ok(())
    }

    /// Pass an input to the sender and do what it requests.
    fn tell(&mut self, now: Timestamp, input: SenderInput<'_>) -> Result<(), Error> {
        self.driver.sender.handle(now, input, &mut Own(&mut self.recorder));
        loop {
            match self.driver.sender.poll(&mut Own(&mut self.recorder)) {
                SenderOutput::Media(burst) => self.send(&burst)?,
                // str0m writes the reports, the other end sees the frames.
                SenderOutput::Rtcp(_) | SenderOutput::Coded(..) => {}
                SenderOutput::Deadline(due) => {
                    self.sender_due = due;
                    return Ok(());
                }
            }
        }
    }

    fn send(&mut self, burst: &Burst<MediaPacket>) -> Result<(), Error> {
        for packet in burst.iter() {
            let coded = match packet.kind {
                PacketKind::Video | PacketKind::Retransmission => {
                    self.driver.frames.payload(packet.frame, packet.index)
                }
                _ => None,
            };
            let (payload, capture) = match coded {
                Some((payload, capture)) => (Some(payload), capture),
                None => (None, self.last_capture),
            };
            if packet.kind == PacketKind::Video {
                self.last_capture = capture;
            }
            self.sent_bytes += u64::from(packet.size_bytes);
            let media = Media {
                transport_seq: packet.transport_seq,
                size_bytes: packet.size_bytes,
                departure: packet.departure,
            };
            let instant = self.driver.clock.instant(packet.departure);
            let psnr = self.psnr.iter().find(|(sequence, _)| *sequence == packet.frame);
            let psnr = psnr.map_or(CodedPsnr::default(), |&(_, psnr)| psnr);
            self.driver.peer.write(instant, &packet, payload, capture, psnr);
            self.driver.peer.tick(instant)?;
            self.drain_peer(Some(media))?;
        }
        Ok(())
    }

    /// Do what the connection requests; returns the RTCP that came. `media`: the packet just written.
    fn drain_peer(&mut self, mut media: Option<Media>) -> Result<Vec<Received>, Error> {
        let mut received = Vec::new();
        let now = media.map_or_else(|| self.driver.clock.now(), |media| media.departure);
        loop {
            match self.driver.peer.poll(now)? {
                PeerOutput::Transmit(bytes, to) => {
                    let own = media.take_if(|media| self.driver.peer.is_packet(&bytes, media));
                    self.driver.link.send(self.driver.clock, now, bytes, to, own);
                }
                PeerOutput::Rtcp(rtcp) => received.push(rtcp),
                PeerOutput::Lost => {
                    let at = now.as_secs_f64();
                    return Err(Error::Connection(format!("the other end no longer answers, {at:.1} s into the call")));
                }
                PeerOutput::Connected => {}
                PeerOutput::Deadline(at) => {
                    self.peer_due = self.driver.clock.at(at);
                    break;
                }
            }
        }
        // Written, yet it did not come out under its number.
        self.report.misnumbered += u64::from(media.is_some());
        Ok(received)
    }

    fn sample(&mut self, sample: LinkSample) {
        self.capacity.take(sample.capacity);
        let decision = self.driver.sender.decision();
        let sample_of = Sample {
            capacity: sample.capacity,
            target_bitrate: decision.target_bitrate,
            encoder_bitrate: DataRate::ZERO,
            pacing_rate: decision.pacing_rate,
            queue: sample.queue,
            pacer_queue: self.driver.sender.pacer_queue(),
        };
        if self.recorder.wants_samples() && sample.at <= self.driver.end {
            self.recorder.sample(sample.at, sample_of);
        }
    }

    fn tell_progress(&self, now: Timestamp) {
        let progress = Progress {
            reached: true,
            connected: true,
            over: false,
            time: now - Timestamp::ZERO,
            target: self.driver.sender.decision().target_bitrate,
            sent_bytes: self.sent_bytes,
            arrived_bytes: self.arrived_bytes,
            shown_frames: 0,
        };
        *self.driver.progress.lock().unwrap_or_else(PoisonError::into_inner) = progress;
    }

    fn finish(self, now: Timestamp) -> Outcome {
        let Self { driver, recorder, report, numbers, capacity, .. } = self;
        let end = now.min(driver.end).max(Timestamp::ZERO + SERIES_INTERVAL);
        let (odd_sizes, unreadable) = (driver.peer.odd_sizes, driver.peer.unreadable);
        let lateness = driver.link.finish().figures();
        Outcome {
            recorder,
            report: CallReport { lateness, odd_sizes, unreadable, end, ..report },
            capacity_mean: capacity.mean(),
            clock: driver.clock,
            numbers,
            coded: None,
            seen: Vec::new(),
        }
    }
}

/// All records except the sender's own reports, which do not leave.
struct Own<'a>(&'a mut Recorder);

impl TraceSink for Own<'_> {
    #[inline]
    fn record(&mut self, now: Timestamp, record: &Record<'_>) {
        if !matches!(record, Record::RtcpSent { by: End::Sender, .. }) {
            self.0.record(now, record);
        }
    }
    fn wants_gauges(&mut self, now: Timestamp) -> bool {
        self.0.wants_gauges(now)
    }
    fn wants_samples(&self) -> bool {
        self.0.wants_samples()
    }
}
