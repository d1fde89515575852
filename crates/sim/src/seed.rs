//! One `u64` per run. Each consumer of randomness derives its own stream by name, so that a new
//! consumer changes no other's draws.

use rand_chacha::ChaCha8Rng;
use rand_core::SeedableRng;

/// The seed of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seed(pub u64);

impl Seed {
    /// The stream with that name, e.g. `"path.forward.loss"`.
    pub fn stream(self, name: &str) -> ChaCha8Rng {
        let mut rng = ChaCha8Rng::seed_from_u64(self.0);
        rng.set_stream(fnv1a(name));
        rng
    }

    /// A derived seed for a component that takes one.
    pub fn derived(self, name: &str) -> u64 {
        rand_core::RngCore::next_u64(&mut self.stream(name))
    }
}

/// FNV-1a, 64 bits: fixed forever, unlike the standard library's hashers.
fn fnv1a(name: &str) -> u64 {
    name.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn streams_differ_by_name_and_by_seed_and_by_nothing_else() {
        let draw = |seed: u64, name: &str| Seed(seed).derived(name);
        assert_eq!(draw(1, "path.forward.loss"), draw(1, "path.forward.loss"));
        assert_ne!(draw(1, "path.forward.loss"), draw(1, "path.reverse.loss"));
        assert_ne!(draw(1, "path.forward.loss"), draw(2, "path.forward.loss"));
    }

    #[test]
    fn the_hash_is_fnv_1a() {
        assert_eq!(fnv1a(""), 0xcbf2_9ce4_8422_2325);
        assert_eq!(fnv1a("a"), 0xaf63_dc4c_8601_ec8c);
    }
}
