//! A frame predicted from a reference: overlapped blocks for luma, plain ones for chroma.
//!
//! A pixel of luma is the weighted mean of what its own block's vector shows there, the block's above or below and the
//! block's to the left or right, with the weights of [h263] Annex F. The seams between blocks of different motion
//! become soft, and so do those around a block whose motion had to be guessed.

use crate::motion::{Field, Vector};
use crate::plane::{Frame, Plane};
use crate::reference::Reference;

/// Predict all blocks that have a vector; others keep what `out` holds.
pub(crate) fn predict(reference: &Reference, field: &Field, out: &mut Frame) {
    for y in 0..field.rows {
        for x in 0..field.columns {
            let Some(own) = field.vectors[y * field.columns + x] else { continue };
            luma(reference, field, x, y, own, &mut out.planes[0]);
            for plane in 0..2 {
                let block = reference.chroma_block(plane, 4 * x, 4 * y, own);
                for (row, from) in block.iter().enumerate() {
                    out.planes[1 + plane].row_mut(4 * x as isize, (4 * y + row) as isize, 4).copy_from_slice(from);
                }
            }
        }
    }
}

fn luma(reference: &Reference, field: &Field, x: usize, y: usize, own: Vector, out: &mut Plane) {
    let (left, top) = (8 * x, 8 * y);
    let mut block = [[0; 8]; 8];
    reference.luma_block(left, top, own, &mut block);
    let near = |dx: isize, dy: isize| field.at(x as isize + dx, y as isize + dy).unwrap_or(own);
    let [above, below, before, after] = [near(0, -1), near(0, 1), near(-1, 0), near(1, 0)];
    if [above, below, before, after] != [own; 4] {
        let (mut vertical, mut horizontal) = (block, block);
        if above != own {
            reference.luma_block(left, top, above, &mut vertical[..4]);
        }
        if below != own {
            reference.luma_block(left, top + 4, below, &mut vertical[4..]);
        }
        for (start, vector) in [(0, before), (4, after)] {
            if vector != own {
                let mut half = [[0; 4]; 8];
                reference.luma_block(left + start, top, vector, &mut half);
                for (to, from) in horizontal.iter_mut().zip(&half) {
                    to[start..start + 4].copy_from_slice(from);
                }
            }
        }
        for row in 0..8 {
            for i in 0..8 {
                let sum = u16::from(block[row][i]) * OWN[row][i]
                    + u16::from(vertical[row][i]) * VERTICAL[row][i]
                    + u16::from(horizontal[row][i]) * HORIZONTAL[row][i];
                block[row][i] = ((sum + 4) >> 3) as u8;
            }
        }
    }
    for (row, from) in block.iter().enumerate() {
        out.row_mut(left as isize, (top + row) as isize, 8).copy_from_slice(from);
    }
}

/// [h263] Annex F, Figure F.2: the weight of the block's own vector, in eighths.
const OWN: [[u16; 8]; 8] = [
    [4, 5, 5, 5, 5, 5, 5, 4],
    [5, 5, 5, 5, 5, 5, 5, 5],
    [5, 5, 6, 6, 6, 6, 5, 5],
    [5, 5, 6, 6, 6, 6, 5, 5],
    [5, 5, 6, 6, 6, 6, 5, 5],
    [5, 5, 6, 6, 6, 6, 5, 5],
    [5, 5, 5, 5, 5, 5, 5, 5],
    [4, 5, 5, 5, 5, 5, 5, 4],
];
/// [h263] Annex F, Figure F.3: of the block above or below.
const VERTICAL: [[u16; 8]; 8] = [
    [2, 2, 2, 2, 2, 2, 2, 2],
    [1, 1, 2, 2, 2, 2, 1, 1],
    [1, 1, 1, 1, 1, 1, 1, 1],
    [1, 1, 1, 1, 1, 1, 1, 1],
    [1, 1, 1, 1, 1, 1, 1, 1],
    [1, 1, 1, 1, 1, 1, 1, 1],
    [1, 1, 2, 2, 2, 2, 1, 1],
    [2, 2, 2, 2, 2, 2, 2, 2],
];

/// [h263] Annex F, Figure F.4: of the block to the left or right.
const HORIZONTAL: [[u16; 8]; 8] = [
    [2, 1, 1, 1, 1, 1, 1, 2],
    [2, 2, 1, 1, 1, 1, 2, 2],
    [2, 2, 1, 1, 1, 1, 2, 2],
    [2, 2, 1, 1, 1, 1, 2, 2],
    [2, 2, 1, 1, 1, 1, 2, 2],
    [2, 2, 1, 1, 1, 1, 2, 2],
    [2, 2, 1, 1, 1, 1, 2, 2],
    [2, 1, 1, 1, 1, 1, 1, 2],
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weights_of_every_pixel_sum_to_eight() {
        for row in 0..8 {
            for i in 0..8 {
                assert_eq!(OWN[row][i] + VERTICAL[row][i] + HORIZONTAL[row][i], 8, "{row} {i}");
            }
        }
    }
}
