//! H.264 in slices, predicted from frames that the receiver has acknowledged once a loss is reported; its player shows
//! what came of a frame.

mod live;
mod playback;

pub(crate) use live::Live;
pub(crate) use playback::Playback;

#[cfg(test)]
#[path = "tests.rs"]
mod tests;
