//! One call, packet by packet: who is due next.
//!
//! Four things can be due: the head of the forward path, the head of the reverse path, the
//! receiver, the sender; and, rarely, a pause of the media begins or ends. Each keeps its own queue in order, so the next event is the least of four
//! times and no heap is needed. At equal times arrivals come before feedback, feedback before the
//! receiver's deadline, that before the sender's.

use crate::clock::ReceiverClock;
use crate::forward::{Arrival, Forward};
use legato_call::{Receiver, ReceiverInput, ReceiverOutput, Sender, SenderInput, SenderOutput, rtcp_wire_size};
use legato_control::Side;
use legato_media::packet::MediaPacket;
use legato_path::{Packet, Path};
use legato_trace::{
    AgedPicture, At, CallFacts, PacketArrived, Record, Recorder, SERIES_INTERVAL, Sample, Summary, TraceSink,
};
use legato_units::{DataRate, DataSize, Ecn, TimeDelta, Timestamp};

/// RTCP from the receiver, with when it left.
#[derive(Clone, Debug)]
pub struct Reply {
    left: Timestamp,
    bytes: Vec<u8>,
}

/// A call and the network between its ends.
pub struct Engine {
    /// The sending end; its clock is true time.
    pub sender: Sender,
    /// The receiving end.
    pub receiver: Receiver,
    /// From sender to receiver.
    pub forward: Forward,
    /// From receiver to sender.
    pub reverse: Path<Reply>,
    /// What the receiver's clock shows.
    pub clock: ReceiverClock,
    /// When media pauses (true) and goes on (false), the next one last.
    pub turns: Vec<(Timestamp, bool)>,
}

/// When each is due, between two calls of [`Engine::advance`].
#[derive(Clone, Copy, Debug)]
pub struct Due {
    sender: Timestamp,
    receiver: Timestamp,
    sample: Timestamp,
    turn: Timestamp,
    wake: Wake,
}

/// Why [`Engine::advance`] came back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pause {
    /// The time to run to has come.
    Ended,
    /// The end that was to be held is due, at this true time; all that comes before is done.
    Held(Timestamp),
}

impl Engine {
    /// Run from `start` to `end` and make the call's figures; `aged` tells what a picture that stays
    /// on the screen is worth later.
    pub fn run(
        mut self,
        start: Timestamp,
        end: Timestamp,
        aged: Option<&AgedPicture<'_>>,
        recorder: &mut Recorder,
    ) -> Summary {
        let mut due = self.begin(start, recorder);
        self.advance(&mut due, end, None, recorder);
        if recorder.wants_samples() && due.sample - SERIES_INTERVAL < end {
            self.sample(end, recorder);
        }
        let capacity_mean = self.forward.path().capacity(start, end);
        recorder.finish(CallFacts { end, capacity_mean, aged })
    }

    /// Begin at `start`.
    pub fn begin(&mut self, start: Timestamp, sink: &mut impl TraceSink) -> Due {
        let mut wake = Wake::default();
        Due {
            sender: start,
            receiver: self.turn_receiver(start, &mut wake, sink),
            sample: if sink.wants_samples() { start + SERIES_INTERVAL } else { Timestamp::MAX },
            turn: self.next_turn(),
            wake,
        }
    }

