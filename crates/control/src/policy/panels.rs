//! The sums of every layer: a matrix times one or several columns.
//!
//! The matrix is stored in panels of 16 rows, each panel input by input, so that one input times 16 weights is one step
//! without a shuffle. Every output is summed in the order of its inputs, bias first, one multiplication and one
//! addition at a time. The bits are the same for any number of lanes of a processor, and of panels or columns computed
//! together.

/// Rows of a panel.
const ROWS: usize = 16;
/// Columns computed together: enough that no sum waits for the previous one, few enough that all sums stay
/// in registers: 5 of AVX-512's, 10 of AVX2's, 20 of Arm's.
pub(super) const COLUMNS: usize = 5;

/// 16 values, aligned for the widest vectors.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(64))]
struct Rows([f32; ROWS]);

const NOTHING: Rows = Rows([0.0; ROWS]);

/// A matrix with a bias, laid out for sums.
#[derive(Debug)]
pub(super) struct Panels {
    inputs: usize,
    outputs: usize,
    /// [panel][input]; rows past the last output are zero.
    weights: Vec<Rows>,
    /// [panel].
    bias: Vec<Rows>,
}

impl Panels {
    /// From a matrix of `bias.len()` rows, row by row, as trainers store them.
    pub(super) fn new(matrix: &[f32], bias: &[f32]) -> Self {
        let outputs = bias.len();
        let inputs = matrix.len() / outputs;
        let panels = outputs.div_ceil(ROWS);
        let mut packed = Self { inputs, outputs, weights: vec![NOTHING; panels * inputs], bias: vec![NOTHING; panels] };
        for (output, (row, bias)) in matrix.chunks_exact(inputs).zip(bias).enumerate() {
            let (panel, lane) = (output / ROWS, output % ROWS);
            packed.bias[panel].0[lane] = *bias;
            for (rows, weight) in packed.weights[panel * inputs..].iter_mut().zip(row) {
                rows.0[lane] = *weight;
            }
        }
        packed
    }

    /// Rows of the matrix.
    pub(super) fn outputs(&self) -> usize {
        self.outputs
    }

    /// `out` = matrix · `input` + bias, `TOGETHER` panels at a time.
    #[inline(always)]
    pub(super) fn times<const TOGETHER: usize>(&self, input: &[f32], out: &mut [f32]) {
        let input = &input[..self.inputs];
        let mut panel = 0;
        while panel + TOGETHER <= self.bias.len() {
            self.several::<TOGETHER>(panel, input, out);
            panel += TOGETHER;
        }
        while panel < self.bias.len() {
            self.several::<1>(panel, input, out);
            panel += 1;
        }
    }

    #[inline(always)]
    fn several<const N: usize>(&self, first: usize, input: &[f32], out: &mut [f32]) {
        let panels: [&[Rows]; N] = std::array::from_fn(|n| &self.panel(first + n)[..input.len()]);
        let mut sums: [[f32; ROWS]; N] = std::array::from_fn(|n| self.bias[first + n].0);
        for (i, &x) in input.iter().enumerate() {
            for (sums, panel) in sums.iter_mut().zip(&panels) {
                add(sums, x, &panel[i]);
            }
        }
        for (out, sums) in out[first * ROWS..self.outputs].chunks_mut(ROWS).zip(&sums) {
            out.copy_from_slice(&sums[..out.len()]);
        }
    }

    /// The same for [`COLUMNS`] inputs at once, given input by input, starting with the input `first`; missing ones are
    /// zero. `out(output, sums)` receives the sums.
    #[inline(always)]
    pub(super) fn times_columns(
        &self,
        columns: &[[f32; COLUMNS]],
        first: usize,
        mut out: impl FnMut(usize, &[f32; COLUMNS]),
    ) {
        for (panel, bias) in self.bias.iter().enumerate() {
            let sums = sums_of_columns(columns, &self.panel(panel)[first..], bias);
            for output in panel * ROWS..self.outputs.min((panel + 1) * ROWS) {
                out(output, &std::array::from_fn(|column| sums[column][output % ROWS]));
            }
        }
    }

    fn panel(&self, panel: usize) -> &[Rows] {
        &self.weights[panel * self.inputs..][..self.inputs]
    }
}

/// One panel times each column. The sums are separate variables because the compiler keeps an array of them
/// in memory and not in registers.
#[inline(always)]
fn sums_of_columns(columns: &[[f32; COLUMNS]], panel: &[Rows], bias: &Rows) -> [[f32; ROWS]; COLUMNS] {
    let [mut a, mut b, mut c, mut d, mut e] = [bias.0; COLUMNS];
    for (values, weights) in columns.iter().zip(panel) {
        add(&mut a, values[0], weights);
        add(&mut b, values[1], weights);
        add(&mut c, values[2], weights);
        add(&mut d, values[3], weights);
        add(&mut e, values[4], weights);
    }
    [a, b, c, d, e]
}

#[inline(always)]
fn add(sums: &mut [f32; ROWS], x: f32, weights: &Rows) {
    for (sum, weight) in sums.iter_mut().zip(&weights.0) {
        *sum += x * weight;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 35 rows of 3, small integers, so that sums are exact.
    fn matrix() -> (Vec<f32>, Vec<f32>) {
        ((0..105).map(|i| (i % 11) as f32 - 5.0).collect(), (0..35).map(|i| i as f32).collect())
    }

    fn by_hand(input: [f32; 3]) -> Vec<f32> {
        let (matrix, bias) = matrix();
        let row = |r: usize| (0..3).map(|i| matrix[r * 3 + i] * input[i]).sum::<f32>() + bias[r];
        (0..35).map(row).collect()
    }

    #[test]
    fn panels_give_the_products_of_the_matrix() {
        let (matrix, bias) = matrix();
        let panels = Panels::new(&matrix, &bias);
        let mut out = vec![f32::NAN; 35];
        panels.times::<2>(&[1.0, -2.0, 3.0], &mut out);
        assert_eq!(out, by_hand([1.0, -2.0, 3.0]));
        // Row 0 is -5 -4 -3: -5 + 8 - 9 + bias 0.
        assert_eq!(out[0], -6.0);
    }

    #[test]
    fn several_columns_at_once_are_those_columns() {
        let (matrix, bias) = matrix();
        let panels = Panels::new(&matrix, &bias);
        let mut out = vec![[f32::NAN; COLUMNS]; 35];
        let inputs: [[f32; COLUMNS]; 3] = [[1.0, 0.5, 0.0, 0.0, 7.0], [-2.0, 0.0, 0.0, 0.0, 8.0], [3.0; COLUMNS]];
        panels.times_columns(&inputs, 0, |output, sums| out[output] = *sums);
        for column in 0..COLUMNS {
            let sums: Vec<f32> = out.iter().map(|sums| sums[column]).collect();
            assert_eq!(sums, by_hand(inputs.map(|row| row[column])), "column {column}");
        }
        panels.times_columns(&inputs[1..], 1, |output, sums| out[output] = *sums);
        let first_is_zero: Vec<f32> = out.iter().map(|sums| sums[0]).collect();
        assert_eq!(first_is_zero, by_hand([0.0, -2.0, 3.0]));
    }
}
