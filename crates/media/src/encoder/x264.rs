//! x264 in average-bitrate mode with a VBV, zero latency, one thread: the rate control modelled
//! from its behaviour, driving the measured tables of a profile instead of a codec.
//!
//! It assumes that a frame's bits times its quantiser scale are proportional to the cost its lookahead found. Per frame
//! it takes the quantiser that would have met the bitrate over a decaying window, modulated by the frame's blurred
//! complexity, at most four steps from the last frame's. It raises it while the VBV is less than half full or the frame
//! would not fit. Inside the frame it corrects it when rows come out larger than planned. The window decays with the
//! length of the VBV, which is why a long VBV lags: at 1 s the memory is some 4 s, at 200 ms 0.8 s.
//!
//! Missing: B-frames, lookahead, macroblock trees, several threads, minimum compression ratios.
//! Rows of macroblocks are not simulated one by one: one step solves for the correction within a frame.

use super::reference::{Carry, Reference};
use super::{Coder, EncodedFrame, Encoder, EncoderBudget};
use crate::SourceFrame;
use crate::profile::Profile;
use legato_units::elementary::{exp2, log2};
use legato_units::{DataRate, Timestamp};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// The configuration of x264.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// VBV length at the bitrate, in ms: the lag of the encoder. It changes with the bitrate.
    pub vbv_ms: u32,
}

impl Default for Config {
    fn default() -> Self {
        Self { vbv_ms: 1_000 }
    }
}

/// The model of one x264 stream at one size.
#[derive(Clone, Debug)]
pub struct X264 {
    coder: Coder,
    vbv_ms: u32,
    control: RateControl,
    reference: Reference,
    /// The last frame's mean quantiser.
    last_qp: f32,
}

impl X264 {
    /// A stream of `profile` at `rung`; `None` if the profile has no x264 tables.
    pub fn new(profile: Arc<Profile>, rung: usize, config: Config) -> Option<Self> {
        let coder = Coder::new(profile, rung, "x264")?;
        let control = RateControl::new(coder.rung().macroblocks() as f32, f32::from(coder.rung().height), coder.fps());
        Some(Self { coder, vbv_ms: config.vbv_ms, control, reference: Reference::default(), last_qp: 0.0 })
    }
}

impl Encoder for X264 {
    #[inline]
    fn encode(&mut self, _now: Timestamp, frame: SourceFrame, budget: EncoderBudget) -> EncodedFrame {
        self.control.set_bitrate(budget.bitrate, self.vbv_ms);
        let picture = self.coder.picture(&frame, budget.keyframe);
        let kind = if picture.keyframe { Kind::Intra } else { Kind::Inter };
        let table = picture.table(&self.coder);
        let reference = self.reference;
        let size_at = |qp: f32| match picture.keyframe {
            true => table.log2_bytes(picture.row, qp) + 3.0,
            false => reference.log2_bits(&CARRY, table, picture.row, qp),
        };
        let start_qp = self.control.start(kind, picture.cost);
        let (mut qp, mut bits) = match budget.version.qp_step() {
            None => self.control.settle(kind, start_qp, self.last_qp, &size_at),
            Some(step) => {
                let last_qp = if self.control.frames == 0 { start_qp } else { self.last_qp };
                let (finest, coarsest) = table.qp_range();
                let qp = (last_qp + step).clamp(finest, coarsest);
                self.control.force(kind, qp);
                (qp, exp2(size_at(qp)))
            }
        };
        if let Some(maximum) = budget.max_frame_size.map(|max| max.as_bits().max(80) as f32)
            && bits > maximum
        {
            // x264 has no such limit; a caller would code the frame again, coarser, until it fits.
            qp = raise_until(qp, log2(maximum), QP_MAX, &size_at);
            bits = exp2(size_at(qp)).min(maximum);
        }
        self.control.end(kind, picture.cost, qp, bits);
        self.last_qp = qp;
        let gained_db = if picture.keyframe { 0.0 } else { reference.quality_db(&CARRY, qp) };
        self.reference.update(&CARRY, qp, picture.keyframe);
        self.coder.finish(&frame, picture, qp, bits, gained_db, budget.bitrate)
    }

