//! A call between its two ends: the next event, and its effect on the other end.
//!
//! [`Call`] holds sender, receiver and the receiver's clock; a [`Network`] takes packets from one end and reports when
//! they reach the other. Seven things can be due, so the next event is the minimum of seven times and no event queue is
//! needed. At equal times the order is that of [`Call::turn`].
//!
//! A call that has its network to itself runs by [`Call::advance`]. Where flows share links, their driver asks each
//! flow when it is due ([`Call::due`]) and gives the first its [`Call::turn`].

use crate::sending_half::record_drops;
use crate::{
    Arrival, Network, Pauses, PrivateNetwork, Receiver, ReceiverClock, ReceiverInput, ReceiverOutput, Rtcp, Sender,
    SendingHalf, Sent,
};
use legato_control::Side;
use legato_control::steering::Steered;
use legato_media::packet::MediaPacket;
use legato_trace::{At, PacketArrived, Record, SERIES_INTERVAL, TraceSink};
use legato_units::{Burst, TimeDelta, Timestamp};

/// Why [`Call::advance`] came back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pause {
    /// The time to run to has come.
    Ended,
    /// The end that was to be held is due at this true time; all that comes before is done.
    Held(Timestamp),
}

/// When [`Call::turn`] is next wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Turn {
    /// At this true time.
    At(Timestamp),
    /// At this true time, but the end that is due then is held.
    Held(Timestamp),
}

/// Two ends and the receiver's clock. The sender's clock is true time.
pub struct Call {
    sending: SendingHalf,
    receiver: Receiver,
    clock: ReceiverClock,
    due: Due,
    hold: Option<(Side, Timestamp)>,
}

/// When each is due, apart from the sending half.
#[derive(Clone, Copy, Debug)]
struct Due {
    receiver: Timestamp,
    sample: Timestamp,
    /// The receiver's deadline by its own clock, and in true time; most packets do not change it.
    local: Timestamp,
    local_at: Timestamp,
}

impl Call {
    /// A call that begins at `start`; with `samples` the network is looked at every [`SERIES_INTERVAL`].
    pub fn new(
        sender: Sender,
        receiver: Receiver,
        clock: ReceiverClock,
        pauses: Pauses,
        start: Timestamp,
        samples: bool,
    ) -> Self {
        let due = Due {
            receiver: Timestamp::MAX,
            sample: if samples { start + SERIES_INTERVAL } else { Timestamp::MAX },
            local: Timestamp::ZERO,
            local_at: Timestamp::ZERO,
        };
        Self { sending: SendingHalf::new(sender, pauses, start), receiver, clock, due, hold: None }
    }

    /// Ask the receiver when it is due, before anything else happens.
    pub fn begin(&mut self, start: Timestamp, network: &mut impl Network, sink: &mut impl TraceSink) {
        self.drain_receiver(start, network, sink);
    }

    /// Take the last sample, of the rest of an interval.
    pub fn finish(&mut self, end: Timestamp, network: &mut impl Network, sink: &mut impl TraceSink) {
        if self.due.sample != Timestamp::MAX && self.due.sample - SERIES_INTERVAL < end {
            self.sample(end, network, sink);
        }
    }

    /// Wait before that end's turn that is due at this true time or later; `None`: go on.
    pub fn hold(&mut self, hold: Option<(Side, Timestamp)>) {
        self.hold = hold;
    }

    /// The receiver's clock.
    pub fn clock(&self) -> &ReceiverClock {
        &self.clock
    }

    /// The controller of one end, where it is steered from outside.
    pub fn steered(&mut self, side: Side) -> Option<&mut dyn Steered> {
        match side {
            Side::Receiver => self.receiver.steered(),
            Side::Sender => self.sending.sender_mut().steered(),
        }
    }

    /// When [`Call::turn`] is next wanted, over a network of these [`Network::next_arrival`].
    pub fn due(&self, next_arrival: impl Fn(Side) -> Timestamp) -> Turn {
        let (arrival, reply) = (next_arrival(Side::Receiver), next_arrival(Side::Sender));
        let other = self.next(reply);
        if arrival > other && self.is_held(other, reply) { Turn::Held(other) } else { Turn::At(arrival.min(other)) }
    }

    /// Process the first due event at `now`: an arrival at the receiver, one at the sender, the receiver's deadline, a
    /// pause's begin or end, the sender's deadline, a sample.
    pub fn turn(&mut self, now: Timestamp, network: &mut impl Network, sink: &mut impl TraceSink) {
        if network.next_arrival(Side::Receiver) <= now {
            self.take_arrival(now, network, sink);
            if !self.receiver.is_settled() {
                self.drain_receiver(now, network, sink);
            }
            return;
        }
        let reply = network.next_arrival(Side::Sender);
        if self.next(reply) <= now {
            self.do_next(now, reply, network, sink);
        }
    }

