//! One call, packet by packet: who is due next.
//!
//! Four things can be due: the head of the forward path, the head of the reverse path, the
//! receiver, the sender. Each keeps its own queue in order, so the next event is the least of four
//! times and no heap is needed. At equal times arrivals come before feedback, feedback before the
//! receiver's deadline, that before the sender's.

use crate::clock::ReceiverClock;
use legato_call::{Datagram, Receiver, ReceiverInput, ReceiverOutput, Sender, SenderInput, SenderOutput};
use legato_path::{DropReason, Ecn, Packet, Path};
use legato_trace::{At, CallFacts, LogLevel, Record, Recorder, SERIES_INTERVAL, Sample, Summary, TraceSink};
use legato_units::{DataRate, TimeDelta, Timestamp};

/// A datagram on a path, with when it left.
#[derive(Clone, Debug)]
pub struct InTransit {
    left: Timestamp,
    datagram: Datagram,
}

/// A call and the network between its ends.
pub struct Engine {
    /// The sending end; its clock is true time.
    pub sender: Sender,
    /// The receiving end.
    pub receiver: Receiver,
    /// From sender to receiver.
    pub forward: Path<InTransit>,
    /// From receiver to sender.
    pub reverse: Path<InTransit>,
    /// What the receiver's clock shows.
    pub clock: ReceiverClock,
}

impl Engine {
    /// Run from `start` to `end` and make the call's figures.
    pub fn run(mut self, start: Timestamp, end: Timestamp, recorder: &mut Recorder) -> Summary {
        let mut sender_due = start;
        let mut wake = Wake::default();
        let mut receiver_due = self.turn_receiver(start, &mut wake, recorder);
        let sampling = recorder.level() >= LogLevel::Series;
        let mut sample_due = if sampling { start + SERIES_INTERVAL } else { Timestamp::MAX };
        loop {
            let arrival = self.forward.next_arrival().unwrap_or(Timestamp::MAX);
            let feedback = self.reverse.next_arrival().unwrap_or(Timestamp::MAX);
            let now = arrival.min(feedback).min(receiver_due).min(sender_due).min(sample_due);
            if now >= end {
                break;
            }
            if arrival == now {
                if let Some(delivered) = self.forward.pop(now) {
                    self.arrive(now, &delivered.packet.payload.datagram, recorder);
                    receiver_due = self.turn_receiver(now, &mut wake, recorder);
                }
                self.note_drops(now, recorder);
            } else if feedback == now {
                if let Some(delivered) = self.reverse.pop(now) {
                    let in_transit = delivered.packet.payload;
                    recorder.feedback_took(now - in_transit.left);
                    if let Datagram::Rtcp(bytes) = &in_transit.datagram {
                        self.sender.handle(now, SenderInput::Rtcp(bytes), recorder);
                        sender_due = self.drain_sender(now, recorder);
                    }
                }
            } else if receiver_due == now {
                let local = self.clock.local(now);
                self.receiver.handle(local, ReceiverInput::Deadline, &mut At(recorder, now));
                receiver_due = self.turn_receiver(now, &mut wake, recorder);
            } else if sender_due == now {
                self.sender.handle(now, SenderInput::Deadline, recorder);
                sender_due = self.drain_sender(now, recorder);
            } else {
                self.sample(now, recorder);
                sample_due += SERIES_INTERVAL;
            }
        }
        if sampling && sample_due == end {
            self.sample(end, recorder);
        }
        let capacity_mean = self.forward.capacity(start, end).unwrap_or(DataRate::ZERO);
        recorder.finish(CallFacts { end, capacity_mean })
    }

    #[inline]
    fn arrive(&mut self, now: Timestamp, datagram: &Datagram, recorder: &mut Recorder) {
        let local = self.clock.local(now);
        match datagram {
            Datagram::Media(packet) => {
                let (transport_seq, size_bytes, departure) =
                    (packet.transport_seq, packet.size_bytes, packet.departure);
                recorder.record(now, &Record::PacketArrived { transport_seq, size_bytes, departure });
                self.receiver.handle(local, ReceiverInput::Media(packet), &mut At(recorder, now));
            }
            Datagram::Rtcp(bytes) => {
                self.receiver.handle(local, ReceiverInput::Rtcp(bytes), &mut At(recorder, now));
            }
        }
    }

    /// Do what the receiver wants; when it is due again, true time.
    #[inline]
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
                ReceiverOutput::Send(bytes) => push(&mut self.reverse, now, Datagram::Rtcp(bytes)),
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
                SenderOutput::Send(datagram) => push(&mut self.forward, now, datagram),
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
        while let Some(notice) = self.forward.pop_drop() {
            if let Datagram::Media(packet) = &notice.packet.payload.datagram {
                let reason = match notice.reason {
                    DropReason::Aqm => "aqm",
                    DropReason::QueueFull => "queue_full",
                    DropReason::Random => "random",
                };
                let (transport_seq, departure) = (packet.transport_seq, packet.departure);
                recorder.record(now, &Record::PacketDropped { transport_seq, departure, reason });
            }
        }
    }

    fn sample(&mut self, now: Timestamp, recorder: &mut Recorder) {
        let backlog = self.forward.backlog(now);
        let decision = self.sender.decision();
        let sample = Sample {
            capacity: self.forward.capacity(now - SERIES_INTERVAL, now).unwrap_or(DataRate::ZERO),
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
fn push(path: &mut Path<InTransit>, now: Timestamp, datagram: Datagram) {
    let packet =
        Packet { size: datagram.size(), flow: 0, ecn: Ecn::NotEct, payload: InTransit { left: now, datagram } };
    path.push(now, packet);
}
