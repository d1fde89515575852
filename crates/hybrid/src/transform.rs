//! The transform of 8x8 blocks: an integer DCT with the matrix of [hevc] §8.6.4.2.
//!
//! Coefficients are 16 times those of an orthonormal transform. The inverse has fixed bits: it is part of the format.

use crate::places::ZIGZAG;

/// A block, row after row.
pub(crate) type Block = [i16; 64];

/// [hevc] §8.6.4.2: rows 0, 2, 4 and 6 of the 8x8 matrix, first half; the second mirrors it.
const EVEN: [[i32; 4]; 4] = [[64, 64, 64, 64], [83, 36, -36, -83], [64, -64, -64, 64], [36, -83, 83, -36]];
/// Rows 1, 3, 5 and 7, first half; the second mirrors it with the other sign.
const ODD: [[i32; 4]; 4] = [[89, 75, 50, 18], [75, -18, -89, -50], [50, -89, 18, 75], [18, -50, 75, -89]];

type Lanes = [i32; 8];

#[inline(always)]
fn add(a: Lanes, b: Lanes) -> Lanes {
    std::array::from_fn(|i| a[i] + b[i])
}
#[inline(always)]
fn sub(a: Lanes, b: Lanes) -> Lanes {
    std::array::from_fn(|i| a[i] - b[i])
}
#[inline(always)]
fn weigh(values: [Lanes; 4], by: [i32; 4]) -> Lanes {
    std::array::from_fn(|i| values[0][i] * by[0] + values[1][i] * by[1] + values[2][i] * by[2] + values[3][i] * by[3])
}
#[inline(always)]
fn turn(rows: [Lanes; 8]) -> [Lanes; 8] {
    std::array::from_fn(|y| std::array::from_fn(|x| rows[x][y]))
}
#[inline(always)]
fn shifted(lanes: Lanes, shift: u32) -> Lanes {
    lanes.map(|value| (value + (1 << (shift - 1))) >> shift)
}

/// Eight columns at once.
#[inline(always)]
fn forward_columns(rows: [Lanes; 8], shift: u32) -> [Lanes; 8] {
    let sums: [Lanes; 4] = std::array::from_fn(|i| add(rows[i], rows[7 - i]));
    let differences: [Lanes; 4] = std::array::from_fn(|i| sub(rows[i], rows[7 - i]));
    std::array::from_fn(|k| {
        let sum = if k % 2 == 0 { weigh(sums, EVEN[k / 2]) } else { weigh(differences, ODD[k / 2]) };
        shifted(sum, shift)
    })
}

#[inline(always)]
fn inverse_columns(rows: [Lanes; 8], shift: u32) -> [Lanes; 8] {
    let column = |table: [[i32; 4]; 4], i: usize| [table[0][i], table[1][i], table[2][i], table[3][i]];
    let even: [Lanes; 4] = std::array::from_fn(|i| weigh([rows[0], rows[2], rows[4], rows[6]], column(EVEN, i)));
    let odd: [Lanes; 4] = std::array::from_fn(|i| weigh([rows[1], rows[3], rows[5], rows[7]], column(ODD, i)));
    std::array::from_fn(|i| {
        let sum = if i < 4 { add(even[i], odd[i]) } else { sub(even[7 - i], odd[7 - i]) };
        shifted(sum, shift).map(|value| value.clamp(-32768, 32767))
    })
}

#[inline(always)]
fn lanes(block: &Block) -> [Lanes; 8] {
    std::array::from_fn(|y| std::array::from_fn(|x| i32::from(block[8 * y + x])))
}
#[inline(always)]
fn block(lanes: [Lanes; 8]) -> Block {
    std::array::from_fn(|i| lanes[i / 8][i % 8] as i16)
}

/// Differences of pixels to coefficients.
pub(crate) fn forward(residual: &Block) -> Block {
    block(turn(forward_columns(turn(forward_columns(lanes(residual), 2)), 9)))
}

/// Coefficients to differences of pixels.
pub(crate) fn inverse(coefficients: &Block) -> Block {
    block(turn(inverse_columns(turn(inverse_columns(lanes(coefficients), 7)), 12)))
}

/// The coefficients of a block as its quantisers go through them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Spectrum {
    /// In zigzag order.
    pub(crate) zigzag: Block,
    /// The largest size of one.
    pub(crate) largest: i16,
}

impl Spectrum {
    pub(crate) const NONE: Self = Self { zigzag: [0; 64], largest: 0 };

    /// `coefficients` are row after row, of sizes up to [`i16::MAX`].
    pub(crate) fn of(coefficients: &Block) -> Self {
        let largest = coefficients.iter().fold(0, |largest, value| value.saturating_abs().max(largest));
        Self { zigzag: ZIGZAG.map(|at| coefficients[usize::from(at & 63)]), largest }
    }
    /// Beyond this place in zigzag order all are smaller than `size`; a multiple of 8.
    #[inline(always)]
    pub(crate) fn end(&self, size: i16) -> usize {
        let groups = self.zigzag.as_chunks::<8>().0;
        let beyond = groups
            .iter()
            .rposition(|group| group.iter().fold(0, |largest, value| value.saturating_abs().max(largest)) >= size);
        beyond.map_or(0, |group| 8 * group + 8)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texture() -> Block {
        std::array::from_fn(|i| ((i * i * 37 + i * 11) % 301) as i16 - 150)
    }

    /// [hevc] §8.6.4.2: a block of equal values v has the orthonormal DC 8 v, here 128 v, and nothing else.
    #[test]
    fn a_flat_block_is_its_mean() {
        let mut expected = [0; 64];
        expected[0] = 128 * 9;
        assert_eq!(forward(&[9; 64]), expected);
        assert_eq!(inverse(&expected), [9; 64]);
    }

    #[test]
    fn the_inverse_returns_the_block() {
        let back = inverse(&forward(&texture()));
        assert!(back.iter().zip(texture()).all(|(a, b)| a.abs_diff(b) <= 1), "{back:?}");
    }

    #[test]
    fn energy_is_kept_up_to_the_scale() {
        let energy = |block: &Block| block.iter().map(|&v| f64::from(v) * f64::from(v)).sum::<f64>();
        let ratio = energy(&forward(&texture())) / 256.0 / energy(&texture());
        assert!((ratio - 1.0).abs() < 0.01, "{ratio}");
    }
}
