//! The encoder of a real call: a live bitrate, and pictures at a varying rate.
//!
//! libvpx gives a picture the bits that the bitrate yields over the picture's duration. As in libwebrtc, each picture's
//! duration is that of the measured rate. Given the time since the previous picture, libvpx made frames of up to fourteen
//! times the mean size when single pictures had been skipped; given capture times, 60 % too much.

use crate::buffers::Buffers;
use crate::settings::Settings;
use crate::{Error, LiveFrame, raw};

/// A stream that is coded as it is captured.
pub struct Live {
    settings: Settings,
    resilient: bool,
    encoder: raw::Encoder,
    kbps: u32,
    /// Time of the next picture, in ticks.
    time: i64,
}

/// Ticks of RTP's clock for video, which libwebrtc gives to libvpx.
const TICKS_PER_SECOND: f32 = 90_000.0;

impl Live {
    /// Open a stream at a bitrate in bit/s.
    pub fn new(settings: Settings, bits_per_second: u32) -> Result<Self, Error> {
        Self::open(settings, bits_per_second, false)
    }

    /// What it was opened for.
    pub fn settings(&self) -> Settings {
        self.settings
    }

    /// `resilient`: frames are decodable without statistics from other frames.
    pub(crate) fn open(settings: Settings, bits_per_second: u32, resilient: bool) -> Result<Self, Error> {
        raw::check()?;
        settings.check()?;
        let kbps = kbps(bits_per_second);
        Ok(Self { settings, resilient, encoder: raw::Encoder::new(settings, kbps, resilient)?, kbps, time: 0 })
    }

    /// Code one picture of planar 4:2:0 at `frame_rate` pictures per second, at a bitrate in bit/s.
    pub fn encode(
        &mut self,
        picture: &[u8],
        frame_rate: f32,
        bits_per_second: u32,
        keyframe: bool,
    ) -> Result<LiveFrame, Error> {
        self.encode_with(picture, frame_rate, bits_per_second, keyframe, None)
    }

    /// The same with references; `None`: libvpx chooses them.
    pub(crate) fn encode_with(
        &mut self,
        picture: &[u8],
        frame_rate: f32,
        bits_per_second: u32,
        keyframe: bool,
        buffers: Option<Buffers>,
    ) -> Result<LiveFrame, Error> {
        let kbps = kbps(bits_per_second);
        if kbps != self.kbps {
            if self.time == 0 {
                // Its rate control starts with the bits of 250 ms at the rate it was opened with.
                self.encoder = raw::Encoder::new(self.settings, kbps, self.resilient)?;
            } else {
                self.encoder.set_bitrate(kbps)?;
            }
            self.kbps = kbps;
        }
        let duration = (TICKS_PER_SECOND / frame_rate.clamp(1.0, 60.0)).round() as u32;
        let frame = self.encoder.encode(picture, self.time, duration, keyframe, buffers)?;
        self.time += i64::from(duration);
        Ok(frame)
    }
}

