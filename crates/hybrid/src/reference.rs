//! A reference of prediction: a frame with its pixels half-way between, and blocks of it at quarter-pixel places.
//!
//! Half pixels are interpolated once per frame by the six taps (1, -5, 20, 20, -5, 1) / 32 of [h264] §8.4.2.2.1. The
//! middle one is filtered down from rounded pixels, not from sums as there, so that all planes are 8 bits. Quarter
//! pixels are means of two.

use crate::motion::Vector;
use crate::plane::{BORDER, Frame, Plane};

/// A frame ready to be predicted from.
#[derive(Clone, Debug)]
pub(crate) struct Reference {
    /// Whole pixels; half a pixel to the right; half a pixel down; both.
    pub(crate) luma: [Plane; 4],
    pub(crate) chroma: [Plane; 2],
}

impl Reference {
    pub(crate) fn of(frame: &Frame) -> Self {
        let [luma, u, v] = frame.planes.clone();
        let right = half_right(&luma);
        let down = half_down(&luma);
        let both = half_down(&right);
        Self { luma: [luma, right, down, both], chroma: [u, v] }
    }

    /// The block of `W`x`H` luma pixels at (`x`, `y`) displaced by `vector`, row after row into `out`.
    #[inline]
    pub(crate) fn luma_block<const W: usize>(&self, x: usize, y: usize, vector: Vector, out: &mut [[u8; W]]) {
        let plane = &self.luma[0];
        let left = clamp_to(x as isize + isize::from(vector.x >> 2), plane.width, W);
        let top = clamp_to(y as isize + isize::from(vector.y >> 2), plane.height, out.len());
        let [(first, dx, dy), (second, ex, ey)] = QUARTERS[((vector.y & 3) * 4 + (vector.x & 3)) as usize];
        let (a, b) = (&self.luma[first], &self.luma[second]);
        let start = a.at(left + dx, top + dy);
        if (first, dx, dy) == (second, ex, ey) {
            for (row, to) in out.iter_mut().enumerate() {
                to.copy_from_slice(&a.pixels[start + row * a.stride..][..W]);
            }
            return;
        }
        let other = b.at(left + ex, top + ey);
        for (row, to) in out.iter_mut().enumerate() {
            let from = &a.pixels[start + row * a.stride..][..W];
            let with = &b.pixels[other + row * b.stride..][..W];
            for i in 0..W {
                to[i] = mean(from[i], with[i]);
            }
        }
    }

    /// Sum of absolute differences of a source block and the displaced one.
    #[inline]
    pub(crate) fn difference<const W: usize>(&self, source: &[[u8; W]], x: usize, y: usize, vector: Vector) -> u32 {
        if (vector.x | vector.y) & 3 == 0 {
            let plane = &self.luma[0];
            let left = clamp_to(x as isize + isize::from(vector.x >> 2), plane.width, W);
            let top = clamp_to(y as isize + isize::from(vector.y >> 2), plane.height, source.len());
            let start = plane.at(left, top);
            let rows = source.iter().enumerate();
            return rows.map(|(row, from)| sum_of(from, &plane.pixels[start + row * plane.stride..][..W])).sum();
        }
        let mut block = [[0; W]; 16];
        let block = &mut block[..source.len()];
        self.luma_block(x, y, vector, block);
        source.iter().zip(block.iter()).map(|(from, with)| sum_of(from, with)).sum()
    }

    /// 4x4 chroma pixels at (`x`, `y`) of a chroma plane, displaced by a luma vector; bilinear in eighths of a pixel.
    #[inline]
    pub(crate) fn chroma_block(&self, plane: usize, x: usize, y: usize, vector: Vector) -> [[u8; 4]; 4] {
        let plane = &self.chroma[plane];
        let left = clamp_to(x as isize + isize::from(vector.x >> 3), plane.width, 4);
        let top = clamp_to(y as isize + isize::from(vector.y >> 3), plane.height, 4);
        let (fx, fy) = ((vector.x & 7) as u32, (vector.y & 7) as u32);
        let mut out = [[0; 4]; 4];
        for (row, to) in out.iter_mut().enumerate() {
            let above = plane.row(left, top + row as isize, 5);
            let below = plane.row(left, top + row as isize + 1, 5);
            for i in 0..4 {
                let upper = (8 - fx) * u32::from(above[i]) + fx * u32::from(above[i + 1]);
                let lower = (8 - fx) * u32::from(below[i]) + fx * u32::from(below[i + 1]);
                to[i] = (((8 - fy) * upper + fy * lower + 32) >> 6) as u8;
            }
        }
        out
    }
}

#[inline(always)]
fn mean(a: u8, b: u8) -> u8 {
    (u16::from(a) + u16::from(b)).div_ceil(2) as u8
}

