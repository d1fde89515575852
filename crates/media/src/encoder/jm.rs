//! The rate control of the JM reference encoder, frame layer without B-frames (its `RC_MODE_0`), as [li2003] proposes
//! it and JM 12.2 has it, driving the x264 tables of a profile instead of a codec.
//!
//! It believes that a frame's bits over the mean absolute difference (MAD) of its residual are a quadratic of one over
//! the quantiser step. Per predicted frame it takes the bits that would bring a virtual buffer, drained at the bitrate,
//! to its target level. It predicts the MAD from the last frame's, and solves the quadratic for the step, at most two
//! quantisers from the last frame's. Key frames, and the first frame after one, have the group's own quantiser,
//! whatever the bitrate then is. Nothing is corrected inside a frame: a target that moves fast is followed two
//! quantisers, some quarter of a frame's bits, at a time.
//!
//! Not the JM's: residual and headers are unknown here. The MAD is the cost of x264's lookahead per pixel, a residual
//! after motion compensation at half size. Unlike the JM's it does not grow with a coarser reference; all bits count as
//! residual. The tables are x264's, with its rate-distortion decisions.
//!
//! Controllers are given this MAD as a picture's complexity.
//!
//! Missing: B-frames, basic units, fields, the upper limit of the buffer (two seconds of bits).

mod quadratic;

use super::reference::Reference;
use super::x264::CARRY;
use super::{Coder, EncodedFrame, Encoder, EncoderBudget};
use crate::SourceFrame;
use crate::profile::Profile;
use legato_control::estimate::complexity::Complexity;
use legato_units::elementary::{exp2, log2};
use legato_units::{DataRate, Timestamp};
use quadratic::Quadratic;
use std::sync::Arc;

/// The model of one JM stream at one size.
#[derive(Clone, Debug)]
pub struct Jm {
    coder: Coder,
    control: RateControl,
    reference: Reference,
}

impl Jm {
    /// A stream of `profile` at `rung`; `None` if the profile has no x264 tables. A group of pictures has `gop_frames`;
    /// without a distance of key frames, buffer and group quantiser count in the same [`GOP_FRAMES`].
    pub fn new(profile: Arc<Profile>, rung: usize, gop_frames: Option<u32>) -> Option<Self> {
        let coder = Coder::new(profile, rung, "x264")?;
        let pixels = f64::from(coder.rung().width) * f64::from(coder.rung().height);
        let control = RateControl::new(pixels, f64::from(coder.fps()), gop_frames.unwrap_or(GOP_FRAMES));
        Some(Self { coder, control, reference: Reference::default() })
    }
}

impl Encoder for Jm {
    fn encode(&mut self, _now: Timestamp, frame: SourceFrame, budget: EncoderBudget) -> EncodedFrame {
        let picture = self.coder.picture(&frame, budget.keyframe);
        let table = picture.table(&self.coder);
        let reference = self.reference;
        let size_at = |qp: f32| match picture.keyframe {
            true => table.log2_bytes(picture.row, qp) + 3.0,
            false => reference.log2_bits(&CARRY, table, picture.row, qp),
        };
        self.control.set_bitrate(budget.bitrate);
        let own_qp = if picture.keyframe { self.control.start_group() } else { self.control.predicted_qp() };
        let mut qp = match budget.version.qp_step() {
            Some(step) if self.control.frames > 0 => self.control.last_qp as f32 + step,
            _ => own_qp as f32,
        };
        let mut log2_bits = size_at(qp);
        if let Some(maximum) = budget.max_frame_size.map(|max| log2(max.as_bits().max(80) as f32)) {
            // The JM has no such limit; a caller would code the frame again, coarser, until it fits.
            while log2_bits > maximum && qp < QP_MAX as f32 {
                qp += 1.0;
                log2_bits = size_at(qp);
            }
            log2_bits = log2_bits.min(maximum);
        }
        let bits = exp2(log2_bits);
        self.control.end(picture.keyframe, qp as i32, f64::from(bits), f64::from(picture.cost));
        let gained_db = if picture.keyframe { 0.0 } else { reference.quality_db(&CARRY, qp) };
        self.reference.update(&CARRY, qp, picture.keyframe);
        self.coder.finish(&frame, picture, qp, bits, gained_db, budget.bitrate)
    }

