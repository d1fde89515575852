//! Convolutions of one and two dimensions (one dimension is a picture of one row), steps of one, zeros
//! around it where the manifest asks for padding. Correlations, as every trainer has them: the kernel is
//! not turned over.
//!
//! Several places of the picture are worked on together: what the kernel sees at each becomes a column,
//! and the filters are a matrix times those columns.

use super::panels::{COLUMNS, Panels};

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

    /// What the kernel sees at one place.
    pub(super) fn window(&self) -> usize {
        self.channels * self.kernel[0] * self.kernel[1]
    }

    /// Rows and columns of the input with its zeros.
    fn padded(&self) -> [usize; 2] {
        std::array::from_fn(|side| self.picture[side] + 2 * self.padding[side])
    }

    /// Rows and columns of the output; none where the kernel is larger than the input.
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
    filters: Panels,
}

impl Convolution {
    pub(super) fn new(shape: Shape, filters: Panels) -> Self {
        Self { shape, filters }
    }

    /// Values [`Convolution::apply`] needs to work in.
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
        let (places, width) = (shape.places(), shape.output()[1]);
        for first in (0..places).step_by(COLUMNS) {
            // Past the last place the last is seen again and not kept.
            let starts: [usize; COLUMNS] = std::array::from_fn(|column| {
                let place = (first + column).min(places - 1);
                place / width * columns + place % width
            });
            see(&shape, padded, &starts, windows);
            let kept = COLUMNS.min(places - first);
            self.filters.times_columns(windows, |filter, sums| {
                out[filter * places + first..][..kept].copy_from_slice(&sums[..kept]);
            });
        }
    }

    /// The input with zeros around it. The zeros are written each time: the scratch is shared.
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

/// What the kernel sees at the places that begin at `starts`, channel, row and column of the kernel.
#[inline(always)]
fn see(shape: &Shape, padded: &[f32], starts: &[usize; COLUMNS], windows: &mut [[f32; COLUMNS]]) {
    let [rows, columns] = shape.padded();
    let mut windows = windows.iter_mut();
    for channel in padded.chunks_exact(rows * columns) {
        for row in 0..shape.kernel[0] {
            for (column, window) in (0..shape.kernel[1]).zip(&mut windows) {
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
        let convolution = Convolution::new(shape, Panels::new(weights, bias));
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
