//! A decoder that conceals, and knows when the sender is wrong about the picture here.

use crate::{Error, Playback, Shown, failed};
use legato_h264::DecodedLuma;

/// A stream being decoded, in decoding order.
pub(crate) struct Player {
    playback: legato_h264::Playback,
    /// Packets came too late to be decoded: the sender takes their frame, and all behind it, for right.
    astray: bool,
}

const START_CODE: [u8; 3] = [0, 0, 1];
const TYPE_BITS: u8 = 0x1f;
const IDR_SLICE: u8 = 5;

impl Player {
    pub fn new() -> Result<Self, Error> {
        Ok(Self { playback: legato_h264::Playback::concealing().map_err(failed)?, astray: false })
    }
}

impl Playback for Player {
    /// Nothing at all stands for packets that came too late for their frame.
    fn decode(&mut self, frame: &[u8]) -> Result<Option<Shown>, Error> {
        if frame.is_empty() {
            self.astray = true;
            return Ok(None);
        }
        self.astray &= !is_keyframe(frame);
        let shown = self.playback.decode(frame).map_err(failed)?;
        Ok(shown.map(|DecodedLuma { width, height, samples }| Shown { width, height, samples }))
    }

    fn is_astray(&self) -> bool {
        self.astray
    }
}

fn is_keyframe(frame: &[u8]) -> bool {
    frame.windows(4).any(|bytes| bytes[..3] == START_CODE && bytes[3] & TYPE_BITS == IDR_SLICE)
}
