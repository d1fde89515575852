//! From a prediction and coefficients to the frame that is shown and predicted from.

use crate::deblock::deblock;
use crate::macroblock::{BLOCKS, Levels, MEAN_STEP, Macroblock, Source};
use crate::plane::Frame;
use crate::step::{TOWARDS_ZERO, step, with_offset};
use crate::transform::{Block, inverse};

/// The plane of a block and where it begins in that plane.
#[inline(always)]
pub(crate) const fn place(block: usize, x: usize, y: usize) -> (usize, usize, usize) {
    match block {
        0..4 => (0, 16 * x + 8 * (block % 2), 16 * y + 8 * (block / 2)),
        _ => (block - 3, 8 * x, 8 * y),
    }
}

/// Fill the areas of flat macroblocks of `frame`.
pub(crate) fn fill_flat(frame: &mut Frame, x: usize, y: usize, means: [u8; 3]) {
    for block in 0..BLOCKS {
        let (plane, left, top) = place(block, x, y);
        let value = (u16::from(means[plane]) * u16::from(MEAN_STEP) + u16::from(MEAN_STEP) / 2).min(255) as u8;
        for row in 0..8 {
            frame.planes[plane].row_mut(left as isize, (top + row) as isize, 8).fill(value);
        }
    }
}

/// Add the coded differences to `frame`, which holds the prediction.
pub(crate) fn add_residual(frame: &mut Frame, macroblocks: &[Macroblock], levels: &[Levels], quantiser: u8) {
    let columns = frame.size.columns();
    for (index, (macroblock, levels)) in macroblocks.iter().zip(levels).enumerate() {
        let (x, y) = (index % columns, index / columns);
        let step = step(with_offset(quantiser, macroblock.offset));
        for (block, levels) in levels.iter().enumerate().filter(|(block, _)| macroblock.coded >> block & 1 == 1) {
            let residual = inverse(&dequantised(levels, step));
            let (plane, left, top) = place(block, x, y);
            for row in 0..8 {
                let pixels = frame.planes[plane].row_mut(left as isize, (top + row) as isize, 8);
                for (pixel, difference) in pixels.iter_mut().zip(&residual[8 * row..]) {
                    *pixel = (i32::from(*pixel) + i32::from(*difference)).clamp(0, 255) as u8;
                }
            }
        }
    }
}

/// Smooth the seams and repeat the edges outwards.
pub(crate) fn finish(frame: &mut Frame, macroblocks: &[Macroblock], quantiser: u8) {
    deblock(frame, macroblocks, quantiser);
    frame.planes.iter_mut().for_each(|plane| plane.extend());
}

/// Fill flat areas, add the coded residual, smooth: everything after the prediction.
pub(crate) fn reconstruct(frame: &mut Frame, macroblocks: &[Macroblock], levels: &[Levels], quantiser: u8) {
    let columns = frame.size.columns();
    for (index, macroblock) in macroblocks.iter().enumerate() {
        if let Source::Flat(means) = macroblock.source {
            fill_flat(frame, index % columns, index / columns, means);
        }
    }
    add_residual(frame, macroblocks, levels, quantiser);
}

/// Levels times the step, a little towards zero, where most of the rounded values lie.
#[inline]
pub(crate) fn dequantised(levels: &Block, step: i32) -> Block {
    let towards_zero = step / TOWARDS_ZERO;
    levels.map(|level| {
        let size = i32::from(level) * step;
        (size - i32::from(level.signum()) * towards_zero).clamp(-32768, 32767) as i16
    })
}
