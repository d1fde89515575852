//! The emulated network of a call: one thread with two paths of `legato_path`, forward and reverse, between the
//! endpoint's socket and the endpoint itself, or between two others (`ends.rs`). Needs no privilege and no support of
//! the operating system, unless the others are in network namespaces.
//!
//! Reader threads stamp what comes in. Until the call's media begin, datagrams pass as they come, so that
//! setting the connection up takes nothing off a trace; from then on everything crosses the paths: media, RTCP,
//! and what little STUN there is. What a path decides is the moment of release; how much later the thread really
//! let go, and how late it put the packet on the path before that, is kept in [`Lateness`].

use crate::clock::{Clock, wait};
use crate::ends::{Ends, Exit, Opened, Readers, Watched, is_rtcp, media_header};
use crate::error::Error;
use crate::lateness::Lateness;
use crate::mail::{Mail, Media};
use legato_path::{Delivered, Packet, Path};
use legato_trace::SERIES_INTERVAL;
use legato_units::{DataRate, DataSize, TimeDelta, Timestamp};
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::{self, JoinHandle};

/// A datagram on its way, or an IP packet.
#[derive(Debug)]
pub struct Datagram {
    pub(crate) bytes: Vec<u8>,
    /// When it came to the path.
    pub(crate) entered: Timestamp,
    /// How much later the thread put it there.
    pub(crate) late: TimeDelta,
    /// The other end's address: where it goes, or where it came from.
    pub(crate) peer: SocketAddr,
    /// The media packet it is, on the forward path.
    pub(crate) media: Option<Media>,
}

/// The handle of the link's threads; they end when it is dropped.
pub struct Link {
    orders: Sender<Order>,
    readers: Readers,
    worker: Option<JoinHandle<Lateness>>,
}

/// What the link's thread is told.
pub enum Order {
    /// The endpoint sends.
    Send(Datagram),
    /// Something came in at one of the ends, at a time by this clock; forward (true) or back.
    Received(Datagram, Clock, bool),
    /// Media begin: this clock is the call's.
    Start(Clock),
    /// End.
    Stop,
}

/// What the link saw that only it can see.
#[derive(Clone, Copy, Debug)]
pub struct LinkSample {
    /// The end of the bin.
    pub at: Timestamp,
    /// Mean capacity over it.
    pub capacity: Option<DataRate>,
    /// Backlog over the capacity; absent in an outage.
    pub queue: Option<TimeDelta>,
}

/// Mean of the link's capacity over the bins of a call's series.
#[derive(Clone, Copy, Debug, Default)]
pub struct CapacityMean {
    sum_bps: u128,
    bins: u64,
}

impl CapacityMean {
    /// One bin more, where its capacity is known.
    pub fn take(&mut self, capacity: Option<DataRate>) {
        if let Some(capacity) = capacity {
            self.sum_bps += u128::from(capacity.as_bps());
            self.bins += 1;
        }
    }

    /// Over all of them; `None` without any.
    pub fn mean(self) -> Option<DataRate> {
        (self.bins > 0).then(|| DataRate::from_bps((self.sum_bps / u128::from(self.bins)) as u64))
    }
}

/// Whatever comes in, packets are let go after so many orders.
const MAX_ORDERS_A_ROUND: u32 = 256;

impl Link {
    /// Start the threads. Word of what passes goes to `mail`.
    pub fn start(
        ends: Ends,
        forward: Path<Datagram>,
        reverse: Path<Datagram>,
        mail: Sender<Mail>,
    ) -> Result<Self, Error> {
        let (orders, inbox) = channel();
        let stop = Arc::new(AtomicBool::new(false));
        let mut readers = Readers { orders: orders.clone(), stop, threads: Vec::new() };
        let ends = readers.open(ends)?;
        let worker = Worker {
            ends,
            forward: forward.with_drop_notices(),
            reverse,
            mail,
            lateness: Lateness::default(),
            clock: None,
            last: Timestamp::ZERO,
            next_sample: Timestamp::MAX,
            next_seq: 0,
        };
        let thread = thread::Builder::new().name("legato-link".to_owned());
        let worker = thread.spawn(move || worker.run(&inbox));
        let worker = worker.map_err(|error| Error::System(format!("the link's thread: {error}")))?;
        Ok(Self { orders, readers, worker: Some(worker) })
    }

    /// Media begin; `clock` shows the call's time.
    pub fn begin(&self, clock: Clock) {
        // Only a link that has failed is gone, and that it says by itself.
        let _ = self.orders.send(Order::Start(clock));
    }

    /// Send a datagram at `now`.
    pub fn send(&self, now: Timestamp, bytes: Vec<u8>, peer: SocketAddr, media: Option<Media>) {
        let _ = self.orders.send(Order::Send(Datagram { bytes, entered: now, late: TimeDelta::ZERO, peer, media }));
    }

