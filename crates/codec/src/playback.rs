//! A decoder, of any codec.

use crate::{Error, Shown};

/// A stream being decoded, in decoding order.
pub trait Playback: Send {
    /// Decode one frame as the encoder made it, or its arrived part where frames are shown in part; `None`: there is
    /// nothing to show.
    fn decode(&mut self, frame: &[u8]) -> Result<Option<Shown>, Error>;

    /// Whether only a key frame helps although the last frame was shown: the sender is wrong about the picture here.
    fn is_astray(&self) -> bool {
        false
    }
}
