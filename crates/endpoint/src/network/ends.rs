//! The ends of the emulated network, and the threads that read their packets.

use crate::clock::Clock;
use crate::error::Error;
use crate::network::datagram::Datagram;
use crate::network::event::Way;
use crate::network::exit::{Behind, Exit};
use crate::network::flow::{Opened, Watched};
use crate::network::framing::{Framing, is_stun};
use crate::network::order::Order;
use legato_tun::{Device, MTU_BYTES, Pair};
use legato_units::TimeDelta;
use legato_wire::ip;
use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4, UdpSocket};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::Sender;
use std::sync::{Arc, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// The ends of the paths.
pub enum Ends {
    /// The endpoint itself sends and is sent to; the other end is reached so.
    Endpoint(Outside),
    /// Two others, each of which takes one socket for the other. Media are the RTP packets on their way from `near` to
    /// `far`, numbered as they come; the first one is the begin.
    Others {
        /// Media enters here.
        near: UdpSocket,
        /// And leaves here.
        far: UdpSocket,
    },
    /// The endpoint itself is sent media; their sender is reached so. They are numbered, and begin the call, as between
    /// others.
    Receiver(Outside),
    /// Two other programs, each in a network namespace whose only way out is a TUN device: media come in at the near
    /// one.
    Tuns(Hosts, Watched),
}

/// How another end reaches a Legato end.
pub enum Outside {
    /// By this socket.
    Socket(UdpSocket),
    /// From its network namespace, whose device this is: the Legato end has an address and no interface.
    Host {
        /// The other end's.
        device: Device,
        /// The other end's.
        far: Ipv4Addr,
        /// Ours.
        local: SocketAddrV4,
    },
}

/// Two network namespaces that the network is between.
pub struct Hosts {
    near: (Device, Ipv4Addr),
    far: (Device, Ipv4Addr),
}

/// Threads that wait for packets, until stopped.
pub struct Readers {
    /// Where packets go.
    pub orders: Sender<Order>,
    /// Of the call whose ends they read.
    pub place: u16,
    /// Set when they are to end.
    pub stop: Arc<AtomicBool>,
    /// They themselves.
    pub threads: Vec<JoinHandle<()>>,
}

/// An incoming datagram: for which place, in which direction, its bytes, and its sender.
type Came<'a> = (u16, Way, &'a [u8], SocketAddr);

/// How often a blocked read checks whether it is over.
const READ_TIMEOUT: Duration = Duration::from_millis(50);
/// The maximum size of a datagram.
const MAX_DATAGRAM_BYTES: usize = 2_048;
/// Packets of a namespace go where their own headers say.
const NOWHERE: SocketAddr = SocketAddr::V4(SocketAddrV4::new(Ipv4Addr::UNSPECIFIED, 0));
/// A Legato end without an interface has this port at the first place and the next one at the second.
const FIRST_PORT: u16 = 40_000;

fn failed(error: std::io::Error) -> Error {
    Error::System(format!("the ends of the link: {error}"))
}

impl Hosts {
    /// Those of `pair`, which they outlive.
    pub fn of(pair: &Pair) -> Result<Self, Error> {
        let host =
            |host: &legato_tun::Host| Ok::<_, Error>((host.device().try_clone().map_err(failed)?, host.address()));
        Ok(Self { near: host(&pair.near)?, far: host(&pair.far)? })
    }

    /// The same two once more.
    pub fn try_clone(&self) -> Result<Self, Error> {
        let clone = |(device, address): &(Device, _)| Ok::<_, Error>((device.try_clone().map_err(failed)?, *address));
        Ok(Self { near: clone(&self.near)?, far: clone(&self.far)? })
    }
}

impl Outside {
    /// On the loopback interface.
    pub fn loopback() -> Result<(Self, SocketAddr), Error> {
        Self::socket().map(|(socket, local)| (Self::Socket(socket), local))
    }

    /// A socket at any free port of the loopback interface, and where it is.
    pub fn socket() -> Result<(UdpSocket, SocketAddr), Error> {
        let refused = |error: std::io::Error| Error::System(format!("a socket on the loopback interface: {error}"));
        let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).map_err(refused)?;
        let local = socket.local_addr().map_err(refused)?;
        Ok((socket, local))
    }

    /// An address of the near one of `hosts`, for the call at a place.
    pub fn host(hosts: &Hosts, place: u16) -> Result<(Self, SocketAddr), Error> {
        let local = SocketAddrV4::new(hosts.near.1, FIRST_PORT + place);
        let (device, far) = (hosts.far.0.try_clone().map_err(failed)?, hosts.far.1);
        Ok((Self::Host { device, far, local }, local.into()))
    }
}