    /// Runs until `end`, or until the held side is due.
    pub fn advance(&mut self, end: Timestamp, network: &mut impl PrivateNetwork, sink: &mut impl TraceSink) -> Pause {
        let horizon = self.hold.map_or(end, |(_, at)| end.min(at));
        let ahead = network.replies_are_certain();
        loop {
            let arrival = network.next_arrival(Side::Receiver);
            let reply = network.next_arrival(Side::Sender);
            let other = self.next(reply);
            // Most of what happens is arrivals.
            if arrival <= other && arrival < end {
                // Meanwhile the sender cannot overtake packets in line, nor learn of their arrival before the feedback
                // about them is back. So the receiver may be ahead of it, unless a stage of the way back holds packets
                // and must see them come and go in the order of time.
                let until = self.due.receiver.min(horizon) - TimeDelta::from_nanos(1);
                let until = if ahead { until } else { until.min(other) };
                let last = self.take_line(until, network, sink).unwrap_or_else(|| {
                    self.take_arrival(arrival, network, sink);
                    arrival
                });
                if !self.receiver.is_settled() {
                    self.drain_receiver(last, network, sink);
                }
                continue;
            }
            if other >= end {
                return Pause::Ended;
            }
            if self.is_held(other, reply) {
                return Pause::Held(other);
            }
            self.do_next(other, reply, network, sink);
        }
    }

    /// When something other than an arrival at the receiver is due; `reply` is when the sender hears of the receiver.
    #[inline]
    fn next(&self, reply: Timestamp) -> Timestamp {
        let Due { receiver, sample, .. } = self.due;
        reply.min(self.sending.due()).min(sample).min(receiver)
    }

    /// Whether the next event, at `now`, is the turn of the held side.
    #[inline]
    fn is_held(&self, now: Timestamp, reply: Timestamp) -> bool {
        let receiver = self.due.receiver;
        match self.hold {
            Some((Side::Receiver, at)) => now >= at && now < reply && receiver == now,
            Some((Side::Sender, at)) => now >= at && now < reply && now < receiver && self.sending.is_senders(now),
            None => false,
        }
    }

    /// Do what [`Call::next`] found due at `now`.
    #[inline]
    fn do_next(&mut self, now: Timestamp, reply: Timestamp, network: &mut impl Network, sink: &mut impl TraceSink) {
        if reply <= now {
            if let Some(bytes) = self.sending.take_reply(now, network, sink) {
                self.receiver.recycle(bytes);
                self.drain_sender(now, network, sink);
            }
        } else if self.due.receiver <= now {
            let local = self.clock.local(now);
            self.receiver.handle(local, ReceiverInput::Deadline, &mut At(sink, now));
            self.drain_receiver(now, network, sink);
        } else if self.sending.due() <= now {
            self.sending.meet(now, sink);
            self.drain_sender(now, network, sink);
        } else {
            self.sample(now, network, sink);
            self.due.sample += SERIES_INTERVAL;
        }
    }

    /// Take packets that arrive by `until`, the one behind the other, and change nothing that is due, except that the
    /// last may complete a frame: most packets do. Returns when it arrived; `None` where the next packet is none of
    /// these.
    #[inline]
    fn take_line(
        &mut self,
        until: Timestamp,
        network: &mut impl PrivateNetwork,
        sink: &mut impl TraceSink,
    ) -> Option<Timestamp> {
        let (burst, exits) = network.line()?;
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
        network.skip(packets as u16);
        Some(last)
    }

    /// The way to the receiver has something for it, or work to do.
    #[inline(never)]
    fn take_arrival(&mut self, now: Timestamp, network: &mut impl Network, sink: &mut impl TraceSink) {
        let local = self.clock.local(now);
        match network.pop(Side::Receiver, now) {
            Some(Arrival::Media(packet)) => {
                let MediaPacket { transport_seq, size_bytes, departure, .. } = packet;
                let burst = Burst::single(PacketArrived { transport_seq, size_bytes, departure });
                sink.record(now, &Record::PacketsArrived { burst, arrivals: &[now] });
                if packet.ecn.is_ce() {
                    sink.record(now, &Record::PacketMarked { transport_seq });
                }
                self.receiver.handle(local, ReceiverInput::Media(&packet), &mut At(sink, now));
            }
            Some(Arrival::Rtcp(Rtcp { bytes, .. })) => {
                self.receiver.handle(local, ReceiverInput::Rtcp(&bytes), &mut At(sink, now));
            }
            None => {}
        }
        record_drops(now, network, sink);
    }

    /// Do what the receiver wants, until it names its next deadline.
    #[inline(never)]
    fn drain_receiver(&mut self, now: Timestamp, network: &mut impl Network, sink: &mut impl TraceSink) {
        let local = loop {
            match self.receiver.poll(&mut At(sink, now)) {
                ReceiverOutput::Send(bytes) => {
                    network.send(Side::Receiver, now, Sent::Rtcp(bytes));
                }
                ReceiverOutput::Render(_) => {}
                ReceiverOutput::Deadline(local) => break local,
            }
        };
        if local != self.due.local {
            (self.due.local, self.due.local_at) = (local, self.clock.true_time(local));
        }
        self.due.receiver = self.due.local_at.max(now);
    }

    /// Do what the sender wants, until it names its next deadline. The receiver learns of each frame in advance.
    #[inline]
    fn drain_sender(&mut self, now: Timestamp, network: &mut impl Network, sink: &mut impl TraceSink) {
        while let Some((frame, captured)) = self.sending.drain(now, network, sink) {
            let local = self.clock.local(now);
            self.receiver.handle(local, ReceiverInput::Coded(frame, captured), &mut At(sink, now));
        }
    }

    fn sample(&mut self, now: Timestamp, network: &mut impl Network, sink: &mut impl TraceSink) {
        self.sending.sample(now, network.sample(now - SERIES_INTERVAL, now), sink);
    }
}
