//! What the picture a frame is predicted from brings along, beyond the tables' steady quantiser.
//!
//! A table says what a frame costs and looks like where every frame has its quantiser. A live
//! stream's quantisers move: after finer frames less is left to code and the picture looks better
//! than its quantiser, for as long as blocks are carried on unchanged.

/// How strongly an encoder's frames depend on the quantisers before them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Carry {
    /// log2 of size that a live stream costs over the tables: a quantiser that moves a little with
    /// every frame codes blocks anew that a constant one would leave.
    pub live_log2: f32,
    /// log2 of size for each QP by which recent frames were coarser.
    pub size_log2_per_qp: f32,
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
}

impl Reference {
    /// What the reference adds to log2 of the size of a frame at `qp`.
    #[inline]
    pub(super) fn log2_size(&self, carry: &Carry, qp: f32) -> f32 {
        carry.live_log2 + carry.size_log2_per_qp * (self.fast_qp - qp)
    }
    /// What the reference adds to the quality of a frame at `qp`, in dB.
    #[inline]
    pub(super) fn quality_db(&self, carry: &Carry, qp: f32) -> f32 {
        let gained = carry.fast_db_per_qp * (qp - self.fast_qp) + carry.slow_db_per_qp * (qp - self.slow_qp);
        gained.clamp(-MOST_DB, MOST_DB)
    }
    /// A frame was coded at `qp`; a key frame forgets what was before.
    #[inline]
    pub(super) fn update(&mut self, qp: f32, keyframe: bool) {
        if keyframe {
            *self = Self { fast_qp: qp, slow_qp: qp };
        } else {
            self.fast_qp += (1.0 - FAST_MEMORY) * (qp - self.fast_qp);
            self.slow_qp += (1.0 - SLOW_MEMORY) * (qp - self.slow_qp);
        }
    }
}

/// Fitted on random walks of forced quantisers and live streams of Foreman and a webcam signer.
const FAST_MEMORY: f32 = 0.4;
const SLOW_MEMORY: f32 = 0.93;
/// No carried gain or loss is larger.
const MOST_DB: f32 = 4.0;
