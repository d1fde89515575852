//! What is at the ends of the emulated network, and the threads that read what comes in there.

use crate::clock::Clock;
use crate::error::Error;
use crate::network::datagram::Datagram;
use crate::network::event::Way;
use crate::network::exit::{Behind, Exit};
use crate::network::flow::{Opened, Watched};
use crate::network::framing::{Framing, is_stun};
use crate::network::order::Order;
use legato_tun::{Device, MTU_BYTES};
use legato_units::TimeDelta;
use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4, UdpSocket};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::Sender;
use std::sync::{Arc, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

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
    /// Others, each in a network namespace of its own whose only way out is a TUN device.
    Tuns {
        /// Media come in here.
        near: Device,
        /// And go out here.
        far: Device,
        /// What is numbered.
        watched: Watched,
    },
}

/// Threads that wait for packets, until told to stop.
pub struct Readers {
    /// Where packets go.
    pub orders: Sender<Order>,
    /// For whom they are.
    pub place: u16,
    /// They are to end.
    pub stop: Arc<AtomicBool>,
    /// They themselves.
    pub threads: Vec<JoinHandle<()>>,
}

/// A blocked read looks this often whether it is over.
const READ_TIMEOUT: Duration = Duration::from_millis(50);
/// No datagram of a call is longer.
const MAX_DATAGRAM_BYTES: usize = 2_048;
/// Packets of a namespace go where their own headers say.
const NOWHERE: SocketAddr = SocketAddr::V4(SocketAddrV4::new(Ipv4Addr::UNSPECIFIED, 0));

fn failed(error: std::io::Error) -> Error {
    Error::System(format!("the ends of the link: {error}"))
}

impl Readers {
    /// Start those that `ends` need.
    pub fn open(&mut self, ends: Ends) -> Result<Opened, Error> {
        let (framing, watched) = match &ends {
            Ends::Tuns { watched, .. } => (Framing::IpPackets, *watched),
            _ => (Framing::Datagrams, Watched::Media),
        };
        let others = |(socket, behind)| Exit::Others(socket, behind);
        let (sends, forward_exit, reverse_exit) = match ends {
            Ends::Endpoint(socket) => (Way::Forward, Exit::Peer(self.read(socket, Way::Reverse)?.0), Exit::Endpoint),
            Ends::Others { near, far } => {
                let reverse_exit = others(self.read(near, Way::Forward)?);
                (Way::Forward, others(self.read(far, Way::Reverse)?), reverse_exit)
            }
            Ends::Receiver(socket) => (Way::Reverse, Exit::Endpoint, Exit::Peer(self.read(socket, Way::Forward)?.0)),
            Ends::Tuns { near, far, .. } => {
                // Of those who were there before.
                near.drain();
                far.drain();
                self.read_device(near.try_clone().map_err(failed)?, Way::Forward)?;
                self.read_device(far.try_clone().map_err(failed)?, Way::Reverse)?;
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

    fn read(&mut self, socket: UdpSocket, way: Way) -> Result<(UdpSocket, Behind), Error> {
        socket.set_read_timeout(Some(READ_TIMEOUT)).map_err(failed)?;
        let behind = Behind::default();
        // One socket both ways.
        let (receiving, learned) = (socket.try_clone().map_err(failed)?, Arc::clone(&behind));
        self.spawn(way, move |buffer| {
            // A time-out, or word that the last datagram met a closed port: neither is the end.
            let (length, peer) = receiving.recv_from(buffer).ok()?;
            if is_stun(&buffer[..length]) {
                *learned.lock().unwrap_or_else(PoisonError::into_inner) = Some(peer);
            }
            Some((length, peer))
        })?;
        Ok((socket, behind))
    }

    fn read_device(&mut self, device: Device, way: Way) -> Result<(), Error> {
        const { assert!(MAX_DATAGRAM_BYTES >= MTU_BYTES as usize) }
        self.spawn(way, move |buffer| {
            let received = device.receive(buffer, READ_TIMEOUT);
            if received.is_err() {
                // Somebody inside has switched it off, and may switch it on again.
                thread::sleep(READ_TIMEOUT);
            }
            received.ok().flatten().map(|length| (length, NOWHERE))
        })
    }

    /// `receive` gives the next packet's length and sender, or nothing for now.
    fn spawn(
        &mut self,
        way: Way,
        receive: impl Fn(&mut [u8]) -> Option<(usize, SocketAddr)> + Send + 'static,
    ) -> Result<(), Error> {
        let (orders, place, stop) = (self.orders.clone(), self.place, Arc::clone(&self.stop));
        let work = move || {
            let clock = Clock::starting_now();
            let mut buffer = [0; MAX_DATAGRAM_BYTES];
            while !stop.load(Ordering::Relaxed) {
                let Some((length, peer)) = receive(&mut buffer) else { continue };
                let (bytes, entered) = (buffer[..length].to_vec(), clock.now());
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
