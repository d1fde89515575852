//! Encoder and decoder behind the functions of `shim.c`; every `unsafe` of the crate is here.

use crate::buffers::Buffers;
use crate::settings::Settings;
use crate::{Codec, DecodedLuma, Error, LiveFrame};
use std::ffi::{CStr, c_char};
use std::ptr::{NonNull, null};

/// The C side's encoder, or decoder.
#[repr(C)]
struct Opaque {
    _private: [u8; 0],
}

/// As in `shim.c`.
#[repr(C)]
struct RawFrame {
    bytes: *const u8,
    length: usize,
    keyframe: i32,
    quantiser: i32,
    psnr_db: f64,
}

/// As in `shim.c`.
#[repr(C)]
struct RawLuma {
    samples: *const u8,
    width: u32,
    height: u32,
    stride: u32,
}

unsafe extern "C" {
    fn legato_vpx_open(
        vp9: i32,
        width: u32,
        height: u32,
        kbps: u32,
        speed: u32,
        max_intra_percent: u32,
        resilient: i32,
        status: *mut i32,
    ) -> *mut Opaque;
    fn legato_vpx_set_bitrate(encoder: *mut Opaque, kbps: u32) -> i32;
    fn legato_vpx_encode(
        encoder: *mut Opaque,
        picture: *const u8,
        time: i64,
        duration: u32,
        keyframe: i32,
        used: u32,
        replaced: u32,
        frame: *mut RawFrame,
    ) -> i32;
    fn legato_vpx_reason(status: i32) -> *const c_char;
    fn legato_vpx_close(encoder: *mut Opaque);
    fn legato_vpx_open_decoder(vp9: i32, status: *mut i32) -> *mut Opaque;
    fn legato_vpx_decode(decoder: *mut Opaque, bytes: *const u8, length: u32, luma: *mut RawLuma) -> i32;
    fn legato_vpx_close_decoder(decoder: *mut Opaque);
}

pub(crate) struct Encoder {
    encoder: NonNull<Opaque>,
    picture_bytes: usize,
}

// SAFETY: the encoder is one object without ties to the thread that made it, and only `&mut` reaches it.
unsafe impl Send for Encoder {}
// SAFETY: a shared reference gives access to nothing.
unsafe impl Sync for Encoder {}

pub(crate) fn check() -> Result<(), Error> {
    Ok(())
}

impl Encoder {
    /// `resilient`: frames are decodable without statistics from other frames.
    pub(crate) fn new(settings: Settings, kbps: u32, resilient: bool) -> Result<Self, Error> {
        let (width, height) = (u32::from(settings.width), u32::from(settings.height));
        let (vp9, speed, max_intra_percent) = (is_vp9(settings.codec), settings.speed(), settings.max_intra_percent());
        let mut status = 0;
        // SAFETY: plain numbers, and a status that outlives the call.
        let made = unsafe {
            let resilient = i32::from(resilient);
            legato_vpx_open(vp9, width, height, kbps, speed, max_intra_percent, resilient, &raw mut status)
        };
        let encoder = NonNull::new(made).ok_or_else(|| refused("parameters", status))?;
        Ok(Self { encoder, picture_bytes: settings.picture_bytes() })
    }

    pub(crate) fn set_bitrate(&mut self, kbps: u32) -> Result<(), Error> {
        // SAFETY: the encoder is alive until it is dropped.
        let status = unsafe { legato_vpx_set_bitrate(self.encoder.as_ptr(), kbps) };
        if status == 0 { Ok(()) } else { Err(refused("bitrate", status)) }
    }

