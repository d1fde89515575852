//! Replaces [`crate::raw`] on systems without network namespaces: every call is refused.

use std::fs::File;
use std::io;
use std::net::Ipv4Addr;
use std::time::Duration;

fn refused<T>() -> io::Result<T> {
    Err(io::Error::new(io::ErrorKind::Unsupported, "only Linux has network namespaces"))
}

pub fn number(_file: &File) -> i32 {
    -1
}

pub fn enter_new_namespace() -> io::Result<()> {
    refused()
}

pub fn without_ipv6() {}

pub fn open_tun(_name: &str) -> io::Result<File> {
    refused()
}

pub fn set_up_loopback() -> io::Result<()> {
    refused()
}

pub fn set_up(_name: &str, _address: Ipv4Addr, _netmask: Ipv4Addr, _mtu_bytes: u16) -> io::Result<()> {
    refused()
}

pub fn wait_readable(_file: &File, _timeout: Duration) -> io::Result<bool> {
    refused()
}
