//! The emulated network of calls: one thread with two paths of `legato_path`, forward and reverse, between an
//! endpoint's socket and the endpoint itself, or between two others (`ends.rs`). Needs no privilege and no support of
//! the operating system, unless an end is in a network namespace.
//!
//! A call has a [`Place`] on it: alone, or with another whose media go the opposite way, so that the media of one and
//! the feedback of the other queue behind each other. Forward for a call at the other place is reverse here.
//!
//! Reader threads stamp incoming packets. Until media begin at all places, datagrams pass directly, so that
//! connection set-up consumes nothing of a trace; from then on everything crosses the paths: media, RTCP, and the
//! little STUN there is. A path decides the moment of release; how much later the thread really released it, and
//! how late it put the packet on the path before that, is kept in [`Lateness`], for each place.

use crate::clock::Clock;
use crate::error::Error;
use crate::network::datagram::Datagram;
use crate::network::ends::{Ends, Hosts, Outside, Readers};
use crate::network::event::{Media, Report, Way};
use crate::network::flow::Flow;
use crate::network::lateness::Lateness;
use crate::network::link_worker::Worker;
use crate::network::order::Order;
use legato_path::Path;
use legato_tun::Pair;
use legato_units::{TimeDelta, Timestamp};
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::mpsc::{Sender, channel};
use std::thread::{self, JoinHandle};

/// The position of a call on the emulated network. The network ends when all its places are released.
pub struct Place {
    network: Arc<Network>,
    number: u16,
    /// The path that its media take.
    media: Way,
    /// Where the other ends are, if not on the loopback interface.
    hosts: Option<Hosts>,
}

/// The thread of the paths.
struct Network {
    orders: Sender<Order>,
    worker: Option<JoinHandle<()>>,
}

/// A call's handle of the network; its place is free again when it is dropped.
pub struct Link {
    network: Arc<Network>,
    number: u16,
    readers: Readers,
}

impl Place {
    /// The only call on a network.
    pub fn alone(forward: Path<Datagram>, reverse: Path<Datagram>) -> Result<Self, Error> {
        let network = Network::start(forward, reverse, 1)?;
        Ok(Self { network, number: 0, media: Way::Forward, hosts: None })
    }

    /// Two on one network: the media of the first go forward, those of the second in reverse, and the feedback of each
    /// goes with the media of the other. Neither call begins before both can.
    pub fn opposite(forward: Path<Datagram>, reverse: Path<Datagram>) -> Result<[Self; 2], Error> {
        let network = Network::start(forward, reverse, 2)?;
        Ok([(0, Way::Forward), (1, Way::Reverse)].map(|(number, media)| Self {
            network: Arc::clone(&network),
            number,
            media,
            hosts: None,
        }))
    }

    /// Between the namespaces of `pair`: two other programs are in one each; a Legato end has the near one's address,
    /// and the other end is in the far one.
    pub fn between(self, pair: &Pair) -> Result<Self, Error> {
        Ok(Self { hosts: Some(Hosts::of(pair)?), ..self })
    }

    /// The namespaces, where there are some.
    pub(crate) fn hosts(&self) -> Option<&Hosts> {
        self.hosts.as_ref()
    }

    /// How the other end reaches the Legato end at this place, and under which address.
    pub(crate) fn outside(&self) -> Result<(Outside, SocketAddr), Error> {
        self.hosts.as_ref().map_or_else(Outside::loopback, |hosts| Outside::host(hosts, self.number))
    }

    /// Take the place. Packets are reported to `report`.
    pub(crate) fn open(self, ends: Ends, report: Report) -> Result<Link, Error> {
        let Self { network, number, media, .. } = self;
        let orders = network.orders.clone();
        let mut readers =
            Readers { orders, place: number, stop: Arc::new(AtomicBool::new(false)), threads: Vec::new() };
        let ends = readers.open(ends)?;
        // Only a network that has failed is gone, which its calls notice by themselves.
        let _ = network.orders.send(Order::Join(number, Flow::new(ends, report, media)));
        Ok(Link { network, number, readers })
    }
}

impl Network {
    fn start(forward: Path<Datagram>, reverse: Path<Datagram>, places: usize) -> Result<Arc<Self>, Error> {
        let (orders, inbox) = channel();
        let worker = Worker::new(forward, reverse, places);
        let thread = thread::Builder::new().name("legato-link".to_owned());
        let worker = thread.spawn(move || worker.run(&inbox));
        let worker = worker.map_err(|error| Error::System(format!("the link's thread: {error}")))?;
        Ok(Arc::new(Self { orders, worker: Some(worker) }))
    }
}

impl Drop for Network {
    fn drop(&mut self) {
        let _ = self.orders.send(Order::Stop);
        if let Some(worker) = self.worker.take() {
            let _ = worker.join();
        }
    }
}

impl Link {
    /// The call can begin. Once all on the network can, `LinkEvent::Begun` reports the clock that counts for all: the
    /// last one's.
    pub fn ready(&self, clock: Clock) {
        let _ = self.network.orders.send(Order::Ready(self.number, clock));
    }

    /// Send a datagram at `now` by `clock`.
    pub fn send(&self, clock: Clock, now: Timestamp, bytes: Vec<u8>, peer: SocketAddr, media: Option<Media>) {
        let datagram = Datagram { bytes, entered: now, late: TimeDelta::ZERO, peer, media };
        let _ = self.network.orders.send(Order::Send(self.number, datagram, clock));
    }

    /// Leave the network; returns how late it was.
    pub fn finish(mut self) -> Lateness {
        self.leave()
    }

    fn leave(&mut self) -> Lateness {
        let (reply, told) = channel();
        let _ = self.network.orders.send(Order::Leave(self.number, reply));
        // Its sockets are closed by then, except the readers'.
        let lateness = told.recv().unwrap_or_default();
        self.readers.join();
        lateness
    }
}

impl Drop for Link {
    fn drop(&mut self) {
        self.leave();
    }
}
