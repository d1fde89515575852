//! Logarithms and powers with fixed bits, for choices of the encoder.

/// The logarithm to base 2, linear between powers of two: at most 0.09 too low, never falling.
pub(crate) fn log2(value: usize) -> f32 {
    let value = value.max(1);
    let whole = value.ilog2();
    whole as f32 + (value as f32 / (1_u64 << whole) as f32 - 1.0)
}

/// Its inverse.
pub(crate) fn exp2(log2: f32) -> f32 {
    let whole = log2.floor();
    let power = (1_u64 << (whole.abs() as u64).min(63)) as f32;
    (1.0 + log2 - whole) * if whole < 0.0 { 1.0 / power } else { power }
}
