//! Uniform draws, each from one 64-bit word, so that a stream's later draws do not depend on the
//! range of earlier ones.

use rand_chacha::ChaCha8Rng;
use rand_core::RngCore;

/// In `[0, 1)`, a multiple of 2⁻⁵³.
pub(crate) fn unit(rng: &mut ChaCha8Rng) -> f64 {
    (rng.next_u64() >> 11) as f64 * (1.0 / (1u64 << 53) as f64)
}

/// In `[low, high)`.
pub(crate) fn between(rng: &mut ChaCha8Rng, low: f64, high: f64) -> f64 {
    low + (high - low) * unit(rng)
}

/// A whole number in `[low, high]`, equally likely to within 2⁻⁵³.
pub(crate) fn whole(rng: &mut ChaCha8Rng, low: u32, high: u32) -> u32 {
    low + (unit(rng) * f64::from(high - low + 1)) as u32
}
