//! The decoders of a call's codecs behind one interface.

use crate::codec::Codec;
use crate::error::Error;

/// A stream being decoded, in decoding order.
pub enum Playback {
    /// By OpenH264.
    H264(legato_h264::Playback),
    /// By libvpx.
    Vpx(legato_vpx::Playback),
}

/// The luma plane of a decoded picture.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shown {
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
        let vpx = |codec| legato_vpx::Playback::new(codec).map(Self::Vpx).map_err(failed);
        match codec {
            Codec::H264 => Ok(Self::H264(legato_h264::Playback::new().map_err(failed)?)),
            Codec::Vp8 => vpx(legato_vpx::Codec::Vp8),
            Codec::Vp9 => vpx(legato_vpx::Codec::Vp9),
        }
    }

    /// Decode one frame as the encoder made it; `None`: there is nothing to show.
    pub fn decode(&mut self, frame: &[u8]) -> Result<Option<Shown>, Error> {
        Ok(match self {
            Self::H264(playback) => playback.decode(frame).map_err(failed)?.map(|luma| {
                let legato_h264::DecodedLuma { width, height, samples } = luma;
                Shown { width, height, samples }
            }),
            Self::Vpx(playback) => playback.decode(frame).map_err(failed)?.map(|luma| {
                let legato_vpx::DecodedLuma { width, height, samples } = luma;
                Shown { width, height, samples }
            }),
        })
    }
}

fn failed(error: impl std::fmt::Display) -> Error {
    Error::Encoder(error.to_string())
}