impl Readers {
    /// Start the threads that `ends` needs.
    pub fn open(&mut self, ends: Ends) -> Result<Opened, Error> {
        let (framing, watched) = match &ends {
            Ends::Tuns(_, watched) => (Framing::IpPackets, *watched),
            _ => (Framing::Datagrams, Watched::Media),
        };
        let others = |(socket, behind)| Exit::Others(socket, behind);
        let (sends, forward_exit, reverse_exit) = match ends {
            Ends::Endpoint(outside) => (Way::Forward, self.read_outside(outside, Way::Reverse)?, Exit::Endpoint),
            Ends::Others { near, far } => {
                let reverse_exit = others(self.read(near, Way::Forward)?);
                (Way::Forward, others(self.read(far, Way::Reverse)?), reverse_exit)
            }
            Ends::Receiver(outside) => (Way::Reverse, Exit::Endpoint, self.read_outside(outside, Way::Forward)?),
            Ends::Tuns(Hosts { near: (near, _), far: (far, _) }, _) => {
                self.read_packets(near.try_clone().map_err(failed)?, Way::Forward)?;
                self.read_packets(far.try_clone().map_err(failed)?, Way::Reverse)?;
                (Way::Forward, Exit::Tun(far), Exit::Tun(near))
            }
        };
        Ok(Opened { sends, forward_exit, reverse_exit, framing, watched })
    }

    /// End them.
    pub fn join(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        for reader in self.threads.drain(..) {
            let _ = reader.join();
        }
    }

    /// Datagrams of another end to a Legato end, in this direction; how to reach it.
    fn read_outside(&mut self, outside: Outside, way: Way) -> Result<Exit, Error> {
        match outside {
            Outside::Socket(socket) => Ok(Exit::Peer(self.read(socket, way)?.0)),
            Outside::Host { device, far, local } => {
                // One device for all calls: the first one's reader gives packets to the call of their port. At the
                // second call, whose media go the opposite way, ours is the opposite end.
                if self.place == 0 {
                    self.read_device(device.try_clone().map_err(failed)?, move |packet| {
                        let udp = ip::Packet::parse(packet).ok()?.udp?;
                        let place = udp.destination_port.checked_sub(FIRST_PORT)?;
                        let way = if place == 0 { way } else { way.opposite() };
                        Some((place, way, udp.payload, (far, udp.source_port).into()))
                    })?;
                }
                Ok(Exit::Host(device, local))
            }
        }
    }

    fn read(&mut self, socket: UdpSocket, way: Way) -> Result<(UdpSocket, Behind), Error> {
        socket.set_read_timeout(Some(READ_TIMEOUT)).map_err(failed)?;
        let behind = Behind::default();
        // One socket for both directions.
        let (receiving, learned) = (socket.try_clone().map_err(failed)?, Arc::clone(&behind));
        let place = self.place;
        self.spawn(move |buffer| {
            // A time-out, or a report that the last datagram met a closed port: neither is the end.
            let (length, peer) = receiving.recv_from(buffer).ok()?;
            let bytes = &buffer[..length];
            if is_stun(bytes) {
                *learned.lock().unwrap_or_else(PoisonError::into_inner) = Some(peer);
            }
            Some((place, way, bytes, peer))
        })?;
        Ok((socket, behind))
    }

    /// Whole packets, as they are.
    fn read_packets(&mut self, device: Device, way: Way) -> Result<(), Error> {
        let place = self.place;
        self.read_device(device, move |packet| Some((place, way, packet, NOWHERE)))
    }

    /// `known` reads a packet; nothing, where it is for no call here.
    fn read_device(
        &mut self,
        device: Device,
        known: impl for<'a> Fn(&'a [u8]) -> Option<Came<'a>> + Send + 'static,
    ) -> Result<(), Error> {
        const { assert!(MAX_DATAGRAM_BYTES >= MTU_BYTES as usize) }
        // From sessions before.
        device.drain();
        self.spawn(move |buffer| {
            let received = device.receive(buffer, READ_TIMEOUT);
            if received.is_err() {
                // A program inside has switched it off, and may switch it on again.
                thread::sleep(READ_TIMEOUT);
            }
            known(&buffer[..received.ok().flatten()?])
        })
    }

    /// `receive` waits for the next packet; nothing, if none came for now.
    fn spawn(
        &mut self,
        receive: impl for<'a> Fn(&'a mut [u8]) -> Option<Came<'a>> + Send + 'static,
    ) -> Result<(), Error> {
        let (orders, stop) = (self.orders.clone(), Arc::clone(&self.stop));
        let work = move || {
            let clock = Clock::starting_now();
            let mut buffer = [0; MAX_DATAGRAM_BYTES];
            while !stop.load(Ordering::Relaxed) {
                let Some((place, way, bytes, peer)) = receive(&mut buffer) else { continue };
                let (bytes, entered) = (bytes.to_vec(), clock.now());
                let datagram = Datagram { bytes, entered, late: TimeDelta::ZERO, peer, media: None };
                if orders.send(Order::Received(place, datagram, clock, way)).is_err() {
                    return;
                }
            }
        };
        let started = thread::Builder::new().name("legato-reader".to_owned()).spawn(work);
        self.threads.push(started.map_err(failed)?);
        Ok(())
    }
}
