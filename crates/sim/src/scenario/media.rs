//! What a call sends.

use super::values::{Refusal, choice, some_choice};
use legato_media::DecoderKind;
use legato_media::encoder::x264;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The source and its coding.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct VideoSpec {
    /// A profile: a path relative to the scenario's folder. Absent: the statistical source, without pixels.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub clip: Option<String>,
    /// Instead of a clip: logs of frame sizes at several bitrates, the ladder of RFC 8593's trace-driven source, without
    /// pixels.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub frame_sizes: Vec<FrameSizesSpec>,
    /// The encoder of the clip. Absent: x264 if `vbv_ms` is given, else OpenH264.
    #[serde(deserialize_with = "some_choice", skip_serializing_if = "Option::is_none")]
    #[schemars(skip)]
    pub encoder: Option<EncoderKind>,
    /// The decoder of the clip.
    #[serde(deserialize_with = "choice")]
    #[schemars(skip)]
    pub decoder: DecoderKind,
    /// x264's rate buffer; with a short one, frame sizes follow the target closely. Absent: 500 ms.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 20, max = 10_000))]
    pub vbv_ms: Option<u32>,
    /// Adapt the resolution to the quantiser. Absent: on in simulated calls; off in real ones, where the key frame of a
    /// new size is seen as a freeze.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub adapt_resolution: Option<bool>,
    /// Maximum height in rows.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_height: Option<u16>,
    /// Height in rows of the pictures of `grace_standin`, whose figures are per pixel and hold for any size. Absent: the
    /// largest height of the profile.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 16, max = 4_320))]
    pub standin_height: Option<u16>,
    /// The picture of the clip that calls start with, modulo its length; absent: drawn from the seed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub first_picture: Option<u32>,
    /// Frame rate of the statistical source; clips have their own.
    #[schemars(range(min = 1, max = 240))]
    pub fps: u32,
    /// Pictures a second at which a clip is played. Absent: its own.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 240))]
    pub clip_fps: Option<u32>,
    /// Interval of key frames, in frames, and no others; absent: on request only.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 1_000_000))]
    pub gop_frames: Option<u32>,
}

/// The encoder models of measured clips.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EncoderKind {
    /// The stand-in for a loss-tolerant codec; goes with the decoder `loss_tolerant`.
    GraceStandin,
    /// The hybrid codec as it was measured on the clip; goes with the decoder `loss_tolerant`.
    Hybrid,
    /// The rate control of the JM reference encoder, which follows two quantisers per frame; over the x264 tables.
    Jm,
    /// OpenH264, which follows a new target within three frames, as the encoders of calls do (docs/measured/encoders.md).
    #[default]
    #[serde(rename = "openh264")]
    OpenH264,
    /// x264 with a rate buffer, which overshoots a target that falls for about as long as the buffer lasts.
    X264,
}

/// A log of frame sizes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FrameSizesSpec {
    /// The file, relative to the scenario's folder.
    pub file: String,
    /// The target bitrate at which it was recorded.
    pub bitrate_bps: u64,
}

/// A constant-rate audio stream.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct AudioSpec {
    /// Payload bitrate, without headers.
    #[schemars(range(min = 0, max = 1_000_000))]
    pub bitrate_bps: u64,
    /// Interval of packets.
    #[schemars(range(min = 1, max = 1_000))]
    pub interval_ms: u32,
}

impl Default for VideoSpec {
    fn default() -> Self {
        Self {
            clip: None,
            frame_sizes: Vec::new(),
            encoder: None,
            decoder: DecoderKind::default(),
            vbv_ms: None,
            adapt_resolution: None,
            max_height: None,
            standin_height: None,
            first_picture: None,
            fps: 30,
            clip_fps: None,
            gop_frames: None,
        }
    }
}

impl Default for AudioSpec {
    /// RFC 8867 section 4.3.
    fn default() -> Self {
        Self { bitrate_bps: 20_000, interval_ms: 20 }
    }
}

impl EncoderKind {
    /// As scenarios and tables write it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::GraceStandin => "grace_standin",
            Self::Hybrid => "hybrid",
            Self::Jm => "jm",
            Self::OpenH264 => "openh264",
            Self::X264 => "x264",
        }
    }
}

/// x264's rate buffer where none is given.
const X264_VBV_MS: u32 = 500;

impl VideoSpec {
    /// The encoder of the clip. A file that gives a rate buffer and no encoder means the one that has a buffer.
    pub fn encoder(&self) -> EncoderKind {
        self.encoder.unwrap_or(if self.vbv_ms.is_some() { EncoderKind::X264 } else { EncoderKind::default() })
    }

    /// x264's rate buffer.
    pub fn x264(&self) -> x264::Config {
        x264::Config { vbv_ms: self.vbv_ms.unwrap_or(X264_VBV_MS) }
    }

    /// Writes out the choices that were left open.
    pub(super) fn settle(&mut self) {
        self.encoder = Some(self.encoder());
        if self.encoder == Some(EncoderKind::X264) {
            self.vbv_ms = Some(self.x264().vbv_ms);
        }
    }

    pub(super) fn check(&self) -> Result<(), Refusal> {
        if self.clip.is_some() && !self.frame_sizes.is_empty() {
            let message = "video.clip and video.frame_sizes exclude one another".to_owned();
            return Err(("video".to_owned(), message));
        }
        Ok(())
    }
}
