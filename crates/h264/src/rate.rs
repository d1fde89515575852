//! The quantisers of frames that recover, and of the thirty after them.
//!
//! OpenH264's rate control foresees a frame from the picture before it and lets the quantiser rise by five steps from one
//! frame to the next. A frame that is predicted from an acknowledged one differs from it by all that has moved since, and
//! became up to five times as large as its share of the bitrate. A receiver holds all pictures back for about as long as
//! the largest takes. So a frame that recovers is coded with a quantiser from here, by what such frames took before, and
//! so are those after it, whose references are coarser than others. Where nothing is lost the encoder's own control is
//! left alone, as of key frames that were requested.

/// How large frames become, and their excess over their shares.
#[derive(Clone, Debug)]
pub(crate) struct Rate {
    /// Bytes at quantiser 0 of a frame that is predicted from the one before; `None`: there was none.
    next_bytes: Option<f64>,
    /// Of one that recovers.
    recovering_bytes: Option<f64>,
    /// The excess of frames with quantisers from here over their shares, in bytes; negative if they left some.
    debt_bytes: f64,
    /// The quantiser of the frame before.
    last: u8,
    /// Frames that are still to have quantisers from here.
    frames: u32,
}

/// The coarsest quantiser of H.264, and the finest one of OpenH264's rate control.
const COARSEST: u8 = 51;
const FINEST: u8 = 12;
/// From one frame to the next it becomes finer by so much at most: a frame finer than its reference corrects it.
const MAX_FINER: u8 = 4;
/// A frame is so much smaller at the next coarser quantiser: half in five steps.
const PER_STEP: f64 = 0.870_550_563_296_124_1;
/// Before a recovering one was coded, how many times as many bytes it takes as another.
const FIRST_RATIO: f64 = 4.0;
/// Frames after one that recovers.
const FRAMES: u32 = 30;
/// Frames in which a debt is paid back, and the limits of what a frame has meanwhile, in shares.
const PAID_BACK_FRAMES: f64 = 8.0;
const MIN_SHARES: f64 = 0.5;
const MAX_SHARES: f64 = 1.25;
/// The most that is saved, in shares.
const MAX_SAVED_SHARES: f64 = 1.0;
/// Of the newest frame in means.
const WEIGHT: f64 = 0.5;

impl Rate {
    /// Nothing was coded.
    pub(crate) fn new() -> Self {
        Self { next_bytes: None, recovering_bytes: None, debt_bytes: 0.0, last: COARSEST, frames: 0 }
    }

    /// The next frame's quantiser; `None`: the encoder's own rate control chooses it.
    pub(crate) fn quantiser(&self, recovers: bool, share_bytes: f64) -> Option<u8> {
        if recovers {
            let bytes = self.recovering_bytes.or(self.next_bytes.map(|bytes| bytes * FIRST_RATIO));
            return Some(bytes.map_or(COARSEST, |bytes| finest_within(bytes, share_bytes, FINEST)));
        }
        let bytes = self.next_bytes.filter(|_| self.frames > 0)?;
        let shares = (1.0 - self.debt_bytes / share_bytes / PAID_BACK_FRAMES).clamp(MIN_SHARES, MAX_SHARES);
        Some(finest_within(bytes, share_bytes * shares, self.last.saturating_sub(MAX_FINER).max(FINEST)))
    }

    /// A frame was coded that is predicted from another.
    pub(crate) fn take(&mut self, recovers: bool, quantiser: u8, bytes: usize, share_bytes: f64) {
        self.frames = if recovers { FRAMES } else { self.frames.saturating_sub(1) };
        let debt_bytes = self.debt_bytes + bytes as f64 - share_bytes;
        self.debt_bytes = if self.frames > 0 { debt_bytes.max(-share_bytes * MAX_SAVED_SHARES) } else { 0.0 };
        self.last = quantiser;
        let mean = if recovers { &mut self.recovering_bytes } else { &mut self.next_bytes };
        let bytes = at_zero(bytes, quantiser);
        *mean = Some(mean.map_or(bytes, |mean| mean + WEIGHT * (bytes - mean)));
    }
}

/// For a frame with so many bytes at a quantiser, the bytes at quantiser 0.
fn at_zero(bytes: usize, quantiser: u8) -> f64 {
    (0..quantiser).fold(bytes as f64, |bytes, _| bytes / PER_STEP)
}

/// The finest quantiser, from `finest` on, at which a frame with so many bytes at quantiser 0 is within a budget.
fn finest_within(mut bytes: f64, budget_bytes: f64, finest: u8) -> u8 {
    let mut quantiser = 0;
    while quantiser < finest || bytes > budget_bytes && quantiser < COARSEST {
        bytes *= PER_STEP;
        quantiser += 1;
    }
    quantiser
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHARE: f64 = 3_000.0;

    /// Frames of 3,000 bytes at quantiser 30.
    fn begun() -> Rate {
        let mut rate = Rate::new();
        (0..20).for_each(|_| rate.take(false, 30, 3_000, SHARE));
        rate
    }

    #[test]
    fn without_recovering_frames_the_encoder_chooses() {
        assert_eq!(begun().quantiser(false, SHARE), None);
        assert_eq!(Rate::new().quantiser(true, SHARE), Some(COARSEST));
    }

    #[test]
    fn a_recovering_frame_has_its_share_by_what_such_frames_took() {
        let mut rate = begun();
        // Four times as large: two halvings of five steps.
        assert_eq!(rate.quantiser(true, SHARE), Some(40));
        // It took as much as its share at 36.
        rate.take(true, 36, 3_000, SHARE);
        assert_eq!(rate.quantiser(true, SHARE), Some(36));
        assert_eq!(rate.quantiser(true, 2.0 * SHARE), Some(31));
    }

    #[test]
    fn frames_after_it_become_finer_step_by_step_and_pay_for_it() {
        let (mut rate, mut free) = (begun(), begun());
        rate.take(true, 40, 9_000, SHARE);
        free.take(true, 40, 3_000, SHARE);
        assert_eq!((rate.quantiser(false, SHARE), free.quantiser(false, SHARE)), (Some(36), Some(36)));
        rate.take(false, 32, 3_000, SHARE);
        free.take(false, 32, 3_000, SHARE);
        // A cost of 3,000 bytes at 31.1; one still owes two shares and gives a quarter of this one, 2.1 steps.
        assert_eq!((rate.quantiser(false, SHARE), free.quantiser(false, SHARE)), (Some(34), Some(32)));
    }

    #[test]
    fn after_thirty_frames_the_encoder_chooses_again() {
        let mut rate = begun();
        rate.take(true, 40, 3_000, SHARE);
        for _ in 0..FRAMES {
            assert!(rate.quantiser(false, SHARE).is_some());
            rate.take(false, 30, 3_000, SHARE);
        }
        assert_eq!(rate.quantiser(false, SHARE), None);
    }
}
