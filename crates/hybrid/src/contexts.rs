//! The models of a packet's decisions: where each kind begins, and their initial probabilities.
//!
//! Every packet begins anew, so what the models start with matters more than how they adapt: the probabilities were
//! counted on development clips (`examples/train_contexts.rs`) for four ranges of the quantiser.

use crate::initial::INITIAL;
use crate::range_coder::Model;

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
/// Ranges of the quantiser with separate probabilities.
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