#[inline(always)]
fn sum_of(a: &[u8], b: &[u8]) -> u32 {
    a.iter().zip(b).map(|(&a, &b)| u32::from(a.abs_diff(b))).sum()
}

/// A block that lies further outside than this shows the same border anyway.
#[inline(always)]
fn clamp_to(at: isize, side: usize, block: usize) -> isize {
    at.clamp(-(BORDER as isize - 8), side as isize + BORDER as isize - 8 - block as isize)
}

/// The planes whose mean is a quarter-pixel place, with whole pixels to add: [h264] §8.4.2.2.1, Figure 8-4.
const QUARTERS: [[(usize, isize, isize); 2]; 16] = [
    [(0, 0, 0), (0, 0, 0)],
    [(0, 0, 0), (1, 0, 0)],
    [(1, 0, 0), (1, 0, 0)],
    [(1, 0, 0), (0, 1, 0)],
    [(0, 0, 0), (2, 0, 0)],
    [(1, 0, 0), (2, 0, 0)],
    [(1, 0, 0), (3, 0, 0)],
    [(1, 0, 0), (2, 1, 0)],
    [(2, 0, 0), (2, 0, 0)],
    [(2, 0, 0), (3, 0, 0)],
    [(3, 0, 0), (3, 0, 0)],
    [(3, 0, 0), (2, 1, 0)],
    [(2, 0, 0), (0, 0, 1)],
    [(2, 0, 0), (1, 0, 1)],
    [(3, 0, 0), (1, 0, 1)],
    [(2, 1, 0), (1, 0, 1)],
];

#[inline(always)]
fn tap6(a: u8, b: u8, c: u8, d: u8, e: u8, f: u8) -> u8 {
    let w = |value: u8| i16::from(value);
    ((w(a) + w(f) - 5 * (w(b) + w(e)) + 20 * (w(c) + w(d)) + 16) >> 5).clamp(0, 255) as u8
}

fn half_right(plane: &Plane) -> Plane {
    let mut out = plane.clone();
    for (from, to) in plane.pixels.chunks_exact(plane.stride).zip(out.pixels.chunks_exact_mut(plane.stride)) {
        let n = plane.stride - 5;
        let (a, b, c, d, e, f) =
            (&from[..n], &from[1..][..n], &from[2..][..n], &from[3..][..n], &from[4..][..n], &from[5..][..n]);
        for (i, to) in to[2..][..n].iter_mut().enumerate() {
            *to = tap6(a[i], b[i], c[i], d[i], e[i], f[i]);
        }
    }
    out
}

fn half_down(plane: &Plane) -> Plane {
    let mut out = plane.clone();
    let stride = plane.stride;
    let rows = plane.height + 2 * BORDER;
    for y in 2..rows - 3 {
        let row = |i: usize| &plane.pixels[(y + i - 2) * stride..][..stride];
        let (a, b, c, d, e, f) = (row(0), row(1), row(2), row(3), row(4), row(5));
        for (i, to) in out.pixels[y * stride..][..stride].iter_mut().enumerate() {
            *to = tap6(a[i], b[i], c[i], d[i], e[i], f[i]);
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::picture::Size;

    /// [h264] §8.4.2.2.1, worked by hand: at a step from 10 to 90 the half-way pixel is (10 - 50 + 200 + 1800 - 450 + 90
    /// + 16) / 32 = 50, the one before (10 - 50 + 200 + 200 - 450 + 90 + 16) / 32 = 0, and quarters are means.
    #[test]
    fn half_pixels_at_a_step_are_those_of_the_six_taps() {
        let mut frame = Frame::grey(Size::new(16, 16).unwrap());
        for y in 0..16 {
            frame.planes[0].row_mut(0, y, 16).copy_from_slice(&[[10; 8], [90; 8]].concat());
        }
        frame.planes.iter_mut().for_each(Plane::extend);
        let reference = Reference::of(&frame);
        let shown = |x: i16| {
            let mut block = [[0; 8]; 8];
            reference.luma_block(4, 4, Vector::new(x, 0), &mut block);
            [block[0][2], block[0][3], block[0][4]]
        };
        assert_eq!(shown(0), [10, 10, 90]);
        assert_eq!(shown(2), [0, 50, 100]);
        assert_eq!(shown(1), [5, 30, 95]);
        let source = [[10_u8; 8]; 8];
        assert_eq!(reference.difference(&source, 4, 4, Vector::new(0, 0)), 8 * 4 * 80);
    }

    #[test]
    fn a_vector_far_outside_shows_the_edge() {
        let frame = Frame::grey(Size::new(16, 16).unwrap());
        let mut block = [[0; 16]; 16];
        Reference::of(&frame).luma_block(0, 0, Vector::new(511, -511), &mut block);
        assert_eq!(block, [[128; 16]; 16]);
    }
}
