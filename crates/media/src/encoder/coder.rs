//! What the table-driven encoders share: the table and row of a picture, and the resulting coded
//! frame.

use super::EncodedFrame;
use crate::profile::{LevelTable, Profile, Rung};
use crate::quality::{PSNR_DB_MAX, SSIM_DB_MAX};
use crate::{Quality, SourceFrame};
use legato_units::{DataRate, DataSize};
use std::sync::Arc;

/// A profile being coded by one encoder at one size.
#[derive(Clone, Debug)]
pub(super) struct Coder {
    profile: Arc<Profile>,
    rung: usize,
    encoder: usize,
    sequence: u64,
}

/// Where a picture's values are.
#[derive(Clone, Copy, Debug)]
pub(super) struct Picture {
    pub(super) keyframe: bool,
    pub(super) row: usize,
    /// x264's lookahead cost.
    pub(super) cost: f32,
}

impl Picture {
    #[inline]
    pub(super) fn table<'a>(&self, coder: &'a Coder) -> &'a LevelTable {
        let tables = &coder.rung().encoders[coder.encoder];
        if self.keyframe { &tables.key } else { &tables.inter }
    }
}

impl Coder {
    /// `None` if the profile has no such rung or the rung has no tables of the encoder.
    pub(super) fn new(profile: Arc<Profile>, rung: usize, encoder: &str) -> Option<Self> {
        let encoder = profile.rungs.get(rung)?.encoders.iter().position(|tables| tables.name == encoder)?;
        Some(Self { profile, rung, encoder, sequence: 0 })
    }

    #[inline]
    pub(super) fn rung(&self) -> &Rung {
        &self.profile.rungs[self.rung]
    }
    pub(super) fn fps(&self) -> f32 {
        self.profile.content.frame_rate.as_f64() as f32
    }

    /// The next picture; the first of a stream is a key frame.
    #[inline]
    pub(super) fn picture(&self, frame: &SourceFrame, keyframe: bool) -> Picture {
        let rung = self.rung();
        let content = frame.content as usize;
        if !keyframe && self.sequence > 0 {
            return Picture { keyframe: false, row: content, cost: rung.satd[content] };
        }
        let tables = &rung.encoders[self.encoder];
        let stride = tables.key_stride as usize;
        let row = ((content + stride / 2) / stride).min(tables.key.rows() - 1);
        Picture { keyframe: true, row, cost: rung.key_satd[row] }
    }

    /// The resulting frame; `gained_db` is what the reference adds to the tables' quality.
    #[inline]
    pub(super) fn finish(
        &mut self,
        frame: &SourceFrame,
        picture: Picture,
        qp: f32,
        bits: f32,
        gained_db: f32,
        bitrate: DataRate,
    ) -> EncodedFrame {
        let cell = picture.table(self).at(picture.row, qp);
        let rung = self.rung();
        let coded = EncodedFrame {
            acknowledged: None,
            frame: frame.frame,
            sequence: self.sequence,
            content: frame.content,
            rung: self.rung as u8,
            qp,
            size: DataSize::from_bytes((bits * 0.125).max(SMALLEST_BYTES) as u64),
            head_bytes: 0,
            keyframe: picture.keyframe,
            width: rung.width,
            height: rung.height,
            psnr_db: Some((cell.psnr_db + gained_db).clamp(0.0, PSNR_DB_MAX)),
            quality: Some(Quality {
                ssim_db: (cell.shown_ssim_db + gained_db).clamp(0.0, SSIM_DB_MAX),
                psnr_db: (cell.shown_psnr_db + gained_db).clamp(0.0, PSNR_DB_MAX),
            }),
            bitrate,
        };
        self.sequence += 1;
        coded
    }
}

/// Headers of a frame in which every block is skipped.
const SMALLEST_BYTES: f32 = 12.0;
