//! The thread of the emulated network (`link.rs`): takes datagrams in, releases them when the paths say, and reports
//! their fate to the calls.

use crate::clock::{Clock, wait};
use crate::network::datagram::Datagram;
use crate::network::event::{LinkEvent, LinkSample, Way};
use crate::network::flow::Flow;
use crate::network::framing::media_header;
use crate::network::order::Order;
use legato_path::{Packet, Path};
use legato_trace::SERIES_INTERVAL;
use legato_units::{DataSize, Timestamp};
use std::sync::mpsc::{Receiver, RecvTimeoutError};

/// The thread's state.
pub struct Worker {
    paths: Paths,
    /// By place.
    flows: Vec<Option<Flow>>,
    /// The calls', once media have begun.
    clock: Option<Clock>,
    /// Paths are never given an earlier time.
    last: Timestamp,
    next_sample: Timestamp,
}

struct Paths {
    forward: Path<Datagram>,
    reverse: Path<Datagram>,
}

impl Paths {
    fn by(&mut self, way: Way) -> &mut Path<Datagram> {
        match way {
            Way::Forward => &mut self.forward,
            Way::Reverse => &mut self.reverse,
        }
    }
}

/// Regardless of the input, packets are released after this many orders.
const MAX_ORDERS_A_ROUND: u32 = 256;

impl Worker {
    /// A network with `places` places, all of them free.
    pub fn new(forward: Path<Datagram>, reverse: Path<Datagram>, places: usize) -> Self {
        Self {
            paths: Paths { forward: forward.with_drop_notices(), reverse: reverse.with_drop_notices() },
            flows: std::iter::repeat_with(|| None).take(places).collect(),
            clock: None,
            last: Timestamp::ZERO,
            next_sample: Timestamp::MAX,
        }
    }

