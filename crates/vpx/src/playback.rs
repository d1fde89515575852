//! A separate decoder: shows what another encoder coded, as every decoder does.

use crate::{Codec, Error, raw};

/// A stream being decoded, in decoding order.
pub struct Playback {
    decoder: raw::Decoder,
}

/// The luma plane of a decoded picture.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DecodedLuma {
    /// Columns.
    pub width: usize,
    /// Rows.
    pub height: usize,
    /// Row by row, `width` x `height`.
    pub samples: Vec<u8>,
}

impl Playback {
    /// A decoder in its initial state.
    pub fn new(codec: Codec) -> Result<Self, Error> {
        Ok(Self { decoder: raw::Decoder::new(codec)? })
    }

    /// Decode one frame; `None`: there is nothing to show.
    pub fn decode(&mut self, frame: &[u8]) -> Result<Option<DecodedLuma>, Error> {
        self.decoder.decode(frame)
    }
}
