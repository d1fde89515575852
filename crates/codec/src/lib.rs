//! The codecs of real calls behind one interface: which there are ([`Codec`]), an encoder that follows a live bitrate
//! ([`LiveEncoder`]), and a decoder ([`Playback`]).
//!
//! ```
//! use legato_codec::{Codec, LiveEncoder, Playback};
//! let codec: Codec = "h264".parse().unwrap();
//! let mut encoder = LiveEncoder::open(codec, (64, 48), 30.0, 100_000).unwrap();
//! let grey = vec![128; 64 * 48 * 3 / 2];
//! let coded = encoder.encode(&grey, 0, 30.0, 100_000, false).unwrap();
//! let shown = Playback::new(codec).unwrap().decode(&coded.bytes).unwrap().unwrap();
//! assert!(coded.keyframe && shown.width == 64);
//! ```

mod frame;
pub mod hybrid;
mod live_encoder;
mod packet_cost;
mod packet_report;
mod playback;
mod recovery;
mod references;

pub use frame::{Coded, Shown};
pub use live_encoder::LiveEncoder;
pub use packet_cost::PacketCost;
pub use packet_report::PacketReport;
pub use playback::Playback;
pub use recovery::Recovery;

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
    /// Of crates/hybrid, in every build: between two ends of ours.
    Hybrid,
    /// H.264 with [`Recovery::References`], in every build: between two ends of ours.
    H264References,
}

/// Why a codec could not be opened, or refused its input.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Error(String);

impl Codec {
    /// All of them.
    pub const ALL: [Self; 5] = [Self::H264, Self::Vp8, Self::Vp9, Self::Hybrid, Self::H264References];
    /// Those that are chosen by name, as they recover unless asked otherwise.
    pub const NAMED: [Self; 4] = [Self::H264, Self::Vp8, Self::Vp9, Self::Hybrid];

    /// Its name in options.
    pub fn name(self) -> &'static str {
        match self {
            Self::H264 | Self::H264References => "h264",
            Self::Vp8 => "vp8",
            Self::Vp9 => "vp9",
            Self::Hybrid => "hybrid",
        }
    }

    /// The name in tables of our own encoder and decoder.
    pub fn label(self) -> &'static str {
        match self {
            Self::H264 => "openh264 (real)",
            Self::Vp8 => "libvpx vp8 (real)",
            Self::Vp9 => "libvpx vp9 (real)",
            Self::Hybrid => "hybrid (real)",
            Self::H264References => "openh264 references (real)",
        }
    }

    /// Whether what came of a frame is shown although packets of it are missing, and none is requested again.
    pub fn tolerates_loss(self) -> bool {
        matches!(self, Self::Hybrid | Self::H264References)
    }

    /// The same codec with another way to recover from losses. Refuses what it cannot.
    pub fn recovering_by(self, recovery: Recovery) -> Result<Self, Error> {
        match (self, recovery) {
            (codec, Recovery::Nack) => Ok(codec),
            (Self::H264 | Self::H264References, Recovery::References) => Ok(Self::H264References),
            (codec, Recovery::References) => {
                Err(Error(format!("recovery references: not of codec {}: codec h264 is needed", codec.name())))
            }
        }
    }

    /// Whether this build codes and decodes it; if not, why.
    pub fn check(self) -> Result<(), Error> {
        match self {
            Self::H264 | Self::Hybrid | Self::H264References => Ok(()),
            Self::Vp8 | Self::Vp9 => legato_vpx::check().map_err(failed),
        }
    }
}

impl FromStr for Codec {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self, Error> {
        Self::NAMED.into_iter().find(|codec| codec.name() == name).ok_or_else(|| {
            let names = Self::NAMED.map(Self::name).join(", ");
            Error(format!("codec {name}: one of {names} is needed"))
        })
    }
}

fn failed(error: impl std::fmt::Display) -> Error {
    Error(error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codecs_are_found_by_name() {
        assert_eq!("vp8".parse(), Ok(Codec::Vp8));
        assert_eq!(Codec::default().name(), "h264");
        let refused = "av1".parse::<Codec>().unwrap_err().to_string();
        assert_eq!(refused, "codec av1: one of h264, vp8, vp9, hybrid is needed");
    }

    #[test]
    fn h264_alone_recovers_by_references() {
        assert_eq!(Codec::H264.recovering_by(Recovery::References), Ok(Codec::H264References));
        assert_eq!(Codec::Vp9.recovering_by(Recovery::Nack), Ok(Codec::Vp9));
        let refused = Codec::Hybrid.recovering_by(Recovery::References).unwrap_err().to_string();
        assert_eq!(refused, "recovery references: not of codec hybrid: codec h264 is needed");
        let unknown = "rtx".parse::<Recovery>().unwrap_err().to_string();
        assert_eq!(unknown, "recovery rtx: one of nack, references is needed");
    }

    /// What one end codes the other shows, in every codec of this build.
    #[test]
    fn coded_pictures_are_shown_again() {
        let (width, height) = (64_usize, 48_usize);
        let picture = vec![100; width * height * 3 / 2];
        for codec in Codec::ALL.into_iter().filter(|codec| codec.check().is_ok()) {
            let mut encoder = LiveEncoder::open(codec, (64, 48), 30.0, 100_000).unwrap();
            let mut playback = Playback::new(codec).unwrap();
            for number in 0..3 {
                let coded = encoder.encode(&picture, number * 33, 30.0, 100_000, false).unwrap();
                let shown = playback.decode(&coded.bytes).unwrap().unwrap();
                assert_eq!((shown.width, shown.height, coded.keyframe), (width, height, number == 0));
                let error = shown.samples.iter().map(|&sample| sample.abs_diff(100)).max();
                assert!(error <= Some(2), "{}: off by {error:?}", codec.name());
            }
            assert!(encoder.encode(&picture[1..], 99, 30.0, 100_000, false).is_err());
        }
    }
}