    /// `time` and `duration` in 90,000ths of a second. `buffers`: references; `None`: libvpx chooses them.
    pub(crate) fn encode(
        &mut self,
        picture: &[u8],
        time: i64,
        duration: u32,
        key: bool,
        buffers: Option<Buffers>,
    ) -> Result<LiveFrame, Error> {
        if picture.len() != self.picture_bytes {
            return Err(Error(format!(
                "libvpx: a picture of {} bytes is not as long as its size needs",
                picture.len()
            )));
        }
        let mut frame = RawFrame { bytes: null(), length: 0, keyframe: 0, quantiser: 0, psnr_db: 0.0 };
        let Buffers { used, replaced } = buffers.unwrap_or(Buffers { used: 0, replaced: 0 });
        // SAFETY: the picture has the length that the encoder's size needs and is only read; the frame outlives the
        // call, which fills it.
        let status = unsafe {
            let (encoder, key) = (self.encoder.as_ptr(), i32::from(key));
            legato_vpx_encode(encoder, picture.as_ptr(), time, duration, key, used, replaced, &raw mut frame)
        };
        if status != 0 {
            return Err(refused("frame", status));
        }
        if frame.bytes.is_null() || frame.length == 0 {
            return Err(Error("libvpx skipped a picture although that is off".to_owned()));
        }
        // SAFETY: not null, and of this length; it stays valid until the next call.
        let bytes = unsafe { std::slice::from_raw_parts(frame.bytes, frame.length) }.to_vec();
        let qp = u8::try_from(frame.quantiser).unwrap_or(u8::MAX);
        // Absent if nothing differs.
        let psnr_db = Some(frame.psnr_db as f32).filter(|db| *db > 0.0 && db.is_finite());
        Ok(LiveFrame { bytes, keyframe: frame.keyframe != 0, qp, psnr_db })
    }
}

impl Drop for Encoder {
    fn drop(&mut self) {
        // SAFETY: made by the same functions, and not used again.
        unsafe { legato_vpx_close(self.encoder.as_ptr()) }
    }
}

/// A separate decoder of a stream: shows what another encoder coded, as every decoder does.
pub struct Decoder(NonNull<Opaque>);

// SAFETY: as for the encoder.
unsafe impl Send for Decoder {}
// SAFETY: as for the encoder.
unsafe impl Sync for Decoder {}

impl Decoder {
    /// A decoder in its initial state.
    pub fn new(codec: Codec) -> Result<Self, Error> {
        let mut status = 0;
        // SAFETY: a number, and a status that outlives the call.
        let made = unsafe { legato_vpx_open_decoder(is_vp9(codec), &raw mut status) };
        NonNull::new(made).map(Self).ok_or_else(|| refused("a decoder", status))
    }

    /// Decode the next frame in decoding order; `None`: there is nothing to show.
    pub fn decode(&mut self, frame: &[u8]) -> Result<Option<DecodedLuma>, Error> {
        // libvpx takes an empty input for the end of the stream.
        let length = u32::try_from(frame.len()).ok().filter(|&length| length > 0);
        let length = length.ok_or_else(|| Error(format!("libvpx: {} bytes are not a frame", frame.len())))?;
        let mut luma = RawLuma { samples: null(), width: 0, height: 0, stride: 0 };
        // SAFETY: the decoder is alive, the frame has `length` bytes, and the luma outlives the call, which fills it.
        let status = unsafe { legato_vpx_decode(self.0.as_ptr(), frame.as_ptr(), length, &raw mut luma) };
        if status != 0 {
            return Err(refused("a frame to decode", status));
        }
        let (width, height, stride) = (luma.width as usize, luma.height as usize, luma.stride as usize);
        if luma.samples.is_null() || width == 0 || height == 0 {
            return Ok(None);
        }
        // SAFETY: a plane of `height` rows, each `stride` samples after the last, the last one `width` long; it stays
        // valid until the next call.
        let plane = unsafe { std::slice::from_raw_parts(luma.samples, stride * (height - 1) + width) };
        let samples = plane.chunks(stride).flat_map(|row| &row[..width]).copied().collect();
        Ok(Some(DecodedLuma { width, height, samples }))
    }
}

impl Drop for Decoder {
    fn drop(&mut self) {
        // SAFETY: made by the same functions, and not used again.
        unsafe { legato_vpx_close_decoder(self.0.as_ptr()) }
    }
}

fn is_vp9(codec: Codec) -> i32 {
    i32::from(codec == Codec::Vp9)
}

fn refused(what: &str, status: i32) -> Error {
    // SAFETY: the result is a string that lives as long as the library.
    let reason = unsafe { CStr::from_ptr(legato_vpx_reason(status)) }.to_string_lossy();
    Error(format!("libvpx refused {what}: {reason}"))
}
