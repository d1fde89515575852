//! The emulated network of a call: one thread with two paths of `legato_path`, forward and reverse, between the
//! endpoint's socket and the endpoint itself, or between two sockets that others send to. Needs no privilege and no
//! support of the operating system.
//!
//! Reader threads stamp what comes in. Until the call's media begin, datagrams pass as they come, so that
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
use legato_wire::rtp::{self, ExtensionIds};
use std::net::{SocketAddr, UdpSocket};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
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

/// What is at the ends of the paths.
pub enum Ends {
    /// The endpoint itself sends and is sent to; who is at the other end is reached by this socket.
    Endpoint(UdpSocket),
    /// Others, each of whom takes one socket for the other. Media are what is RTP on its way from `near` to `far`,
    /// numbered as it comes, and the first of it is the begin.
    Others {
        /// Media come in here.
        near: UdpSocket,
        /// And go out here.
        far: UdpSocket,
    },
    /// The endpoint itself is sent media; who sends them is reached by this socket. They are numbered, and begin the
    /// call, as between others.
    Receiver(UdpSocket),
}

/// The handle of the link's threads; they end when it is dropped.
pub struct Link {
    orders: Sender<Order>,
    stop: Arc<AtomicBool>,
    readers: Vec<JoinHandle<()>>,
    worker: Option<JoinHandle<Lateness>>,
}

