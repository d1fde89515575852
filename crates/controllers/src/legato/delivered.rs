//! The rate at which bytes arrive, whatever the link would pass.

use legato_units::{ByteRate, Bytes, DataSize, Seconds};

/// A smoothed rate.
#[derive(Clone, Copy, Debug)]
pub struct Delivered {
    rate: ByteRate,
    latest: ByteRate,
}

/// About fifteen frames: a key frame is not what a call sends.
const MEMORY: Seconds = Seconds::from_millis(500.0);
/// About three frames.
const LATEST_MEMORY: Seconds = Seconds::from_millis(100.0);
/// Two feedbacks of one moment are no infinite rate.
const SHORTEST: Seconds = Seconds::from_millis(1.0);

impl Delivered {
    /// Before anything arrived.
    pub fn new(rate: ByteRate) -> Self {
        Self { rate, latest: rate }
    }

    /// So much arrived in the time `since`.
    pub fn count(&mut self, amount: DataSize, since: Seconds) {
        let came = Bytes::from(amount) / since.max(SHORTEST);
        for (rate, memory) in [(&mut self.rate, MEMORY), (&mut self.latest, LATEST_MEMORY)] {
            let kept = libm::exp(-(since / memory));
            *rate = *rate * kept + came * (1.0 - kept);
        }
    }

    /// Over the last frames.
    pub fn latest(&self) -> ByteRate {
        self.latest
    }

    /// Over half a second.
    pub fn rate(&self) -> ByteRate {
        self.rate
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 1,000 bytes every 10 ms are 100,000 a second; after half a second 1/e of the start is left.
    #[test]
    fn what_was_before_is_forgotten_within_half_a_second() {
        let mut delivered = Delivered::new(ByteRate::ZERO);
        (0..50).for_each(|_| delivered.count(DataSize::from_bytes(1_000), Seconds::new(0.01)));
        assert!((delivered.rate().get() - 100e3 * (1.0 - libm::exp(-1.0))).abs() < 1.0);
    }
}
