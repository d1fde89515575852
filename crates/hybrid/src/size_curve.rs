//! How large a frame becomes at each quantiser, before it is coded.
//!
//! A coefficient takes bits where it is not much smaller than the step, and more of them the larger it is. Counted by
//! their logarithm, all coefficients of a frame give its size at every quantiser at once, up to a factor that
//! changes little from frame to frame.

use crate::logarithm::log2;
use crate::step::OFFSET_STEP;
use crate::transform::Spectrum;

/// Places of a logarithm, 32 to an octave, and how far offsets of macroblocks reach beyond the quantisers.
const PLACES: usize = 512;
const MARGIN: i16 = 64;

/// The coefficients of a frame, counted by the quantiser whose step they are as large as.
#[derive(Clone, Debug)]
pub(crate) struct Sizes {
    /// Bits that are added below each place.
    steps: [u32; PLACES],
    /// Bits of all else.
    other_bits: u32,
}

impl Sizes {
    pub(crate) fn new(other_bits: u32) -> Self {
        Self { steps: [0; PLACES], other_bits }
    }

    /// Count the coefficients of a block from `smallest` on. Those of a block whose largest pays for no bits of the block
    /// take none either.
    #[inline]
    pub(crate) fn add(&mut self, spectrum: &Spectrum, lone: &[i8; 64], offset: i8, smallest: i16) {
        if spectrum.largest < smallest {
            return;
        }
        let (mut places, mut count, mut block) = ([0_i16; 64], 0, i16::MIN);
        for (&value, &lone) in spectrum.zigzag.iter().zip(lone).take(spectrum.end(smallest)) {
            if value.saturating_abs() >= smallest {
                let place = quantiser_of(value.unsigned_abs());
                block = block.max(place - i16::from(lone));
                places[count & 63] = place;
                count += 1;
            }
        }
        let shift = MARGIN - OFFSET_STEP * i16::from(offset);
        let mut add = |place: i16, bits: u32| {
            self.steps[(place + shift).clamp(0, PLACES as i16 - 1) as usize] += bits;
        };
        add(block, BLOCK_BITS);
        for &place in &places[..count] {
            for (from, bits) in BITS {
                add((place + from).min(block), bits);
            }
        }
    }

    /// The logarithm to base 2 of the frame's bytes at every quantiser. Coefficients finer than `finest` were not
    /// counted.
    pub(crate) fn curve(&self, finest: u8) -> SizeCurve {
        let mut log2_bytes = [0.0; 256];
        let mut bits: u32 = self.other_bits * 11 / 8 + self.steps[256 + MARGIN as usize..].iter().sum::<u32>();
        for quantiser in (usize::from(finest)..256).rev() {
            bits += self.steps[quantiser + MARGIN as usize];
            let least = if quantiser == 255 { 0.0 } else { log2_bytes[quantiser + 1] + SMALLEST_FALL };
            log2_bytes[quantiser] = (log2(bits as usize + 64) - 3.0).max(least);
        }
        for quantiser in (0..usize::from(finest)).rev() {
            log2_bytes[quantiser] = log2_bytes[quantiser + 1] + USUAL_FALL;
        }
        SizeCurve { log2_bytes }
    }
}

/// Roughly the bits of a block at a step.
pub(crate) fn foreseen_bits(spectrum: &Spectrum, step: i32) -> u32 {
    let lone = (step * 9 / 8).min(i32::from(i16::MAX)) as i16;
    if spectrum.largest < lone {
        return 0;
    }
    let worth = (step * 7 / 8) as i16;
    let of = |&value: &i16| {
        let size = value.saturating_abs();
        if size < worth { 0 } else { 6 + 2 * (u32::from(size.unsigned_abs()) / step as u32).max(1).ilog2() }
    };
    8 + spectrum.zigzag[..spectrum.end(worth)].iter().map(of).sum::<u32>()
}

/// The rest of a macroblock.
pub(crate) const USUAL_BITS: u32 = 3;

/// Bits of a block that has coefficients.
const BLOCK_BITS: u32 = 4;
/// Bits of a coefficient: so many 32nds of an octave above the quantiser that it is as large as, it takes so many, and so
/// many more below each of the others. Fitted to yes, again and lrwp9a.
const BITS: [(i16, u32); 7] = [(12, 1), (8, 3), (4, 3), (-4, 1), (-12, 1), (-20, 1), (-28, 1)];
/// A curve falls by at least so much from one quantiser to the next.
const SMALLEST_FALL: f32 = 0.002;
/// By so much where nothing was counted.
const USUAL_FALL: f32 = 1.2 / 32.0;

/// The quantiser whose step a coefficient is as large as, in 16ths of a grey level; below none it is negative.
#[inline(always)]
fn quantiser_of(size: u16) -> i16 {
    let size = u32::from(size.max(1));
    let octave = size.ilog2();
    let mantissa = (size << 5 >> octave) & 31;
    32 * (octave as i16 - 4) + i16::from(LOGARITHM[mantissa as usize])
}

/// 32 log2((i + 32.5) / 32).
#[rustfmt::skip]
const LOGARITHM: [u8; 32] = [
    1, 2, 3, 5, 6, 7, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18,
    19, 20, 21, 22, 23, 24, 25, 25, 26, 27, 28, 29, 29, 30, 31, 32,
];

/// The size of a frame by its quantiser, up to a factor.
#[derive(Clone, Debug)]
pub(crate) struct SizeCurve {
    /// At each quantiser, falling.
    pub(crate) log2_bytes: [f32; 256],
}
