//! A call among other flows. Alone on its link it comes out the same, byte for byte, as the engine
//! for one call makes it: a test holds the two together.

use super::call_log::CallLog;
use super::flow::Flow;
use super::lane::{Lane, LostAtOnce, Network};
use super::parcel::{Parcel, Reply};
use crate::clock::ReceiverClock;
use crate::in_transit::{InTransit, Load, Ticket, tickets};
use crate::run::Ends;
use crate::video::{LoadedClip, aged_picture};
use legato_call::{ReceiverInput, ReceiverOutput, SenderInput, SenderOutput, rtcp_wire_size};
use legato_control::Side;
use legato_control::controllers::learned::Steered;
use legato_media::packet::MediaPacket;
use legato_path::{DropNotice, DropReason, Ecn, Packet};
use legato_trace::{At, CallFacts, LogLevel, Record, Recorder, SERIES_INTERVAL, Sample, Summary, TraceSink};
use legato_units::{Burst, DataRate, DataSize, Timestamp};

/// What a call is made of before it runs.
pub struct CallSetup {
    /// Its number among the session's flows.
    pub flow: u16,
    /// Its two ends.
    pub ends: Ends,
    /// The way to the receiver …
    pub media: Lane<Ticket>,
    /// … and back.
    pub replies: Lane<Reply>,
    /// It begins …
    pub start: Timestamp,
    /// … and ends then.
    pub stop: Timestamp,
    /// What it shows.
    pub clip: LoadedClip,
    /// The picture it begins with.
    pub first_picture: u32,
    /// When media pauses (true) and goes on (false), the next one last.
    pub turns: Vec<(Timestamp, bool)>,
}

/// A call while it runs.
pub struct CallFlow {
    setup: CallSetup,
    in_transit: InTransit,
    log: CallLog,
    begun: bool,
    wake: (Timestamp, Timestamp),
    receiver_due: Timestamp,
    sender_due: Timestamp,
    sample_due: Timestamp,
    summary: Option<Summary>,
    /// This end waits for an answer from outside once it is due at that time or later.
    hold: Option<(Side, Timestamp)>,
}

/// What a call does next; at equal times the first of these.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Next {
    Stop,
    Media,
    Feedback,
    Receiver,
    Pause,
    Sender,
    Sample,
}

impl CallFlow {
    /// A call that writes into `recorder`, which begins anew.
    pub fn new(setup: CallSetup, level: LogLevel, mut recorder: Recorder) -> Self {
        recorder.begin(level, setup.start);
        let sample_due = if level >= LogLevel::Series { setup.start + SERIES_INTERVAL } else { Timestamp::MAX };
        Self {
            in_transit: InTransit::default(),
            log: CallLog { recorder, truth: None },
            begun: false,
            wake: (Timestamp::ZERO, Timestamp::ZERO),
            receiver_due: Timestamp::MAX,
            sender_due: setup.start,
            sample_due,
            summary: None,
            hold: None,
            setup,
        }
    }

    /// The call's figures and tables, once it has ended.
    pub fn finished(self) -> (Option<Summary>, Recorder) {
        (self.summary, self.log.recorder)
    }

    /// Its own log, of figures and, where it is steered, of the truth.
    pub fn log(&mut self) -> &mut CallLog {
        &mut self.log
    }

    /// It begins and ends then.
    pub fn life(&self) -> (Timestamp, Timestamp) {
        (self.setup.start, self.setup.stop)
    }

    /// Whether it has ended.
    pub fn is_over(&self) -> bool {
        self.summary.is_some()
    }

    /// The controller of one end, where it is steered from outside.
    pub fn steered(&mut self, side: Side) -> Option<&mut dyn Steered> {
        match side {
            Side::Sender => self.setup.ends.sender.steered(),
            Side::Receiver => self.setup.ends.receiver.steered(),
        }
    }

    /// How often a safeguard took the decision from the steered controller.
    pub fn takeovers(&self) -> u32 {
        self.setup.ends.sender.takeovers()
    }

    /// The receiver's clock.
    pub fn clock(&self) -> &ReceiverClock {
        &self.setup.ends.clock
    }

    /// Wait before that end's turn that is due at this true time or later; `None`: go on.
    pub fn hold(&mut self, hold: Option<(Side, Timestamp)>) {
        self.hold = hold;
    }

