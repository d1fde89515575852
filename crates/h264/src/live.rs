//! The encoder of a real call: a live bitrate, pictures at their own times, no decoding alongside.
//!
//! The rate control shares the bitrate out among the pictures of a second, so it needs their actual rate: a camera that
//! skips pictures would otherwise get half its bitrate. This is as in libwebrtc. Unlike there, the encoder may not skip
//! pictures for lack of bits. The models used in simulations were measured without skipping, and with it gaps would
//! follow a call's key frames, where a burst follows a simulation's.

use crate::raw::Resilience;
use crate::{Error, Mode, Settings, raw};

/// One coded frame of a [`Live`] stream.
#[derive(Clone, Debug, PartialEq)]
pub struct LiveFrame {
    /// All its NAL units, start codes included.
    pub bytes: Vec<u8>,
    /// Decodable without any other.
    pub keyframe: bool,
    /// The mean quantiser over macroblocks, rounded, from the encoder's statistics.
    pub qp: u8,
    /// Luma PSNR of the coded picture, as the encoder reports it.
    pub psnr_db: Option<f32>,
}

/// A stream that is coded as it is captured.
pub struct Live {
    settings: Settings,
    encoder: raw::Encoder,
    bits_per_second: u32,
    /// The frame rate that the encoder assumes.
    frame_rate: f32,
}

impl Live {
    /// Open a stream at a bitrate in bit/s. [`Settings::mode`] is overwritten with it.
    pub fn new(settings: Settings, bits_per_second: u32) -> Result<Self, Error> {
        Self::with(settings, bits_per_second, Resilience::default())
    }

    /// The same with what a stream has against losses.
    pub(crate) fn with(settings: Settings, bits_per_second: u32, resilience: Resilience) -> Result<Self, Error> {
        let settings = Settings { mode: Mode::Bitrate(bits_per_second), ..settings };
        settings.check()?;
        let encoder = raw::Encoder::resilient(settings, resilience)?;
        Ok(Self { settings, encoder, bits_per_second, frame_rate: settings.frame_rate })
    }

    /// The encoder, to hear of references.
    pub(crate) fn encoder(&mut self) -> &mut raw::Encoder {
        &mut self.encoder
    }

    /// Code one picture of planar 4:2:0, captured at `time_ms` at `frame_rate` pictures per second, at a bitrate in
    /// bit/s.
    pub fn encode(
        &mut self,
        picture: &[u8],
        time_ms: i64,
        frame_rate: f32,
        bits_per_second: u32,
        keyframe: bool,
    ) -> Result<LiveFrame, Error> {
        let (width, height) = (usize::from(self.settings.width), usize::from(self.settings.height));
        if picture.len() != width * height * 3 / 2 {
            return Err(Error(format!("OpenH264: {} bytes are not a picture of {width}x{height}", picture.len())));
        }
        if bits_per_second != self.bits_per_second {
            self.encoder.set_bitrate(bits_per_second)?;
            self.bits_per_second = bits_per_second;
        }
        let frame_rate = frame_rate.clamp(1.0, self.settings.frame_rate);
        if frame_rate != self.frame_rate {
            self.encoder.set_frame_rate(frame_rate)?;
            self.frame_rate = frame_rate;
        }
        let raw::Frame { bytes, keyframe, qp, psnr_db } = self.encoder.encode(picture, time_ms, keyframe, true)?;
        Ok(LiveFrame { bytes, keyframe, qp, psnr_db })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A texture that moves two columns per frame, with noise that takes any number of bits.
    fn picture(n: usize) -> Vec<u8> {
        let noise = move |i: usize| (i + 7 * n).wrapping_mul(2_654_435_761) >> 13 & 15;
        let luma = (0..96 * 64).map(move |i| (((i % 96 + 2 * n) * (i / 96 + 3) * 5) % 200 + 20 + noise(i)) as u8);
        luma.chain(std::iter::repeat_n(128, 96 * 64 / 2)).collect()
    }

    #[test]
    fn a_live_stream_follows_its_bitrate_and_reports_its_quality() {
        let settings = Settings { width: 96, height: 64, frame_rate: 30.0, mode: Mode::Quantiser(0) };
        let mut live = Live::new(settings, 60_000).unwrap();
        let mut figures = [(0, 0.0); 2];
        for (second, figure) in figures.iter_mut().enumerate() {
            for n in second * 30..(second + 1) * 30 {
                let bps = [80_000, 400_000][second];
                let frame = live.encode(&picture(n), n as i64 * 33, 30.0, bps, n == 30).unwrap();
                assert_eq!(frame.keyframe, n % 30 == 0);
                figure.0 += frame.bytes.len();
                figure.1 = frame.psnr_db.unwrap();
            }
        }
        assert!((8..12).contains(&(figures[0].0 / 1_000)) && (40..60).contains(&(figures[1].0 / 1_000)), "{figures:?}");
        assert!(figures[1].1 > figures[0].1 + 1.0, "{figures:?}");
        assert!(live.encode(&[0; 7], 0, 30.0, 30_000, false).is_err());
    }

    #[test]
    fn pictures_at_half_the_rate_keep_their_bitrate() {
        let settings = Settings { width: 96, height: 64, frame_rate: 30.0, mode: Mode::Quantiser(0) };
        let mut live = Live::new(settings, 100_000).unwrap();
        let mut coded = |n: usize| live.encode(&picture(2 * n), n as i64 * 67, 15.0, 100_000, n == 0).unwrap();
        let sizes: Vec<_> = (0..75).map(|n| coded(n).bytes.len()).collect();
        let last_three_seconds: usize = sizes[30..].iter().sum();
        let bps = last_three_seconds as f64 * 8.0 / (45.0 * 0.067);
        assert!((bps - 100e3).abs() < 20e3, "{bps}");
    }
}
