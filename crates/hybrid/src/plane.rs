//! A plane of pixels in whole macroblocks, with a border on all sides so that prediction may point outside.

use crate::picture::{Picture, Size};

/// Pixels of border on each side.
pub(crate) const BORDER: usize = 32;

/// Pixels with a border; coordinates count from the picture's first pixel and may be negative down to -[`BORDER`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Plane {
    pub(crate) width: usize,
    pub(crate) height: usize,
    pub(crate) stride: usize,
    pub(crate) pixels: Vec<u8>,
}

impl Plane {
    pub(crate) fn new(width: usize, height: usize, value: u8) -> Self {
        let stride = width + 2 * BORDER;
        Self { width, height, stride, pixels: vec![value; stride * (height + 2 * BORDER)] }
    }
    /// The index of a pixel.
    #[inline(always)]
    pub(crate) fn at(&self, x: isize, y: isize) -> usize {
        ((y + BORDER as isize) as usize) * self.stride + (x + BORDER as isize) as usize
    }
    /// `length` pixels of a row.
    #[inline(always)]
    pub(crate) fn row(&self, x: isize, y: isize, length: usize) -> &[u8] {
        let at = self.at(x, y);
        &self.pixels[at..at + length]
    }
    #[inline(always)]
    pub(crate) fn row_mut(&mut self, x: isize, y: isize, length: usize) -> &mut [u8] {
        let at = self.at(x, y);
        &mut self.pixels[at..at + length]
    }
    /// Repeat the outermost pixels into the border.
    pub(crate) fn extend(&mut self) {
        for y in 0..self.height {
            let start = (y + BORDER) * self.stride;
            let row = &mut self.pixels[start..start + self.stride];
            let (first, last) = (row[BORDER], row[BORDER + self.width - 1]);
            row[..BORDER].fill(first);
            row[BORDER + self.width..].fill(last);
        }
        let (top, bottom) = (BORDER * self.stride, (BORDER + self.height - 1) * self.stride);
        for y in 0..BORDER {
            self.pixels.copy_within(top..top + self.stride, y * self.stride);
            self.pixels.copy_within(bottom..bottom + self.stride, (BORDER + self.height + y) * self.stride);
        }
    }
}

/// The three planes of a picture in whole macroblocks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Frame {
    pub(crate) size: Size,
    pub(crate) planes: [Plane; 3],
}

impl Frame {
    pub(crate) fn grey(size: Size) -> Self {
        let (width, height) = (size.columns() * 16, size.rows() * 16);
        let plane = |divisor: usize| Plane::new(width / divisor, height / divisor, 128);
        Self { size, planes: [plane(1), plane(2), plane(2)] }
    }
    /// A source picture; pixels beyond it repeat its edge.
    pub(crate) fn of(picture: &Picture) -> Self {
        let size = picture.size();
        let mut frame = Self::grey(size);
        for (index, plane) in frame.planes.iter_mut().enumerate() {
            let divisor = if index == 0 { 1 } else { 2 };
            let (width, height) = (size.width() / divisor, size.height() / divisor);
            let source = picture.plane(index);
            let whole = plane.width;
            for y in 0..plane.height {
                let from = &source[y.min(height - 1) * width..][..width];
                let row = plane.row_mut(0, y as isize, whole);
                row[..width].copy_from_slice(from);
                row[width..].fill(from[width - 1]);
            }
            plane.extend();
        }
        frame
    }
    /// Become the mean of this frame and one of the same size, rounded up.
    pub(crate) fn mix(&mut self, other: &Self) {
        for (plane, other) in self.planes.iter_mut().zip(&other.planes) {
            for (pixel, &other) in plane.pixels.iter_mut().zip(&other.pixels) {
                *pixel = (u16::from(*pixel) + u16::from(other)).div_ceil(2) as u8;
            }
            plane.extend();
        }
    }
    /// The visible part.
    pub(crate) fn picture(&self) -> Picture {
        let plane = |index: usize| {
            let divisor = if index == 0 { 1 } else { 2 };
            let (width, height) = (self.size.width() / divisor, self.size.height() / divisor);
            let mut pixels = Vec::with_capacity(width * height);
            (0..height).for_each(|y| pixels.extend_from_slice(self.planes[index].row(0, y as isize, width)));
            pixels
        };
        Picture::new(self.size, plane(0), plane(1), plane(2)).expect("planes are cut to the size")
    }
}
