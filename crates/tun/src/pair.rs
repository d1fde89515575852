//! The pair: each half is set up from a separate thread that enters a new namespace and ends.

use crate::raw;
use std::fs::File;
use std::io::{self, Read, Write};
use std::net::Ipv4Addr;
use std::thread;
use std::time::Duration;

/// The devices' maximum packet size; Ethernet's.
pub const MTU_BYTES: u16 = 1_500;

/// RFC 2544 reserves 198.18.0.0/15 for networks used only for measurements, so no real addresses are hidden.
const NEAR: Ipv4Addr = Ipv4Addr::new(198, 18, 0, 1);
const FAR: Ipv4Addr = Ipv4Addr::new(198, 18, 0, 2);
/// Two hosts.
const NETMASK: Ipv4Addr = Ipv4Addr::new(255, 255, 255, 252);

/// Both halves.
#[derive(Debug)]
pub struct Pair {
    /// One half.
    pub near: Host,
    /// The other half.
    pub far: Host,
}

/// One half: a namespace with an address, and the device that is its only way out.
#[derive(Debug)]
pub struct Host {
    namespace: File,
    device: Device,
    address: Ipv4Addr,
}

/// The outer side of a namespace's TUN device: what programs in it send comes out here.
#[derive(Debug)]
pub struct Device(File);

impl Pair {
    /// Create both. An error names the missing part in one line.
    pub fn open() -> Result<Self, String> {
        let open = |name: &'static str, address| {
            // A thread's namespace is its own, and ends with it: the process stays where it is.
            let made = thread::Builder::new().name(name.to_owned()).spawn(move || Host::open(name, address));
            let made = made.map_err(|error| format!("a thread: {error}"))?;
            made.join().map_err(|_| "the thread that makes a namespace died: this is a bug in Legato".to_owned())?
        };
        Ok(Self { near: open("legato-near", NEAR)?, far: open("legato-far", FAR)? })
    }
}

impl Host {
    /// Leaves the calling thread in the new namespace.
    fn open(name: &str, address: Ipv4Addr) -> Result<Self, String> {
        let failed = |what: &'static str| move |error: io::Error| format!("{what}: {error}");
        raw::enter_new_namespace().map_err(failed("a network namespace"))?;
        let namespace = File::open("/proc/thread-self/ns/net").map_err(failed("/proc/thread-self/ns/net"))?;
        raw::without_ipv6();
        let device = raw::open_tun(name).map_err(failed("/dev/net/tun"))?;
        raw::set_up_loopback().map_err(failed("the loopback device of a namespace"))?;
        raw::set_up(name, address, NETMASK, MTU_BYTES).map_err(failed("the TUN device of a namespace"))?;
        Ok(Self { namespace, device: Device(device), address })
    }

    /// Its address.
    pub fn address(&self) -> Ipv4Addr {
        self.address
    }

    /// The number of the open file that stands for the namespace, as used by `setns` and `/proc/PID/fd`. Programs that this process
    /// starts do not inherit it.
    pub fn namespace(&self) -> i32 {
        raw::number(&self.namespace)
    }

    /// Its device.
    pub fn device(&self) -> &Device {
        &self.device
    }
}

impl Device {
    /// A second handle of the device.
    pub fn try_clone(&self) -> io::Result<Self> {
        self.0.try_clone().map(Self)
    }

    /// The next packet that a program in the namespace has sent, written to the front of `packet`; returns
    /// its length. `None`: none came within `timeout`.
    pub fn receive(&self, packet: &mut [u8], timeout: Duration) -> io::Result<Option<usize>> {
        let mut waited = false;
        loop {
            match (&self.0).read(packet) {
                Ok(length) => return Ok(Some(length)),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock && waited => return Ok(None),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    if !raw::wait_readable(&self.0, timeout)? {
                        return Ok(None);
                    }
                    waited = true;
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// Discard packets sent but not received.
    pub fn drain(&self) {
        let mut packet = [0; MTU_BYTES as usize];
        while let Ok(Some(_)) = self.receive(&mut packet, Duration::ZERO) {}
    }

    /// Send a packet to the programs in the namespace.
    pub fn send(&self, packet: &[u8]) -> io::Result<()> {
        (&self.0).write_all(packet)
    }
}

#[cfg(target_os = "linux")]
#[cfg(test)]
#[path = "pair_tests.rs"]
mod tests;
