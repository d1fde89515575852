//! What arrives of late, whatever the link would pass.

/// A smoothed rate in bytes a second.
#[derive(Clone, Copy, Debug)]
pub struct Delivered {
    bytes_per_s: f64,
    latest_bytes_per_s: f64,
}

/// About fifteen frames: a key frame is not what a call sends.
const MEMORY_S: f64 = 0.5;
/// About three frames.
const LATEST_MEMORY_S: f64 = 0.1;
/// Two feedbacks of one moment are no infinite rate.
const SHORTEST_S: f64 = 1e-3;

impl Delivered {
    /// Before anything arrived.
    pub fn new(bytes_per_s: f64) -> Self {
        Self { bytes_per_s, latest_bytes_per_s: bytes_per_s }
    }

    /// So many bytes arrived in `since_s`.
    pub fn count(&mut self, bytes: u64, since_s: f64) {
        let came = bytes as f64 / since_s.max(SHORTEST_S);
        for (rate, memory_s) in [(&mut self.bytes_per_s, MEMORY_S), (&mut self.latest_bytes_per_s, LATEST_MEMORY_S)] {
            let kept = libm::exp(-since_s / memory_s);
            *rate = *rate * kept + came * (1.0 - kept);
        }
    }

    /// Over the last frames.
    pub fn latest_bytes_per_s(&self) -> f64 {
        self.latest_bytes_per_s
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
