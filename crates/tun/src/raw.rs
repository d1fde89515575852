//! Linux's calls for namespaces and devices; every `unsafe` of the crate is here.
//!
//! Devices are set up by the `ioctl`s of `netdevice(7)`: only address, netmask, MTU, flags and one route are
//! needed, so neither netlink nor a tool that uses it is required. Their structures are those of `linux/if.h` and
//! `linux/route.h`.

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::OFlags;
use rustix::io::Errno;
use rustix::ioctl::{Opcode, Updater, ioctl, opcode};
use rustix::thread::{UnshareFlags, unshare_unsafe};
use std::ffi::{c_char, c_int, c_ulong, c_void};
use std::fs::{self, File, OpenOptions};
use std::io;
use std::net::{Ipv4Addr, UdpSocket};
use std::os::fd::{AsFd, AsRawFd};
use std::os::unix::fs::OpenOptionsExt;
use std::ptr::null_mut;
use std::time::Duration;

// linux/if_tun.h
const TUNSETIFF: Opcode = opcode::write::<c_int>(b'T', 202);
const IFF_TUN: u16 = 0x0001;
const IFF_NO_PI: u16 = 0x1000;
// linux/if.h
const IFF_UP: u16 = 0x0001;
// linux/route.h
const RTF_UP: u16 = 0x0001;
// linux/sockios.h
const SIOCADDRT: Opcode = 0x890b;
const SIOCSIFFLAGS: Opcode = 0x8914;
const SIOCSIFADDR: Opcode = 0x8916;
const SIOCSIFNETMASK: Opcode = 0x891c;
const SIOCSIFMTU: Opcode = 0x8922;
// linux/socket.h
const AF_INET: u16 = 2;

/// `struct ifreq`: a device's name, ended by a zero, and a union of the values to set.
#[repr(C)]
struct DeviceRequest {
    name: [u8; 16],
    value: [u8; 24],
}

/// `struct sockaddr`, as `sockaddr_in` fills it: two bytes of port, then the address in network order.
#[repr(C)]
struct SocketAddress {
    family: u16,
    data: [u8; 14],
}

/// `struct rtentry`.
#[repr(C)]
struct Route {
    pad1: c_ulong,
    destination: SocketAddress,
    gateway: SocketAddress,
    netmask: SocketAddress,
    flags: u16,
    pad2: i16,
    pad3: c_ulong,
    pad4: *mut c_void,
    metric: i16,
    device: *mut c_char,
    mtu: c_ulong,
    window: c_ulong,
    initial_rtt: u16,
}

/// The number of an open file.
pub fn number(file: &File) -> i32 {
    file.as_raw_fd()
}

/// Move only the calling thread into a new network namespace.
pub fn enter_new_namespace() -> io::Result<()> {
    // SAFETY: it changes what the thread's later calls mean. Only an unshared table of open files can leave others with
    // a file that is gone, and this flag does not unshare it.
    Ok(unsafe { unshare_unsafe(UnshareFlags::NEWNET) }?)
}

/// Move only the calling thread into an existing namespace.
#[cfg(test)]
pub fn enter_namespace(namespace: &File) -> io::Result<()> {
    use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};
    Ok(move_into_link_name_space(namespace.as_fd(), Some(LinkNameSpaceType::Network))?)
}

/// Without IPv6 in the namespace no program searches for routers over the link. If there is no IPv6, or settings
/// cannot be written, that is not an error: then some do.
pub fn without_ipv6() {
    for which in ["all", "default"] {
        let _ = fs::write(format!("/proc/sys/net/ipv6/conf/{which}/disable_ipv6"), "1");
    }
}

/// A TUN device in the thread's namespace, gone when the file is closed. Reads do not block.
pub fn open_tun(name: &str) -> io::Result<File> {
    let non_blocking = OFlags::NONBLOCK.bits() as c_int;
    let file = OpenOptions::new().read(true).write(true).custom_flags(non_blocking).open("/dev/net/tun")?;
    device_call::<TUNSETIFF>(&file, name, &(IFF_TUN | IFF_NO_PI).to_ne_bytes())?;
    Ok(file)
}

