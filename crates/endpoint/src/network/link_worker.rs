//! The thread of the emulated network (`link.rs`): takes datagrams in, lets them go when the paths say, and tells the
//! calls what became of them.

use crate::clock::{Clock, wait};
use crate::mail::{Mail, Media};
use crate::network::ends::{Exit, Opened, Watched, is_rtcp, media_header};
use crate::network::lateness::Lateness;
use crate::network::link::{Datagram, LinkSample, Order};
use legato_path::{Delivered, Packet, Path};
use legato_trace::SERIES_INTERVAL;
use legato_units::{DataSize, TimeDelta, Timestamp};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender};

/// A call on the network.
pub struct Flow {
    ends: Opened,
    mail: Sender<Mail>,
    /// What is forward to it is the network's reverse path.
    backward: bool,
    /// It could begin.
    ready: bool,
    /// Of media between others.
    next_seq: u64,
    lateness: Lateness,
}

/// What the thread works with.
pub struct Worker {
    forward: Path<Datagram>,
    reverse: Path<Datagram>,
    /// By their places.
    flows: Vec<Option<Flow>>,
    /// The calls', once media have begun.
    clock: Option<Clock>,
    /// Paths are never told an earlier time.
    last: Timestamp,
    next_sample: Timestamp,
}

/// Whatever comes in, packets are let go after so many orders.
const MAX_ORDERS_A_ROUND: u32 = 256;

impl Flow {
    /// A call that has not begun.
    pub fn new(ends: Opened, mail: Sender<Mail>, backward: bool) -> Self {
        Self { ends, mail, backward, ready: false, next_seq: 0, lateness: Lateness::default() }
    }

    /// Number what came in, where it is media, and say so.
    fn note(&mut self, datagram: &mut Datagram, forward: bool) {
        let everything = self.ends.watched == Watched::Everything;
        let payload = self.ends.framing.payload(&datagram.bytes);
        let size_bytes = self.ends.framing.size_bytes(&datagram.bytes) as u16;
        let media = if forward { media_header(payload) } else { None };
        let header = if forward && everything { Some(media.unwrap_or_default()) } else { media };
        let is_feedback = !forward && (everything || is_rtcp(payload));
        if let Some(header) = header {
            let media = Media { transport_seq: self.next_seq, size_bytes, departure: datagram.entered };
            self.next_seq += 1;
            datagram.media = Some(media);
            let _ = self.mail.send(Mail::Sent(media, header));
        }
        let others = matches!(self.ends.reverse_exit, Exit::Others(..) | Exit::Tun(_));
        if others && is_feedback {
            let _ = self.mail.send(Mail::FeedbackSent(datagram.entered, size_bytes.into()));
        }
    }

    fn let_go(&self, delivered: Delivered<Datagram>, forward: bool) {
        let mut datagram = delivered.packet.payload;
        if delivered.packet.ecn.is_ce() {
            self.ends.framing.mark_ce(&mut datagram.bytes);
        }
        self.put_out(datagram, forward);
    }

    fn put_out(&self, datagram: Datagram, forward: bool) {
        let exit = if forward { &self.ends.forward_exit } else { &self.ends.reverse_exit };
        exit.put_out(datagram, &self.mail);
    }
}

impl Worker {
    /// A network with so many places, all of them free.
    pub fn new(forward: Path<Datagram>, reverse: Path<Datagram>, places: usize) -> Self {
        Self {
            forward: forward.with_drop_notices(),
            reverse: reverse.with_drop_notices(),
            flows: std::iter::repeat_with(|| None).take(places).collect(),
            clock: None,
            last: Timestamp::ZERO,
            next_sample: Timestamp::MAX,
        }
    }

    /// Until told to stop.
    pub fn run(mut self, inbox: &Receiver<Order>) {
        loop {
            let mut order = match self.clock {
                None => inbox.recv().map_err(|_| RecvTimeoutError::Disconnected),
                Some(clock) => {
                    let due = self.next_due();
                    inbox.recv_timeout(wait(clock.now(), due))
                }
            };
            // All that wait go in before anything is let go: a path cannot be told of an earlier time any more. Unless
            // they are too many: then the lateness tells.
            for _ in 0..MAX_ORDERS_A_ROUND {
                match order {
                    Ok(Order::Stop) | Err(RecvTimeoutError::Disconnected) => return,
                    Ok(order) => self.obey(order),
                    Err(RecvTimeoutError::Timeout) => break,
                }
                order = inbox.try_recv().map_err(|_| RecvTimeoutError::Timeout);
            }
            if let Some(clock) = self.clock {
                self.release(clock);
            }
        }
    }