    fn try_out(&self, now: Timestamp, frame: SourceFrame, budget: EncoderBudget) -> Option<EncodedFrame> {
        Some(self.clone().encode(now, frame, budget))
    }

    fn observe(&self, gauge: &mut dyn FnMut(&'static str, f64)) {
        if self.control.frames == 0 {
            return; // neither a quantiser nor a buffer yet
        }
        gauge("x264_qp", f64::from(self.last_qp));
        gauge("x264_vbv_fill_ratio", f64::from(self.control.room() / self.control.buffer_size.max(1.0)));
    }
}

/// The smallest quantiser from `qp` up at which the size is at most `maximum` (log2 bits), or `end`.
#[inline]
fn raise_until(mut qp: f32, maximum: f32, end: f32, size_at: &impl Fn(f32) -> f32) -> f32 {
    let mut excess = size_at(qp) - maximum;
    while excess > 0.0 && qp < end {
        // x264 raises the quantiser by at least half a step; some 4 QP halve the size of a frame.
        let next = (qp + (excess * 3.5).max(0.5)).min(end);
        let left = size_at(next) - maximum;
        if left <= 0.0 {
            // Between the two: sizes are nearly linear over such a short distance.
            return qp + (next - qp) * excess / (excess - left);
        }
        (qp, excess) = (next, left);
    }
    qp
}

/// The kinds of frames by their prediction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Inter = 0,
    Intra = 1,
}

/// The rate control. Bits, bit/s and quantiser scales; scales as log2, where 0 is QP 12 (and 6 QP
/// are 1).
#[derive(Clone, Debug)]
struct RateControl {
    macroblocks: f32,
    height: f32,
    fps: f32,
    bitrate: DataRate,
    bitrate_bps: f32,
    buffer_size: f32,
    buffer_rate: f32,
    /// Room in the VBV: bits that may still be sent at once.
    buffer_fill: f32,
    /// The window's decay per frame.
    decay: f32,
    /// Sum of bits x scale / modulation over the window.
    complexity_sum: f32,
    /// Sum of wanted bits over the window.
    wanted_bits: f32,
    short_term_cost: f32,
    short_term_count: f32,
    /// log2 of the modulation of the last frame.
    last_modulation: f32,
    /// log2 scales of the last frame of each kind.
    last_scale: [f32; 2],
    mean_qp: f32,
    mean_qp_weight: f32,
    last_kind: Kind,
    predictors: [Predictor; 2],
    planned_bits: f32,
    /// The QP of the frame without a VBV.
    unbuffered_qp: f32,
    frames: u64,
}

impl RateControl {
    fn new(macroblocks: f32, height: f32, fps: f32) -> Self {
        let start = scale_of(24.0);
        Self {
            macroblocks,
            height,
            fps,
            bitrate: DataRate::ZERO,
            bitrate_bps: 0.0,
            buffer_size: 0.0,
            buffer_rate: 0.0,
            buffer_fill: 0.0,
            decay: 1.0,
            // A first guess at the complexity of any video: 700,000 per frame, to the power of the
            // quantiser curve's compression, which is 0.6.
            complexity_sum: 0.01 * exp2(0.6 * log2(7.0e5)) * macroblocks.sqrt(),
            wanted_bits: 0.0,
            short_term_cost: 0.0,
            short_term_count: 0.0,
            last_modulation: 0.0,
            last_scale: [start; 2],
            mean_qp: 24.0 * 0.01,
            mean_qp_weight: 0.01,
            last_kind: Kind::Intra,
            predictors: [Predictor::new(1.0), Predictor::new(1.5)],
            planned_bits: 0.0,
            unbuffered_qp: 0.0,
            frames: 0,
        }
    }