/// libvpx's unit; it accepts no rate of zero.
fn kbps(bits_per_second: u32) -> u32 {
    (bits_per_second.saturating_add(500) / 1_000).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Codec, check};

    const SETTINGS: Settings = Settings { codec: Codec::Vp8, width: 160, height: 96, frame_rate: 30.0 };
    const BOTH: [Codec; 2] = [Codec::Vp8, Codec::Vp9];

    /// A texture that moves two columns per picture, with noise that takes any number of bits.
    fn picture(n: usize) -> Vec<u8> {
        let noise = move |i: usize| (i + 7 * n).wrapping_mul(2_654_435_761) >> 13 & 15;
        let luma = (0..160 * 96).map(move |i| (((i % 160 + 2 * n) * (i / 160 + 3) * 5) % 200 + 20 + noise(i)) as u8);
        luma.chain(std::iter::repeat_n(128, 160 * 96 / 2)).collect()
    }

    /// A stream of each codec; none, with a line on stderr, if this build has none.
    fn live(bits_per_second: u32) -> Vec<(Codec, Live)> {
        if let Err(error) = check() {
            assert_eq!(Live::new(SETTINGS, bits_per_second).err(), Some(error.clone()));
            eprintln!("skipped: {error}");
            return Vec::new();
        }
        BOTH.map(|codec| (codec, Live::new(Settings { codec, ..SETTINGS }, bits_per_second).unwrap())).into()
    }

    #[test]
    fn a_live_stream_follows_its_bitrate_and_reports_its_quality() {
        for (codec, mut live) in live(300_000) {
            let (mut bits, mut psnr) = ([0.0; 4], [0.0; 4]);
            for second in 0..4 {
                for n in second * 30..(second + 1) * 30 {
                    let bps = [300_000, 300_000, 150_000, 600_000][second];
                    let frame = live.encode(&picture(n), 30.0, bps, n == 90).unwrap();
                    assert_eq!(frame.keyframe, n == 0 || n == 90);
                    bits[second] += 8.0 * frame.bytes.len() as f64;
                    psnr[second] = frame.psnr_db.unwrap();
                }
            }
            let off = [(1, 300e3), (2, 150e3), (3, 600e3)].map(|(second, bps)| bits[second] / bps - 1.0);
            assert!(off.iter().all(|off| off.abs() < 0.2), "{codec:?} {bits:?}");
            assert!(psnr[3] > psnr[2] + 1.0, "{codec:?} {psnr:?}");
            assert!(live.encode(&[0; 7], 30.0, 300_000, false).is_err());
        }
    }

    #[test]
    fn no_key_frame_comes_by_itself() {
        for (codec, mut live) in live(100_000) {
            let keys = (0..300).filter(|&n| live.encode(&picture(n), 30.0, 100_000, false).unwrap().keyframe);
            assert_eq!(keys.collect::<Vec<_>>(), [0], "{codec:?}");
        }
    }

    #[test]
    fn pictures_at_half_the_rate_are_twice_as_large() {
        for (codec, mut live) in live(300_000) {
            let mut bytes = |range: std::ops::Range<usize>, frame_rate| -> usize {
                range.map(|n| live.encode(&picture(n), frame_rate, 300_000, false).unwrap().bytes.len()).sum()
            };
            bytes(0..60, 30.0);
            let (often, _, seldom) = (bytes(60..180, 30.0), bytes(180..210, 15.0), bytes(210..330, 15.0));
            let ratio = seldom as f64 / often as f64;
            assert!((1.7..2.3).contains(&ratio), "{codec:?} {ratio}");
        }
    }

    #[test]
    fn a_frame_begins_with_its_codecs_header() {
        for (codec, mut live) in live(300_000) {
            let [key, delta] = [0, 1].map(|n| live.encode(&picture(n), 30.0, 300_000, false).unwrap().bytes);
            match codec {
                // [rfc6386] §9.1: bit 0 is clear in a key frame, which continues with a start code and its size.
                Codec::Vp8 => {
                    assert_eq!((key[0] & 1, &key[3..6], delta[0] & 1), (0, &[0x9d, 0x01, 0x2a][..], 1));
                    let size = [6, 8].map(|at| u16::from_le_bytes([key[at], key[at + 1]]));
                    assert_eq!(size, [160, 96]);
                }
                // Two bits are 2, two are profile 0; no frame is shown again; the next is clear in a key frame, which
                // continues with a sync code.
                Codec::Vp9 => {
                    assert_eq!((key[0] & 0xfc, &key[1..4], delta[0] & 0xfc), (0x80, &[0x49, 0x83, 0x42][..], 0x84));
                }
            }
        }
    }

    #[test]
    fn the_decoded_picture_has_the_psnr_that_the_encoder_reports() {
        for (codec, mut live) in live(300_000) {
            let mut playback = crate::Playback::new(codec).unwrap();
            for n in 0..5 {
                let picture = picture(n);
                let coded = live.encode(&picture, 30.0, 300_000, false).unwrap();
                let luma = playback.decode(&coded.bytes).unwrap().unwrap();
                assert_eq!((luma.width, luma.height, luma.samples.len()), (160, 96, 160 * 96));
                let squares = luma
                    .samples
                    .iter()
                    .zip(&picture)
                    .map(|(a, b)| f64::from(a.abs_diff(*b)) * f64::from(a.abs_diff(*b)));
                #[expect(clippy::disallowed_methods, reason = "compared to a hundredth, not to the bit")]
                let psnr_db = 10.0 * ((255.0 * 255.0 * 160.0 * 96.0 / squares.sum::<f64>()) as f32).log10();
                assert!((psnr_db - coded.psnr_db.unwrap()).abs() < 0.01, "{codec:?} {psnr_db} {:?}", coded.psnr_db);
            }
            assert!(playback.decode(&[]).is_err());
        }
    }

    #[test]
    fn another_size_is_decoded_from_its_key_frame_on_and_an_oversized_one_is_refused() {
        for (codec, mut live) in live(300_000) {
            let mut playback = crate::Playback::new(codec).unwrap();
            let first = live.encode(&picture(0), 30.0, 300_000, false).unwrap().bytes;
            playback.decode(&first).unwrap().unwrap();
            let mut smaller = Live::new(Settings { codec, width: 96, height: 64, ..SETTINGS }, 300_000).unwrap();
            for _ in 0..2 {
                let coded = smaller.encode(&[90; 96 * 64 * 3 / 2], 30.0, 300_000, false).unwrap();
                let luma = playback.decode(&coded.bytes).unwrap().unwrap();
                assert_eq!((luma.width, luma.height), (96, 64), "{codec:?}");
            }
            let mut huge = first;
            match codec {
                Codec::Vp8 => huge[6..10].copy_from_slice(&[0xff, 0x3f, 0xff, 0x3f]),
                // After three bits of colour space and one of range: 16 bits each of width and height.
                Codec::Vp9 => huge[4..9].fill(0x0f),
            }
            assert!(playback.decode(&huge).is_err(), "{codec:?}");
        }
    }

    #[test]
    fn impossible_settings_are_refused() {
        if check().is_err() {
            return;
        }
        let refused = |settings| Live::new(settings, 100_000).err().map(|error| error.to_string()).unwrap();
        assert_eq!(refused(Settings { width: 15, ..SETTINGS }), "libvpx: 15x96 cannot be coded");
        assert_eq!(refused(Settings { frame_rate: 0.0, ..SETTINGS }), "libvpx: frame rate 0 is outside 1 … 60");
    }

    #[test]
    fn key_frames_may_be_nine_pictures_large_at_thirty_per_second() {
        assert_eq!(SETTINGS.max_intra_percent(), 900);
        assert_eq!(Settings { frame_rate: 5.0, ..SETTINGS }.max_intra_percent(), 300);
    }
}
