//! Quantises a block so that error plus weighted bits is small.
//!
//! Backwards through zigzag order, as the coefficients are coded: each is rounded, one less or zero, whichever costs less
//! with what was decided before it; then the last coefficient is put where the sum is smallest.

use crate::coefficients::{LARGEST_LEVEL, ZIGZAG, above_model, golomb_bits, neighbours, nonzero_model};
use crate::contexts::{ABOVE_ONE, ABOVE_TWO, Costs};
use crate::reconstruct::TOWARDS_ZERO;
use crate::transform::Block;

/// How a block is weighed.
#[derive(Clone, Copy)]
pub(crate) struct Weights<'a> {
    pub(crate) costs: &'a Costs,
    /// The step, in sixteenths.
    pub(crate) step: i32,
    /// Squared error in grey levels that a bit is worth.
    pub(crate) lambda: f32,
}

/// A coefficient below this share of a step never pays for its bits, of which it takes two or more: 3 / 5.
const WORTH: (i32, i32) = (3, 5);
/// What is added before a size is cut to a level.
const ROUNDING: f32 = 0.42;
/// A bit is worth so many squared steps.
pub(crate) const LAMBDA_STEPS: f32 = 0.14;

impl<'a> Weights<'a> {
    /// `bit_weight`: how much more a bit is worth than [`LAMBDA_STEPS`].
    pub(crate) fn new(costs: &'a Costs, step: i32, bit_weight: f32) -> Self {
        let grey = step as f32 / 16.0;
        Self { costs, step, lambda: LAMBDA_STEPS * bit_weight * grey * grey }
    }
}

/// The levels of a block, and whether any is left. `coded_bits` is what it costs to say that there are some rather than none.
pub(crate) fn quantise(coefficients: &Block, kind: usize, weights: Weights<'_>, coded_bits: f32) -> Option<Block> {
    let step = weights.step;
    let largest = coefficients.iter().map(|value| value.unsigned_abs()).max().unwrap_or(0);
    if i32::from(largest) * WORTH.1 < step * WORTH.0 {
        return None;
    }
    let lambda = weights.lambda;
    let mut levels = [0_i16; 64];
    // Of each place: what it costs as decided, what as zero after the last, and the bits of saying that it is not zero.
    let (mut decided, mut flag) = ([0.0_f32; 64], [0.0_f32; 64]);
    let sizes: [i32; 64] = std::array::from_fn(|i| i32::from(coefficients[usize::from(ZIGZAG[i])].unsigned_abs()));
    let first = sizes.iter().rposition(|size| size * WORTH.1 >= step * WORTH.0)?;
    let dropped: [f32; 64] = sizes.map(|size| (size * size) as f32 / 256.0);
    let inverse = 1.0 / step as f32;
    for i in (0..=first).rev() {
        let at = usize::from(ZIGZAG[i]);
        let size = sizes[i];
        let rounded = ((size as f32 * inverse + ROUNDING) as i32).min(i32::from(LARGEST_LEVEL));
        let near = neighbours(&levels, at);
        let model = nonzero_model(kind, at, near);
        let (zero_bits, nonzero_bits) = (weights.costs.of(model, false), weights.costs.of(model, true));
        let mut best = (0, dropped[i] + lambda * zero_bits);
        let above = above_model(kind, at, near);
        let mut level = rounded;
        while level > 0 && level + 2 > rounded {
            let shown = level * step - step / TOWARDS_ZERO;
            let error = (size - shown) as f32;
            let bits = nonzero_bits + level_bits(weights.costs, above, level);
            let cost = error * error / 256.0 + lambda * bits;
            if cost < best.1 {
                best = (level, cost);
            }
            level -= 1;
        }
        flag[i] = nonzero_bits;
        decided[i] = best.1;
        levels[at] = best.0 as i16 * coefficients[at].signum();
    }
    // Coefficients after `last` become zero.
    let mut after: f32 = dropped[..=first].iter().sum();
    let mut before = 0.0;
    let mut best = (None, after);
    for i in 0..=first {
        after -= dropped[i];
        before += decided[i];
        if levels[usize::from(ZIGZAG[i])] != 0 {
            let bits = weights.costs.last(kind, i) + coded_bits - flag[i];
            let cost = before + after + lambda * bits;
            if cost < best.1 {
                best = (Some(i), cost);
            }
        }
    }
    let last = best.0?;
    ZIGZAG[last + 1..=first].iter().for_each(|&at| levels[usize::from(at)] = 0);
    Some(levels)
}

/// Bits of a level's size and sign.
#[inline(always)]
fn level_bits(costs: &Costs, above: usize, level: i32) -> f32 {
    match level {
        1 => 1.0 + costs.of(ABOVE_ONE + above, false),
        2 => 1.0 + costs.of(ABOVE_ONE + above, true) + costs.of(ABOVE_TWO + above, false),
        _ => {
            1.0 + costs.of(ABOVE_ONE + above, true) + costs.of(ABOVE_TWO + above, true) + golomb_bits(level as u32 - 3)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::step::step;

    #[test]
    fn a_block_below_half_a_step_is_nothing() {
        let costs = Costs::new(100);
        let mut block = [0; 64];
        block[0] = (step(100) / 2 - 1) as i16;
        assert_eq!(quantise(&block, 0, Weights::new(&costs, step(100), 1.0), 0.0), None);
    }

    #[test]
    fn a_large_coefficient_is_kept_and_a_lone_small_one_far_away_is_not() {
        let costs = Costs::new(100);
        let mut block = [0; 64];
        block[0] = (5 * step(100)) as i16;
        block[63] = (step(100) * 11 / 20) as i16;
        let levels = quantise(&block, 0, Weights::new(&costs, step(100), 1.0), 0.0).unwrap();
        assert_eq!((levels[0], levels[63]), (5, 0));
    }
}
