//! Replaces libvpx if it was missing when this crate was built: an encoder and a decoder that cannot be opened.

use crate::buffers::Buffers;
use crate::settings::Settings;
use crate::{Codec, DecodedLuma, Error, LiveFrame};

pub(crate) struct Encoder;

/// A decoder that cannot be opened.
pub struct Decoder;

pub(crate) fn check() -> Result<(), Error> {
    Err(missing())
}

fn missing() -> Error {
    Error("this build has no VP8 and no VP9: libvpx's headers (libvpx-dev) were missing when it was built".to_owned())
}

impl Encoder {
    pub(crate) fn new(_: Settings, _: u32, _: bool) -> Result<Self, Error> {
        check().map(|()| Self)
    }
    pub(crate) fn set_bitrate(&mut self, _: u32) -> Result<(), Error> {
        Err(missing())
    }

    pub(crate) fn encode(&mut self, _: &[u8], _: i64, _: u32, _: bool, _: Option<Buffers>) -> Result<LiveFrame, Error> {
        Err(missing())
    }
}

impl Decoder {
    /// Fails.
    pub fn new(_: Codec) -> Result<Self, Error> {
        check().map(|()| Self)
    }

    /// Fails.
    pub fn decode(&mut self, _: &[u8]) -> Result<Option<DecodedLuma>, Error> {
        Err(missing())
    }
}
