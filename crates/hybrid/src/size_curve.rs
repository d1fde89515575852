//! How large a frame becomes at each quantiser, before it is coded.
//!
//! A coefficient takes bits where it is not much smaller than the step, and more of them the larger it is. Counted by
//! their logarithm, all coefficients of a frame give its size at every quantiser at once, up to a factor that
//! changes little from frame to frame.

use crate::rate::log2;
use crate::step::OFFSET_STEP;
use crate::transform::Spectrum;

/// Places of a logarithm, 32 to an octave, and how far offsets of macroblocks reach beyond the quantisers.
const PLACES: usize = 512;
const MARGIN: i32 = 64;

/// The coefficients of a frame, counted by the quantiser whose step they are as large as.
#[derive(Clone, Debug)]
pub(crate) struct Sizes {
    counts: [u32; PLACES],
    /// Bits of all else.
    other_bits: u32,
}

impl Sizes {
    pub(crate) fn new(other_bits: u32) -> Self {
        Self { counts: [0; PLACES], other_bits }
    }

    /// Count the coefficients of a block from `smallest` on.
    #[inline]
    pub(crate) fn add(&mut self, spectrum: &Spectrum, offset: i8, smallest: i16) {
        if spectrum.largest < smallest {
            return;
        }
        let shift = MARGIN - i32::from(OFFSET_STEP) * i32::from(offset);
        for &value in &spectrum.zigzag[..spectrum.end(smallest)] {
            if value.saturating_abs() >= smallest {
                let place = (quantiser_of(value.unsigned_abs()) + shift).clamp(0, PLACES as i32 - 1);
                self.counts[place as usize] += 1;
            }
        }
    }

    /// The logarithm to base 2 of the frame's bytes at every quantiser, falling.
    pub(crate) fn curve(&self) -> SizeCurve {
        let mut log2_bytes = [0.0; 256];
        let mut above = f32::MAX;
        for (quantiser, to) in log2_bytes.iter_mut().enumerate() {
            let first = (quantiser as i32 + MARGIN + WORTH_FROM) as usize;
            let worth = |(past, &count): (usize, &u32)| u64::from(count) * bits_of(past as i32 + WORTH_FROM);
            let sixteenths: u64 = self.counts[first..].iter().enumerate().map(worth).sum();
            let bits = sixteenths / 16 + u64::from(self.other_bits);
            above = (log2(bits as usize + 64) - 3.0).min(above - SMALLEST_FALL);
            *to = above;
        }
        SizeCurve { log2_bytes }
    }
}

/// Coefficients that are this much smaller than the step, in 32nds of an octave, take no bits: 3 / 5 of it.
const WORTH_FROM: i32 = -23;
/// A curve falls by at least so much from one quantiser to the next.
const SMALLEST_FALL: f32 = 0.002;

/// Bits of a coefficient that is so many 32nds of an octave larger than the step, in 16ths.
const fn bits_of(above: i32) -> u64 {
    (if above < 0 { 48 + (above - WORTH_FROM) } else { 71 + above }) as u64
}

/// The quantiser whose step a coefficient is as large as, in 16ths of a grey level; below none it is negative.
#[inline(always)]
fn quantiser_of(size: u16) -> i32 {
    let size = u32::from(size.max(1));
    let octave = size.ilog2();
    let mantissa = (size << 5 >> octave) & 31;
    32 * (octave as i32 - 4) + i32::from(LOGARITHM[mantissa as usize])
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