    /// Until stopped.
    pub fn run(mut self, inbox: &Receiver<Order>) {
        loop {
            let mut order = match self.clock {
                None => inbox.recv().map_err(|_| RecvTimeoutError::Disconnected),
                Some(clock) => {
                    let due = self.next_due();
                    inbox.recv_timeout(wait(clock.now(), due))
                }
            };
            // All that wait go in before anything is released: a path cannot accept an earlier time afterwards. Unless
            // they are too many: then the lateness shows it.
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
                // A caller that left by being dropped does not listen.
                let _ = reply.send(left.map(|flow| flow.lateness).unwrap_or_default());
            }
            Order::Ready(place, clock) => self.ready(place, clock),
            Order::Received(place, datagram, clock, way) => self.come_in(place, datagram, clock, way),
            Order::Send(place, mut datagram, clock) => {
                if let Some(own) = self.clock {
                    datagram.entered = own.at(clock.instant(datagram.entered));
                }
                if let Some(flow) = &self.flows[usize::from(place)] {
                    self.enter(place, datagram, flow.ends.sends);
                }
            }
            // Known by now.
            Order::Stop => {}
        }
    }

    fn next_due(&self) -> Timestamp {
        let arrivals = [self.paths.forward.next_arrival(), self.paths.reverse.next_arrival()];
        arrivals.into_iter().flatten().fold(self.next_sample, Timestamp::min)
    }

    /// The call at a place is ready; the last of all sets the time.
    fn ready(&mut self, place: u16, clock: Clock) {
        if let Some(flow) = &mut self.flows[usize::from(place)] {
            flow.ready = true;
        }
        if self.clock.is_none() && self.flows.iter().all(|flow| flow.as_ref().is_some_and(|flow| flow.ready)) {
            self.clock = Some(clock);
            self.next_sample = Timestamp::ZERO + SERIES_INTERVAL;
            for flow in self.flows.iter().flatten() {
                (flow.report)(LinkEvent::Begun(clock));
            }
        }
    }

    fn come_in(&mut self, place: u16, mut datagram: Datagram, clock: Clock, way: Way) {
        // Anyone in a namespace may name a place that there is not.
        let Some(Some(flow)) = self.flows.get(usize::from(place)) else { return };
        let begins = way == Way::Forward && media_header(flow.ends.framing.payload(&datagram.bytes)).is_some();
        // An endpoint that sends media reports readiness itself.
        if begins && self.clock.is_none() {
            self.ready(place, Clock::starting_at(clock.instant(datagram.entered)));
        }
        if let Some(own) = self.clock {
            datagram.entered = own.at(clock.instant(datagram.entered));
            if let Some(flow) = &mut self.flows[usize::from(place)] {
                flow.note(&mut datagram, way);
            }
        }
        self.enter(place, datagram, way);
    }

    fn enter(&mut self, place: u16, mut datagram: Datagram, way: Way) {
        let Some(flow) = &self.flows[usize::from(place)] else { return };
        if self.clock.is_none() {
            flow.put_out(datagram, way);
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
        self.paths.by(way.across(flow.media)).push(now, packet);
    }

    /// Release due packets, and report losses.
    fn release(&mut self, clock: Clock) {
        for way in [Way::Forward, Way::Reverse] {
            let path = self.paths.by(way);
            loop {
                let now = clock.now().max(self.last);
                self.last = now;
                let Some(delivered) = path.pop(now) else { break };
                // Of a call that is over: it has no receiver.
                let Some(flow) = &mut self.flows[usize::from(delivered.packet.flow)] else { continue };
                let (media, due) = (delivered.packet.payload.media, delivered.at - delivered.packet.payload.late);
                flow.let_go(delivered, way.across(flow.media));
                let at = clock.now();
                flow.lateness.push(at - due);
                if let Some(media) = media {
                    (flow.report)(LinkEvent::Arrived(media, at));
                }
            }
            while let Some(dropped) = path.pop_drop() {
                let flow = &self.flows[usize::from(dropped.packet.flow)];
                if let (Some(flow), Some(media)) = (flow, dropped.packet.payload.media) {
                    (flow.report)(LinkEvent::Dropped(media, dropped.reason.name()));
                }
            }
        }
        self.sample();
    }

    /// Report the bins of the path its media take to each call.
    fn sample(&mut self) {
        while self.next_sample <= self.last {
            let (from, at) = (self.next_sample - SERIES_INTERVAL, self.next_sample);
            for flow in self.flows.iter().flatten() {
                let path = self.paths.by(flow.media);
                let queue = path.backlog(self.last).delay;
                let capacity = path.capacity(from, at);
                (flow.report)(LinkEvent::Sample(LinkSample { at, capacity, queue }));
            }
            self.next_sample += SERIES_INTERVAL;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::network::event::Media;
    use crate::network::exit::Exit;
    use crate::network::flow::{Opened, Watched};
    use crate::network::framing::Framing;
    use legato_path::capacity::LinkCapacity;
    use legato_path::queue::QueueLimit;
    use legato_path::stage::Bottleneck;
    use legato_units::{DataRate, TimeDelta};
    use std::sync::mpsc::channel;

    /// Two calls, forward without a limit and in reverse at 1 Mbit/s, and their reports.
    fn two_calls() -> (Worker, [Receiver<LinkEvent>; 2]) {
        let slow = Bottleneck::new(LinkCapacity::constant(DataRate::from_mbps(1)), QueueLimit::Packets(100));
        let mut worker = Worker::new(Path::new([]), Path::new([slow.into()]), 2);
        let inboxes = [0, 1].map(|place| {
            let (events, inbox) = channel();
            let report = Box::new(move |event| drop(events.send(event)));
            let ends = Opened {
                sends: Way::Forward,
                forward_exit: Exit::Endpoint,
                reverse_exit: Exit::Endpoint,
                framing: Framing::Datagrams,
                watched: Watched::Media,
            };
            worker.obey(Order::Join(
                place,
                Flow::new(ends, report, if place == 1 { Way::Reverse } else { Way::Forward }),
            ));
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
        // Connection set-up does not cross the link.
        worker.obey(Order::Send(1, datagram(None), clock));
        assert!(matches!(second.try_recv(), Ok(LinkEvent::Datagram { .. })));
        worker.obey(Order::Ready(1, clock));
        assert!([first, second].iter().all(|inbox| matches!(inbox.try_recv(), Ok(LinkEvent::Begun(_)))));
    }

    #[test]
    fn sends_before_a_call_knows_of_the_begin_do_not_move_the_paths_time() {
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
        worker.obey(Order::Received(0, datagram(None), clock, Way::Reverse));
        worker.obey(Order::Send(0, datagram(media(0)), clock));
        let (mut told, mut arrived) = (Vec::new(), 0);
        while !told.iter().any(|event| matches!(event, LinkEvent::Datagram { media: None, .. })) {
            std::thread::sleep(wait(clock.now(), worker.next_due()));
            worker.release(clock);
            told.extend(first.try_iter());
            arrived += second.try_iter().filter(|event| matches!(event, LinkEvent::Arrived(..))).count();
        }
        assert!(clock.now() >= Timestamp::from_millis(32), "three packets of media and its own transmission");
        assert_eq!(arrived, 3);
        let forward = told.iter().position(|event| matches!(event, LinkEvent::Arrived(..))).unwrap();
        let feedback = told.iter().position(|event| matches!(event, LinkEvent::Datagram { media: None, .. })).unwrap();
        assert!(forward < feedback, "nothing is before the media on the other way");
    }
}
