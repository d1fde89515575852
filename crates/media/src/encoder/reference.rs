//! The effect of a frame's reference picture, beyond the tables' steady quantiser.
//!
//! A table gives cost and quality at a constant quantiser. A live stream's quantisers move: after
//! finer frames less is left to code and the picture looks better than its quantiser, for as long
//! as blocks are carried over unchanged.

use crate::profile::LevelTable;
use legato_units::elementary::{exp2, log2};

/// How strongly an encoder's frames depend on the quantisers before them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Carry {
    /// log2 of the size that a live stream costs over the tables.
    pub live_log2: f32,
    /// log2 of size for each QP by which recent frames were coarser.
    pub size_log2_per_qp: f32,
    /// The same for each QP by which they were finer.
    pub fresh_log2_per_qp: f32,
    /// The same for each QP by which the last second or so was finer: the picture on display is good enough to be kept.
    pub finer_log2_per_qp: f32,
    /// Added to that right after a key frame; it fades as the last second does.
    pub key_log2_per_qp: f32,
    /// A key frame looks as if its quantiser had been this much finer: it leaves less to the frames after it.
    pub key_finer_qp: f32,
    /// Extra bits for refining coarser frames, for each QP, in frames of typical size: even a picture in which nothing
    /// moved is coded again if it may be finer than the one on display.
    pub refining_per_qp: f32,
    /// SSIM in dB for each QP by which recent frames were finer.
    pub fast_db_per_qp: f32,
    /// The same for the last second or so, whose still blocks are still on display.
    pub slow_db_per_qp: f32,
}

/// The quantisers behind the picture on display.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Reference {
    fast_qp: f32,
    slow_qp: f32,
    /// 1 at a key frame, fading.
    key: f32,
}

impl Reference {
    /// log2 of the size in bits of the predicted frame of a table's row at `qp`.
    #[inline]
    pub(super) fn log2_bits(&self, carry: &Carry, table: &LevelTable, row: usize, qp: f32) -> f32 {
        let coarser = self.fast_qp - qp;
        let own = table.log2_bytes(row, qp)
            + 3.0
            + carry.live_log2
            + if coarser < 0.0 { carry.fresh_log2_per_qp } else { carry.size_log2_per_qp } * coarser
            + (carry.finer_log2_per_qp + carry.key_log2_per_qp * self.key)
                * (self.slow_qp - qp).clamp(-MAX_FINER_QP, 0.0);
        if coarser <= 0.0 {
            return own;
        }
        let refining = carry.refining_per_qp * coarser * exp2(table.log2_typical(qp) + 3.0 - own);
        own + log2(1.0 + refining)
    }
    /// What the reference adds to the quality of a frame at `qp`, in dB.
    #[inline]
    pub(super) fn quality_db(&self, carry: &Carry, qp: f32) -> f32 {
        let gained = carry.fast_db_per_qp * (qp - self.fast_qp) + carry.slow_db_per_qp * (qp - self.slow_qp);
        gained.clamp(-MAX_DB, MAX_DB)
    }
    /// A frame was coded at `qp`; a key frame forgets earlier frames.
    #[inline]
    pub(super) fn update(&mut self, carry: &Carry, qp: f32, keyframe: bool) {
        if keyframe {
            *self = Self { fast_qp: qp, slow_qp: qp - carry.key_finer_qp, key: 1.0 };
        } else {
            self.fast_qp += (1.0 - FAST_MEMORY) * (qp - self.fast_qp);
            self.slow_qp += (1.0 - SLOW_MEMORY) * (qp - self.slow_qp);
            self.key *= SLOW_MEMORY;
        }
    }
}

/// Fitted on random walks of forced quantisers and live streams of Foreman and a webcam signer.
const FAST_MEMORY: f32 = 0.4;
const SLOW_MEMORY: f32 = 0.93;
/// A picture finer than this many QP leaves no less to code.
const MAX_FINER_QP: f32 = 4.0;
/// The maximum carried gain or loss.
const MAX_DB: f32 = 4.0;