    /// A picture's complexity is the MAD of its residual, which this encoder measures, and not its difference to the last.
    fn look(&self, frame: SourceFrame) -> SourceFrame {
        let cost = self.coder.rung().satd[frame.content as usize];
        SourceFrame { complexity: Some(self.control.mad_of(f64::from(cost)) as f32), ..frame }
    }

    fn try_out(&self, now: Timestamp, frame: SourceFrame, budget: EncoderBudget) -> Option<EncodedFrame> {
        Some(self.clone().encode(now, frame, budget))
    }

    fn observe(&self, gauge: &mut dyn FnMut(&'static str, f64)) {
        gauge("jm_qp", f64::from(self.control.last_qp));
        gauge("jm_buffer_bits", self.control.buffer_bits);
    }
}

/// The rate control. Bits; the buffer is virtual, and may be below zero: unspent.
#[derive(Clone, Debug)]
struct RateControl {
    pixels: f64,
    fps: f64,
    gop_frames: u32,
    /// Bits of a frame at the bitrate.
    channel_bits: f64,
    buffer_bits: f64,
    /// Its target level, and what this loses with each frame of the group.
    level_bits: f64,
    level_step_bits: f64,
    /// The quantiser of the group's key frame; 0 before the first.
    group_qp: i32,
    last_qp: i32,
    /// Predicted frames of the group so far, and the sum of their quantisers.
    predicted: u32,
    sum_qp: i32,
    frames: u64,
    mad: Complexity,
    model: Quadratic,
}

impl RateControl {
    fn new(pixels: f64, fps: f64, gop_frames: u32) -> Self {
        Self {
            pixels,
            fps,
            gop_frames: gop_frames.max(2),
            channel_bits: 0.0,
            buffer_bits: 0.0,
            level_bits: 0.0,
            level_step_bits: 0.0,
            group_qp: 0,
            last_qp: 0,
            predicted: 0,
            sum_qp: 0,
            frames: 0,
            mad: Complexity::new(WINDOW),
            model: Quadratic::default(),
        }
    }

    fn set_bitrate(&mut self, bitrate: DataRate) {
        // The JM adds a change of the rate, over the group's remaining frames, to the bits left of the group. These
        // are always the remaining frames' share of the rate minus the buffer, so the buffer alone is kept.
        self.channel_bits = bitrate.as_bps().max(1) as f64 / self.fps;
    }

    /// The quantiser of a key frame, which begins a group.
    fn start_group(&mut self) -> i32 {
        self.group_qp = if self.frames == 0 {
            first_qp(self.channel_bits / self.pixels)
        } else if self.predicted == 0 {
            self.group_qp
        } else {
            // [li2003] eq. (4): mean QP of the last group's predicted frames - min(2, N / 15), within 2 of the last
            // group's own, and 1 finer if it is not 2 below its last frame's.
            let finer = ((f64::from(self.predicted + 1) / 15.0 + 0.5) as i32).min(2);
            let mean = (f64::from(self.sum_qp) / f64::from(self.predicted) + 0.5) as i32 - finer;
            let mean = if mean > self.last_qp - 2 { mean - 1 } else { mean };
            mean.clamp(self.group_qp - 2, self.group_qp + 2).clamp(QP_MIN, QP_MAX)
        };
        (self.predicted, self.sum_qp) = (0, 0);
        self.group_qp
    }

    /// The quantiser of a predicted frame.
    fn predicted_qp(&mut self) -> i32 {
        if self.predicted == 0 {
            return self.group_qp;
        }
        let wanted = self.wanted_bits();
        if wanted < 0.0 {
            return (self.last_qp + LARGEST_STEP).min(QP_MAX);
        }
        // [li2003]: at least a quarter of the rate's share goes to the residual.
        let bits = wanted.max(self.channel_bits / 4.0);
        let step = self.model.step_for(bits, self.mad.predicted());
        qp_of(step).clamp(self.last_qp - LARGEST_STEP, self.last_qp + LARGEST_STEP).clamp(QP_MIN, QP_MAX)
    }

