//! How the quantised coefficients of a block are coded.
//!
//! First the place of the last one in zigzag order, by a tree of decisions. Then backwards from it: whether a
//! coefficient is zero, above one, above two, the rest by an exponential Golomb code, and its sign. The place and its
//! five neighbours of higher frequency choose the model, as in [vvc].

use crate::contexts::{ABOVE_ONE, ABOVE_TWO, LAST, NONZERO};
use crate::places::{ABOVE_PLACE, NONZERO_PLACE, SUMS, ZIGZAG};
use crate::range_coder::BitCoder;
use crate::transform::Block;

/// The largest level of a coefficient.
pub(crate) const LARGEST_LEVEL: i16 = 8191;

/// Code a block that has a coefficient; a reader's block is all zero before.
pub(crate) fn code<C: BitCoder>(coder: &mut C, kind: usize, levels: &mut Block) {
    let mut place = if C::READS { 0 } else { ZIGZAG.iter().rposition(|&at| levels[usize::from(at)] != 0).unwrap_or(0) };
    let mut node = 1;
    for level in (0..6).rev() {
        node = 2 * node + usize::from(coder.bit(LAST + 64 * kind + node, place >> level & 1 == 1));
    }
    place = node - 64;
    let mut near = Near::default();
    for i in (0..=place).rev() {
        let at = usize::from(ZIGZAG[i]);
        let around = near.at(i);
        let level = levels[at];
        if i != place && !coder.bit(nonzero_model(kind, i, around), level != 0) {
            continue;
        }
        let mut size = 1;
        let above = above_model(kind, i, around);
        if coder.bit(ABOVE_ONE + above, level.unsigned_abs() > 1) {
            size = 2;
            if coder.bit(ABOVE_TWO + above, level.unsigned_abs() > 2) {
                size = 3 + golomb(coder, u32::from(level.unsigned_abs().saturating_sub(3)));
            }
        }
        let negative = coder.even(level < 0);
        levels[at] = if negative { -(size as i16) } else { size as i16 };
        near.put(i, size as u16);
    }
}

/// An exponential Golomb code of even decisions, at most [`LARGEST_LEVEL`] - 3.
fn golomb<C: BitCoder>(coder: &mut C, value: u32) -> u32 {
    let length = (value + 1).ilog2();
    let mut coded = 0;
    while coded < 12 && coder.even(coded < length) {
        coded += 1;
    }
    let mut result = 1;
    for place in (0..coded).rev() {
        result = 2 * result + u32::from(coder.even((value + 1) >> place & 1 == 1));
    }
    (result - 1).min(LARGEST_LEVEL as u32 - 3)
}

/// Of every place of a block: the sum of the five coefficients to the right and below, each counted up to three. Rows have
/// two more places before the first, so that every coefficient can be put down for five places.
pub(crate) struct Near {
    sums: [u8; 128],
}

impl Default for Near {
    fn default() -> Self {
        Self { sums: [0; 128] }
    }
}

impl Near {
    const ROW: usize = 10;

    /// The sum of the coefficients around the place `i` of zigzag order, among those put so far.
    #[inline(always)]
    pub(crate) fn at(&self, i: usize) -> usize {
        usize::from(self.sums[usize::from(PADDED[i & 63] & 127)]) % SUMS
    }
    /// There is a coefficient of this size at the place `i` of zigzag order.
    #[inline(always)]
    pub(crate) fn put(&mut self, i: usize, size: u16) {
        let size = size.min(3) as u8;
        let at = usize::from(PADDED[i & 63]);
        for step in [1, 2, Self::ROW + 1, Self::ROW, 2 * Self::ROW] {
            self.sums[(at - step) & 127] += size;
        }
    }
}

/// The place of each zigzag place in [`Near`].
const PADDED: [u8; 64] = {
    let mut places = [0; 64];
    let mut i = 0;
    while i < 64 {
        let (x, y) = (ZIGZAG[i] as usize % 8, ZIGZAG[i] as usize / 8);
        places[i] = ((y + 2) * Near::ROW + x + 2) as u8;
        i += 1;
    }
    places
};

/// Whether a coefficient is zero, by its place in zigzag order and the sum around it.
#[inline(always)]
pub(crate) fn nonzero_model(kind: usize, i: usize, near: usize) -> usize {
    NONZERO + (kind * 6 + usize::from(NONZERO_PLACE[i & 63])) * 6 + near.min(5)
}

/// Whether it is above one or two.
#[inline(always)]
pub(crate) fn above_model(kind: usize, i: usize, near: usize) -> usize {
    (kind * 3 + usize::from(ABOVE_PLACE[i & 63])) * 5 + near.min(4)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contexts::models;
    use crate::range_coder::{Reader, Writer};

    #[test]
    fn zigzag_visits_every_place_once() {
        let mut seen = [0; 64];
        ZIGZAG.iter().for_each(|&at| seen[usize::from(at)] += 1);
        assert_eq!(seen, [1; 64]);
    }

    #[test]
    fn blocks_are_read_as_they_were_written() {
        let blocks: Vec<Block> = (0..40_usize)
            .map(|n| {
                std::array::from_fn(|i| match (i * 7 + n * 13) % (n + 2) {
                    0 => ((i * n) % 40) as i16 - 20,
                    1 if n == 39 => LARGEST_LEVEL - 1,
                    _ => 0,
                })
            })
            .filter(|block| block.iter().any(|&level| level != 0))
            .collect();
        let mut writer = Writer::new(models(100));
        for (n, block) in blocks.iter().enumerate() {
            code(&mut writer, n % 3, &mut block.clone());
        }
        let bytes = writer.finish();
        let mut reader = Reader::new(models(100), &bytes);
        for (n, block) in blocks.iter().enumerate() {
            let mut read = [0; 64];
            code(&mut reader, n % 3, &mut read);
            assert_eq!(&read, block, "block {n}");
        }
    }
}
