//! H.264 in slices, predicted from frames that the receiver has acknowledged once a loss is reported; its player shows
//! incomplete frames.

mod assembly;
mod live;
mod payloads;
mod playback;
mod slices;

use crate::payloads::OwnPackets;
use crate::{Recovery, Stream};

pub use assembly::SliceAssembly;

pub(super) const STREAM: Stream = Stream {
    recovery: Recovery::References,
    label: "openh264 references (real)",
    encoder: |settings| Ok(Box::new(live::Live::open(settings)?)),
    packet_cost: |room| OwnPackets::cost(0, room),
    payloads: |frame, room| Ok(Box::new(payloads::packets(frame.bytes, room)?)),
    assembly: || Box::new(SliceAssembly::default()),
    playback: || Ok(Box::new(playback::Player::new()?)),
};

#[cfg(test)]
#[path = "tests.rs"]
mod tests;
