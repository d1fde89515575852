//! The models of a packet's decisions: where each kind begins, and their initial probabilities.
//!
//! Every packet begins anew, so what the models start with matters more than how they adapt: the probabilities were
//! counted on development clips (`examples/train_contexts.rs`) for four ranges of the quantiser.

use crate::coefficients::{ABOVE_PLACE, NONZERO_PLACE, SUMS, golomb_bits};
use crate::initial::INITIAL;
use crate::quantise::LAMBDA_STEPS;
use crate::range_coder::{Model, cost};
use crate::rate::log2;

/// Skipped neighbours, 0 to 3, 4 where there are none; then whether the frame is a key frame has no model: all are intra.
pub(crate) const SKIP: usize = 0;
pub(crate) const INTRA: usize = SKIP + 5;
pub(crate) const SPLIT: usize = INTRA + 1;
/// Side (2) x disagreement of neighbours (4) x [is zero, negative, length of the rest...].
pub(crate) const MOTION: usize = SPLIT + 3;
pub(crate) const MOTION_LENGTHS: usize = 9;
pub(crate) const MOTION_MODELS: usize = 2 + MOTION_LENGTHS;
/// Of the second to fourth vector of a split macroblock: side (2) x the same.
pub(crate) const SPLIT_MOTION: usize = MOTION + 2 * 4 * MOTION_MODELS;
/// Intra (2) x activity of neighbours (3) x coded blocks so far (5).
pub(crate) const CODED_LUMA: usize = SPLIT_MOTION + 2 * MOTION_MODELS;
/// Intra (2) x plane (2) x coded luma blocks (3) x whether the other plane is coded (2).
pub(crate) const CODED_CHROMA: usize = CODED_LUMA + 2 * 3 * 5;
/// Whether the offset differs from the neighbour's, its sign, and how far.
pub(crate) const OFFSET: usize = CODED_CHROMA + 2 * 2 * 3 * 2;
pub(crate) const OFFSET_LENGTHS: usize = 4;
/// Plane (2) x [is zero, sign, length].
pub(crate) const MEAN: usize = OFFSET + 2 + OFFSET_LENGTHS;
pub(crate) const MEAN_LENGTHS: usize = 8;
/// Kind of block (3) x a tree of 64 leaves.
pub(crate) const LAST: usize = MEAN + 2 * (2 + MEAN_LENGTHS);
/// Kind (3) x place (6) x sum of neighbours (6).
pub(crate) const NONZERO: usize = LAST + KINDS * 64;
/// Kind (3) x place (3) x sum of neighbours (5).
pub(crate) const ABOVE_ONE: usize = NONZERO + KINDS * 6 * 6;
pub(crate) const ABOVE_TWO: usize = ABOVE_ONE + KINDS * 3 * 5;
/// Copies of motion: disagreement of those around (3) x [differs, is split, then both sides as `MOTION`].
pub(crate) const COPY: usize = ABOVE_TWO + KINDS * 3 * 5;
/// The number of models.
pub(crate) const MODELS: usize = COPY + 3 * COPY_MODELS;
pub(crate) const COPY_MODELS: usize = 2 + 2 * MOTION_MODELS;

/// Kinds of blocks: predicted luma, other luma, chroma.
pub(crate) const KINDS: usize = 3;
/// Ranges of the quantiser with probabilities of their own.
pub(crate) const RANGES: usize = 4;

const _: () = assert!(INITIAL.len() == RANGES && INITIAL[0].len() == MODELS);

/// Which range a frame's quantiser is in.
pub(crate) fn range_of(quantiser: u8) -> usize {
    match quantiser {
        0..=95 => 0,
        96..=127 => 1,
        128..=159 => 2,
        _ => 3,
    }
}

/// The models that a packet begins with.
pub(crate) fn models(quantiser: u8) -> Vec<Model> {
    INITIAL[range_of(quantiser)].iter().map(|&initial| Model::new(initial)).collect()
}

/// What decisions cost at the start of a packet, in 256ths of a bit: for choices between ways to code.
#[derive(Clone, Debug)]
pub(crate) struct Costs {
    bits: Vec<[i32; 2]>,
    kinds: [KindCosts; KINDS],
}

/// Of the coefficients of one kind of block.
#[derive(Clone, Debug)]
pub(crate) struct KindCosts {
    /// By the coefficient's place and the sum around it: that it is zero, that it is not.
    zero: [[i32; SUMS]; 6],
    nonzero: [[i32; SUMS]; 6],
    /// That it is 1, 2, and more but for how much, each with its sign.
    levels: [[[i32; SUMS]; 3]; 3],
    /// The place of the last coefficient.
    last: [i32; 64],
    /// How much larger than the step a lone coefficient must be to pay for its bits, in 32nds of an octave.
    lone: [i8; 64],
}