enum Order {
    /// The endpoint sends.
    Send(Datagram),
    /// A socket received, at a time by this clock; forward (true) or back.
    Received(Datagram, Clock, bool),
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

/// A blocked read looks this often whether it is over.
const READ_TIMEOUT: Duration = Duration::from_millis(50);
/// No datagram of a call is longer.
const MAX_DATAGRAM_BYTES: usize = 2_048;

impl Link {
    /// Start the threads. Word of what passes goes to `mail`.
    pub fn start(
        ends: Ends,
        forward: Path<Datagram>,
        reverse: Path<Datagram>,
        mail: Sender<Mail>,
    ) -> Result<Self, Error> {
        let failed = |error: std::io::Error| Error::System(format!("the link's socket: {error}"));
        let (orders, inbox) = channel();
        let stop = Arc::new(AtomicBool::new(false));
        let mut readers = Vec::new();
        let mut open = |socket: UdpSocket, forward: bool| {
            socket.set_read_timeout(Some(READ_TIMEOUT)).map_err(failed)?;
            let behind = Behind::default();
            // One socket both ways.
            let (receiving, told) = (socket.try_clone().map_err(failed)?, orders.clone());
            let (learned, stop) = (Arc::clone(&behind), Arc::clone(&stop));
            let reader = thread::Builder::new().name("legato-reader".to_owned());
            let work = move || read_socket(&receiving, &told, forward, &learned, &stop);
            readers.push(reader.spawn(work).map_err(failed)?);
            Ok::<_, Error>((socket, behind))
        };
        let others = |(socket, behind)| Exit::Others(socket, behind);
        let (sends_forward, forward_exit, reverse_exit) = match ends {
            Ends::Endpoint(socket) => (true, Exit::Peer(open(socket, false)?.0), Exit::Endpoint),
            Ends::Others { near, far } => {
                let reverse_exit = others(open(near, true)?);
                (true, others(open(far, false)?), reverse_exit)
            }
            Ends::Receiver(socket) => (false, Exit::Endpoint, Exit::Peer(open(socket, true)?.0)),
        };
        let worker = Worker {
            sends_forward,
            forward_exit,
            reverse_exit,
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
        let worker = thread.spawn(move || worker.run(&inbox)).map_err(failed)?;
        Ok(Self { orders, stop, readers, worker: Some(worker) })
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
        self.stop.store(true, Ordering::Relaxed);
        let _ = self.orders.send(Order::Stop);
        let lateness = self.worker.take().and_then(|worker| worker.join().ok());
        for reader in self.readers.drain(..) {
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

/// Who is behind a socket: whoever spoke STUN to it last. Junk moves no call elsewhere.
type Behind = Arc<Mutex<Option<SocketAddr>>>;

/// A way out of the link.
enum Exit {
    /// To the endpoint, by mail.
    Endpoint,
    /// To whoever is behind a socket.
    Others(UdpSocket, Behind),
    /// To the datagram's own address.
    Peer(UdpSocket),
}

fn read_socket(socket: &UdpSocket, orders: &Sender<Order>, forward: bool, behind: &Behind, stop: &AtomicBool) {
    let clock = Clock::starting_now();
    let mut buffer = [0; MAX_DATAGRAM_BYTES];
    while !stop.load(Ordering::Relaxed) {
        // A time-out, or word that the last datagram met a closed port: neither is the end.
        let Ok((length, peer)) = socket.recv_from(&mut buffer) else { continue };
        let (bytes, entered) = (buffer[..length].to_vec(), clock.now());
        if is_stun(&bytes) {
            *behind.lock().unwrap_or_else(PoisonError::into_inner) = Some(peer);
        }
        let datagram = Datagram { bytes, entered, late: TimeDelta::ZERO, peer, media: None };
        if orders.send(Order::Received(datagram, clock, forward)).is_err() {
            return;
        }
    }
}

/// RFC 8489 §5: two zero bits, and the magic cookie.
fn is_stun(bytes: &[u8]) -> bool {
    matches!(bytes, [0..=3, _, _, _, 0x21, 0x12, 0xa4, 0x42, ..])
}

struct Worker {
    /// What the endpoint sends goes forward, the way of the media.
    sends_forward: bool,
    forward_exit: Exit,
    reverse_exit: Exit,
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
            // All that wait go in before anything is let go: a path cannot be told of an earlier time any more.
            loop {
                match order {
                    Ok(Order::Send(datagram)) => self.enter(datagram, self.sends_forward),
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
        let header = if forward { media_header(&datagram.bytes) } else { None };
        if header.is_some() && self.clock.is_none() {
            let own = Clock::starting_at(clock.instant(datagram.entered));
            self.begin(own);
            let _ = self.mail.send(Mail::Begun(own));
        }
        if let Some(own) = self.clock {
            datagram.entered = own.at(clock.instant(datagram.entered));
        }
        if let Some(header) = header {
            let size_bytes = (datagram.bytes.len() + usize::from(IP_UDP_BYTES)) as u16;
            let media = Media { transport_seq: self.next_seq, size_bytes, departure: datagram.entered };
            self.next_seq += 1;
            datagram.media = Some(media);
            let _ = self.mail.send(Mail::Sent(media, header));
        }
        let others = matches!(self.reverse_exit, Exit::Others(..));
        if others && !forward && matches!(datagram.bytes[..], [128..=191, 192..=223, ..]) {
            let size_bytes = (datagram.bytes.len() + usize::from(IP_UDP_BYTES)) as u32;
            let _ = self.mail.send(Mail::FeedbackSent(datagram.entered, size_bytes));
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
            let (media, late) = (delivered.packet.payload.media, delivered.packet.payload.late);
            self.put_out(delivered.packet.payload, true);
            let at = clock.now();
            self.lateness.push(at - delivered.at + late);
            if let Some(media) = media {
                let _ = self.mail.send(Mail::Arrived(media, at));
            }
        }
        while let Some(delivered) = self.reverse.pop(self.last) {
            self.lateness.push(clock.now() - delivered.at + delivered.packet.payload.late);
            self.put_out(delivered.packet.payload, false);
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

    fn put_out(&self, datagram: Datagram, forward: bool) {
        let Datagram { bytes, entered, peer, media, .. } = datagram;
        // What the network refuses is lost, as on any other.
        match if forward { &self.forward_exit } else { &self.reverse_exit } {
            Exit::Endpoint => drop(self.mail.send(Mail::Datagram { bytes, peer, entered, media })),
            Exit::Peer(socket) => drop(socket.send_to(&bytes, peer)),
            // Before anyone has spoken from there, to nobody.
            Exit::Others(socket, behind) => {
                if let Some(peer) = *behind.lock().unwrap_or_else(PoisonError::into_inner) {
                    drop(socket.send_to(&bytes, peer));
                }
            }
        }
    }
}

/// The clear header of a media packet; `None`: RTCP, STUN, DTLS or nothing known.
fn media_header(bytes: &[u8]) -> Option<rtp::Header> {
    // RFC 7983 and RFC 5761: what begins so is RTP or RTCP, and these payload types would be RTCP's.
    let is_rtp = matches!(bytes, [128..=191, second, ..] if !(64..96).contains(&(second & 0x7f)));
    let ids = ExtensionIds { transport_seq: None, absolute_send_time: None };
    is_rtp.then(|| rtp::Packet::parse(bytes, &ids).ok()).flatten().map(|packet| packet.header)
}