    /// x264 counts in whole kbit/s and kbit.
    #[inline]
    fn set_bitrate(&mut self, bitrate: DataRate, vbv_ms: u32) {
        // The field starts at zero, and zero is a valid bitrate.
        if bitrate == self.bitrate && self.bitrate_bps > 0.0 {
            return;
        }
        self.bitrate = bitrate;
        let kbps = ((bitrate.as_bps() + 500) / 1_000).max(1);
        let kbit = (kbps * u64::from(vbv_ms) / 1_000).max(1) as f32;
        self.bitrate_bps = kbps as f32 * 1e3;
        self.buffer_rate = self.bitrate_bps / self.fps;
        // A VBV below one frame is raised to one.
        self.buffer_size = (kbit * 1e3).max(self.buffer_rate);
        self.decay = 1.0 - self.buffer_rate / self.buffer_size * 0.5 * 0.5;
        if self.frames == 0 {
            self.wanted_bits = self.buffer_rate;
            self.buffer_fill = self.buffer_size * 0.9_f32.max(self.buffer_rate / self.buffer_size);
        }
    }

    /// Bits that may still be sent at once. A smaller VBV cuts the accumulated bits only with the
    /// next frame's arrival, so the frame after a cut still finds its VBV full.
    #[inline]
    fn room(&self) -> f32 {
        self.buffer_fill.min(self.buffer_size) - HEADER_BITS
    }

    /// The QP the frame starts with; the cost is what the lookahead found for it.
    #[inline]
    fn start(&mut self, kind: Kind, cost: f32) -> f32 {
        self.short_term_cost = 0.5 * self.short_term_cost + cost * (0.04 * self.fps);
        self.short_term_count = 0.5 * self.short_term_count + 1.0;
        let mut scale = self.last_scale[kind as usize];
        if cost > 0.0 {
            self.last_modulation = (1.0 - COMPRESSION) * log2(self.short_term_cost / self.short_term_count);
            scale = self.last_modulation + log2(self.complexity_sum / self.wanted_bits) - SCALE_AT_ZERO;
        }
        if kind == Kind::Intra && self.last_kind != Kind::Intra {
            // A key frame is finer than the mean of the frames before it by this factor.
            scale = scale_of(self.mean_qp / self.mean_qp_weight) - KEY_FINER;
        } else if self.frames > 0 {
            let last = self.last_scale[kind as usize];
            scale = scale.clamp(last - LARGEST_STEP, last + LARGEST_STEP);
        }
        self.unbuffered_qp = qp_of(scale);
        let (fitted, planned_bits) = self.within_buffer(kind, cost, scale);
        if cost > 0.0 {
            scale = fitted;
        }
        scale = scale.clamp(scale_of(0.0), scale_of(QP_MAX));
        self.last_scale[kind as usize] = scale;
        if self.frames == 0 {
            self.last_scale[Kind::Inter as usize] = scale + KEY_FINER;
        }
        let as_fitted = cost > 0.0 && scale == fitted;
        self.planned_bits = if as_fitted { planned_bits } else { self.predictors[kind as usize].bits(scale, cost) };
        let qp = qp_of(scale);
        self.mean_qp = self.mean_qp * 0.95 + qp + if kind == Kind::Intra { 6.0 * KEY_FINER } else { 0.0 };
        self.mean_qp_weight = self.mean_qp_weight * 0.95 + 1.0;
        self.last_kind = kind;
        qp
    }

    /// The frame has this QP regardless of the plan, as x264 accepts one from its caller: the plan
    /// of the next frame starts from it.
    #[inline]
    fn force(&mut self, kind: Kind, qp: f32) {
        self.last_scale[kind as usize] = scale_of(qp);
    }

