//! What is at the ends of the emulated link: where packets come in, where they go out, and what their bytes are.

use crate::clock::Clock;
use crate::error::Error;
use crate::mail::Mail;
use crate::network::link::{Datagram, Order};
use legato_media::packetizer::IP_UDP_BYTES;
use legato_tun::{Device, MTU_BYTES};
use legato_units::{Ecn, TimeDelta};
use legato_wire::ip;
use legato_wire::rtp::{self, ExtensionIds};
use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4, UdpSocket};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::Sender;
use std::sync::{Arc, Mutex, PoisonError};
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

/// What is numbered and told of between others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Watched {
    /// RTP on its way forward, the first of which is the begin, and RTCP on its way back.
    Media,
    /// All packets.
    Everything,
}

/// What the bytes of a packet are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Framing {
    /// The payload of UDP datagrams, whose headers the system has taken off.
    Datagrams,
    /// Whole IP packets.
    IpPackets,
}

impl Framing {
    /// Bytes on the wire, IP and UDP headers included.
    pub fn size_bytes(self, bytes: &[u8]) -> u64 {
        let length = bytes.len() as u64;
        if self == Self::Datagrams { length + u64::from(IP_UDP_BYTES) } else { length }
    }

    /// What UDP carries; nothing where it is something else.
    pub fn payload(self, bytes: &[u8]) -> &[u8] {
        match self {
            Self::Datagrams => bytes,
            Self::IpPackets => {
                ip::Packet::parse(bytes).ok().and_then(|packet| packet.udp).map_or(&[], |udp| udp.payload)
            }
        }
    }

    /// The ECN field, where the system shows it.
    pub fn ecn(self, bytes: &[u8]) -> Ecn {
        match self {
            Self::Datagrams => Ecn::NotEct,
            Self::IpPackets => ip::Packet::parse(bytes).map_or(Ecn::NotEct, |packet| packet.ecn),
        }
    }

    /// The path has marked the packet.
    pub fn mark_ce(self, bytes: &mut [u8]) {
        if self == Self::IpPackets {
            ip::mark_ce(bytes);
        }
    }
}

/// The clear header of a media packet; `None`: RTCP, STUN, DTLS or nothing known.
pub fn media_header(payload: &[u8]) -> Option<rtp::Header> {
    // RFC 7983 and RFC 5761: what begins so is RTP or RTCP, and these payload types would be RTCP's.
    let is_rtp = matches!(payload, [128..=191, second, ..] if !(64..96).contains(&(second & 0x7f)));
    let ids = ExtensionIds { transport_seq: None, absolute_send_time: None };
    is_rtp.then(|| rtp::Packet::parse(payload, &ids).ok()).flatten().map(|packet| packet.header)
}

/// RFC 5761 §4.
pub fn is_rtcp(payload: &[u8]) -> bool {
    matches!(payload, [128..=191, 192..=223, ..])
}

/// RFC 8489 §5: two zero bits, and the magic cookie.
fn is_stun(bytes: &[u8]) -> bool {
    matches!(bytes, [0..=3, _, _, _, 0x21, 0x12, 0xa4, 0x42, ..])
}

/// Who is behind a socket: whoever spoke STUN to it last. Junk moves no call elsewhere.
type Behind = Arc<Mutex<Option<SocketAddr>>>;

/// A way out of the link.
pub enum Exit {
    /// To the endpoint, by mail.
    Endpoint,
    /// To whoever is behind a socket.
    Others(UdpSocket, Behind),
    /// To the datagram's own address.
    Peer(UdpSocket),
    /// Into a network namespace.
    Tun(Device),
}

impl Exit {
    /// Let a packet go. What the network refuses is lost, as on any other.
    pub fn put_out(&self, datagram: Datagram, mail: &Sender<Mail>) {
        let Datagram { bytes, entered, peer, media, .. } = datagram;
        match self {
            Self::Endpoint => drop(mail.send(Mail::Datagram { bytes, peer, entered, media })),
            Self::Peer(socket) => drop(socket.send_to(&bytes, peer)),
            Self::Tun(device) => drop(device.send(&bytes)),
            // Before anyone has spoken from there, to nobody.
            Self::Others(socket, behind) => {
                if let Some(peer) = *behind.lock().unwrap_or_else(PoisonError::into_inner) {
                    drop(socket.send_to(&bytes, peer));
                }
            }
        }
    }
}