    fn obey(&mut self, order: Order) {
        match order {
            Order::Join(place, flow) => self.flows[usize::from(place)] = Some(flow),
            Order::Leave(place, reply) => {
                let left = self.flows[usize::from(place)].take();
                // Who left by being dropped does not listen.
                let _ = reply.send(left.map(|flow| flow.lateness).unwrap_or_default());
            }
            Order::Ready(place, clock) => self.ready(place, clock),
            Order::Received(place, datagram, clock, forward) => self.come_in(place, datagram, clock, forward),
            Order::Send(place, mut datagram, clock) => {
                if let Some(own) = self.clock {
                    datagram.entered = own.at(clock.instant(datagram.entered));
                }
                if let Some(flow) = &self.flows[usize::from(place)] {
                    self.enter(place, datagram, flow.ends.sends_forward);
                }
            }
            // Told by now.
            Order::Stop => {}
        }
    }

    fn next_due(&self) -> Timestamp {
        let arrivals = [self.forward.next_arrival(), self.reverse.next_arrival()];
        arrivals.into_iter().flatten().fold(self.next_sample, Timestamp::min)
    }

    /// The call at a place could begin; the last of all makes the time.
    fn ready(&mut self, place: u16, clock: Clock) {
        if let Some(flow) = &mut self.flows[usize::from(place)] {
            flow.ready = true;
        }
        if self.clock.is_none() && self.flows.iter().all(|flow| flow.as_ref().is_some_and(|flow| flow.ready)) {
            self.clock = Some(clock);
            self.next_sample = Timestamp::ZERO + SERIES_INTERVAL;
            for flow in self.flows.iter().flatten() {
                let _ = flow.mail.send(Mail::Begun(clock));
            }
        }
    }

    fn come_in(&mut self, place: u16, mut datagram: Datagram, clock: Clock, forward: bool) {
        let Some(flow) = &self.flows[usize::from(place)] else { return };
        let begins = forward && media_header(flow.ends.framing.payload(&datagram.bytes)).is_some();
        // Who sends by the endpoint says itself when it is ready.
        if begins && self.clock.is_none() {
            self.ready(place, Clock::starting_at(clock.instant(datagram.entered)));
        }
        if let Some(own) = self.clock {
            datagram.entered = own.at(clock.instant(datagram.entered));
            if let Some(flow) = &mut self.flows[usize::from(place)] {
                flow.note(&mut datagram, forward);
            }
        }
        self.enter(place, datagram, forward);
    }

    fn enter(&mut self, place: u16, mut datagram: Datagram, forward: bool) {
        let Some(flow) = &self.flows[usize::from(place)] else { return };
        if self.clock.is_none() {
            flow.put_out(datagram, forward);
            return;
        }
        self.last = self.last.max(datagram.entered);
        let now = self.last;
        datagram.late = now - datagram.entered;
        if let Some(media) = &mut datagram.media {
            media.departure = datagram.entered;
        }
        let framing = flow.ends.framing;
        let (size, ecn) = (DataSize::from_bytes(framing.size_bytes(&datagram.bytes)), framing.ecn(&datagram.bytes));
        let packet = Packet { size, flow: place, ecn, payload: datagram };
        let path = if forward == flow.backward { &mut self.reverse } else { &mut self.forward };
        path.push(now, packet);
    }

    /// Let go what is due, and say what was lost.
    fn release(&mut self, clock: Clock) {
        for backward in [false, true] {
            let path = if backward { &mut self.reverse } else { &mut self.forward };
            loop {
                let now = clock.now().max(self.last);
                self.last = now;
                let Some(delivered) = path.pop(now) else { break };
                // Of a call that is over: nobody waits for it.
                let Some(flow) = &mut self.flows[usize::from(delivered.packet.flow)] else { continue };
                let (media, due) = (delivered.packet.payload.media, delivered.at - delivered.packet.payload.late);
                flow.let_go(delivered, flow.backward == backward);
                let at = clock.now();
                flow.lateness.push(at - due);
                if let Some(media) = media {
                    let _ = flow.mail.send(Mail::Arrived(media, at));
                }
            }
            while let Some(dropped) = path.pop_drop() {
                let flow = &self.flows[usize::from(dropped.packet.flow)];
                if let (Some(flow), Some(media)) = (flow, dropped.packet.payload.media) {
                    let _ = flow.mail.send(Mail::Dropped(media, dropped.reason.name()));
                }
            }
        }
        self.sample();
    }