    /// The VBV's constraint before a frame: the scale, and the bits it is predicted to take.
    #[inline]
    fn within_buffer(&self, kind: Kind, cost: f32, wanted: f32) -> (f32, f32) {
        let (fill, size, rate) = (self.room(), self.buffer_size, self.buffer_rate);
        let wanted_bits = self.predictors[kind as usize].bits(wanted, cost);
        // Bits fall as the scale rises: both move together, and no power is computed twice.
        let coarser = |(scale, bits): (f32, f32), factor: f32| (scale + log2(factor), bits / factor);
        let mut now = (wanted, wanted_bits);
        if (kind == Kind::Inter || self.last_kind == Kind::Intra) && fill < 0.5 * size {
            now = coarser(now, 1.0 / (2.0 * fill / size).clamp(0.5, 1.0));
        }
        let single_frame = rate * 1.1 > size;
        // A VBV of five or more frames keeps half its room for the next.
        let maximum = if size >= 5.0 * rate { 0.5 * fill } else { fill };
        let min = if single_frame { rate } else { 0.5 * rate };
        if now.1 > maximum {
            now = coarser(now, 1.0 / (maximum / now.1).clamp(0.2, 1.0));
        }
        if now.1 < min {
            now = coarser(now, (now.1 / min).clamp(0.001, 1.0));
        }
        if now.0 < wanted {
            now = (wanted, wanted_bits);
        }
        if kind == Kind::Inter && !single_frame {
            // Bits that would overflow the full VBV are spent on quality.
            let space = fill + rate - size;
            if now.1 < space {
                let factor = (now.1 / space).max(now.1 / (0.5 * size)).max(1e-6);
                now = coarser(now, factor);
            }
            if now.0 < wanted - 1.0 {
                now = (wanted - 1.0, 2.0 * wanted_bits);
            }
        }
        let room = fill.max(0.001);
        if now.1 > room {
            now = coarser(now, now.1 / room);
        }
        now
    }

    /// The frame's mean QP and bits after its rows have corrected the QP it started with, given its
    /// size by QP (log2 bits).
    ///
    /// Rows get coarser while the frame seems to end above the plan, as long as they are finer than without a VBV. They
    /// also do above the plan plus half of the VBV that the plan leaves. A row finer than the same row of the previous
    /// frame is expected to cost twice, to be safe: so a frame that may become finer mostly stays as coarse as its
    /// reference.
    #[inline]
    fn settle(&self, kind: Kind, start_qp: f32, reference_qp: f32, size_at: &impl Fn(f32) -> f32) -> (f32, f32) {
        let (room, plan) = (self.room(), self.planned_bits);
        let left = (room - plan).max(0.0);
        let tolerance = if kind == Kind::Intra { left } else { 0.5 * left };
        let spare = (16.0 / self.height).clamp(0.05, 0.25) * self.buffer_rate;
        let maximum = (plan + tolerance).min(room - 0.5 * left).min(room - spare).max(MIN_BITS);
        let start_bits = exp2(size_at(start_qp));
        let doubted = if kind == Kind::Inter && start_qp < reference_qp { 2.0 * start_bits } else { start_bits };
        if doubted <= if start_qp < self.unbuffered_qp { plan.min(maximum) } else { maximum } {
            return (start_qp, start_bits);
        }
        let (within_plan, within_room) = (log2(plan.max(MIN_BITS)).min(log2(maximum)), log2(maximum));
        let doubt_ends = if kind == Kind::Intra { start_qp } else { reference_qp };
        let plan_ends = self.unbuffered_qp.min(QP_MAX);
        let mut qp = start_qp;
        let ends = [doubt_ends.min(plan_ends), doubt_ends.max(plan_ends), QP_MAX];
        for end in ends {
            if qp >= end {
                continue;
            }
            let doubt = if qp < doubt_ends { 1.0 } else { 0.0 };
            let limit = if qp < plan_ends { within_plan } else { within_room };
            qp = raise_until(qp, limit - doubt, end, size_at);
            if qp < end {
                break;
            }
        }
        (qp, exp2(size_at(qp)))
    }

