//! Layers without a matrix, which foreign networks have between their matrices. They scale an input value by value,
//! bring a row to mean 0 and deviation 1, or weigh one row by another in a scalar product.
//!
//! All sums run in the order of the values, so that they have the same bits on every machine.

/// Each value minus its offset, times its factor.
#[derive(Debug)]
pub(super) struct Scale {
    offset: Box<[f32]>,
    factor: Box<[f32]>,
}

impl Scale {
    /// One offset and one factor for each value.
    pub(super) fn new(offset: &[f32], factor: &[f32]) -> Self {
        Self { offset: offset.into(), factor: factor.into() }
    }

    #[inline(always)]
    pub(super) fn apply(&self, input: &[f32], out: &mut [f32]) {
        for (((out, x), offset), factor) in out.iter_mut().zip(input).zip(&self.offset).zip(&self.factor) {
            *out = (x - offset) * factor;
        }
    }
}

/// PyTorch's `LayerNorm` over the whole row: the variance is that of all values, not of a sample.
#[derive(Debug)]
pub(super) struct LayerNorm {
    weight: Box<[f32]>,
    bias: Box<[f32]>,
    epsilon: f32,
}

impl LayerNorm {
    /// `epsilon` is added to the variance.
    pub(super) fn new(weight: &[f32], bias: &[f32], epsilon: f32) -> Self {
        Self { weight: weight.into(), bias: bias.into(), epsilon }
    }

    #[inline(always)]
    pub(super) fn apply(&self, input: &[f32], out: &mut [f32]) {
        let count = input.len() as f32;
        let mean = input.iter().sum::<f32>() / count;
        let variance = input.iter().map(|x| (x - mean) * (x - mean)).sum::<f32>() / count;
        let deviation = (variance + self.epsilon).sqrt();
        for (((out, x), weight), bias) in out.iter_mut().zip(input).zip(&self.weight).zip(&self.bias) {
            *out = (x - mean) / deviation * weight + bias;
        }
    }
}

/// The scalar product of the first half and the second.
#[inline(always)]
pub(super) fn dot(input: &[f32]) -> f32 {
    let (a, b) = input.split_at(input.len() / 2);
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scale_layer_norm_and_dot_by_hand() {
        let mut out = [0.0; 2];
        Scale::new(&[10.0, -1.0], &[0.5, 2.0]).apply(&[14.0, 3.0], &mut out);
        assert_eq!(out, [2.0, 8.0]);
        // Mean 2, variance ((-1)^2 + 1^2) / 2 = 1; with 3 added the deviation is 2: -0.5 and 0.5, times 4 and 6, plus 1.
        LayerNorm::new(&[4.0, 6.0], &[1.0, 1.0], 3.0).apply(&[1.0, 3.0], &mut out);
        assert_eq!(out, [-1.0, 4.0]);
        // Equal values: no deviation but epsilon, and nothing is divided by zero.
        LayerNorm::new(&[1.0, 1.0], &[0.0, 0.0], 1e-5).apply(&[7.0, 7.0], &mut out);
        assert_eq!(out, [0.0, 0.0]);
        assert_eq!(dot(&[1.0, 2.0, 3.0, 10.0, 20.0, 30.0]), 140.0);
    }
}
