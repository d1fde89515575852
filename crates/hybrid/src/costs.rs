//! What decisions cost, for choices between ways to code.

use crate::contexts::{ABOVE_ONE, ABOVE_TWO, CODED_LUMA, KINDS, LAST, NONZERO, RANGES};
use crate::initial::INITIAL;
use crate::logarithm::log2;
use crate::places::{ABOVE_PLACE, NONZERO_PLACE, SUMS, golomb_bits};
use crate::range_coder::cost;

/// A bit is worth so many squared steps.
pub(crate) const LAMBDA_STEPS: f32 = 0.14;

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
        // Between the middles of two ranges costs are a mean of both. Otherwise frames would be twice as large on one
        // side of a border, and no quantiser would meet a budget between.
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
    /// Its content, from 1.
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
