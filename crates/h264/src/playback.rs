//! A separate decoder: shows what another encoder coded, as every decoder does.

use crate::{Error, raw};
use openh264::decoder::Decoder;
use openh264::formats::YUVSource;

/// A stream being decoded, in decoding order.
pub struct Playback {
    decoder: Decoder,
    conceals: bool,
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
    pub fn new() -> Result<Self, Error> {
        let decoder = Decoder::new().map_err(|error| Error(format!("OpenH264 decoder: {error}")))?;
        Ok(Self { decoder, conceals: false })
    }

    /// The same, which shows the slices of a frame that came and conceals the rest.
    pub fn concealing() -> Result<Self, Error> {
        let mut playback = Self::new()?;
        raw::conceal(&mut playback.decoder)?;
        Ok(Self { conceals: true, ..playback })
    }

    /// Decode one frame's NAL units, start codes included; `None`: there is nothing to show.
    pub fn decode(&mut self, frame: &[u8]) -> Result<Option<DecodedLuma>, Error> {
        if self.conceals {
            let shown = raw::decode_anyway(&mut self.decoder, frame);
            return Ok(shown.map(|(width, height, samples)| DecodedLuma { width, height, samples }));
        }
        let decoded = self.decoder.decode(frame).map_err(|error| Error(format!("OpenH264 decoder: {error}")))?;
        Ok(decoded.map(|shown| {
            let ((width, height), stride) = (shown.dimensions(), shown.strides().0);
            let rows = shown.y().chunks(stride).take(height);
            DecodedLuma { width, height, samples: rows.flat_map(|row| &row[..width]).copied().collect() }
        }))
    }
}
