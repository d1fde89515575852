//! What VP8 and VP9 have in common: libvpx's encoder and decoder.

use crate::{Coded, EncoderSettings, Error, LiveEncoder, Playback, Shown, Wanted, failed};
use legato_vpx::{Codec, DecodedLuma, LiveFrame, Settings};

/// For a build without libvpx.
pub(crate) const REMEDY: &str = "apt install libvpx-dev pkg-config, and build Legato again";

/// Open an encoder.
pub(crate) fn encoder(codec: Codec, settings: EncoderSettings) -> Result<Box<dyn LiveEncoder>, Error> {
    Ok(Box::new(live(codec, settings)?))
}

/// A decoder in its initial state.
pub(crate) fn playback(codec: Codec) -> Result<Box<dyn Playback>, Error> {
    Ok(Box::new(legato_vpx::Playback::new(codec).map_err(failed)?))
}

fn live(codec: Codec, settings: EncoderSettings) -> Result<legato_vpx::Live, Error> {
    let EncoderSettings { size: (width, height), frame_rate, bitrate_bps } = settings;
    legato_vpx::Live::new(Settings { codec, width, height, frame_rate }, bitrate_bps).map_err(failed)
}

impl LiveEncoder for legato_vpx::Live {
    fn encode(&mut self, picture: &[u8], wanted: Wanted) -> Result<Coded, Error> {
        let Wanted { frame_rate, bitrate_bps, keyframe, .. } = wanted;
        let coded = self.encode(picture, frame_rate, bitrate_bps, keyframe).map_err(failed)?;
        let LiveFrame { bytes, keyframe, qp, psnr_db } = coded;
        Ok(Coded { bytes, keyframe, qp, psnr_db })
    }

    fn resize(&mut self, settings: EncoderSettings) -> Result<(), Error> {
        *self = live(self.settings().codec, settings)?;
        Ok(())
    }
}

impl Playback for legato_vpx::Playback {
    fn decode(&mut self, frame: &[u8]) -> Result<Option<Shown>, Error> {
        let shown = self.decode(frame).map_err(failed)?;
        Ok(shown.map(|DecodedLuma { width, height, samples }| Shown { width, height, samples }))
    }
}
