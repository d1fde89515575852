//! Smooths the seams between transform blocks, in the loop: the next frame is predicted from the result.
//!
//! The normal filter of [h264] §8.7.2.3 on a grid of 8x8 pixels, where a block on either side has coefficients or is
//! flat. Its thresholds follow the quantiser's step in place of the tables there.

use crate::macroblock::Macroblock;
use crate::plane::{Frame, Plane};
use crate::step::step;

/// What the filter may change at a quantiser.
#[derive(Clone, Copy)]
struct Limits {
    /// Steps across the seam below this are taken for artefacts, in grey levels.
    alpha: i16,
    /// Steps next to the seam.
    beta: i16,
    /// The largest change of a pixel, before its surroundings add to it.
    change: i16,
}

impl Limits {
    fn of(quantiser: u8) -> Self {
        let step = step(quantiser);
        let octaves = (step / 10).max(1).ilog2() as i16;
        Self {
            alpha: (step * 5 / 64).min(255) as i16,
            beta: (3 * octaves + (step / 100) as i16 - 4).clamp(0, 18),
            change: (step / 224).min(24) as i16,
        }
    }
}

/// Filter all seams of a frame: first those between columns, then those between rows.
pub(crate) fn deblock(frame: &mut Frame, macroblocks: &[Macroblock], quantiser: u8) {
    let limits = Limits::of(quantiser);
    if limits.alpha == 0 || limits.beta == 0 {
        return;
    }
    let (columns, rows) = (frame.size.columns(), frame.size.rows());
    let luma = |x: usize, y: usize| {
        let macroblock = &macroblocks[y / 2 * columns + x / 2];
        macroblock.is_flat() || macroblock.coded >> (y % 2 * 2 + x % 2) & 1 == 1
    };
    let chroma = |plane: usize, x: usize, y: usize| {
        let macroblock = &macroblocks[y * columns + x];
        macroblock.is_flat() || macroblock.coded >> (3 + plane) & 1 == 1
    };
    for (index, plane) in frame.planes.iter_mut().enumerate() {
        let (across, down) = if index == 0 { (2 * columns, 2 * rows) } else { (columns, rows) };
        let coded = |x: usize, y: usize| if index == 0 { luma(x, y) } else { chroma(index, x, y) };
        for y in 0..down {
            for x in 1..across {
                if coded(x - 1, y) || coded(x, y) {
                    between_columns(plane, 8 * x, 8 * y, limits);
                }
            }
        }
        for y in 1..down {
            for x in 0..across {
                if coded(x, y - 1) || coded(x, y) {
                    between_rows(plane, 8 * x, 8 * y, limits);
                }
            }
        }
    }
}

fn between_columns(plane: &mut Plane, x: usize, y: usize, limits: Limits) {
    for row in 0..8 {
        let pixels = plane.row_mut(x as isize - 4, (y + row) as isize, 8);
        let near: [i16; 6] = std::array::from_fn(|i| i16::from(pixels[1 + i]));
        let filtered = smoothed(near, limits);
        pixels[2..6].copy_from_slice(&filtered);
    }
}

fn between_rows(plane: &mut Plane, x: usize, y: usize, limits: Limits) {
    let start = plane.at(x as isize, y as isize);
    let stride = plane.stride;
    let rows: [[u8; 8]; 6] =
        std::array::from_fn(|i| plane.pixels[start + i * stride - 3 * stride..][..8].try_into().expect("eight pixels"));
    let column = |i: usize| rows.map(|row| i16::from(row[i]));
    for i in 0..8 {
        let filtered = smoothed(column(i), limits);
        for (row, value) in filtered.into_iter().enumerate() {
            plane.pixels[start + row * stride - 2 * stride + i] = value;
        }
    }
}

/// The four inner pixels of six across a seam.
#[inline(always)]
fn smoothed([p2, p1, p0, q0, q1, q2]: [i16; 6], limits: Limits) -> [u8; 4] {
    let seam = (p0 - q0).abs() < limits.alpha && (p1 - p0).abs() < limits.beta && (q1 - q0).abs() < limits.beta;
    if !seam {
        return [p1 as u8, p0 as u8, q0 as u8, q1 as u8];
    }
    let (calm_p, calm_q) = ((p2 - p0).abs() < limits.beta, (q2 - q0).abs() < limits.beta);
    let most = limits.change + i16::from(calm_p) + i16::from(calm_q);
    let delta = ((4 * (q0 - p0) + p1 - q1 + 4) >> 3).clamp(-most, most);
    let middle = (p0 + q0 + 1) >> 1;
    let beside = |outer: i16, own: i16, calm: bool| {
        if calm { own + ((outer + middle - 2 * own) >> 1).clamp(-limits.change, limits.change) } else { own }
    };
    let clip = |value: i16| value.clamp(0, 255) as u8;
    [clip(beside(p2, p1, calm_p)), clip(p0 + delta), clip(q0 - delta), clip(beside(q2, q1, calm_q))]
}

#[cfg(test)]
mod tests {
    use super::*;

    /// [h264] §8.7.2.3: p = 50, 50, 50 and q = 58, 58, 58 with a change of 4 + 2: delta = (4 * 8 + 50 - 58 + 4) >> 3 = 3.
    #[test]
    fn a_small_step_is_smoothed_and_a_large_one_stays() {
        let limits = Limits { alpha: 20, beta: 6, change: 4 };
        assert_eq!(smoothed([50, 50, 50, 58, 58, 58], limits), [52, 53, 55, 56]);
        assert_eq!(smoothed([50, 50, 50, 98, 98, 98], limits), [50, 50, 98, 98]);
    }
}
