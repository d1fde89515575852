//! Quantises a block so that error plus weighted bits is small.
//!
//! Backwards through zigzag order, as the coefficients are coded: each is rounded, one less or zero, whichever costs
//! less after the earlier decisions. Then the last coefficient is put where the sum is smallest. Costs are integers, in
//! 256ths of a bit.

use crate::coefficients::{LARGEST_LEVEL, Near};
use crate::costs::{Costs, LAMBDA_STEPS};
use crate::places::ZIGZAG;
use crate::step::TOWARDS_ZERO;
use crate::transform::{Block, Spectrum};

/// How a block is weighed.
#[derive(Clone, Copy)]
pub(crate) struct Weights<'a> {
    costs: &'a Costs,
    /// The step, in sixteenths.
    step: i32,
    /// A coefficient smaller than this becomes zero.
    worth: i16,
    /// 2^16 over the step.
    inverse: u32,
    /// 256ths of a bit that a squared error is worth, times 2^24.
    bits_of_error: u64,
}

/// A coefficient below this share of a step never pays for its bits, of which it takes two or more: 3 / 5.
const WORTH: (i32, i32) = (3, 5);
/// Added before a size is cut to a level, in 65536ths: 0.42.
const ROUNDING: u32 = 27_525;

impl<'a> Weights<'a> {
    /// `bit_weight`: how much more a bit is worth than [`LAMBDA_STEPS`].
    pub(crate) fn new(costs: &'a Costs, step: i32, bit_weight: f32) -> Self {
        let grey = step as f32 / 16.0;
        let lambda = LAMBDA_STEPS * bit_weight * grey * grey;
        Self {
            costs,
            step,
            worth: ((step * WORTH.0 + WORTH.1 - 1) / WORTH.1) as i16,
            inverse: (1 << 16) / step as u32,
            bits_of_error: ((1 << 24) as f32 / lambda) as u64,
        }
    }
    #[inline(always)]
    fn error(&self, difference: i32) -> i64 {
        let difference = u64::from(difference.unsigned_abs());
        ((difference * difference * self.bits_of_error) >> 24) as i64
    }
}

/// Write the levels of a block, unless none is left: then `levels` is undefined and the result `false`. `coded` is the
/// cost of saying that there are some rather than none.
#[inline]
pub(crate) fn quantise(
    spectrum: &Spectrum,
    kind: usize,
    weights: &Weights<'_>,
    coded: i64,
    levels: &mut Block,
) -> bool {
    let (step, worth) = (weights.step, weights.worth);
    if spectrum.largest < worth {
        return false;
    }
    *levels = [0; 64];
    let costs = weights.costs.of_kind(kind);
    let mut near = Near::default();
    // The sum over all places behind of the cost of each as decided minus that as a zero after the last.
    let mut behind = 0_i64;
    // The place of the last coefficient, by its cost minus what lies behind it.
    let mut best = (i64::MAX, 0);
    let end = spectrum.end(worth);
    for i in (0..end).rev() {
        let size = i32::from(spectrum.zigzag[i].unsigned_abs());
        let around = near.at(i);
        if size < i32::from(worth) {
            behind += costs.zero(i, around);
            continue;
        }
        let rounded = ((size as u32 * weights.inverse + ROUNDING) >> 16).clamp(1, LARGEST_LEVEL as u32) as i32;
        let nonzero = costs.nonzero(i, around);
        let dropped = weights.error(size);
        let cost = |level: i32| {
            let shown = level * step - step / TOWARDS_ZERO;
            weights.error(size - shown) + nonzero + costs.level(i, around, level as u32) - dropped
        };
        let mut chosen = (0, costs.zero(i, around));
        for level in [rounded, rounded - 1] {
            if level > 0 {
                let cost = cost(level);
                if cost < chosen.1 {
                    chosen = (level, cost);
                }
            }
        }
        if chosen.0 > 0 {
            let as_last = costs.last(i) + coded - nonzero - behind;
            if as_last < best.0 {
                best = (as_last, i);
            }
            levels[usize::from(ZIGZAG[i])] = chosen.0 as i16 * spectrum.zigzag[i].signum();
            near.put(i, chosen.0.unsigned_abs() as u16);
        }
        behind += chosen.1;
    }
    if best.0 == i64::MAX || behind + best.0 >= 0 {
        return false;
    }
    ZIGZAG[best.1 + 1..end].iter().for_each(|&at| levels[usize::from(at)] = 0);
    true
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::step::step;

    fn quantised(block: Block) -> Option<Block> {
        let costs = Costs::new(100);
        let mut levels = [0; 64];
        let weights = Weights::new(&costs, step(100), 1.0);
        quantise(&Spectrum::of(&block), 0, &weights, 0, &mut levels).then_some(levels)
    }

    #[test]
    fn a_block_below_half_a_step_is_nothing() {
        let mut block = [0; 64];
        block[0] = (step(100) / 2 - 1) as i16;
        assert_eq!(quantised(block), None);
    }

    #[test]
    fn a_large_coefficient_is_kept_and_a_lone_small_one_far_away_is_not() {
        let mut block = [0; 64];
        block[0] = -(5 * step(100)) as i16;
        block[63] = (step(100) * 13 / 20) as i16;
        let levels = quantised(block).unwrap();
        assert_eq!((levels[0], levels[63]), (-5, 0));
    }
}
