//! Motion search: what displacement of the reference shows a macroblock best, for the bits it takes.
//!
//! Whole pixels first, from the vectors around and of the frame before, in shrinking diamonds; then halves and
//! quarters. A macroblock that fits badly is tried in four parts.

use crate::macroblock::vector_bits;
use crate::motion::Vector;
use crate::plane::Plane;
use crate::reference::Reference;

/// A vector and its cost: the sum of absolute differences, and its bits by their weight.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Found<const N: usize> {
    pub(crate) vectors: [Vector; N],
    pub(crate) cost: u32,
}

/// What a search compares with.
pub(crate) struct Search<'a> {
    pub(crate) reference: &'a Reference,
    pub(crate) source: &'a Plane,
    /// Absolute difference that a bit is worth, in 16ths.
    pub(crate) bit_worth: u32,
}

impl Search<'_> {
    /// The best vector of the macroblock that begins at (`x`, `y`).
    pub(crate) fn whole(&self, x: usize, y: usize, expected: Vector, candidates: &[Vector]) -> Found<1> {
        let block = self.block::<16, 16>(x, y);
        let found = self.around(&block, x, y, expected, candidates, true);
        Found { vectors: [found.0], cost: found.1 }
    }

    /// The best vectors of its four parts, beginning at that of the whole.
    pub(crate) fn split(&self, x: usize, y: usize, whole: Vector, candidates: &[Vector]) -> Found<4> {
        let mut vectors = [whole; 4];
        let mut cost = SPLIT_BITS * self.bit_worth / 16;
        for part in 0..4 {
            let (left, top) = (x + 8 * (part % 2), y + 8 * (part / 2));
            let block = self.block::<8, 8>(left, top);
            let expected = if part == 0 { whole } else { vectors[part - 1] };
            let found = self.around(&block, left, top, expected, candidates, false);
            vectors[part] = found.0;
            cost += found.1;
        }
        Found { vectors, cost }
    }

    fn block<const W: usize, const H: usize>(&self, x: usize, y: usize) -> [[u8; W]; H] {
        std::array::from_fn(|row| {
            self.source.row(x as isize, (y + row) as isize, W).try_into().expect("a row of the block")
        })
    }

    fn around<const W: usize>(
        &self,
        block: &[[u8; W]],
        x: usize,
        y: usize,
        expected: Vector,
        candidates: &[Vector],
        wide: bool,
    ) -> (Vector, u32) {
        let cost = |vector: Vector| {
            self.reference.difference(block, x, y, vector) + vector_bits(expected, vector) * self.bit_worth / 16
        };
        let mut best = (expected, cost(expected));
        let mut seen = [expected; 12];
        for (at, &candidate) in candidates.iter().take(11).enumerate() {
            if !seen[..=at].contains(&candidate) {
                let cost = cost(candidate);
                if cost < best.1 {
                    best = (candidate, cost);
                }
            }
            seen[at + 1] = candidate;
        }
        let steps: &[i16] = if wide { &[16, 4] } else { &[4] };
        for &step in steps {
            self.descend(&mut best, &cost, step, &DIAMOND, 12);
        }
        self.descend(&mut best, &cost, 2, &SQUARE, 1);
        self.descend(&mut best, &cost, 1, &SQUARE, 1);
        best
    }

    /// Go to the best place around until none is better.
    fn descend(
        &self,
        best: &mut (Vector, u32),
        cost: &impl Fn(Vector) -> u32,
        step: i16,
        shape: &[(i16, i16)],
        rounds: usize,
    ) {
        for _ in 0..rounds {
            let middle = *best;
            for &(dx, dy) in shape {
                let vector = middle.0.plus(dx * step, dy * step);
                let cost = cost(vector);
                if cost < best.1 {
                    *best = (vector, cost);
                }
            }
            if best.0 == middle.0 {
                break;
            }
        }
    }
}

const SPLIT_BITS: u32 = 4;
const DIAMOND: [(i16, i16); 4] = [(-1, 0), (1, 0), (0, -1), (0, 1)];
const SQUARE: [(i16, i16); 8] = [(-1, 0), (1, 0), (0, -1), (0, 1), (-1, -1), (1, -1), (-1, 1), (1, 1)];
