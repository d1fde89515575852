//! The hybrid codec in calls: an encoder that meets a budget of bytes on the wire and predicts from what feedback says the
//! receiver has, and a player that decodes whatever came of a frame.
//!
//! A frame travels between them as a [`Bundle`]: those of its packets that are there.

mod bundle;
mod live;
mod playback;

pub use bundle::Bundle;
pub(crate) use live::Live;
pub(crate) use playback::Playback;

#[cfg(test)]
#[path = "tests.rs"]
mod tests;
