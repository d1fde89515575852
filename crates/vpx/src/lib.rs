//! libvpx for real calls. [`Live`] codes VP8 and VP9 at a live bitrate as in libwebrtc, but on one thread, without
//! dropping pictures and without denoising. [`Resilient`] does the same with references that the receiver has
//! acknowledged, and [`Playback`] is a separate decoder.
//!
//! libvpx is a system library that may be absent. It is looked for when this crate is built; if it is missing,
//! [`check`] reports it, and nothing can be opened.
//!
//! Missing: layers; more than 8 bits per sample; coding at another size than the stream was opened with.
//!
//! ```
//! use legato_vpx::{Codec, Live, Settings, check};
//! if check().is_ok() {
//!     let settings = Settings { codec: Codec::Vp9, width: 64, height: 48, frame_rate: 30.0 };
//!     let mut live = Live::new(settings, 100_000).unwrap();
//!     let grey = vec![128; 64 * 48 * 3 / 2];
//!     assert!(live.encode(&grey, 30.0, 100_000, false).unwrap().keyframe);
//!     assert!(!live.encode(&grey, 30.0, 100_000, false).unwrap().keyframe);
//! }
//! ```

mod buffers;
mod live;
#[cfg(not(libvpx))]
mod missing;
#[cfg(libvpx)]
#[expect(unsafe_code, reason = "libvpx is a C library: its calls are in this file alone")]
mod raw;
mod resilient;
mod settings;

pub use live::Live;
pub use raw::Decoder as Playback;
pub use resilient::{Resilient, ResilientFrame};
pub use settings::Settings;

#[cfg(not(libvpx))]
use missing as raw;

/// The codec of a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Codec {
    /// RFC 6386.
    Vp8,
    /// Profile 0: 8 bits, 4:2:0.
    Vp9,
}

/// One coded frame.
#[derive(Clone, Debug, PartialEq)]
pub struct LiveFrame {
    /// The frame as its codec defines it; for VP8, its partitions concatenated.
    pub bytes: Vec<u8>,
    /// Decodable without any other.
    pub keyframe: bool,
    /// The base quantiser in the frame's header, 0 … 127 for VP8 and 0 … 255 for VP9, as browsers' statistics count it.
    pub qp: u8,
    /// Luma PSNR of the coded picture, as the encoder reports it; `None` if nothing differs.
    pub psnr_db: Option<f32>,
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

/// Whether this build has them; if not, why.
pub fn check() -> Result<(), Error> {
    raw::check()
}

/// Why libvpx failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Error(String);