    /// Tell each call of the bins of the path its media take.
    fn sample(&mut self) {
        while self.next_sample <= self.last {
            let (from, at) = (self.next_sample - SERIES_INTERVAL, self.next_sample);
            for flow in self.flows.iter().flatten() {
                let path = if flow.backward { &mut self.reverse } else { &mut self.forward };
                let backlog = path.backlog(self.last);
                let queue = (backlog.delay != TimeDelta::MAX).then_some(backlog.delay);
                let capacity = path.capacity(from, at);
                let _ = flow.mail.send(Mail::Sample(LinkSample { at, capacity, queue }));
            }
            self.next_sample += SERIES_INTERVAL;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::network::ends::Framing;
    use legato_path::capacity::LinkCapacity;
    use legato_path::queue::QueueLimit;
    use legato_path::stage::Bottleneck;
    use legato_units::DataRate;
    use std::sync::mpsc::channel;

    /// Two calls, forward without a limit and in reverse at 1 Mbit/s; what they are told.
    fn two_calls() -> (Worker, [Receiver<Mail>; 2]) {
        let slow = Bottleneck::new(LinkCapacity::constant(DataRate::from_mbps(1)), QueueLimit::Packets(100));
        let mut worker = Worker::new(Path::new([]), Path::new([slow.into()]), 2);
        let inboxes = [0, 1].map(|place| {
            let (mail, inbox) = channel();
            let ends = Opened {
                sends_forward: true,
                forward_exit: Exit::Endpoint,
                reverse_exit: Exit::Endpoint,
                framing: Framing::Datagrams,
                watched: Watched::Media,
            };
            worker.obey(Order::Join(place, Flow::new(ends, mail, place == 1)));
            inbox
        });
        (worker, inboxes)
    }

    /// 1,000 bytes on the wire: 8 ms at 1 Mbit/s.
    fn datagram(media: Option<Media>) -> Datagram {
        let (late, peer) = (TimeDelta::ZERO, "127.0.0.1:9".parse().unwrap());
        Datagram { bytes: vec![0; 972], entered: Timestamp::ZERO, late, peer, media }
    }

    #[test]
    fn two_calls_begin_together_once_both_can() {
        let (mut worker, [first, second]) = two_calls();
        let clock = Clock::starting_now();
        worker.obey(Order::Ready(0, clock));
        assert!(first.try_recv().is_err() && second.try_recv().is_err());
        // What sets the connections up meets no link.
        worker.obey(Order::Send(1, datagram(None), clock));
        assert!(matches!(second.try_recv(), Ok(Mail::Datagram { .. })));
        worker.obey(Order::Ready(1, clock));
        assert!([first, second].iter().all(|inbox| matches!(inbox.try_recv(), Ok(Mail::Begun(_)))));
    }

    #[test]
    fn what_a_call_sends_before_it_has_heard_of_the_begin_does_not_move_the_paths_time() {
        let (mut worker, _inboxes) = two_calls();
        let begun = Clock::starting_now();
        // Set up a minute before.
        let own = Clock::starting_at(begun.instant(Timestamp::ZERO) - std::time::Duration::from_secs(60));
        (0..2).for_each(|place| worker.obey(Order::Ready(place, begun)));
        let late = Datagram { entered: own.now(), ..datagram(None) };
        worker.obey(Order::Send(0, late, own));
        assert!(worker.last < Timestamp::from_secs(30), "{}", worker.last.as_millis_f64());
    }

    #[test]
    fn the_feedback_of_one_call_waits_behind_the_media_of_the_other() {
        let (mut worker, [first, second]) = two_calls();
        let clock = Clock::starting_now();
        (0..2).for_each(|place| worker.obey(Order::Ready(place, clock)));
        let media = |transport_seq| Some(Media { transport_seq, size_bytes: 1_000, departure: Timestamp::ZERO });
        (0..3).for_each(|seq| worker.obey(Order::Send(1, datagram(media(seq)), clock)));
        worker.obey(Order::Received(0, datagram(None), clock, false));
        worker.obey(Order::Send(0, datagram(media(0)), clock));
        let (mut told, mut arrived) = (Vec::new(), 0);
        while !told.iter().any(|mail| matches!(mail, Mail::Datagram { media: None, .. })) {
            std::thread::sleep(wait(clock.now(), worker.next_due()));
            worker.release(clock);
            told.extend(first.try_iter());
            arrived += second.try_iter().filter(|mail| matches!(mail, Mail::Arrived(..))).count();
        }
        assert!(clock.now() >= Timestamp::from_millis(32), "three packets of media and its own transmission");
        assert_eq!(arrived, 3);
        let forward = told.iter().position(|mail| matches!(mail, Mail::Arrived(..))).unwrap();
        let feedback = told.iter().position(|mail| matches!(mail, Mail::Datagram { media: None, .. })).unwrap();
        assert!(forward < feedback, "nothing is before the media on the other way");
    }
}