    #[inline]
    fn end(&mut self, kind: Kind, cost: f32, qp: f32, bits: f32) {
        let scale = scale_of(qp);
        self.complexity_sum += bits * exp2(scale + SCALE_AT_ZERO - self.last_modulation);
        self.complexity_sum *= self.decay;
        self.wanted_bits = (self.wanted_bits + self.buffer_rate) * self.decay;
        if cost >= self.macroblocks {
            self.predictors[kind as usize].learn(scale, cost, bits);
        }
        self.buffer_fill = ((self.buffer_fill - bits).max(0.0) + self.buffer_rate).min(self.buffer_size);
        self.frames += 1;
    }
}

/// bits = (coefficient x cost + offset) / scale, with a memory of two frames.
#[derive(Clone, Debug)]
struct Predictor {
    min: f32,
    coefficient: f32,
    offset: f32,
    count: f32,
}

impl Predictor {
    fn new(coefficient: f32) -> Self {
        Self { min: 0.5 * coefficient, coefficient, offset: 0.0, count: 1.0 }
    }
    #[inline]
    fn bits(&self, log2_scale: f32, cost: f32) -> f32 {
        (self.coefficient * cost + self.offset) / (self.count * exp2(log2_scale + SCALE_AT_ZERO))
    }
    #[inline]
    fn learn(&mut self, log2_scale: f32, cost: f32, bits: f32) {
        if cost < 10.0 {
            return;
        }
        let (old_coefficient, old_offset) = (self.coefficient / self.count, self.offset / self.count);
        let product = bits * exp2(log2_scale + SCALE_AT_ZERO);
        let mut coefficient = ((product - old_offset) / cost).max(self.min);
        // At most half as much again, or two thirds, in one frame; the rest is offset.
        let clipped = coefficient.clamp(old_coefficient / 1.5, old_coefficient * 1.5);
        let mut offset = product - clipped * cost;
        if offset >= 0.0 {
            coefficient = clipped;
        } else {
            offset = 0.0;
        }
        self.count = self.count * 0.5 + 1.0;
        self.coefficient = self.coefficient * 0.5 + coefficient;
        self.offset = self.offset * 0.5 + offset;
    }
}

/// log2 of the scale of a QP, against QP 12.
#[inline]
fn scale_of(qp: f32) -> f32 {
    (qp - 12.0) * (1.0 / 6.0)
}
#[inline]
fn qp_of(scale: f32) -> f32 {
    12.0 + 6.0 * scale
}

/// log2 of the quantiser scale of QP 12, which is 0.85.
const SCALE_AT_ZERO: f32 = -0.234_465_25;
/// The quantiser curve's compression: 0 is a constant bitrate per frame, 1 a constant quantiser.
const COMPRESSION: f32 = 0.6;
/// log2 of the factor 1.4 by which key frames are finer.
const KEY_FINER: f32 = 0.485_426_83;
/// log2 of the largest change of scale from frame to frame: four QP steps.
const LARGEST_STEP: f32 = 4.0 / 6.0;
/// Above 51 coefficients are discarded; 69 is x264's limit.
const QP_MAX: f32 = 69.0;
/// Slice and NAL headers that are sent whatever the picture.
const HEADER_BITS: f32 = 40.0;
/// The minimum limit on a frame.
const MIN_BITS: f32 = 64.0;
/// Fitted on random walks of forced quantisers and live streams of Foreman and a webcam signer.
pub(super) const CARRY: Carry = Carry {
    live_log2: -0.04,
    size_log2_per_qp: 0.06,
    fresh_log2_per_qp: 0.06,
    finer_log2_per_qp: 0.0,
    key_log2_per_qp: 0.0,
    key_finer_qp: 0.0,
    refining_per_qp: 0.3,
    fast_db_per_qp: 0.1,
    slow_db_per_qp: 0.16,
};
