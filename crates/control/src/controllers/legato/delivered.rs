//! What arrives of late, whatever the link would pass.

/// A smoothed rate in bytes a second.
#[derive(Clone, Copy, Debug)]
pub struct Delivered {
    bytes_per_s: f64,
}

/// About fifteen frames: a key frame is not what a call sends.
const MEMORY_S: f64 = 0.5;
/// Two feedbacks of one moment are no infinite rate.
const SHORTEST_S: f64 = 1e-3;

impl Delivered {
    /// Before anything arrived.
    pub fn new(bytes_per_s: f64) -> Self {
        Self { bytes_per_s }
    }

    /// So many bytes arrived in `since_s`.
    pub fn count(&mut self, bytes: u64, since_s: f64) {
        let kept = libm::exp(-since_s / MEMORY_S);
        self.bytes_per_s = self.bytes_per_s * kept + bytes as f64 / since_s.max(SHORTEST_S) * (1.0 - kept);
    }

    /// As it is known.
    pub fn bytes_per_s(&self) -> f64 {
        self.bytes_per_s
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 1,000 bytes every 10 ms are 100,000 a second; after half a second 1/e of the start is left.
    #[test]
    fn what_was_before_is_forgotten_within_half_a_second() {
        let mut delivered = Delivered::new(0.0);
        (0..50).for_each(|_| delivered.count(1_000, 0.01));
        assert!((delivered.bytes_per_s() - 100e3 * (1.0 - libm::exp(-1.0))).abs() < 1.0);
    }
}
