//! Replacements for macroblocks that did not arrive.
//!
//! In a predicted frame the motion is taken from the macroblocks around: a first guess here, better ones in
//! `guesses.rs`. In a key frame without a picture before it, pixels are interpolated from the edges around.

use crate::macroblock::Macroblock;
use crate::motion::{Field, Vector};
use crate::motion_copy::Parts;
use crate::plane::Frame;

/// Fill in a first guess of the motion of macroblocks that did not arrive: as other packets repeat it, else the median of
/// those around, else what the field before had.
pub(crate) fn guess_motion(
    field: &mut Field,
    macroblocks: &[Option<Macroblock>],
    copied: &[Option<Parts>],
    before: &Field,
) {
    let (columns, rows) = (field.columns / 2, field.rows / 2);
    let known = |index: usize| macroblocks[index].is_some() || copied[index].is_some();
    for (index, parts) in copied.iter().enumerate().filter(|(index, _)| macroblocks[*index].is_none()) {
        if let Some(parts) = parts {
            field.set(index % columns, index / columns, parts.map(Some));
        }
    }
    for y in 0..rows {
        for x in 0..columns {
            if known(y * columns + x) {
                continue;
            }
            let (mut xs, mut ys) = (Vec::with_capacity(12), Vec::with_capacity(12));
            for (dx, dy) in AROUND {
                // Blocks of 8x8 that touch the macroblock.
                let (bx, by) = (2 * x as isize + dx, 2 * y as isize + dy);
                let owner = (bx.div_euclid(2), by.div_euclid(2));
                let inside = (0..columns as isize).contains(&owner.0) && (0..rows as isize).contains(&owner.1);
                if !inside || !known(owner.1 as usize * columns + owner.0 as usize) {
                    continue;
                }
                if let Some(vector) = field.at(bx, by) {
                    xs.push(vector.x);
                    ys.push(vector.y);
                }
            }
            let guess = if xs.is_empty() {
                before.at(2 * x as isize, 2 * y as isize).unwrap_or_default()
            } else {
                Vector::new(middle(&mut xs), middle(&mut ys))
            };
            field.set(x, y, [Some(guess); 4]);
        }
    }
}

fn middle(values: &mut [i16]) -> i16 {
    values.sort_unstable();
    values[values.len() / 2]
}

/// Steps from a macroblock's first 8x8 block to the blocks that touch it.
pub(crate) const AROUND: [(isize, isize); 12] =
    [(-1, -1), (0, -1), (1, -1), (2, -1), (-1, 0), (2, 0), (-1, 1), (2, 1), (-1, 2), (0, 2), (1, 2), (2, 2)];

/// Interpolate the pixels of missing macroblocks from the edges of their neighbours, nearer edges weighing more; grey
/// where nothing is near.
pub(crate) fn interpolate(frame: &mut Frame, macroblocks: &[Option<Macroblock>]) {
    let (columns, rows) = (frame.size.columns(), frame.size.rows());
    let mut known: Vec<bool> = macroblocks.iter().map(Option::is_some).collect();
    // Holes next to holes are filled from holes filled earlier.
    while known.iter().any(|&known| known) && known.iter().any(|&known| !known) {
        let now = known.clone();
        for (index, _) in now.iter().enumerate().filter(|&(_, &known)| !known) {
            let (x, y) = (index % columns, index / columns);
            let sides = [
                x > 0 && now[index - 1],
                x + 1 < columns && now[index + 1],
                y > 0 && now[index - columns],
                y + 1 < rows && now[index + columns],
            ];
            if sides.contains(&true) {
                for (plane, side) in [(0, 16), (1, 8), (2, 8)] {
                    fill(frame, plane, side, x * side, y * side, sides);
                }
                known[index] = true;
            }
        }
    }
}

fn fill(frame: &mut Frame, plane: usize, side: usize, left: usize, top: usize, sides: [bool; 4]) {
    let plane = &mut frame.planes[plane];
    let pixel = |x: usize, y: usize| u32::from(plane.pixels[plane.at(x as isize, y as isize)]);
    let mut filled = vec![0_u8; side * side];
    for row in 0..side {
        for i in 0..side {
            let ends = [
                (left.wrapping_sub(1), top + row),
                (left + side, top + row),
                (left + i, top.wrapping_sub(1)),
                (left + i, top + side),
            ];
            let far = [i + 1, side - i, row + 1, side - row];
            let (mut sum, mut weights) = (0, 0);
            for ((&(x, y), far), known) in ends.iter().zip(far).zip(sides) {
                if known {
                    let weight = (256 / far) as u32;
                    sum += weight * pixel(x, y);
                    weights += weight;
                }
            }
            filled[row * side + i] = ((sum + weights / 2) / weights.max(1)) as u8;
        }
    }
    for (row, from) in filled.chunks_exact(side).enumerate() {
        plane.row_mut(left as isize, (top + row) as isize, side).copy_from_slice(from);
    }
}
