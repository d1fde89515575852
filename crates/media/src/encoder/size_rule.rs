//! When pictures become smaller or larger: smaller when the quantiser stays coarse, larger when it stays fine.
//!
//! The rule of libwebrtc's quality scaler: every two seconds, with at least sixty frames seen, a mean quantiser above one
//! threshold steps down the ladder of sizes and one at or below another steps up. After a step down the next decision
//! comes only after five seconds. A call that starts at a low bitrate starts small. The encoder models of simulations
//! (`Switching`) and the encoders of real calls use the same object; a step opens a new stream, which begins with a key
//! frame. Missing: a browser's other rules, steps because of the processor or the frame rate.

use legato_units::{DataRate, TimeDelta, Timestamp};
use std::sync::Arc;

/// Mean quantisers, in the codec's own steps, that change the size.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Thresholds {
    /// At or below this, step up.
    pub low_qp: f32,
    /// Above this, step down.
    pub high_qp: f32,
}

/// Chooses among the sizes of a ladder.
#[derive(Clone, Debug)]
pub struct SizeRule {
    /// Rows, smallest first.
    heights: Arc<[u16]>,
    thresholds: Thresholds,
    place: usize,
    begun: bool,
    qp_sum: f32,
    qp_count: u32,
    /// When the quantiser is next evaluated.
    due: Option<Timestamp>,
    switches: u32,
}

impl SizeRule {
    /// Starts with the largest of `heights`, which are rows, smallest first; `None`: the list is empty.
    pub fn new(heights: &[u16], thresholds: Thresholds) -> Option<Self> {
        let place = heights.len().checked_sub(1)?;
        let heights = heights.into();
        Some(Self { heights, thresholds, place, begun: false, qp_sum: 0.0, qp_count: 0, due: None, switches: 0 })
    }

    /// A frame is about to be coded at `bitrate`; returns whether its size differs from that of the one before.
    #[inline]
    pub fn steps(&mut self, now: Timestamp, bitrate: DataRate) -> bool {
        let before = self.place;
        if !self.begun {
            self.begun = true;
            self.start_at(bitrate);
        }
        self.look(now);
        self.place != before
    }

    /// The frame was coded with this quantiser.
    #[inline]
    pub fn coded(&mut self, qp: f32) {
        self.qp_sum += qp;
        self.qp_count += 1;
    }

    /// The size's place on the ladder, 0 the smallest.
    #[inline]
    pub fn place(&self) -> usize {
        self.place
    }

    /// Its rows.
    pub fn height(&self) -> u16 {
        self.heights[self.place]
    }

    /// Steps taken since the first frame.
    pub fn switches(&self) -> u32 {
        self.switches
    }

    /// The largest size for a first bitrate.
    fn start_at(&mut self, bitrate: DataRate) {
        let max = START_HEIGHTS.iter().find(|&&(below_bps, _)| bitrate.as_bps() < below_bps).map(|&(_, height)| height);
        let Some(max) = max else { return };
        while self.place > 0 && self.height() > max {
            self.place -= 1;
        }
    }

    fn look(&mut self, now: Timestamp) {
        let due = *self.due.get_or_insert(now + PERIOD);
        if now < due || self.qp_count < FEWEST_FRAMES {
            return;
        }
        let mean = self.qp_sum / self.qp_count as f32;
        self.due = Some(now + PERIOD);
        (self.qp_sum, self.qp_count) = (0.0, 0);
        if mean > self.thresholds.high_qp && self.place > 0 {
            self.place -= 1;
            self.due = Some(now + PERIOD_AFTER_DOWN);
            self.switches += 1;
        } else if mean <= self.thresholds.low_qp && self.place + 1 < self.heights.len() {
            self.place += 1;
            self.switches += 1;
        }
    }
}

const PERIOD: TimeDelta = TimeDelta::from_secs(2);
const PERIOD_AFTER_DOWN: TimeDelta = TimeDelta::from_secs(5);
const FEWEST_FRAMES: u32 = 60;
/// Below these bitrates a call starts with at most this many rows.
const START_HEIGHTS: [(u64, u16); 2] = [(250_000, 240), (500_000, 480)];

#[cfg(test)]
mod tests {
    use super::*;

    const LADDER: [u16; 5] = [180, 270, 360, 540, 720];
    const THRESHOLDS: Thresholds = Thresholds { low_qp: 24.0, high_qp: 37.0 };

    /// When sizes changed and to what, for frames every 33 ms with the quantisers `qp` gives for the time in ms.
    fn steps(seconds: i64, bps: u64, qp: impl Fn(i64) -> f32) -> Vec<(i64, u16)> {
        let mut rule = SizeRule::new(&LADDER, THRESHOLDS).unwrap();
        let mut changed = Vec::new();
        for ms in (0..seconds * 1_000).step_by(33) {
            if rule.steps(Timestamp::from_millis(ms), DataRate::from_bps(bps)) {
                changed.push((ms, rule.height()));
            }
            rule.coded(qp(ms));
        }
        changed
    }

    #[test]
    fn coarse_quantisers_step_down_after_two_seconds_and_then_after_five() {
        assert_eq!(steps(13, 1_000_000, |_| 40.0), [(2_013, 540), (7_029, 360), (12_045, 270)]);
        assert!(steps(13, 1_000_000, |_| 37.0).is_empty());
    }

    #[test]
    fn fine_ones_step_up_again_every_two_seconds_up_to_the_top() {
        let stepped = steps(14, 1_000_000, |ms| if ms < 5_000 { 40.0 } else { 20.0 });
        // From 2 s to 7 s the mean is of both.
        assert_eq!(stepped, [(2_013, 540), (9_042, 720)]);
    }

    #[test]
    fn a_low_first_bitrate_starts_small() {
        assert_eq!(steps(1, 249_999, |_| 30.0), [(0, 180)]);
        assert_eq!(steps(1, 499_999, |_| 30.0), [(0, 360)]);
        assert!(steps(1, 500_000, |_| 30.0).is_empty());
    }

    #[test]
    fn a_ladder_of_one_never_steps_and_an_empty_one_is_refused() {
        let mut rule = SizeRule::new(&[720], THRESHOLDS).unwrap();
        for ms in (0..20_000).step_by(33) {
            assert!(!rule.steps(Timestamp::from_millis(ms), DataRate::from_bps(100_000)));
            rule.coded(51.0);
        }
        assert!(SizeRule::new(&[], THRESHOLDS).is_none());
    }
}