/// Both ways out, and how packets that come in are told.
pub struct Opened {
    /// What the endpoint sends goes forward, the way of the media.
    pub sends_forward: bool,
    /// Of the forward path.
    pub forward_exit: Exit,
    /// Of the reverse path.
    pub reverse_exit: Exit,
    /// What packets are.
    pub framing: Framing,
    /// What is told of.
    pub watched: Watched,
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
        let (sends_forward, forward_exit, reverse_exit) = match ends {
            Ends::Endpoint(socket) => (true, Exit::Peer(self.read(socket, false)?.0), Exit::Endpoint),
            Ends::Others { near, far } => {
                let reverse_exit = others(self.read(near, true)?);
                (true, others(self.read(far, false)?), reverse_exit)
            }
            Ends::Receiver(socket) => (false, Exit::Endpoint, Exit::Peer(self.read(socket, true)?.0)),
            Ends::Tuns { near, far, .. } => {
                // Of those who were there before.
                near.drain();
                far.drain();
                self.read_device(near.try_clone().map_err(failed)?, true)?;
                self.read_device(far.try_clone().map_err(failed)?, false)?;
                (true, Exit::Tun(far), Exit::Tun(near))
            }
        };
        Ok(Opened { sends_forward, forward_exit, reverse_exit, framing, watched })
    }

    /// End them.
    pub fn join(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        for reader in self.threads.drain(..) {
            let _ = reader.join();
        }
    }

    fn read(&mut self, socket: UdpSocket, forward: bool) -> Result<(UdpSocket, Behind), Error> {
        socket.set_read_timeout(Some(READ_TIMEOUT)).map_err(failed)?;
        let behind = Behind::default();
        // One socket both ways.
        let (receiving, learned) = (socket.try_clone().map_err(failed)?, Arc::clone(&behind));
        self.spawn(forward, move |buffer| {
            // A time-out, or word that the last datagram met a closed port: neither is the end.
            let (length, peer) = receiving.recv_from(buffer).ok()?;
            if is_stun(&buffer[..length]) {
                *learned.lock().unwrap_or_else(PoisonError::into_inner) = Some(peer);
            }
            Some((length, peer))
        })?;
        Ok((socket, behind))
    }

    fn read_device(&mut self, device: Device, forward: bool) -> Result<(), Error> {
        const { assert!(MAX_DATAGRAM_BYTES >= MTU_BYTES as usize) }
        self.spawn(forward, move |buffer| {
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
        forward: bool,
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
                if orders.send(Order::Received(place, datagram, clock, forward)).is_err() {
                    return;
                }
            }
        };
        let started = thread::Builder::new().name("legato-reader".to_owned()).spawn(work);
        self.threads.push(started.map_err(failed)?);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 198.18.0.1:5004 to 198.18.0.2:5004, ECT(1), without checksums.
    fn packet(payload: &[u8]) -> Vec<u8> {
        let mut bytes =
            vec![0x45, 1, 0, 28 + payload.len() as u8, 0, 0, 0x40, 0, 64, 17, 0, 0, 198, 18, 0, 1, 198, 18, 0, 2];
        bytes.extend_from_slice(&[0x13, 0x8c, 0x13, 0x8c, 0, 8 + payload.len() as u8, 0, 0]);
        bytes.extend_from_slice(payload);
        bytes
    }

    #[test]
    fn media_are_the_same_as_a_datagram_and_inside_a_packet() {
        let media = [0x80, 0x66, 0, 1, 0, 0, 0, 9, 0, 0, 0, 5, 1, 2, 3];
        let inside = packet(&media);
        assert_eq!(Framing::IpPackets.payload(&inside), Framing::Datagrams.payload(&media));
        let sizes = (Framing::IpPackets.size_bytes(&inside), Framing::Datagrams.size_bytes(&media));
        assert_eq!(sizes, (28 + 15, 28 + 15));
        let header = media_header(Framing::IpPackets.payload(&inside)).unwrap();
        assert_eq!((header.timestamp, header.ssrc, header.payload_type), (9, 5, 0x66));
    }

    #[test]
    fn what_is_no_udp_carries_nothing_that_is_known() {
        let mut echo = packet(&[0x80, 0x66, 0, 1, 0, 0, 0, 9, 0, 0, 0, 5]);
        echo[9] = 1;
        for bytes in [&echo[..], &[], &[0xff; 40]] {
            let payload = Framing::IpPackets.payload(bytes);
            assert!(payload.is_empty() && media_header(payload).is_none() && !is_rtcp(payload));
        }
        assert_eq!(Framing::IpPackets.ecn(&[]), Ecn::NotEct);
    }

    #[test]
    fn only_whole_packets_show_and_bear_marks() {
        let mut bytes = packet(&[0x80, 0xc9]);
        assert_eq!((Framing::IpPackets.ecn(&bytes), Framing::Datagrams.ecn(&bytes)), (Ecn::Ect1, Ecn::NotEct));
        Framing::Datagrams.mark_ce(&mut bytes);
        assert_eq!(Framing::IpPackets.ecn(&bytes), Ecn::Ect1);
        Framing::IpPackets.mark_ce(&mut bytes);
        assert_eq!(Framing::IpPackets.ecn(&bytes), Ecn::Ce);
        assert!(is_rtcp(Framing::IpPackets.payload(&bytes)));
    }
}
