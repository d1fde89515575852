//! One call, packet by packet: who is due next.
//!
//! Four things can be due: the head of the forward path, the head of the reverse path, the
//! receiver, the sender; and, rarely, a pause of the media begins or ends. Each keeps its own queue in order, so the next event is the least of four
//! times and no heap is needed. At equal times arrivals come before feedback, feedback before the
//! receiver's deadline, that before the sender's.

use crate::clock::ReceiverClock;
use crate::forward::{Arrival, Forward};
use legato_call::{Receiver, ReceiverInput, ReceiverOutput, Sender, SenderInput, SenderOutput, rtcp_wire_size};
use legato_path::{Packet, Path};
use legato_trace::{
    AgedPicture, At, CallFacts, LogLevel, Record, Recorder, RunArrived, SERIES_INTERVAL, Sample, Summary, TraceSink,
};
use legato_units::{DataSize, Ecn, TimeDelta, Timestamp};

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
        let mut sender_due = start;
        let mut wake = Wake::default();
        let mut receiver_due = self.turn_receiver(start, &mut wake, recorder);
        let sampling = recorder.level() >= LogLevel::Series;
        let mut sample_due = if sampling { start + SERIES_INTERVAL } else { Timestamp::MAX };
        let mut turn_due = self.next_turn();
        let ahead = self.reverse.is_eager();
        loop {
            let arrival = self.forward.next_arrival();
            let feedback = self.reverse.next_arrival().unwrap_or(Timestamp::MAX);
            let other = feedback.min(sender_due).min(sample_due.min(turn_due)).min(receiver_due);
            // Most of what happens is arrivals.
            if arrival <= other && arrival < end {
                // What the sender does meanwhile cannot overtake what is in line, nor learn of its arrival
                // before word of it is back, so the receiver may be ahead of it; unless a stage of the way
                // back holds packets and must see pushes and pops in the order of time.
                let until = receiver_due.min(end) - TimeDelta::from_nanos(1);
                let until = if ahead { until } else { until.min(other) };
                let last = self.arrive_in_line(until, recorder).unwrap_or_else(|| self.arrive(arrival, recorder));
                if !self.receiver.is_settled() {
                    receiver_due = self.turn_receiver(last, &mut wake, recorder);
                }
                continue;
            }
            let now = other;
            if now >= end {
                break;
            }
            if feedback == now {
                if let Some(delivered) = self.reverse.pop(now) {
                    let reply = delivered.packet.payload;
                    recorder.feedback_took(now - reply.left);
                    self.sender.handle(now, SenderInput::Rtcp(&reply.bytes), recorder);
                    self.receiver.recycle(reply.bytes);
                    sender_due = self.drain_sender(now, recorder);
                }
            } else if receiver_due == now {
                let local = self.clock.local(now);
                self.receiver.handle(local, ReceiverInput::Deadline, &mut At(recorder, now));
                receiver_due = self.turn_receiver(now, &mut wake, recorder);
            } else if turn_due == now {
                let paused = self.turns.pop().is_some_and(|(_, paused)| paused);
                self.sender.handle(now, SenderInput::Pause(paused), recorder);
                sender_due = self.drain_sender(now, recorder);
                turn_due = self.next_turn();
            } else if sender_due == now {
                self.sender.handle(now, SenderInput::Deadline, recorder);
                sender_due = self.drain_sender(now, recorder);
            } else {
                self.sample(now, recorder);
                sample_due += SERIES_INTERVAL;
            }
        }
        if sampling && sample_due - SERIES_INTERVAL < end {
            self.sample(end, recorder);
        }
        let capacity_mean = self.forward.path().capacity(start, end);
        recorder.finish(CallFacts { end, capacity_mean, aged })
    }

    fn next_turn(&self) -> Timestamp {
        self.turns.last().map_or(Timestamp::MAX, |turn| turn.0)
    }

    /// Packets of one train that come by `until`, the one behind the other, and change nothing
    /// that is due, but that the last may complete a frame: most packets do. When it came; `None` where
    /// the next packet is none of these.
    #[inline]
    fn arrive_in_line(&mut self, until: Timestamp, recorder: &mut Recorder) -> Option<Timestamp> {
        let (train, place, exits) = self.forward.line()?;
        let most = usize::from(self.receiver.plain_ahead(train, place)).min(exits.len());
        let exits = &exits[..most];
        let packets = match exits.last() {
            Some(&last) if last <= until => most,
            _ => exits.iter().take_while(|&&at| at <= until).count(),
        };
        let (&first, &last) = (exits[..packets].first()?, exits[..packets].last()?);
        let smaller = train.smaller_among(place + packets as u16) - train.smaller_among(place);
        let size_bytes = train.size_bytes(place);
        let run = RunArrived {
            transport_seq: train.first.transport_seq + u64::from(place),
            size_bytes,
            // Smaller than the first of the run: where that is one of the smaller ones, none is.
            smaller: if size_bytes == train.first.size_bytes { smaller } else { 0 },
            departure: train.first.departure,
            arrivals: &exits[..packets],
        };
        recorder.record(first, &Record::RunArrived(run));
        let clock = &self.clock;
        let arrivals = run.arrivals.iter().map(|&at| clock.local(at));
        self.receiver.take_run(train, place, arrivals, &mut At(recorder, last));
        self.forward.skip(packets as u16);
        Some(last)
    }

    /// The forward path has something for the receiver, or work to do; `now`.
    #[inline(never)]
    fn arrive(&mut self, now: Timestamp, recorder: &mut Recorder) -> Timestamp {
        let local = self.clock.local(now);
        match self.forward.pop(now) {
            Some(Arrival::Media(packet)) => {
                let (transport_seq, size_bytes, departure) =
                    (packet.transport_seq, packet.size_bytes, packet.departure);
                recorder.record(now, &Record::PacketArrived { transport_seq, size_bytes, departure });
                if packet.ecn.is_ce() {
                    recorder.record(now, &Record::PacketMarked { transport_seq });
                }
                self.receiver.handle(local, ReceiverInput::Media(&packet), &mut At(recorder, now));
            }
            Some(Arrival::Rtcp(bytes)) => {
                self.receiver.handle(local, ReceiverInput::Rtcp(&bytes), &mut At(recorder, now));
            }
            None => {}
        }
        self.note_drops(now, recorder);
        now
    }

    /// Do what the receiver wants; when it is due again, true time.
    #[inline(never)]
    fn turn_receiver(&mut self, now: Timestamp, wake: &mut Wake, recorder: &mut Recorder) -> Timestamp {
        let local = self.drain_receiver(now, recorder);
        if local != wake.local {
            *wake = Wake { local, at: self.clock.true_time(local) };
        }
        wake.at.max(now)
    }

    #[inline]
    fn drain_receiver(&mut self, now: Timestamp, recorder: &mut Recorder) -> Timestamp {
        loop {
            match self.receiver.poll(&mut At(recorder, now)) {
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
    fn drain_sender(&mut self, now: Timestamp, recorder: &mut Recorder) -> Timestamp {
        let due = loop {
            match self.sender.poll(recorder) {
                SenderOutput::Media(train) => self.forward.send(now, train),
                SenderOutput::Rtcp(bytes) => self.forward.send_rtcp(now, rtcp_wire_size(bytes.len()), bytes),
                SenderOutput::Coded(frame, captured) => {
                    let local = self.clock.local(now);
                    self.receiver.handle(local, ReceiverInput::Coded(frame, captured), &mut At(recorder, now));
                }
                SenderOutput::Deadline(due) => break due,
            }
        };
        self.note_drops(now, recorder);
        due
    }

    #[inline]
    fn note_drops(&mut self, now: Timestamp, recorder: &mut Recorder) {
        if self.forward.has_drops() {
            self.take_drops(now, recorder);
        }
    }

    #[inline(never)]
    fn take_drops(&mut self, now: Timestamp, recorder: &mut Recorder) {
        while let Some(dropped) = self.forward.pop_drop() {
            let (transport_seq, departure) = (dropped.transport_seq, dropped.departure);
            let reason = dropped.reason.name();
            recorder.record(now, &Record::PacketDropped { transport_seq, departure, reason });
        }
    }

    fn sample(&mut self, now: Timestamp, recorder: &mut Recorder) {
        let backlog = self.forward.path().backlog(now);
        let decision = self.sender.decision();
        let sample = Sample {
            capacity: self.forward.path().capacity(now - SERIES_INTERVAL, now),
            target_bitrate: decision.target_bitrate,
            encoder_bitrate: recorder.encoder_bitrate(),
            pacing_rate: decision.pacing_rate,
            queue: (backlog.delay != TimeDelta::MAX).then_some(backlog.delay),
            pacer_queue: self.sender.pacer_queue(),
        };
        recorder.sample(now, sample);
    }
}

/// When the receiver is due, by its clock and in true time; most packets do not change it.
#[derive(Default)]
struct Wake {
    local: Timestamp,
    at: Timestamp,
}

#[inline]
fn packet<P>(size: DataSize, ecn: Ecn, payload: P) -> Packet<P> {
    Packet { size, flow: 0, ecn, payload }
}
