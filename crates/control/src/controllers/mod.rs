//! One file or folder per controller; `registry.rs` has a line for each.

pub mod burst_rtc;
pub mod camel;
pub mod clairvoyant;
pub mod fbra;
pub mod fixed;
pub mod gcc;
pub mod gcc_receiver;
pub mod jm_tfrc;
pub mod learned;
pub mod legato;
pub mod legato_receiver;
pub mod nada;
pub mod ndtc;
pub mod opennetlab;
pub mod oracle;
pub mod pudica;
pub mod remote;
pub mod safeguard;
pub mod salsify;
pub mod scream;
pub mod sqp;
pub mod tfrc;
pub mod ukf;
pub mod vidaptive;
pub mod vtfrc;
