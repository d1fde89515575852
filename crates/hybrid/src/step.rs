//! Quantiser steps: 32 to an octave, so that a frame meets its budget of bytes closely.

/// The finest quantiser is 0, a step of one grey level; the coarsest is this.
pub(crate) const COARSEST: u8 = 255;

/// The step of a quantiser, in sixteenths of a grey level of an orthonormal transform.
pub(crate) fn step(quantiser: u8) -> i32 {
    let (octave, place) = (u32::from(quantiser) / 32, usize::from(quantiser) % 32);
    ((MANTISSA[place] << octave) + (1 << 9)) >> 10
}

/// The share of a step by which coefficients are moved towards zero.
pub(crate) const TOWARDS_ZERO: i32 = 16;

/// How much finer or coarser a macroblock is than its frame: in eighths of an octave.
pub(crate) const OFFSET_STEP: i16 = 4;
/// The largest offset of a macroblock.
pub(crate) const OFFSET_LIMIT: i8 = 8;

/// The quantiser of a macroblock.
pub(crate) fn with_offset(quantiser: u8, offset: i8) -> u8 {
    (i16::from(quantiser) + OFFSET_STEP * i16::from(offset)).clamp(0, i16::from(COARSEST)) as u8
}

/// 2^14 * 2^(i / 32).
#[rustfmt::skip]
const MANTISSA: [i32; 32] = [
    16384, 16743, 17109, 17484, 17867, 18258, 18658, 19066, 19484, 19911, 20347, 20792, 21247, 21713, 22188, 22674,
    23170, 23678, 24196, 24726, 25268, 25821, 26386, 26964, 27554, 28158, 28774, 29405, 30048, 30706, 31379, 32066,
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_doubles_every_32_quantisers() {
        assert_eq!((step(0), step(32), step(255)), (16, 32, 4008));
        assert!((0..COARSEST).all(|quantiser| step(quantiser) <= step(quantiser + 1)));
    }
}
