//! Profiles: what real encoders made of a clip, measured once (docs/reference/profile-format.md).
//!
//! A profile is shared by every call that shows its clip; encoders and decoders only read it.

mod arrays;
mod hybrid;
mod parse;
mod table;

pub use hybrid::{HybridTables, Inherited};
pub use parse::ProfileError;
pub use table::{Cell, Damage, FreezeTable, HitTable, LevelTable, LossTable};

use crate::Content;
use std::path::Path;
use std::sync::OnceLock;

/// A measured clip.
#[derive(Clone, Debug, PartialEq)]
pub struct Profile {
    /// The name users type.
    pub name: String,
    /// The order of the pictures.
    pub content: Content,
    /// The resolution ladder, smallest height first, at least one.
    pub rungs: Vec<Rung>,
    /// The quality of a picture that stays on display.
    pub freeze: FreezeTable,
    /// PSNR over SSIM as `grace-standin` reads it from the tables, once for all calls that show the clip.
    pub(crate) psnr_line: OnceLock<(f32, f32)>,
}

/// One size of the ladder.
#[derive(Clone, Debug, PartialEq)]
pub struct Rung {
    /// Luma columns.
    pub width: u16,
    /// Luma rows.
    pub height: u16,
    /// Height relative to the source clip's: above 0.5 the source's own coding shows.
    pub scale: f32,
    /// The encoders measured at this size, by quantiser.
    pub encoders: Vec<EncoderTables>,
    /// The hybrid codec at this size, by budget, if it was measured.
    pub hybrid: Option<HybridTables>,
    /// x264's lookahead cost of each picture, predicted from the one before.
    pub satd: Vec<f32>,
    /// The same for every `key_stride`-th picture on its own.
    pub key_satd: Vec<f32>,
    /// The effect of losing parts of a frame.
    pub loss: LossTable,
}

/// The results of one encoder on the clip at one size.
#[derive(Clone, Debug, PartialEq)]
pub struct EncoderTables {
    /// `"x264"` or `"openh264"`.
    pub name: String,
    /// Frames predicted from the one before, one row per picture.
    pub inter: LevelTable,
    /// Key frames, a row every `key_stride` pictures.
    pub key: LevelTable,
    /// Pictures between rows of `key`.
    pub key_stride: u32,
}

impl Rung {
    /// The tables of an encoder by name.
    pub fn tables(&self, encoder: &str) -> Option<&EncoderTables> {
        self.encoders.iter().find(|tables| tables.name == encoder)
    }
    /// Macroblocks of 16 x 16 in a picture.
    pub fn macroblocks(&self) -> u32 {
        u32::from(self.width).div_ceil(16) * u32::from(self.height).div_ceil(16)
    }
}

impl Profile {
    /// Read a profile file.
    pub fn read(path: &Path) -> Result<Self, ProfileError> {
        parse::read(path)
    }
    /// Parse the bytes of a profile; `file` names them in errors.
    pub fn parse(file: &str, bytes: &[u8]) -> Result<Self, ProfileError> {
        parse::parse(file, bytes)
    }
    /// The encoders that were measured at every size of the ladder.
    pub fn encoders(&self) -> impl Iterator<Item = &str> {
        self.rungs[0].encoders.iter().map(|tables| tables.name.as_str())
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::{FrameRate, Playback};

    /// One picture at one size, in the hybrid codec alone.
    pub(crate) fn example() -> Profile {
        let rung = Rung {
            width: 320,
            height: 180,
            scale: 1.0,
            encoders: Vec::new(),
            hybrid: Some(HybridTables::example()),
            satd: Vec::new(),
            key_satd: Vec::new(),
            loss: LossTable::default(),
        };
        Profile {
            name: "example".to_owned(),
            content: Content {
                frame_rate: FrameRate::THIRTY,
                frames: 1,
                playback: Playback::Loop,
                complexity: vec![0.0].into(),
            },
            rungs: vec![rung],
            freeze: FreezeTable { lags: vec![1.0, 3.0], stride: 4, values: Box::default() },
            psnr_line: OnceLock::new(),
        }
    }
}