    /// Go on to `end`; with `hold`, only until that side is due at that true time or later, and before its
    /// turn.
    pub fn advance(
        &mut self,
        due: &mut Due,
        end: Timestamp,
        hold: Option<(Side, Timestamp)>,
        sink: &mut impl TraceSink,
    ) -> Pause {
        let (hold_sender, hold_receiver) = match hold {
            Some((Side::Sender, at)) => (at, Timestamp::MAX),
            Some((Side::Receiver, at)) => (Timestamp::MAX, at),
            None => (Timestamp::MAX, Timestamp::MAX),
        };
        let horizon = end.min(hold_sender).min(hold_receiver);
        let ahead = self.reverse.is_eager();
        loop {
            let arrival = self.forward.next_arrival();
            let feedback = self.reverse.next_arrival().unwrap_or(Timestamp::MAX);
            let other = feedback.min(due.sender).min(due.sample.min(due.turn)).min(due.receiver);
            // Most of what happens is arrivals.
            if arrival <= other && arrival < end {
                // What the sender does meanwhile cannot overtake what is in line, nor learn of its arrival
                // before word of it is back, so the receiver may be ahead of it; unless a stage of the way
                // back holds packets and must see pushes and pops in the order of time.
                let until = due.receiver.min(horizon) - TimeDelta::from_nanos(1);
                let until = if ahead { until } else { until.min(other) };
                let last = self.arrive_in_line(until, sink).unwrap_or_else(|| self.arrive(arrival, sink));
                if !self.receiver.is_settled() {
                    due.receiver = self.turn_receiver(last, &mut due.wake, sink);
                }
                continue;
            }
            let now = other;
            if now >= end {
                return Pause::Ended;
            }
            if feedback == now {
                if let Some(delivered) = self.reverse.pop(now) {
                    let reply = delivered.packet.payload;
                    sink.feedback_took(now - reply.left);
                    self.sender.handle(now, SenderInput::Rtcp(&reply.bytes), sink);
                    self.receiver.recycle(reply.bytes);
                    due.sender = self.drain_sender(now, sink);
                }
            } else if due.receiver == now {
                if now >= hold_receiver {
                    return Pause::Held(now);
                }
                let local = self.clock.local(now);
                self.receiver.handle(local, ReceiverInput::Deadline, &mut At(sink, now));
                due.receiver = self.turn_receiver(now, &mut due.wake, sink);
            } else if due.turn == now {
                let paused = self.turns.pop().is_some_and(|(_, paused)| paused);
                self.sender.handle(now, SenderInput::Pause(paused), sink);
                due.sender = self.drain_sender(now, sink);
                due.turn = self.next_turn();
            } else if due.sender == now {
                if now >= hold_sender {
                    return Pause::Held(now);
                }
                self.sender.handle(now, SenderInput::Deadline, sink);
                due.sender = self.drain_sender(now, sink);
            } else {
                self.sample(now, sink);
                due.sample += SERIES_INTERVAL;
            }
        }
    }

    fn next_turn(&self) -> Timestamp {
        self.turns.last().map_or(Timestamp::MAX, |turn| turn.0)
    }

    /// Packets of one train that come by `until`, the one behind the other, and change nothing
    /// that is due, but that the last may complete a frame: most packets do. When it came; `None` where
    /// the next packet is none of these.
    #[inline]
    fn arrive_in_line(&mut self, until: Timestamp, sink: &mut impl TraceSink) -> Option<Timestamp> {
        let (burst, exits) = self.forward.line()?;
        let most = usize::from(self.receiver.plain_ahead(burst));
        let exits = &exits[..most];
        let packets = match exits.last() {
            Some(&last) if last <= until => most,
            _ => exits.iter().take_while(|&&at| at <= until).count(),
        };
        let arrivals = &exits[..packets];
        let (&first, &last) = (arrivals.first()?, arrivals.last()?);
        let burst = burst.front(packets as u16);
        let MediaPacket { transport_seq, size_bytes, departure, .. } = burst.first;
        let arrived = burst.with(PacketArrived { transport_seq, size_bytes, departure });
        sink.record(first, &Record::PacketsArrived { burst: arrived, arrivals });
        let clock = &self.clock;
        let arrivals = arrivals.iter().map(|&at| clock.local(at));
        self.receiver.take_burst(&burst, arrivals, &mut At(sink, last));
        self.forward.skip(packets as u16);
        Some(last)
    }

