//! An encoder with a live bitrate, of any codec.

use crate::{Codec, Error, failed};

/// A stream that is coded as it is captured.
pub struct LiveEncoder(Live);

enum Live {
    H264(legato_h264::Live),
    Vpx(legato_vpx::Live),
}

/// One coded frame.
#[derive(Clone, Debug, PartialEq)]
pub struct Coded {
    /// The frame as its codec defines it.
    pub bytes: Vec<u8>,
    /// Decodable without any other.
    pub keyframe: bool,
    /// In the codec's own steps: 0 … 51 for H.264, 0 … 127 for VP8, 0 … 255 for VP9.
    pub qp: u8,
    /// Of luma, as the encoder reports it.
    pub psnr_db: Option<f32>,
}

impl LiveEncoder {
    /// Open a stream of pictures of `width` columns and `height` rows at `frame_rate` pictures per second, which begins
    /// at a bitrate in bit/s.
    pub fn open(codec: Codec, (width, height): (u16, u16), frame_rate: f32, bitrate_bps: u32) -> Result<Self, Error> {
        let vpx = |codec| {
            let settings = legato_vpx::Settings { codec, width, height, frame_rate };
            legato_vpx::Live::new(settings, bitrate_bps).map(Live::Vpx).map_err(failed)
        };
        let live = match codec {
            Codec::H264 => {
                let mode = legato_h264::Mode::Bitrate(bitrate_bps);
                let settings = legato_h264::Settings { width, height, frame_rate, mode };
                legato_h264::Live::new(settings, bitrate_bps).map(Live::H264).map_err(failed)
            }
            Codec::Vp8 => vpx(legato_vpx::Codec::Vp8),
            Codec::Vp9 => vpx(legato_vpx::Codec::Vp9),
        };
        Ok(Self(live?))
    }

    /// Code one picture of planar 4:2:0, captured at `time_ms`, at `frame_rate` pictures per second and a bitrate in
    /// bit/s; as a key frame if asked to.
    pub fn encode(
        &mut self,
        picture: &[u8],
        time_ms: i64,
        frame_rate: f32,
        bitrate_bps: u32,
        keyframe: bool,
    ) -> Result<Coded, Error> {
        Ok(match &mut self.0 {
            Live::H264(live) => {
                let coded = live.encode(picture, time_ms, frame_rate, bitrate_bps, keyframe).map_err(failed)?;
                Coded { bytes: coded.bytes, keyframe: coded.keyframe, qp: coded.qp, psnr_db: coded.psnr_db }
            }
            Live::Vpx(live) => {
                let coded = live.encode(picture, frame_rate, bitrate_bps, keyframe).map_err(failed)?;
                Coded { bytes: coded.bytes, keyframe: coded.keyframe, qp: coded.qp, psnr_db: coded.psnr_db }
            }
        })
    }
}
