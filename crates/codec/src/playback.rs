//! A decoder, of any codec.

use crate::{Codec, Error, Shown, failed, hybrid, references};

/// A stream being decoded, in decoding order.
pub struct Playback(Decoder);

enum Decoder {
    H264(legato_h264::Playback),
    Vpx(legato_vpx::Playback),
    Hybrid(Box<hybrid::Playback>),
    References(references::Playback),
}

impl Playback {
    /// A decoder in its initial state.
    pub fn new(codec: Codec) -> Result<Self, Error> {
        let vpx = |codec| legato_vpx::Playback::new(codec).map(Decoder::Vpx).map_err(failed);
        let decoder = match codec {
            Codec::H264 => legato_h264::Playback::new().map(Decoder::H264).map_err(failed),
            Codec::Vp8 => vpx(legato_vpx::Codec::Vp8),
            Codec::Vp9 => vpx(legato_vpx::Codec::Vp9),
            Codec::Hybrid => Ok(Decoder::Hybrid(Box::default())),
            Codec::H264References => references::Playback::new().map(Decoder::References),
        };
        Ok(Self(decoder?))
    }

    /// Decode one frame as the encoder made it, or what came of one where losses are tolerated; `None`: there is nothing to
    /// show.
    pub fn decode(&mut self, frame: &[u8]) -> Result<Option<Shown>, Error> {
        Ok(match &mut self.0 {
            Decoder::H264(playback) => playback.decode(frame).map_err(failed)?.map(|luma| {
                let legato_h264::DecodedLuma { width, height, samples } = luma;
                Shown { width, height, samples }
            }),
            Decoder::Vpx(playback) => playback.decode(frame).map_err(failed)?.map(|luma| {
                let legato_vpx::DecodedLuma { width, height, samples } = luma;
                Shown { width, height, samples }
            }),
            Decoder::Hybrid(playback) => playback.decode(frame)?,
            Decoder::References(playback) => playback.decode(frame)?,
        })
    }

    /// Whether it decodes what came of a frame, and what refers to one that did not come.
    pub fn tolerates_loss(&self) -> bool {
        matches!(self.0, Decoder::Hybrid(_) | Decoder::References(_))
    }

    /// Whether only a key frame helps although the last frame was shown: the sender is wrong about what is shown here.
    pub fn is_astray(&self) -> bool {
        match &self.0 {
            Decoder::Hybrid(playback) => playback.is_astray(),
            Decoder::References(playback) => playback.is_astray(),
            Decoder::H264(_) | Decoder::Vpx(_) => false,
        }
    }
}
