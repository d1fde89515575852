//! Linux's calls for namespaces and devices; every `unsafe` of the crate is here.
//!
//! Devices are set up by the `ioctl`s of `netdevice(7)`: address, netmask, MTU, flags and one route are all that is
//! needed, so neither netlink nor a tool to speak it is.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::mem::zeroed;
use std::net::{Ipv4Addr, UdpSocket};
use std::os::fd::AsRawFd;
use std::os::unix::fs::OpenOptionsExt;
use std::time::Duration;

fn check(result: libc::c_int) -> io::Result<()> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// Of an open file.
pub fn number(file: &File) -> i32 {
    file.as_raw_fd()
}

/// Put the calling thread, and no other, into a network namespace of its own.
pub fn enter_new_namespace() -> io::Result<()> {
    // SAFETY: takes no pointer; it changes what the thread's later calls mean, and nothing in memory.
    check(unsafe { libc::unshare(libc::CLONE_NEWNET) })
}

/// Put the calling thread, and no other, into a namespace that there is.
#[cfg(test)]
pub fn enter_namespace(namespace: &File) -> io::Result<()> {
    // SAFETY: as above.
    check(unsafe { libc::setns(namespace.as_raw_fd(), libc::CLONE_NEWNET) })
}

/// Without IPv6 in the namespace nobody looks for routers over the link. Where there is none, or settings cannot be
/// written, that is no fault: then some do.
pub fn without_ipv6() {
    for which in ["all", "default"] {
        let _ = fs::write(format!("/proc/sys/net/ipv6/conf/{which}/disable_ipv6"), "1");
    }
}

/// A TUN device in the thread's namespace, gone when the file is closed. Reads do not block.
pub fn open_tun(name: &str) -> io::Result<File> {
    let file = OpenOptions::new().read(true).write(true).custom_flags(libc::O_NONBLOCK).open("/dev/net/tun")?;
    let mut request = request_for(name)?;
    request.ifr_ifru.ifru_flags = (libc::IFF_TUN | libc::IFF_NO_PI) as libc::c_short;
    // SAFETY: `TUNSETIFF` reads and writes an `ifreq`, which `request` is and which outlives the call.
    check(unsafe { libc::ioctl(file.as_raw_fd(), libc::TUNSETIFF as _, &raw mut request) })?;
    Ok(file)
}

/// Give the thread's namespace 127.0.0.1.
pub fn set_up_loopback() -> io::Result<()> {
    switch_on(&control()?, "lo")
}

/// Give the device an address, switch it on, and make it the way to everywhere.
pub fn set_up(name: &str, address: Ipv4Addr, netmask: Ipv4Addr, mtu_bytes: u16) -> io::Result<()> {
    let socket = control()?;
    let mut request = request_for(name)?;
    request.ifr_ifru.ifru_addr = socket_address(address);
    device_call(&socket, libc::SIOCSIFADDR, &mut request)?;
    request.ifr_ifru.ifru_netmask = socket_address(netmask);
    device_call(&socket, libc::SIOCSIFNETMASK, &mut request)?;
    request.ifr_ifru.ifru_mtu = libc::c_int::from(mtu_bytes);
    device_call(&socket, libc::SIOCSIFMTU, &mut request)?;
    switch_on(&socket, name)?;
    let mut device = request.ifr_name;
    // SAFETY: all zeros is a value of this struct of integers and pointers.
    let mut route: libc::rtentry = unsafe { zeroed() };
    route.rt_dst = socket_address(Ipv4Addr::UNSPECIFIED);
    route.rt_genmask = socket_address(Ipv4Addr::UNSPECIFIED);
    route.rt_flags = libc::RTF_UP;
    route.rt_dev = device.as_mut_ptr();
    // SAFETY: `SIOCADDRT` reads an `rtentry`, and the name it points to ends with a zero; both outlive the call.
    check(unsafe { libc::ioctl(socket.as_raw_fd(), libc::SIOCADDRT as _, &raw const route) })
}

/// Whether there is something to read within `timeout`.
pub fn wait_readable(file: &File, timeout: Duration) -> io::Result<bool> {
    let mut wanted = libc::pollfd { fd: file.as_raw_fd(), events: libc::POLLIN, revents: 0 };
    let timeout_ms = libc::c_int::try_from(timeout.as_millis()).unwrap_or(libc::c_int::MAX);
    // SAFETY: one `pollfd`, which outlives the call.
    match check(unsafe { libc::poll(&raw mut wanted, 1, timeout_ms) }) {
        Ok(()) => Ok(wanted.revents != 0),
        Err(error) if error.kind() == io::ErrorKind::Interrupted => Ok(false),
        Err(error) => Err(error),
    }
}

/// Any socket will do to speak of devices.
fn control() -> io::Result<UdpSocket> {
    UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0))
}

fn switch_on(socket: &UdpSocket, name: &str) -> io::Result<()> {
    let mut request = request_for(name)?;
    request.ifr_ifru.ifru_flags = libc::IFF_UP as libc::c_short;
    device_call(socket, libc::SIOCSIFFLAGS, &mut request)
}

fn device_call(socket: &UdpSocket, call: libc::c_ulong, request: &mut libc::ifreq) -> io::Result<()> {
    // SAFETY: the calls given here read and write an `ifreq`, which `request` is and which outlives the call.
    check(unsafe { libc::ioctl(socket.as_raw_fd(), call as _, std::ptr::from_mut(request)) })
}

/// A request about a device; its name is shorter than the field, so that a zero ends it.
fn request_for(name: &str) -> io::Result<libc::ifreq> {
    // SAFETY: all zeros is a value of this struct of characters and a union of integers.
    let mut request: libc::ifreq = unsafe { zeroed() };
    if name.len() >= request.ifr_name.len() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "a device's name is too long"));
    }
    for (place, byte) in request.ifr_name.iter_mut().zip(name.bytes()) {
        *place = byte as libc::c_char;
    }
    Ok(request)
}

fn socket_address(address: Ipv4Addr) -> libc::sockaddr {
    // SAFETY: all zeros is a value of this struct of integers.
    let mut generic: libc::sockaddr = unsafe { zeroed() };
    generic.sa_family = libc::AF_INET as libc::sa_family_t;
    // `sockaddr_in` has two bytes of port first, then the address in network order.
    for (place, byte) in generic.sa_data[2..6].iter_mut().zip(address.octets()) {
        *place = byte as libc::c_char;
    }
    generic
}
