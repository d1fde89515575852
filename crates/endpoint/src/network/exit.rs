//! Ways out of the emulated network.

use crate::network::datagram::Datagram;
use crate::network::event::{LinkEvent, Report};
use legato_tun::Device;
use legato_wire::ip;
use std::net::{SocketAddr, SocketAddrV4, UdpSocket};
use std::sync::{Arc, Mutex, PoisonError};

/// The peer behind a socket: the last address that sent STUN to it. Junk does not redirect a call.
pub type Behind = Arc<Mutex<Option<SocketAddr>>>;

/// A way out of the link.
pub enum Exit {
    /// To the endpoint, by mail.
    Endpoint,
    /// Into a network namespace, from an address without an interface.
    Host(Device, SocketAddrV4),
    /// To the peer behind a socket.
    Others(UdpSocket, Behind),
    /// To the datagram's own address.
    Peer(UdpSocket),
    /// Into a network namespace, as it is.
    Tun(Device),
}

impl Exit {
    /// Release a packet. What the network refuses is lost, as on any other.
    pub fn put_out(&self, datagram: Datagram, report: &Report) {
        let Datagram { bytes, entered, peer, media, .. } = datagram;
        match self {
            Self::Endpoint => report(LinkEvent::Datagram { bytes, peer, entered, media }),
            Self::Peer(socket) => drop(socket.send_to(&bytes, peer)),
            Self::Tun(device) => drop(device.send(&bytes)),
            Self::Host(device, local) => {
                if let SocketAddr::V4(peer) = peer
                    && let Some(packet) = ip::udp_packet(*local, peer, &bytes)
                {
                    drop(device.send(&packet));
                }
            }
            // Before the first STUN from there, it goes nowhere.
            Self::Others(socket, behind) => {
                if let Some(peer) = *behind.lock().unwrap_or_else(PoisonError::into_inner) {
                    drop(socket.send_to(&bytes, peer));
                }
            }
        }
    }
}
