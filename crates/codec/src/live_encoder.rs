//! An encoder with a live bitrate, of any codec.

use crate::{Coded, Error, PacketCost, PacketReport};

/// What an encoder is opened for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct EncoderSettings {
    /// Luma columns and rows.
    pub size: (u16, u16),
    /// Pictures per second.
    pub frame_rate: f32,
    /// The bitrate that it begins at, in bit/s.
    pub bitrate_bps: u32,
}

/// How a picture is to be coded.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Wanted {
    /// When it was captured, in ms.
    pub time_ms: i64,
    /// Pictures per second.
    pub frame_rate: f32,
    /// In bit/s.
    pub bitrate_bps: u32,
    /// As a key frame.
    pub keyframe: bool,
}

/// A stream that is coded as it is captured.
pub trait LiveEncoder: Send + Sync {
    /// Code one picture of planar 4:2:0.
    fn encode(&mut self, picture: &[u8], wanted: Wanted) -> Result<Coded, Error>;

    /// Go on with pictures of another size, which begin with a key frame.
    fn resize(&mut self, settings: EncoderSettings) -> Result<(), Error>;

    /// What packets cost, for a codec that makes them itself; by default those of 1200 bytes.
    fn set_packet_cost(&mut self, _cost: PacketCost) {}

    /// Whether the next frames must not be larger than their shares of the bitrate. OpenH264 and libvpx know no such
    /// limit.
    fn set_strict(&mut self, _strict: bool) {}

    /// Feedback on packets, for a codec that predicts from what the receiver has.
    fn take_reports(&mut self, _reports: &[PacketReport]) -> Result<(), Error> {
        Ok(())
    }
}