/// Give the thread's namespace 127.0.0.1.
pub fn set_up_loopback() -> io::Result<()> {
    device_call::<SIOCSIFFLAGS>(&control()?, "lo", &IFF_UP.to_ne_bytes())
}

/// Give the device an address, switch it on, and make it the default route.
pub fn set_up(name: &str, address: Ipv4Addr, netmask: Ipv4Addr, mtu_bytes: u16) -> io::Result<()> {
    let socket = control()?;
    device_call::<SIOCSIFADDR>(&socket, name, &socket_address(address).bytes())?;
    device_call::<SIOCSIFNETMASK>(&socket, name, &socket_address(netmask).bytes())?;
    device_call::<SIOCSIFMTU>(&socket, name, &c_int::from(mtu_bytes).to_ne_bytes())?;
    device_call::<SIOCSIFFLAGS>(&socket, name, &IFF_UP.to_ne_bytes())?;
    let mut device = request_for(name, &[])?.name;
    let mut route = Route {
        pad1: 0,
        destination: socket_address(Ipv4Addr::UNSPECIFIED),
        gateway: SocketAddress { family: 0, data: [0; 14] },
        netmask: socket_address(Ipv4Addr::UNSPECIFIED),
        flags: RTF_UP,
        pad2: 0,
        pad3: 0,
        pad4: null_mut(),
        metric: 0,
        device: device.as_mut_ptr().cast(),
        mtu: 0,
        window: 0,
        initial_rtt: 0,
    };
    // SAFETY: `SIOCADDRT` reads an `rtentry`, which `route` is, and the name it points to ends with a zero; both
    // outlive the call.
    Ok(unsafe { ioctl(&socket, Updater::<SIOCADDRT, Route>::new(&mut route)) }?)
}

/// Whether there is something to read within `timeout`.
pub fn wait_readable(file: &File, timeout: Duration) -> io::Result<bool> {
    let timeout = Timespec::try_from(timeout).ok();
    match poll(&mut [PollFd::new(file, PollFlags::IN)], timeout.as_ref()) {
        Ok(ready) => Ok(ready > 0),
        Err(Errno::INTR) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

/// Any socket can be used for requests about devices.
fn control() -> io::Result<UdpSocket> {
    UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0))
}

/// One of the calls that take a device's name and a value.
fn device_call<const OPCODE: Opcode>(file: impl AsFd, name: &str, value: &[u8]) -> io::Result<()> {
    let mut request = request_for(name, value)?;
    // SAFETY: the calls given here read and write an `ifreq`, which `request` is and which outlives the call.
    Ok(unsafe { ioctl(file, Updater::<OPCODE, DeviceRequest>::new(&mut request)) }?)
}

/// The name is shorter than its field, so that a zero ends it.
fn request_for(name: &str, value: &[u8]) -> io::Result<DeviceRequest> {
    let mut request = DeviceRequest { name: [0; 16], value: [0; 24] };
    if name.len() >= request.name.len() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "a device's name is too long"));
    }
    request.name[..name.len()].copy_from_slice(name.as_bytes());
    request.value[..value.len()].copy_from_slice(value);
    Ok(request)
}

fn socket_address(address: Ipv4Addr) -> SocketAddress {
    let mut data = [0; 14];
    data[2..6].copy_from_slice(&address.octets());
    SocketAddress { family: AF_INET, data }
}

impl SocketAddress {
    fn bytes(&self) -> [u8; 16] {
        let mut bytes = [0; 16];
        bytes[..2].copy_from_slice(&self.family.to_ne_bytes());
        bytes[2..].copy_from_slice(&self.data);
        bytes
    }
}
