//! Two network namespaces with one TUN device in each: a network of two hosts whose only way to each other is whoever
//! holds the [`Pair`]. What programs in one namespace send, [`Device::receive`] gives as IP packets; what
//! [`Device::send`] is given, programs in the other receive.
//!
//! Linux only, and only for who may make namespaces and devices in them: the superuser. Nothing of it has a name in
//! the system. Namespaces and devices are open files of this process, and the kernel takes them away when the last
//! of these is closed, however the process ends; a namespace lives on only as long as a process in it does.

mod pair;
#[cfg(target_os = "linux")]
#[expect(unsafe_code, reason = "system calls without a safe interface are in this file alone")]
mod raw;
#[cfg(not(target_os = "linux"))]
#[path = "elsewhere.rs"]
mod raw;

pub use pair::{Device, Host, MTU_BYTES, Pair};
