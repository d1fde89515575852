//! OpenH264, compiled from its source. [`Stream`] measures the size of frames at forced quantisers and how its rate
//! control follows a live bitrate; it also decodes its output. [`Live`] encodes and [`Playback`] decodes in real calls.
//! [`Resilient`] serves calls and tables with losses, by slices and references that the receiver has acknowledged.
//! Configured as in libwebrtc, but on one thread and without dropping frames.
//!
//! ```
//! use legato_h264::{Mode, Settings, Stream};
//! let settings = Settings { width: 64, height: 48, frame_rate: 30.0, mode: Mode::Quantiser(30) };
//! let mut stream = Stream::new(settings).unwrap();
//! let grey = vec![128; 64 * 48 * 3 / 2];
//! assert!(stream.encode(&grey, false).unwrap().keyframe);
//! let coded = stream.encode(&grey, false).unwrap();
//! assert!(!coded.keyframe && coded.luma.len() == 64 * 48);
//! ```

mod live;
mod playback;
mod rate;
#[expect(unsafe_code, reason = "OpenH264 has a C interface: its calls are in this file alone")]
mod raw;
mod resilient;
mod slice_header;

pub use live::{Live, LiveFrame};
pub use playback::{DecodedLuma, Playback};
pub use resilient::{Resilient, ResilientFrame};

/// How a stream chooses its quantisers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Mode {
    /// OpenH264's bitrate mode at a target in bit/s, which [`Stream::set_bitrate`] can change.
    Bitrate(u32),
    /// Every macroblock at this quantiser, 0 … 51.
    Quantiser(u8),
}

/// The parameters of a stream.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Settings {
    /// Luma columns, even, 16 … 3840.
    pub width: u16,
    /// Luma rows, even, 16 … 2160.
    pub height: u16,
    /// Frames per second.
    pub frame_rate: f32,
    /// How quantisers are chosen.
    pub mode: Mode,
}

impl Settings {
    fn check(&self) -> Result<(), Error> {
        let even = |n: u16, max: u16| n.is_multiple_of(2) && (16..=max).contains(&n);
        if !even(self.width, 3840) || !even(self.height, 2160) {
            return Err(Error(format!("OpenH264: {}x{} cannot be coded", self.width, self.height)));
        }
        if !(self.frame_rate >= 1.0 && self.frame_rate <= 60.0) {
            return Err(Error(format!("OpenH264: frame rate {} is outside 1 … 60", self.frame_rate)));
        }
        if let Mode::Quantiser(qp) = self.mode
            && qp > 51
        {
            return Err(Error(format!("OpenH264: quantiser {qp} is outside 0 … 51")));
        }
        Ok(())
    }
}

/// One coded frame.
#[derive(Clone, Debug, PartialEq)]
pub struct Coded {
    /// All its NAL units, start codes included.
    pub bytes: Vec<u8>,
    /// Decodable without any other.
    pub keyframe: bool,
    /// The mean quantiser over macroblocks, rounded, from the encoder's statistics.
    pub qp: u8,
    /// Luma as every decoder shows it, `width` x `height`.
    pub luma: Vec<u8>,
}

/// A stream being coded, decoded alongside.
pub struct Stream {
    settings: Settings,
    encoder: raw::Encoder,
    playback: Playback,
    frames: u64,
}

impl Stream {
    /// Open a stream.
    pub fn new(settings: Settings) -> Result<Self, Error> {
        settings.check()?;
        Ok(Self { settings, encoder: raw::Encoder::new(settings)?, playback: Playback::new()?, frames: 0 })
    }

    /// Code one picture of planar 4:2:0 (luma, then both chroma planes at half size).
    pub fn encode(&mut self, picture: &[u8], keyframe: bool) -> Result<Coded, Error> {
        let (width, height) = (usize::from(self.settings.width), usize::from(self.settings.height));
        if picture.len() != width * height * 3 / 2 {
            return Err(Error(format!("OpenH264: {} bytes are not a picture of {width}x{height}", picture.len())));
        }
        let time_ms = (self.frames as f64 * 1_000.0 / f64::from(self.settings.frame_rate)) as i64;
        self.frames += 1;
        let raw::Frame { bytes, keyframe, qp, .. } = self.encoder.encode(picture, time_ms, keyframe, false)?;
        let shown = self.playback.decode(&bytes)?;
        let shown = shown.ok_or_else(|| Error("OpenH264 decoder: a frame did not come out".to_owned()))?;
        Ok(Coded { bytes, keyframe, qp, luma: shown.samples })
    }

    /// Set the target from the next frame on; for [`Mode::Bitrate`].
    pub fn set_bitrate(&mut self, bits_per_second: u32) -> Result<(), Error> {
        self.encoder.set_bitrate(bits_per_second)
    }
}

/// Why OpenH264 failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Error(String);

#[cfg(test)]
mod tests {
    use super::*;

    /// A texture that moves two columns per frame.
    fn picture(n: usize) -> Vec<u8> {
        let luma = (0..96 * 64).map(|i| (((i % 96 + 2 * n) * (i / 96 + 3) * 5) % 200 + 20) as u8);
        luma.chain(std::iter::repeat_n(128, 96 * 64 / 2)).collect()
    }
    fn stream(mode: Mode) -> Stream {
        Stream::new(Settings { width: 96, height: 64, frame_rate: 30.0, mode }).unwrap()
    }

    #[test]
    fn a_forced_quantiser_is_kept_and_a_coarser_one_costs_less() {
        let sizes = [20, 40].map(|qp| {
            let mut stream = stream(Mode::Quantiser(qp));
            let coded: Vec<_> = (0..10).map(|n| stream.encode(&picture(n), false).unwrap()).collect();
            assert!(coded.iter().all(|frame| frame.qp == qp), "{:?}", coded.iter().map(|f| f.qp).collect::<Vec<_>>());
            coded.iter().map(|frame| frame.bytes.len()).sum::<usize>()
        });
        assert!(sizes[0] > 2 * sizes[1], "{sizes:?}");
    }

    #[test]
    fn a_live_bitrate_is_followed() {
        let mut stream = stream(Mode::Bitrate(60_000));
        let mut bits = [0; 3];
        for second in 0..3 {
            stream.set_bitrate([60_000, 30_000, 100_000][second]).unwrap();
            for n in 0..30 {
                bits[second] += 8 * stream.encode(&picture(second * 30 + n), false).unwrap().bytes.len();
            }
        }
        assert!(bits[1] < bits[0] && bits[2] > bits[0], "{bits:?}");
    }

    #[test]
    fn a_key_frame_comes_when_requested() {
        let mut stream = stream(Mode::Bitrate(200_000));
        let keys: Vec<_> = (0..6).map(|n| stream.encode(&picture(n), n == 4).unwrap().keyframe).collect();
        assert_eq!(keys, [true, false, false, false, true, false]);
    }

    #[test]
    fn impossible_settings_and_pictures_are_refused() {
        let refused = |width, height, mode| {
            Stream::new(Settings { width, height, frame_rate: 30.0, mode }).err().map(|e| e.to_string()).unwrap()
        };
        assert_eq!(refused(15, 64, Mode::Quantiser(30)), "OpenH264: 15x64 cannot be coded");
        assert_eq!(refused(64, 64, Mode::Quantiser(52)), "OpenH264: quantiser 52 is outside 0 … 51");
        assert!(stream(Mode::Quantiser(30)).encode(&[0; 7], false).is_err());
    }
}