    /// End the threads; how late the link was.
    pub fn finish(mut self) -> Lateness {
        self.end().unwrap_or_default()
    }

    fn end(&mut self) -> Option<Lateness> {
        let _ = self.orders.send(Order::Stop);
        let lateness = self.worker.take().and_then(|worker| worker.join().ok());
        self.readers.join();
        lateness
    }
}

impl Drop for Link {
    fn drop(&mut self) {
        self.end();
    }
}

struct Worker {
    ends: Opened,
    forward: Path<Datagram>,
    reverse: Path<Datagram>,
    mail: Sender<Mail>,
    lateness: Lateness,
    /// The call's, once media have begun.
    clock: Option<Clock>,
    /// Paths are never told an earlier time.
    last: Timestamp,
    next_sample: Timestamp,
    /// Of media between others.
    next_seq: u64,
}

impl Worker {
    fn run(mut self, inbox: &Receiver<Order>) -> Lateness {
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
                    Ok(Order::Send(datagram)) => self.enter(datagram, self.ends.sends_forward),
                    Ok(Order::Received(datagram, clock, forward)) => self.come_in(datagram, clock, forward),
                    Ok(Order::Start(clock)) => self.begin(clock),
                    Err(RecvTimeoutError::Timeout) => break,
                    Ok(Order::Stop) | Err(RecvTimeoutError::Disconnected) => return self.lateness,
                }
                order = inbox.try_recv().map_err(|_| RecvTimeoutError::Timeout);
            }
            if let Some(clock) = self.clock {
                self.release(clock);
            }
        }
    }

    fn next_due(&self) -> Timestamp {
        let arrivals = [self.forward.next_arrival(), self.reverse.next_arrival()];
        arrivals.into_iter().flatten().fold(self.next_sample, Timestamp::min)
    }

    fn begin(&mut self, clock: Clock) {
        self.clock = Some(clock);
        self.next_sample = Timestamp::ZERO + SERIES_INTERVAL;
    }

    fn come_in(&mut self, mut datagram: Datagram, clock: Clock, forward: bool) {
        let payload = self.ends.framing.payload(&datagram.bytes);
        let everything = self.ends.watched == Watched::Everything;
        let media = if forward { media_header(payload) } else { None };
        let header = if forward && everything { Some(media.unwrap_or_default()) } else { media };
        let is_feedback = !forward && (everything || is_rtcp(payload));
        if header.is_some() && self.clock.is_none() {
            let own = Clock::starting_at(clock.instant(datagram.entered));
            self.begin(own);
            let _ = self.mail.send(Mail::Begun(own));
        }
        if let Some(own) = self.clock {
            datagram.entered = own.at(clock.instant(datagram.entered));
        }
        let size_bytes = self.ends.framing.size_bytes(&datagram.bytes) as u16;
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
        self.enter(datagram, forward);
    }

    fn enter(&mut self, mut datagram: Datagram, forward: bool) {
        if self.clock.is_none() {
            self.put_out(datagram, forward);
            return;
        }
        self.last = self.last.max(datagram.entered);
        let now = self.last;
        datagram.late = now - datagram.entered;
        if let Some(media) = &mut datagram.media {
            media.departure = datagram.entered;
        }
        let framing = self.ends.framing;
        let (size, ecn) = (DataSize::from_bytes(framing.size_bytes(&datagram.bytes)), framing.ecn(&datagram.bytes));
        let packet = Packet { size, flow: 0, ecn, payload: datagram };
        let path = if forward { &mut self.forward } else { &mut self.reverse };
        path.push(now, packet);
    }

    /// Let go what is due, and say what was lost.
    fn release(&mut self, clock: Clock) {
        loop {
            let now = clock.now().max(self.last);
            self.last = now;
            let Some(delivered) = self.forward.pop(now) else { break };
            let (media, due) = (delivered.packet.payload.media, delivered.at - delivered.packet.payload.late);
            self.let_go(delivered, true);
            let at = clock.now();
            self.lateness.push(at - due);
            if let Some(media) = media {
                let _ = self.mail.send(Mail::Arrived(media, at));
            }
        }
        while let Some(delivered) = self.reverse.pop(self.last) {
            self.lateness.push(clock.now() - delivered.at + delivered.packet.payload.late);
            self.let_go(delivered, false);
        }
        while let Some(dropped) = self.forward.pop_drop() {
            if let Some(media) = dropped.packet.payload.media {
                let _ = self.mail.send(Mail::Dropped(media, dropped.reason.name()));
            }
        }
        while self.next_sample <= self.last {
            let (from, at) = (self.next_sample - SERIES_INTERVAL, self.next_sample);
            let backlog = self.forward.backlog(self.last);
            let queue = (backlog.delay != TimeDelta::MAX).then_some(backlog.delay);
            let _ = self.mail.send(Mail::Sample(LinkSample { at, capacity: self.forward.capacity(from, at), queue }));
            self.next_sample += SERIES_INTERVAL;
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