    /// What comes first, and when.
    fn next(&self) -> (Timestamp, Next) {
        let when = [
            (self.setup.stop, Next::Stop),
            (self.setup.media.due(), Next::Media),
            (self.setup.replies.due(), Next::Feedback),
            (self.receiver_due, Next::Receiver),
            (self.turn_due(), Next::Pause),
            (self.sender_due, Next::Sender),
            (self.sample_due, Next::Sample),
        ];
        when.into_iter().fold(when[0], |first, other| if other.0 < first.0 { other } else { first })
    }

    fn turn_due(&self) -> Timestamp {
        self.setup.turns.last().map_or(Timestamp::MAX, |turn| turn.0)
    }

    fn begin(&mut self, network: &mut Network) {
        self.begun = true;
        self.turn_receiver(self.setup.start, network);
    }

    fn finish(&mut self, network: &mut Network) {
        let (flow, start, end) = (self.setup.flow, self.setup.start, self.setup.stop);
        if self.sample_due != Timestamp::MAX && self.sample_due - SERIES_INTERVAL < end {
            self.sample(end, network);
        }
        let capacity_mean = network.links.capacity(flow, start, end);
        let aged = aged_picture(&self.setup.clip, self.setup.first_picture);
        self.summary = Some(self.log.recorder.finish(CallFacts { end, capacity_mean, aged: aged.as_deref() }));
    }

    fn arrive(&mut self, now: Timestamp, network: &mut Network) {
        let Some(delivered) = self.setup.media.pop(now) else { return };
        let ticket = delivered.packet.payload;
        let local = self.setup.ends.clock.local(now);
        let (receiver, log) = (&mut self.setup.ends.receiver, &mut self.log);
        match self.in_transit.get(ticket) {
            Load::Media(burst) => {
                let packet = MediaPacket { ecn: delivered.packet.ecn, ..burst.get(ticket.place()) };
                let (transport_seq, size_bytes, departure) =
                    (packet.transport_seq, packet.size_bytes, packet.departure);
                log.record(now, &Record::PacketArrived { transport_seq, size_bytes, departure });
                if packet.ecn.is_ce() {
                    log.record(now, &Record::PacketMarked { transport_seq });
                }
                receiver.handle(local, ReceiverInput::Media(&packet), &mut At(log, now));
            }
            Load::Rtcp(bytes) => receiver.handle(local, ReceiverInput::Rtcp(bytes), &mut At(log, now)),
        }
        self.in_transit.remove(ticket, 1);
        if !self.setup.ends.receiver.is_settled() {
            self.turn_receiver(now, network);
        }
    }

    fn take_feedback(&mut self, now: Timestamp, network: &mut Network) {
        let Some(delivered) = self.setup.replies.pop(now) else { return };
        let Reply { left, bytes } = delivered.packet.payload;
        self.log.feedback_took(now - left);
        self.setup.ends.sender.handle(now, SenderInput::Rtcp(&bytes), &mut self.log);
        self.setup.ends.receiver.recycle(bytes);
        self.drain_sender(now, network);
    }

    /// Do what the receiver wants.
    fn turn_receiver(&mut self, now: Timestamp, network: &mut Network) {
        let local = loop {
            match self.setup.ends.receiver.poll(&mut At(&mut self.log, now)) {
                ReceiverOutput::Send(bytes) => {
                    let size = rtcp_wire_size(bytes.len());
                    self.setup.replies.send(now, network, size, Ecn::NotEct, Reply { left: now, bytes });
                }
                ReceiverOutput::Render(_) => {}
                ReceiverOutput::Deadline(local) => break local,
            }
        };
        if local != self.wake.0 {
            self.wake = (local, self.setup.ends.clock.true_time(local));
        }
        self.receiver_due = self.wake.1.max(now);
    }

    /// Do what the sender wants.
    fn drain_sender(&mut self, now: Timestamp, network: &mut Network) {
        self.sender_due = loop {
            match self.setup.ends.sender.poll(&mut self.log) {
                SenderOutput::Media(burst) => self.send(now, burst, network),
                SenderOutput::Rtcp(bytes) => {
                    let size = rtcp_wire_size(bytes.len());
                    let ticket = self.in_transit.insert(Load::Rtcp(bytes), 1);
                    self.put_out(now, network, size, Ecn::NotEct, ticket);
                }
                SenderOutput::Coded(frame, captured) => {
                    let local = self.setup.ends.clock.local(now);
                    let input = ReceiverInput::Coded(frame, captured);
                    self.setup.ends.receiver.handle(local, input, &mut At(&mut self.log, now));
                }
                SenderOutput::Deadline(due) => break due,
            }
        };
    }

