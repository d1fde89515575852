//! The decoders of a call's codecs behind one face.

use crate::codec::Codec;
use crate::error::Error;

/// A stream being decoded, in decoding order.
pub enum Playback {
    /// By OpenH264.
    H264(legato_h264::Playback),
    /// By libvpx.
    Vp8(legato_vpx::Playback),
}

impl Playback {
    /// One that has seen nothing.
    pub fn new(codec: Codec) -> Result<Self, Error> {
        Ok(match codec {
            Codec::H264 => Self::H264(legato_h264::Playback::new().map_err(failed)?),
            Codec::Vp8 => Self::Vp8(legato_vpx::Playback::new().map_err(failed)?),
        })
    }

    /// Decode one frame as the encoder made it: the luma to be shown, row by row; `None`: nothing is.
    pub fn decode(&mut self, frame: &[u8]) -> Result<Option<Vec<u8>>, Error> {
        match self {
            Self::H264(playback) => Ok(playback.decode(frame).map_err(failed)?.map(|luma| luma.samples)),
            Self::Vp8(playback) => Ok(playback.decode(frame).map_err(failed)?.map(|luma| luma.samples)),
        }
    }
}

fn failed(error: impl std::fmt::Display) -> Error {
    Error::Encoder(error.to_string())
}
