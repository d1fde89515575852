//! Convolutions in one and two dimensions (one dimension is a picture of one row), stride one, zero
//! padding if the manifest asks for it. They are correlations, as every trainer has them: the kernel is
//! not flipped.
//!
//! Several places of the picture are computed together: what the kernel covers at each becomes a column,
//! and the filters are a matrix times those columns. Places run down the picture's columns and the matrix
//! by the kernel's, so that padding zeros at the left and right edge are skipped: a sixth of all work on a
//! picture four wide.

use super::panels::{COLUMNS, Panels};
use std::ops::Range;

/// Sizes of a convolution.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Shape {
    /// Of the input.
    pub(super) channels: usize,
    /// Rows and columns of the input.
    pub(super) picture: [usize; 2],
    /// Channels of the output.
    pub(super) filters: usize,
    /// Rows and columns of the kernel.
    pub(super) kernel: [usize; 2],
    /// Zeros above and below, left and right.
    pub(super) padding: [usize; 2],
}

impl Shape {
    /// Values of the input, channel by channel.
    pub(super) fn inputs(&self) -> usize {
        self.channels * self.picture[0] * self.picture[1]
    }

    /// Values the kernel covers at one place.
    pub(super) fn window(&self) -> usize {
        self.channels * self.kernel[0] * self.kernel[1]
    }

    /// Rows and columns of the padded input.
    fn padded(&self) -> [usize; 2] {
        std::array::from_fn(|side| self.picture[side] + 2 * self.padding[side])
    }

    /// Rows and columns of the output; 0 if the kernel is larger than the input.
    pub(super) fn output(&self) -> [usize; 2] {
        let padded = self.padded();
        std::array::from_fn(|side| (padded[side] + 1).saturating_sub(self.kernel[side]))
    }

    /// Values of one filter.
    pub(super) fn places(&self) -> usize {
        self.output()[0] * self.output()[1]
    }

    /// Values of the output, filter by filter.
    pub(super) fn outputs(&self) -> usize {
        self.filters * self.places()
    }
}

/// The filters of one convolution.
#[derive(Debug)]
pub(super) struct Convolution {
    shape: Shape,
    /// In the sum the kernel's columns are the slowest index, its rows the fastest.
    filters: Panels,
}

impl Convolution {
    /// From a kernel of [filter][channel][row][column].
    pub(super) fn new(shape: Shape, weights: &[f32], bias: &[f32]) -> Self {
        let [rows, columns] = shape.kernel;
        let mut matrix = Vec::with_capacity(weights.len());
        for filter in weights.chunks_exact(shape.window()) {
            for column in 0..columns {
                matrix.extend((0..shape.channels * rows).map(|row| filter[row * columns + column]));
            }
        }
        Self { shape, filters: Panels::new(&matrix, bias) }
    }

    /// Values [`Convolution::apply`] needs as scratch space.
    pub(super) fn scratch(&self) -> usize {
        let [rows, columns] = self.shape.padded();
        self.shape.channels * rows * columns + self.shape.window() * COLUMNS
    }

    /// `out` from `input`, both channel by channel.
    #[inline(always)]
    pub(super) fn apply(&self, input: &[f32], out: &mut [f32], scratch: &mut [f32]) {
        let shape = self.shape;
        let [rows, columns] = shape.padded();
        let (padded, windows) = scratch.split_at_mut(shape.channels * rows * columns);
        self.pad(input, padded);
        let (windows, _) = windows[..shape.window() * COLUMNS].as_chunks_mut();
        let (places, [height, width]) = (shape.places(), shape.output());
        let of_column = shape.channels * shape.kernel[0];
        for first in (0..places).step_by(COLUMNS) {
            // Row and column of each place. Past the end the last one is repeated and not kept.
            let at: [[usize; 2]; COLUMNS] = std::array::from_fn(|i| {
                let place = (first + i).min(places - 1);
                [place % height, place / height]
            });
            let kernel = self.kernel_columns(at[0][1], at[COLUMNS - 1][1]);
            let windows = &mut windows[..of_column * kernel.len()];
            see(&shape, padded, &at.map(|[row, column]| row * columns + column), kernel.start, windows);
            let kept = COLUMNS.min(places - first);
            let targets = at.map(|[row, column]| row * width + column);
            self.filters.times_columns(windows, of_column * kernel.start, |filter, sums| {
                let out = &mut out[filter * places..][..places];
                for (target, sum) in targets.iter().zip(sums).take(kept) {
                    out[*target] = *sum;
                }
            });
        }
    }