    /// The forward path has something for the receiver, or work to do; `now`.
    #[inline(never)]
    fn arrive(&mut self, now: Timestamp, sink: &mut impl TraceSink) -> Timestamp {
        let local = self.clock.local(now);
        match self.forward.pop(now) {
            Some(Arrival::Media(packet)) => {
                let (transport_seq, size_bytes, departure) =
                    (packet.transport_seq, packet.size_bytes, packet.departure);
                sink.record(now, &Record::PacketArrived { transport_seq, size_bytes, departure });
                if packet.ecn.is_ce() {
                    sink.record(now, &Record::PacketMarked { transport_seq });
                }
                self.receiver.handle(local, ReceiverInput::Media(&packet), &mut At(sink, now));
            }
            Some(Arrival::Rtcp(bytes)) => {
                self.receiver.handle(local, ReceiverInput::Rtcp(&bytes), &mut At(sink, now));
            }
            None => {}
        }
        self.note_drops(now, sink);
        now
    }

    /// Do what the receiver wants; when it is due again, true time.
    #[inline(never)]
    fn turn_receiver(&mut self, now: Timestamp, wake: &mut Wake, sink: &mut impl TraceSink) -> Timestamp {
        let local = self.drain_receiver(now, sink);
        if local != wake.local {
            *wake = Wake { local, at: self.clock.true_time(local) };
        }
        wake.at.max(now)
    }

    #[inline]
    fn drain_receiver(&mut self, now: Timestamp, sink: &mut impl TraceSink) -> Timestamp {
        loop {
            match self.receiver.poll(&mut At(sink, now)) {
                ReceiverOutput::Send(bytes) => {
                    let size = rtcp_wire_size(bytes.len());
                    self.reverse.push(now, packet(size, Ecn::NotEct, Reply { left: now, bytes }));
                }
                ReceiverOutput::Render(_) => {}
                ReceiverOutput::Deadline(local) => return local,
            }
        }
    }

    /// Do what the sender wants; when it is due again.
    #[inline]
    fn drain_sender(&mut self, now: Timestamp, sink: &mut impl TraceSink) -> Timestamp {
        let due = loop {
            match self.sender.poll(sink) {
                SenderOutput::Media(burst) => self.forward.send(now, burst),
                SenderOutput::Rtcp(bytes) => self.forward.send_rtcp(now, rtcp_wire_size(bytes.len()), bytes),
                SenderOutput::Coded(frame, captured) => {
                    let local = self.clock.local(now);
                    self.receiver.handle(local, ReceiverInput::Coded(frame, captured), &mut At(sink, now));
                }
                SenderOutput::Deadline(due) => break due,
            }
        };
        self.note_drops(now, sink);
        due
    }

    #[inline]
    fn note_drops(&mut self, now: Timestamp, sink: &mut impl TraceSink) {
        if self.forward.has_drops() {
            self.take_drops(now, sink);
        }
    }

    #[inline(never)]
    fn take_drops(&mut self, now: Timestamp, sink: &mut impl TraceSink) {
        while let Some(dropped) = self.forward.pop_drop() {
            let (transport_seq, departure) = (dropped.transport_seq, dropped.departure);
            let reason = dropped.reason.name();
            sink.record(now, &Record::PacketDropped { transport_seq, departure, reason });
        }
    }

    fn sample(&mut self, now: Timestamp, sink: &mut impl TraceSink) {
        let backlog = self.forward.path().backlog(now);
        let decision = self.sender.decision();
        let sample = Sample {
            capacity: self.forward.path().capacity(now - SERIES_INTERVAL, now),
            target_bitrate: decision.target_bitrate,
            encoder_bitrate: DataRate::ZERO,
            pacing_rate: decision.pacing_rate,
            queue: (backlog.delay != TimeDelta::MAX).then_some(backlog.delay),
            pacer_queue: self.sender.pacer_queue(),
        };
        sink.sample(now, sample);
    }
}

/// When the receiver is due, by its clock and in true time; most packets do not change it.
#[derive(Clone, Copy, Debug, Default)]
struct Wake {
    local: Timestamp,
    at: Timestamp,
}

#[inline]
fn packet<P>(size: DataSize, ecn: Ecn, payload: P) -> Packet<P> {
    Packet { size, flow: 0, ecn, payload }
}
