//! A frame predicted from a reference: overlapped blocks for luma, plain ones for chroma.
//!
//! A pixel of luma is the weighted mean of three predictions, with the weights of [h263] Annex F. They use the vector
//! of its block, of the block above or below, and of the block to the left or right. The seams between blocks of
//! different motion become soft, and so do those around a block whose motion had to be guessed.

use crate::motion::{Field, Vector};
use crate::plane::Frame;
use crate::reference::Reference;

/// Predict all blocks that have a vector; others keep what `out` holds.
pub(crate) fn predict(reference: &Reference, field: &Field, out: &mut Frame) {
    for y in 0..field.rows {
        for x in 0..field.columns {
            if let Some(own) = field.vectors[y * field.columns + x] {
                show(out, x, y, &predicted(reference, field, x, y, own));
            }
        }
    }
}

/// Predict a block as the mean of what several fields show there, all of which have a vector for it.
pub(crate) fn predict_mean<const N: usize>(
    reference: &Reference,
    fields: &[Field; N],
    x: usize,
    y: usize,
    out: &mut Frame,
) {
    let mut sums = ([[0_u16; 8]; 8], [[[0_u16; 4]; 4]; 2]);
    for field in fields {
        let Some(own) = field.vectors[y * field.columns + x] else { return };
        let (luma, chroma) = predicted(reference, field, x, y, own);
        add(&mut sums.0, &luma);
        sums.1.iter_mut().zip(&chroma).for_each(|(sums, plane)| add(sums, plane));
    }
    let count = N as u16;
    show(out, x, y, &(mean(&sums.0, count), [mean(&sums.1[0], count), mean(&sums.1[1], count)]));
}

/// Pixels of a block: luma, and of both chroma planes.
type Shown = ([[u8; 8]; 8], [[[u8; 4]; 4]; 2]);

fn add<const N: usize>(sums: &mut [[u16; N]; N], pixels: &[[u8; N]; N]) {
    sums.iter_mut().flatten().zip(pixels.iter().flatten()).for_each(|(sum, &pixel)| *sum += u16::from(pixel));
}

fn mean<const N: usize>(sums: &[[u16; N]; N], count: u16) -> [[u8; N]; N] {
    sums.map(|row| row.map(|sum| ((sum + count / 2) / count) as u8))
}

fn show(out: &mut Frame, x: usize, y: usize, (pixels, chroma): &Shown) {
    for (row, from) in pixels.iter().enumerate() {
        out.planes[0].row_mut(8 * x as isize, (8 * y + row) as isize, 8).copy_from_slice(from);
    }
    for (plane, pixels) in chroma.iter().enumerate() {
        for (row, from) in pixels.iter().enumerate() {
            out.planes[1 + plane].row_mut(4 * x as isize, (4 * y + row) as isize, 4).copy_from_slice(from);
        }
    }
}

#[inline(always)]
fn predicted(reference: &Reference, field: &Field, x: usize, y: usize, own: Vector) -> Shown {
    let chroma = [0, 1].map(|plane| reference.chroma_block(plane, 4 * x, 4 * y, own));
    (luma(reference, field, x, y, own), chroma)
}

fn luma(reference: &Reference, field: &Field, x: usize, y: usize, own: Vector) -> [[u8; 8]; 8] {
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
    block
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
    use crate::picture::Size;
    use crate::plane::Plane;

    /// At an edge from 10 to 90, three fields at rest and one that points 8 pixels to the right: (10 + 10 + 10 + 90 + 2) /
    /// 4 = 30 where a block's own vector alone counts.
    #[test]
    fn the_mean_of_fields_is_the_mean_of_their_pixels() {
        let mut frame = Frame::grey(Size::new(32, 32).unwrap());
        for y in 0..32 {
            frame.planes[0].row_mut(0, y, 32).copy_from_slice(&[[10; 16], [90; 16]].concat());
        }
        frame.planes.iter_mut().for_each(Plane::extend);
        let mut fields = [(); 4].map(|()| Field::at_rest(2, 2));
        fields[3].vectors.fill(Some(Vector::new(32, 0)));
        let mut out = Frame::grey(frame.size);
        predict_mean(&Reference::of(&frame), &fields, 1, 1, &mut out);
        assert_eq!(out.planes[0].row(8, 8, 9), [30, 30, 30, 30, 30, 30, 30, 30, 128]);
        assert_eq!(out.planes[1].row(4, 4, 4), [128; 4]);
    }

    #[test]
    fn weights_of_every_pixel_sum_to_eight() {
        for row in 0..8 {
            for i in 0..8 {
                assert_eq!(OWN[row][i] + VERTICAL[row][i] + HORIZONTAL[row][i], 8, "{row} {i}");
            }
        }
    }
}