    /// The bits that the next predicted frame should have.
    fn wanted_bits(&self) -> f64 {
        let left = f64::from(self.gop_frames.saturating_sub(1 + self.predicted).max(1));
        // [li2003] eq. (9): f~ = u / F + gamma (S - B), never negative.
        let by_buffer = (self.channel_bits + GAMMA * (self.level_bits - self.buffer_bits)).max(0.0);
        // [li2003] eq. (11): f^ = T_r / N_r, the share of the bits left in the group.
        let by_rest = self.channel_bits - self.buffer_bits / left;
        // [li2003] eq. (12): f = beta f^ + (1 - beta) f~; no less than what keeps the buffer from running dry.
        (BETA * by_rest + (1.0 - BETA) * by_buffer).max(self.channel_bits - self.buffer_bits)
    }

    /// Of a residual of this cost: x264's lookahead has pictures of half the width and height.
    fn mad_of(&self, cost: f64) -> f64 {
        4.0 * cost / self.pixels
    }

    fn end(&mut self, keyframe: bool, qp: i32, bits: f64, cost: f64) {
        self.buffer_bits += bits - self.channel_bits;
        self.last_qp = qp;
        self.frames += 1;
        if keyframe {
            return;
        }
        self.predicted += 1;
        self.sum_qp += qp;
        if self.predicted == 1 {
            // [li2003] eq. (6): from what the group's first two frames left, in equal steps to zero.
            self.level_bits = self.buffer_bits;
            self.level_step_bits = self.buffer_bits / f64::from(self.gop_frames.saturating_sub(2).max(1));
        }
        self.level_bits -= self.level_step_bits;
        let mad = self.mad_of(cost);
        self.mad.on_measured(mad);
        self.model.on_coded(step_of(qp), bits, mad, self.mad.window());
    }
}

/// The quantiser of the first frame, by bits per pixel.
fn first_qp(bits_per_pixel: f64) -> i32 {
    // JM 12.2's limits for pictures of 176 columns; [li2003] leaves them to the picture's size.
    match bits_per_pixel {
        bits if bits <= 0.1 => 35,
        bits if bits <= 0.3 => 25,
        bits if bits <= 0.6 => 20,
        _ => 10,
    }
}

/// The quantiser step of a quantiser: it doubles every 6.
fn step_of(qp: i32) -> f64 {
    STEPS[qp.rem_euclid(6) as usize] * f64::from(1_u32 << qp.clamp(QP_MIN, QP_MAX).div_euclid(6))
}

/// The quantiser of the nearest step.
fn qp_of(step: f64) -> i32 {
    (QP_MIN..QP_MAX).find(|&qp| step < 0.5 * (step_of(qp) + step_of(qp + 1))).unwrap_or(QP_MAX)
}

/// H.264's first six quantiser steps.
const STEPS: [f64; 6] = [0.625, 0.687_5, 0.812_5, 0.875, 1.0, 1.125];
const QP_MIN: i32 = 0;
const QP_MAX: i32 = 51;
/// [li2003]: gamma and beta, without B-frames.
const GAMMA: f64 = 0.5;
const BETA: f64 = 0.5;
/// [li2003]: at most this many quantisers from the last frame's.
const LARGEST_STEP: i32 = 2;
/// [lee2000]: data points of a fit.
const WINDOW: usize = 20;
/// Frames of a group where key frames have no distance.
pub const GOP_FRAMES: u32 = 50;

#[cfg(test)]
mod tests {
    use super::*;

    /// At 20 fps of QCIF, with groups of 50.
    fn control(kbps: u64) -> RateControl {
        let mut control = RateControl::new(176.0 * 144.0, 20.0, 50);
        control.set_bitrate(DataRate::from_kbps(kbps));
        control
    }

    /// JM 12.2, worked by hand: 300 kbit/s are 0.592 bits per pixel, 100 are 0.197, 40 are 0.079 and 400 are 0.79.
    #[test]
    fn the_first_quantiser_is_by_bits_per_pixel() {
        let first: Vec<i32> = [300, 100, 40, 400].map(|kbps| control(kbps).start_group()).into();
        assert_eq!(first, [20, 25, 35, 10]);
    }

