//! The parameters of a stream, and what libwebrtc makes of them.

use crate::{Codec, Error};

/// The parameters of a stream.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Settings {
    /// The codec.
    pub codec: Codec,
    /// Luma columns, even, 16 … 3840.
    pub width: u16,
    /// Luma rows, even, 16 … 2160.
    pub height: u16,
    /// The camera's nominal rate in pictures per second, 1 … 60.
    pub frame_rate: f32,
}

impl Settings {
    /// Bytes of a picture of planar 4:2:0.
    pub fn picture_bytes(&self) -> usize {
        usize::from(self.width) * usize::from(self.height) * 3 / 2
    }

    pub(crate) fn check(&self) -> Result<(), Error> {
        let even = |n: u16, most: u16| n.is_multiple_of(2) && (16..=most).contains(&n);
        if !even(self.width, 3840) || !even(self.height, 2160) {
            return Err(Error(format!("libvpx: {}x{} cannot be coded", self.width, self.height)));
        }
        if !(self.frame_rate >= 1.0 && self.frame_rate <= 60.0) {
            return Err(Error(format!("libvpx: frame rate {} is outside 1 … 60", self.frame_rate)));
        }
        Ok(())
    }

    /// libwebrtc's choice for desktops, with two exceptions. It uses 6 for the larger sizes of VP8, where 8 takes a
    /// sixth less time at 1280x720, and the PSNR of the generated scene is the same to 0.1 dB. And it uses 7 for VP9 at
    /// 1280x720, on four threads if there are five processors. Here there is one thread, on which 8 takes a fifth less
    /// time (16 ms per picture where VP8 takes 15) for a decibel.
    #[cfg(libvpx)]
    pub(crate) fn speed(&self) -> u32 {
        let samples = u32::from(self.width) * u32::from(self.height);
        match self.codec {
            Codec::Vp8 if samples < 352 * 288 => 4,
            Codec::Vp8 => 8,
            Codec::Vp9 if samples < 352 * 288 => 5,
            Codec::Vp9 if samples < 1_280 * 720 => 7,
            Codec::Vp9 if samples < 1_920 * 1_080 => 8,
            Codec::Vp9 => 9,
        }
    }

    /// The bits of 300 ms, in percent of an average picture; at least three pictures. libwebrtc's choice.
    #[cfg(any(libvpx, test))]
    pub(crate) fn max_intra_percent(&self) -> u32 {
        ((300.0 * self.frame_rate / 10.0) as u32).max(300)
    }
}
