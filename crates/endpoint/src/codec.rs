//! The codec of a call: one per call, chosen when it is set up and the only one in the offer.

use crate::error::Error;
use legato_call::rtp_assembly::PayloadFormat;
use legato_media::encoder::size_rule::Thresholds;
use std::str::FromStr;

/// A codec that a call can be made with.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Codec {
    /// By OpenH264, which every build has.
    #[default]
    H264,
    /// By libvpx, if the build found it.
    Vp8,
    /// As VP8.
    Vp9,
}

impl Codec {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::H264, Self::Vp8, Self::Vp9];

    /// Its name in options.
    pub fn name(self) -> &'static str {
        match self {
            Self::H264 => "h264",
            Self::Vp8 => "vp8",
            Self::Vp9 => "vp9",
        }
    }

    /// Its name in session descriptions.
    pub fn rtp_name(self) -> &'static str {
        match self {
            Self::H264 => "H264",
            Self::Vp8 => "VP8",
            Self::Vp9 => "VP9",
        }
    }

    /// The name in tables of our own encoder and decoder.
    pub fn label(self) -> &'static str {
        match self {
            Self::H264 => "openh264 (real)",
            Self::Vp8 => "libvpx vp8 (real)",
            Self::Vp9 => "libvpx vp9 (real)",
        }
    }

    /// Mean quantisers that change the size of pictures: libwebrtc's for the codec.
    pub fn thresholds(self) -> Thresholds {
        let (low_qp, high_qp) = match self {
            Self::H264 => (24.0, 37.0),
            Self::Vp8 => (29.0, 95.0),
            Self::Vp9 => (149.0, 205.0),
        };
        Thresholds { low_qp, high_qp }
    }

    /// How RTP carries it.
    pub fn payload_format(self) -> PayloadFormat {
        match self {
            Self::H264 => PayloadFormat::H264,
            Self::Vp8 => PayloadFormat::Vp8,
            Self::Vp9 => PayloadFormat::Vp9,
        }
    }

    /// Whether this build codes and decodes it; if not, why.
    pub fn check(self) -> Result<(), Error> {
        match self {
            Self::H264 => Ok(()),
            Self::Vp8 | Self::Vp9 => legato_vpx::check().map_err(|error| Error::Encoder(error.to_string())),
        }
    }
}

impl FromStr for Codec {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self, Error> {
        Self::ALL.into_iter().find(|codec| codec.name() == name).ok_or_else(|| {
            let names = Self::ALL.map(Self::name).join(", ");
            Error::Encoder(format!("codec {name}: one of {names} is needed"))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codecs_are_found_by_name() {
        assert_eq!("vp8".parse(), Ok(Codec::Vp8));
        assert_eq!(Codec::default().name(), "h264");
        let refused = "av1".parse::<Codec>().unwrap_err().to_string();
        assert_eq!(refused, "codec av1: one of h264, vp8, vp9 is needed");
    }
}
