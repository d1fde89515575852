//! The places of a block's coefficients, and the groups of them that share models.

/// Bits of the exponential Golomb code of a level's rest.
#[inline]
pub(crate) const fn golomb_bits(value: u32) -> u32 {
    2 * (value + 1).ilog2() + 1
}

/// The sum around a place is at most 15.
pub(crate) const SUMS: usize = 16;

/// Groups of diagonals, by place in zigzag order: for the first decision of a coefficient.
pub(crate) const NONZERO_PLACE: [u8; 64] = by_diagonal(&PLACE);
/// For the others.
pub(crate) const ABOVE_PLACE: [u8; 64] = by_diagonal(&[0, 1, 1, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2]);

const fn by_diagonal(groups: &[u8; 15]) -> [u8; 64] {
    let mut places = [0; 64];
    let mut i = 0;
    while i < 64 {
        places[i] = groups[ZIGZAG[i] as usize % 8 + ZIGZAG[i] as usize / 8];
        i += 1;
    }
    places
}

/// Groups of diagonals.
const PLACE: [u8; 15] = [0, 1, 2, 3, 3, 4, 4, 4, 5, 5, 5, 5, 5, 5, 5];

/// Places of a block by rising frequency.
#[rustfmt::skip]
pub(crate) const ZIGZAG: [u8; 64] = [
     0,  1,  8, 16,  9,  2,  3, 10, 17, 24, 32, 25, 18, 11,  4,  5,
    12, 19, 26, 33, 40, 48, 41, 34, 27, 20, 13,  6,  7, 14, 21, 28,
    35, 42, 49, 56, 57, 50, 43, 36, 29, 22, 15, 23, 30, 37, 44, 51,
    58, 59, 52, 45, 38, 31, 39, 46, 53, 60, 61, 54, 47, 55, 62, 63,
];
