//! Deviates of a Laplacian, by which [rfc8593] varies frame sizes and intervals.

use rand_chacha::ChaCha8Rng;
use rand_core::RngCore;

/// A Laplace deviate of mean 0 and scale 1, by inversion.
pub(crate) fn deviate(rng: &mut ChaCha8Rng) -> f64 {
    // 53 bits, centred so that neither end is reached.
    let u = ((rng.next_u64() >> 11) as f64 + 0.5) / (1_u64 << 53) as f64 - 0.5;
    -u.signum() * libm::log(1.0 - 2.0 * u.abs())
}