    /// H.264, worked by hand: QP 4 has step 1, QP 28 16, QP 51 224; 15 and 17 are nearest to 16 (QP 27 is 14, 29 is 18).
    #[test]
    fn steps_double_every_six_quantisers() {
        assert_eq!([step_of(4), step_of(28), step_of(51)], [1.0, 16.0, 224.0]);
        assert_eq!([qp_of(16.0), qp_of(15.1), qp_of(16.9), qp_of(0.1), qp_of(1e9)], [28, 28, 28, 0, 51]);
        assert!((QP_MIN..=QP_MAX).all(|qp| qp_of(step_of(qp)) == qp));
    }

    /// [li2003] eq. (6), [li2003] eq. (9), [li2003] eq. (11) and [li2003] eq. (12), worked by hand: 200 kbit/s at 20 fps are 10,000 bits a frame. A key frame
    /// of 60,000 and a frame of 22,000 leave a buffer of 62,000, falling by 62,000 / 48 = 1291.7 per frame. With two of
    /// 50 coded, 48 are left: f~ = 10,000 - 0.5 x 1291.7 = 9354.2, f^ = 10,000 - 62,000 / 48 = 8708.3, f = 9031.3.
    #[test]
    fn a_frames_bits_follow_the_buffer_and_the_rest_of_the_group() {
        let mut control = control(200);
        let qp = control.start_group();
        control.end(true, qp, 60_000.0, 1.0);
        assert_eq!(control.predicted_qp(), qp);
        control.end(false, qp, 22_000.0, 1.0);
        assert!((control.wanted_bits() - 9_031.25).abs() < 0.1, "{}", control.wanted_bits());
        // An empty buffer that would run dry: at least the unspent bits too.
        control.buffer_bits = -30_000.0;
        assert!((control.wanted_bits() - 40_000.0).abs() < 1e-6);
    }

    /// [li2003] eq. (4), worked by hand: predicted frames at 30, 49 of them: finer by min(2, 50 / 15) = 2, so 28, and
    /// that is not above 30 - 2. From a group at 24 it is held at 26. At 30 with a last frame of 29, 27 by one finer.
    #[test]
    fn a_groups_quantiser_follows_the_mean_of_the_last_group() {
        let mut control = control(200);
        (control.frames, control.group_qp, control.last_qp) = (50, 28, 30);
        (control.predicted, control.sum_qp) = (49, 49 * 30);
        let after = |mut control: RateControl, last_qp: i32, group_qp: i32| {
            (control.last_qp, control.group_qp) = (last_qp, group_qp);
            control.start_group()
        };
        assert_eq!(after(control.clone(), 30, 28), 28);
        assert_eq!(after(control.clone(), 30, 24), 26);
        assert_eq!(after(control, 29, 28), 27);
    }

    #[test]
    fn a_target_that_moves_is_followed_by_two_quantisers_a_frame() {
        let mut control = control(200);
        let qp = control.start_group();
        control.end(true, qp, 30_000.0, 20_000.0);
        for _ in 0..6 {
            let qp = control.predicted_qp();
            control.end(false, qp, 160_000.0 / step_of(qp), 20_000.0);
        }
        let before = control.last_qp;
        control.set_bitrate(DataRate::from_kbps(20));
        assert_eq!(control.predicted_qp(), before + 2);
    }

    /// A source whose bits are inverse to the step, which the model has as X2 = 0: the rate is met within 3 %.
    #[test]
    fn groups_of_pictures_have_the_bitrate_on_average() {
        let mut control = control(200);
        let mut all = Vec::new();
        for frame in 0..1_000 {
            let key = frame % 50 == 0;
            let qp = if key { control.start_group() } else { control.predicted_qp() };
            let bits = if key { 400_000.0 } else { 120_000.0 } / step_of(qp) + 500.0;
            control.end(key, qp, bits, 20_000.0 + 4_000.0 * f64::from(frame % 7));
            all.push(bits);
        }
        let kbps = all[200..].iter().sum::<f64>() / 800.0 * 20.0 / 1e3;
        assert!((kbps / 200.0 - 1.0).abs() < 0.03, "{kbps} kbit/s");
    }
}
