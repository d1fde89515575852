//! The emulated network of a call: one thread with two paths of `legato_path`, forward and reverse, between the
//! endpoint's socket and the endpoint itself. Needs no privilege and no support of the operating system.
//!
//! A reader thread stamps what comes in. Until the call's media begin, datagrams pass as they come, so that
//! setting the connection up takes nothing off a trace; from then on everything crosses the paths: media, RTCP,
//! and what little STUN there is. What a path decides is the moment of release; how much later the thread really
//! let go, and how late it put the packet on the path before that, is kept in [`Lateness`].

use crate::clock::{Clock, wait};
use crate::error::Error;
use crate::lateness::Lateness;
use crate::mail::{Mail, Media};
use legato_media::packetizer::IP_UDP_BYTES;
use legato_path::{Packet, Path};
use legato_trace::SERIES_INTERVAL;
use legato_units::{DataRate, DataSize, Ecn, TimeDelta, Timestamp};
use std::net::{SocketAddr, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// A datagram on its way.
#[derive(Debug)]
pub struct Datagram {
    bytes: Vec<u8>,
    /// When it came to the path.
    entered: Timestamp,
    /// How much later the thread put it there.
    late: TimeDelta,
    /// The other end's address: where it goes, or where it came from.
    peer: SocketAddr,
    /// The media packet it is, on the forward path.
    media: Option<Media>,
}

/// The handle of the link's threads; they end when it is dropped.
pub struct Link {
    orders: Sender<Order>,
    stop: Arc<AtomicBool>,
    reader: Option<JoinHandle<()>>,
    worker: Option<JoinHandle<Lateness>>,
}

enum Order {
    /// The endpoint sends.
    Up(Datagram),
    /// The socket received.
    Down(Datagram, Clock),
    /// Media begin: this clock is the call's.
    Start(Clock),
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

/// A blocked read looks this often whether it is over.
const READ_TIMEOUT: Duration = Duration::from_millis(50);
/// No datagram of a call is longer.
const MAX_DATAGRAM_BYTES: usize = 2_048;

impl Link {
    /// Start the threads. Word of what passes goes to `mail`.
    pub fn start(
        socket: UdpSocket,
        forward: Path<Datagram>,
        reverse: Path<Datagram>,
        mail: Sender<Mail>,
    ) -> Result<Self, Error> {
        let failed = |error: std::io::Error| Error::System(format!("the link's socket: {error}"));
        socket.set_read_timeout(Some(READ_TIMEOUT)).map_err(failed)?;
        let receiving = socket.try_clone().map_err(failed)?;
        let (orders, inbox) = channel();
        let stop = Arc::new(AtomicBool::new(false));
        let (told, read) = (orders.clone(), Arc::clone(&stop));
        let spawn = |name: &str| thread::Builder::new().name(name.to_owned());
        let reader = spawn("legato-reader").spawn(move || read_socket(&receiving, &told, &read)).map_err(failed)?;
        let worker = Worker {
            socket,
            forward: forward.with_drop_notices(),
            reverse,
            mail,
            lateness: Lateness::default(),
            clock: None,
            last: Timestamp::ZERO,
            next_sample: Timestamp::MAX,
        };
        let worker = spawn("legato-link").spawn(move || worker.run(&inbox)).map_err(failed)?;
        Ok(Self { orders, stop, reader: Some(reader), worker: Some(worker) })
    }

    /// Media begin; `clock` shows the call's time.
    pub fn begin(&self, clock: Clock) {
        // Only a link that has failed is gone, and that it says by itself.
        let _ = self.orders.send(Order::Start(clock));
    }

    /// Send a datagram at `now`.
    pub fn send(&self, now: Timestamp, bytes: Vec<u8>, peer: SocketAddr, media: Option<Media>) {
        let _ = self.orders.send(Order::Up(Datagram { bytes, entered: now, late: TimeDelta::ZERO, peer, media }));
    }

    /// End the threads; how late the link was.
    pub fn finish(mut self) -> Lateness {
        self.end().unwrap_or_default()
    }

    fn end(&mut self) -> Option<Lateness> {
        self.stop.store(true, Ordering::Relaxed);
        let _ = self.orders.send(Order::Stop);
        let lateness = self.worker.take().and_then(|worker| worker.join().ok());
        if let Some(reader) = self.reader.take() {
            let _ = reader.join();
        }
        lateness
    }
}

impl Drop for Link {
    fn drop(&mut self) {
        self.end();
    }
}

fn read_socket(socket: &UdpSocket, orders: &Sender<Order>, stop: &AtomicBool) {
    let clock = Clock::starting_now();
    let mut buffer = [0; MAX_DATAGRAM_BYTES];
    while !stop.load(Ordering::Relaxed) {
        // A time-out, or word that the last datagram met a closed port: neither is the end.
        let Ok((length, peer)) = socket.recv_from(&mut buffer) else { continue };
        let (bytes, entered) = (buffer[..length].to_vec(), clock.now());
        let datagram = Datagram { bytes, entered, late: TimeDelta::ZERO, peer, media: None };
        if orders.send(Order::Down(datagram, clock)).is_err() {
            return;
        }
    }
}

struct Worker {
    socket: UdpSocket,
    forward: Path<Datagram>,
    reverse: Path<Datagram>,
    mail: Sender<Mail>,
    lateness: Lateness,
    /// The call's, once media have begun.
    clock: Option<Clock>,
    /// Paths are never told an earlier time.
    last: Timestamp,
    next_sample: Timestamp,
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
            // All that wait go in before anything is let go: a path cannot be told of an earlier time any more.
            loop {
                match order {
                    Ok(Order::Up(datagram)) => self.enter(datagram, true),
                    Ok(Order::Down(datagram, clock)) => self.come_in(datagram, clock),
                    Ok(Order::Start(clock)) => {
                        self.clock = Some(clock);
                        self.next_sample = Timestamp::ZERO + SERIES_INTERVAL;
                    }
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

    fn come_in(&mut self, mut datagram: Datagram, clock: Clock) {
        if let Some(own) = self.clock {
            datagram.entered = own.at(clock.instant(datagram.entered));
        }
        self.enter(datagram, false);
    }

    fn enter(&mut self, mut datagram: Datagram, forward: bool) {
        if self.clock.is_none() {
            if forward {
                self.put_out(&datagram);
            } else {
                self.hand_in(datagram);
            }
            return;
        }
        self.last = self.last.max(datagram.entered);
        let now = self.last;
        datagram.late = now - datagram.entered;
        if let Some(media) = &mut datagram.media {
            media.departure = datagram.entered;
        }
        let size = DataSize::from_bytes(datagram.bytes.len() as u64 + u64::from(IP_UDP_BYTES));
        let packet = Packet { size, flow: 0, ecn: Ecn::NotEct, payload: datagram };
        let path = if forward { &mut self.forward } else { &mut self.reverse };
        path.push(now, packet);
    }

    /// Let go what is due, and say what was lost.
    fn release(&mut self, clock: Clock) {
        loop {
            let now = clock.now().max(self.last);
            self.last = now;
            let Some(delivered) = self.forward.pop(now) else { break };
            self.put_out(&delivered.packet.payload);
            let at = clock.now();
            self.lateness.push(at - delivered.at + delivered.packet.payload.late);
            if let Some(media) = delivered.packet.payload.media {
                let _ = self.mail.send(Mail::Arrived(media, at));
            }
        }
        while let Some(delivered) = self.reverse.pop(self.last) {
            self.lateness.push(clock.now() - delivered.at + delivered.packet.payload.late);
            self.hand_in(delivered.packet.payload);
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

    fn put_out(&self, datagram: &Datagram) {
        // What the network refuses is lost, as on any other.
        let _ = self.socket.send_to(&datagram.bytes, datagram.peer);
    }

    fn hand_in(&self, datagram: Datagram) {
        let Datagram { bytes, entered, peer, .. } = datagram;
        let _ = self.mail.send(Mail::Datagram { bytes, peer, entered });
    }
}
