//! What Legato knows of a codec of calls. A codec is one file, or folder, with a [`CallCodec`], and a line in `table.rs`.

use crate::{Assembly, CodedFrame, EncoderSettings, Error, LiveEncoder, PacketCost, Payloads, Playback, Recovery};
use legato_media::encoder::size_rule::Thresholds;

/// A codec that a call can be made with.
#[derive(Debug)]
pub struct CallCodec {
    /// Its name in options.
    pub name: &'static str,
    /// Whether this build codes and decodes it; if not, why.
    pub check: fn() -> Result<(), Error>,
    /// How to build Legato so that it can; `None` where every build can.
    pub remedy: Option<&'static str>,
    /// Whether no one but Legato knows it.
    pub ours_alone: bool,
    /// How session descriptions state it.
    pub rtp: RtpFormat,
    /// Mean quantisers, in the codec's own steps, that change the size of pictures.
    pub thresholds: Thresholds,
    /// The ways in which it recovers from losses; the first unless another is asked for.
    pub streams: &'static [Stream],
    /// A frame of about so many bytes, a key frame or not, that no decoder accepts.
    pub filling: fn(usize, bool) -> Vec<u8>,
}

/// Cuts a coded frame into the payloads of its packets, each of which leaves so many bytes empty.
pub type CutFrame = fn(&CodedFrame<'_>, u16) -> Result<Box<dyn Payloads>, Error>;

/// A codec under one recovery: from pictures to packets, and back.
#[derive(Debug)]
pub struct Stream {
    /// How it recovers.
    pub recovery: Recovery,
    /// The name in tables of our own encoder and decoder.
    pub label: &'static str,
    /// Opens an encoder.
    pub encoder: fn(EncoderSettings) -> Result<Box<dyn LiveEncoder>, Error>,
    /// What packets cost an encoder that makes them itself, where each leaves so many bytes empty.
    pub packet_cost: fn(u16) -> PacketCost,
    /// Cuts a frame into payloads.
    pub payloads: CutFrame,
    /// What puts frames together from packets; nothing has come yet.
    pub assembly: fn() -> Box<dyn Assembly>,
    /// A decoder in its initial state.
    pub playback: fn() -> Result<Box<dyn Playback>, Error>,
}

/// A codec in session descriptions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RtpFormat {
    /// In `a=rtpmap`.
    pub name: &'static str,
    /// In `a=fmtp`, if an offer must name any.
    pub parameters: Option<&'static str>,
}