    /// Columns of the kernel that cover anything but zeros from places in the columns `left` to `right`.
    #[inline(always)]
    fn kernel_columns(&self, left: usize, right: usize) -> Range<usize> {
        let (padding, width) = (self.shape.padding[1], self.shape.picture[1]);
        let start = padding.saturating_sub(right).min(self.shape.kernel[1]);
        start..(width + padding).saturating_sub(left).clamp(start, self.shape.kernel[1])
    }

    /// The input with its zero padding. The zeros are written each time: the scratch is shared.
    #[inline(always)]
    fn pad(&self, input: &[f32], padded: &mut [f32]) {
        let Shape { picture: [height, width], padding: [above, left], .. } = self.shape;
        let [rows, columns] = self.shape.padded();
        if above + left == 0 {
            return padded.copy_from_slice(input);
        }
        padded.fill(0.0);
        for (picture, padded) in input.chunks_exact(height * width).zip(padded.chunks_exact_mut(rows * columns)) {
            let padded = &mut padded[above * columns..];
            for (row, padded) in picture.chunks_exact(width).zip(padded.chunks_exact_mut(columns)) {
                padded[left..left + width].copy_from_slice(row);
            }
        }
    }
}

/// What the kernel covers at the places that begin at `starts`: from its column `first` on, for each
/// column all channels, for each channel all rows.
#[inline(always)]
fn see(shape: &Shape, padded: &[f32], starts: &[usize; COLUMNS], first: usize, windows: &mut [[f32; COLUMNS]]) {
    let [rows, columns] = shape.padded();
    for (windows, column) in windows.chunks_exact_mut(shape.channels * shape.kernel[0]).zip(first..) {
        for (windows, channel) in windows.chunks_exact_mut(shape.kernel[0]).zip(padded.chunks_exact(rows * columns)) {
            for (window, row) in windows.iter_mut().zip(0..) {
                let seen = &channel[row * columns + column..];
                *window = starts.map(|start| seen[start]);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn applied(shape: Shape, weights: &[f32], bias: &[f32], input: &[f32]) -> Vec<f32> {
        let convolution = Convolution::new(shape, weights, bias);
        let mut scratch = vec![f32::NAN; convolution.scratch()];
        let mut out = vec![f32::NAN; shape.outputs()];
        convolution.apply(input, &mut out, &mut scratch);
        out
    }

    #[test]
    fn a_row_of_five_under_a_kernel_of_three() {
        let shape = Shape { channels: 1, picture: [1, 5], filters: 1, kernel: [1, 3], padding: [0, 0] };
        // 1·1 + 2·0 - 3 + 10, and so on along the row.
        assert_eq!(applied(shape, &[1.0, 0.0, -1.0], &[10.0], &[1.0, 2.0, 3.0, 5.0, 8.0]), [8.0, 7.0, 5.0]);
    }

    #[test]
    fn two_channels_and_two_filters_are_summed_by_channel() {
        let shape = Shape { channels: 2, picture: [1, 2], filters: 2, kernel: [1, 1], padding: [0, 0] };
        let out = applied(shape, &[1.0, 10.0, 2.0, 0.0], &[0.0, 1.0], &[1.0, 2.0, 3.0, 4.0]);
        assert_eq!(out, [31.0, 42.0, 3.0, 5.0]);
    }

    #[test]
    fn zeros_around_the_picture_keep_its_size() {
        let shape = Shape { channels: 1, picture: [3, 2], filters: 1, kernel: [3, 3], padding: [1, 1] };
        assert_eq!(shape.output(), [3, 2]);
        // A kernel of ones sums each place's neighbours: rows 1 2 / 3 4 / 5 6.
        assert_eq!(
            applied(shape, &[1.0; 9], &[0.0], &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]),
            [10.0, 10.0, 21.0, 21.0, 18.0, 18.0]
        );
    }
}
