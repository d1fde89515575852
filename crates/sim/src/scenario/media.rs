//! What a call sends.

use serde::{Deserialize, Serialize};

/// What is sent and how it is coded.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct VideoSpec {
    /// A profile: a path, relative to the scenario's folder. Absent: no pixels, encoder
    /// `statistical`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub clip: Option<String>,
    /// Instead of a clip: logs of frame sizes at several bitrates, the ladder of RFC 8593's
    /// trace-driven source. No pixels either.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub frame_sizes: Vec<FrameSizesSpec>,
    /// `x264`, `openh264`, or `grace_standin` with the decoder `loss_tolerant`.
    pub encoder: String,
    /// `strict`, `sliced` or `loss_tolerant`.
    pub decoder: String,
    /// The encoder's buffer: short ones follow the target closely.
    pub vbv_ms: u32,
    /// Change the resolution with the quantiser. Absent: simulated calls do, real ones, whose viewers see each key
    /// frame of another size as a freeze, do not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub adapt_resolution: Option<bool>,
    /// Code no more rows than this.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_height: Option<u16>,
    /// Rows of what `grace_standin` codes: its figures are of pixels, so they hold for any size. Absent: the
    /// largest that the clip was measured at.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub standin_height: Option<u16>,
    /// The picture of the clip that calls begin with, counted round and round; absent: drawn from the seed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub first_picture: Option<u32>,
    /// Pictures a second of the statistical source; clips have their own.
    pub fps: u32,
    /// A key frame every so many frames and at no other time; absent: when one is asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gop_frames: Option<u32>,
}

/// A log of frame sizes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FrameSizesSpec {
    /// The file, relative to the scenario's folder.
    pub file: String,
    /// The target it was made at.
    pub bitrate_bps: u64,
}

/// A constant-rate audio stream.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct AudioSpec {
    /// Coded, without headers.
    pub bitrate_bps: u64,
    /// One packet each.
    pub interval_ms: u32,
}

impl Default for VideoSpec {
    fn default() -> Self {
        Self {
            clip: None,
            frame_sizes: Vec::new(),
            encoder: "x264".to_owned(),
            decoder: "strict".to_owned(),
            vbv_ms: 500,
            adapt_resolution: None,
            max_height: None,
            standin_height: None,
            first_picture: None,
            fps: 30,
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
