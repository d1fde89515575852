//! The codecs of real calls behind one interface. A [`Coding`] is a codec with a way to recover from losses; it
//! codes pictures at a live bitrate ([`LiveEncoder`]), cuts frames into the payloads of packets ([`Payloads`]),
//! puts frames together from packets ([`Assembly`]), and decodes them ([`Playback`]).
//!
//! A codec is one file or folder with a [`CallCodec`], and a line in `table.rs`.
//!
//! ```
//! use legato_codec::{Coding, EncoderSettings, Recovery, Wanted};
//! let coding = Coding::new("h264", Recovery::Nack).unwrap();
//! let settings = EncoderSettings { size: (64, 48), frame_rate: 30.0, bitrate_bps: 100_000 };
//! let mut encoder = coding.encoder(settings).unwrap();
//! let grey = vec![128; 64 * 48 * 3 / 2];
//! let wanted = Wanted { time_ms: 0, frame_rate: 30.0, bitrate_bps: 100_000, keyframe: false };
//! let coded = encoder.encode(&grey, wanted).unwrap();
//! let shown = coding.playback().unwrap().decode(&coded.bytes).unwrap().unwrap();
//! assert!(coded.keyframe && shown.width == 64);
//! ```

#![forbid(unsafe_code)]

pub mod assembly;
mod call_codec;
mod coding;
mod even_cut;
mod frame;
pub mod h264;
#[cfg(feature = "hybrid")]
pub mod hybrid;
mod live_encoder;
mod packets;
mod payloads;
mod playback;
mod recovery;
mod table;
pub mod vp8;
pub mod vp9;
mod vpx;

pub use assembly::{Assembled, Assembly, CodedPicture};
pub use call_codec::{CallCodec, RtpFormat, Stream};
pub use coding::Coding;
pub use frame::{Coded, Shown};
pub use live_encoder::{EncoderSettings, LiveEncoder, Wanted};
pub use packets::{PacketCost, PacketReport};
pub use payloads::{CodedFrame, OwnPackets, Payloads};
pub use playback::Playback;
pub use recovery::Recovery;
pub use table::{CODECS, find, names, remedy};

/// Why a codec could not be opened, or refused its input.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Error(String);

fn failed(error: impl std::fmt::Display) -> Error {
    Error(error.to_string())
}
