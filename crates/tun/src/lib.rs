//! Two network namespaces with one TUN device in each: a network of two hosts connected only by the owner of the
//! [`Pair`]. What programs in one namespace send, [`Device::receive`] returns as IP packets; what [`Device::send`] is
//! given, programs in the other receive.
//!
//! Linux only, and only for users that may make namespaces and devices in them: the superuser. Nothing of it has a name
//! in the system. Namespaces and devices are open files of this process. The kernel removes them when the last of these
//! is closed, however the process ends. A namespace lives on only as long as a process in it does.

mod pair;
#[cfg(target_os = "linux")]
#[expect(unsafe_code, reason = "system calls without a safe interface are in this file alone")]
mod raw;
#[cfg(not(target_os = "linux"))]
#[path = "elsewhere.rs"]
mod raw;

pub use pair::{Device, Host, MTU_BYTES, Pair};