    fn send(&mut self, now: Timestamp, burst: Burst<MediaPacket>, network: &mut Network) {
        let first = self.in_transit.insert(Load::Media(burst), burst.packets);
        for ticket in tickets(first, burst.packets) {
            let size = DataSize::from_bytes(burst.size_bytes(ticket.place()));
            self.put_out(now, network, size, burst.first.ecn, ticket);
        }
    }

    #[inline]
    fn put_out(&mut self, now: Timestamp, network: &mut Network, size: DataSize, ecn: Ecn, ticket: Ticket) {
        if let Some(LostAtOnce(at, reason, ticket)) = self.setup.media.send(now, network, size, ecn, ticket) {
            self.lose(at, reason, ticket);
        }
    }

    fn lose(&mut self, at: Timestamp, reason: DropReason, ticket: Ticket) {
        if let Load::Media(burst) = self.in_transit.get(ticket) {
            let transport_seq = burst.first.transport_seq + u64::from(ticket.place());
            let departure = burst.first.departure;
            // A link may lose what a call sent shortly before it ended.
            if self.summary.is_none() {
                let reason = reason.name();
                self.log.record(at, &Record::PacketDropped { transport_seq, departure, reason });
            }
        }
        self.in_transit.remove(ticket, 1);
    }

    fn sample(&mut self, now: Timestamp, network: &mut Network) {
        let flow = self.setup.flow;
        let (decision, pacer_queue) = (*self.setup.ends.sender.decision(), self.setup.ends.sender.pacer_queue());
        let sample = Sample {
            capacity: network.links.capacity(flow, now - SERIES_INTERVAL, now),
            target_bitrate: decision.target_bitrate,
            encoder_bitrate: DataRate::ZERO,
            pacing_rate: decision.pacing_rate,
            queue: network.links.queue(flow, now),
            pacer_queue,
        };
        self.log.sample(now, sample);
    }
}

impl Flow for CallFlow {
    fn due(&self) -> Timestamp {
        if self.summary.is_some() {
            return Timestamp::MAX;
        }
        let (at, next) = self.next();
        match (self.hold, next) {
            (Some((Side::Sender, hold)), Next::Sender) | (Some((Side::Receiver, hold)), Next::Receiver)
                if at >= hold =>
            {
                Timestamp::MAX
            }
            _ => at,
        }
    }

    fn turn(&mut self, now: Timestamp, network: &mut Network) {
        if now >= self.setup.stop {
            return self.finish(network);
        }
        if !self.begun {
            self.begin(network);
        }
        let (at, next) = self.next();
        if at > now {
            return;
        }
        match next {
            Next::Stop => {}
            Next::Media => self.arrive(now, network),
            Next::Feedback => self.take_feedback(now, network),
            Next::Receiver => {
                let local = self.setup.ends.clock.local(now);
                self.setup.ends.receiver.handle(local, ReceiverInput::Deadline, &mut At(&mut self.log, now));
                self.turn_receiver(now, network);
            }
            Next::Pause => {
                let paused = self.setup.turns.pop().is_some_and(|(_, paused)| paused);
                self.setup.ends.sender.handle(now, SenderInput::Pause(paused), &mut self.log);
                self.drain_sender(now, network);
            }
            Next::Sender => {
                self.setup.ends.sender.handle(now, SenderInput::Deadline, &mut self.log);
                self.drain_sender(now, network);
            }
            Next::Sample => {
                self.sample(now, network);
                self.sample_due += SERIES_INTERVAL;
            }
        }
    }

    fn enter(&mut self, at: Timestamp, packet: Packet<Parcel>) -> Timestamp {
        let Packet { size, ecn, payload, .. } = packet;
        match payload {
            Parcel::Media(ticket) => self.setup.media.enter(at, size, ecn, ticket),
            Parcel::Reply(reply) => self.setup.replies.enter(at, size, ecn, reply),
            _ => Timestamp::MAX,
        }
    }

    fn dropped(&mut self, notice: DropNotice<Parcel>) {
        if let Parcel::Media(ticket) = notice.packet.payload {
            self.lose(notice.at, notice.reason, ticket);
        }
    }
}