impl Costs {
    pub(crate) fn new(quantiser: u8) -> Self {
        // Between the middles of two ranges costs are a mean of both, or frames would be twice as large on one side of a
        // border as on the other, and no quantiser would meet a budget between.
        let place = (i32::from(quantiser) - 80).clamp(0, 3 * 32);
        let low = (place as usize / 32).min(RANGES - 2);
        let share = place - 32 * low as i32;
        let of = |probability: u8, bit: bool| i32::from(cost(probability.clamp(1, 254), bit));
        let mean = |a: u8, b: u8, bit: bool| ((32 - share) * of(a, bit) + share * of(b, bit) + 16) / 32;
        let pairs = INITIAL[low].iter().zip(&INITIAL[low + 1]);
        let bits: Vec<[i32; 2]> = pairs.map(|(&a, &b)| [mean(a, b, false), mean(a, b, true)]).collect();
        let kinds = std::array::from_fn(|kind| KindCosts::new(&bits, kind));
        Self { bits, kinds }
    }
    #[inline(always)]
    pub(crate) fn of(&self, model: usize, bit: bool) -> i32 {
        self.bits[model][usize::from(bit)]
    }
    #[inline(always)]
    pub(crate) const fn of_kind(&self, kind: usize) -> &KindCosts {
        &self.kinds[kind]
    }
}

impl KindCosts {
    fn new(bits: &[[i32; 2]], kind: usize) -> Self {
        let flag = |place: usize, near: usize, bit: usize| bits[NONZERO + (kind * 6 + place) * 6 + near.min(5)][bit];
        let level = |size: usize, place: usize, near: usize| {
            let above = (kind * 3 + place) * 5 + near.min(4);
            let (one, two) = (bits[ABOVE_ONE + above], bits[ABOVE_TWO + above]);
            256 + [one[0], one[1] + two[0], one[1] + two[1]][size]
        };
        let leaf = |place: usize| {
            let (mut node, mut sum) = (1, 0);
            for level in (0..6).rev() {
                let bit = place >> level & 1;
                sum += bits[LAST + 64 * kind + node][bit];
                node = 2 * node + bit;
            }
            sum
        };
        let coded = bits[CODED_LUMA + 5 + usize::from(kind == 0)];
        let mut zeros = 0;
        let lone = std::array::from_fn(|i| {
            let all = coded[1] - coded[0] + leaf(i) + zeros + level(0, usize::from(ABOVE_PLACE[i]), 0);
            zeros += flag(usize::from(NONZERO_PLACE[i]), 0, 0);
            // Its error as a one and its bits are worth its error as a zero: v^2 = (v - 15/16)^2 + lambda bits.
            let steps = (LAMBDA_STEPS * all as f32 / 256.0 + 0.879) / 1.875;
            (32.0 * (log2((1024.0 * steps) as usize) - 10.0)).clamp(-23.0, 100.0) as i8
        });
        Self {
            lone,
            zero: std::array::from_fn(|place| std::array::from_fn(|near| flag(place, near, 0))),
            nonzero: std::array::from_fn(|place| std::array::from_fn(|near| flag(place, near, 1))),
            levels: std::array::from_fn(|size| {
                std::array::from_fn(|place| std::array::from_fn(|near| level(size, place, near)))
            }),
            last: std::array::from_fn(leaf),
        }
    }
    /// The place `i` of zigzag order holds a zero; `near` is the sum around it.
    #[inline(always)]
    pub(crate) fn zero(&self, i: usize, near: usize) -> i64 {
        i64::from(self.zero[usize::from(NONZERO_PLACE[i])][near])
    }
    /// It does not.
    #[inline(always)]
    pub(crate) fn nonzero(&self, i: usize, near: usize) -> i64 {
        i64::from(self.nonzero[usize::from(NONZERO_PLACE[i])][near])
    }
    /// What it holds, from 1.
    #[inline(always)]
    pub(crate) fn level(&self, i: usize, near: usize, level: u32) -> i64 {
        let base = self.levels[level.min(3) as usize - 1][usize::from(ABOVE_PLACE[i])][near];
        i64::from(base) + if level > 2 { 256 * i64::from(golomb_bits(level - 3)) } else { 0 }
    }
    /// How much larger than the step a lone coefficient at each place must be, in 32nds of an octave.
    pub(crate) const fn lone(&self) -> &[i8; 64] {
        &self.lone
    }
    /// It is the last one.
    #[inline(always)]
    pub(crate) fn last(&self, i: usize) -> i64 {
        i64::from(self.last[i])
    }
}
