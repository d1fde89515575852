//! How much may be retransmitted: no more than the target bitrate over a window ([libwebrtc-m150]
//! retransmission rate limiter). Without it an overflowing queue causes as many retransmissions,
//! which keep it full.

use legato_units::{DataRate, DataSize, TimeDelta, Timestamp};

/// Bytes recently retransmitted, in buckets of a fifth of the window.
#[derive(Clone, Debug, Default)]
pub struct RtxAllowance {
    buckets: [u64; BUCKETS],
    /// Counts buckets since the epoch.
    current: i64,
}

const BUCKETS: usize = 5;
const BUCKET: TimeDelta = TimeDelta::from_millis(100);

impl RtxAllowance {
    /// Whether one more packet may be retransmitted at `now`.
    pub fn permits(&mut self, now: Timestamp, target: DataRate) -> bool {
        self.advance(now);
        let spent: u64 = self.buckets.iter().sum();
        DataSize::from_bytes(spent) < target * (BUCKET * BUCKETS as i64)
    }

    /// It was retransmitted.
    pub fn spend(&mut self, bytes: u64) {
        self.buckets[self.current as usize % BUCKETS] += bytes;
    }

    fn advance(&mut self, now: Timestamp) {
        let bucket = (now.as_nanos() / BUCKET.as_nanos()).max(0);
        let passed = (bucket - self.current).clamp(0, BUCKETS as i64);
        for step in 1..=passed {
            self.buckets[(bucket - passed + step) as usize % BUCKETS] = 0;
        }
        self.current = self.current.max(bucket);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_target_over_half_a_second_may_be_retransmitted() {
        let (mut allowance, target) = (RtxAllowance::default(), DataRate::from_kbps(160));
        let at = |ms| Timestamp::from_millis(ms);
        // 160 kbit/s are 10,000 bytes in 500 ms.
        for n in 0..10 {
            assert!(allowance.permits(at(1_000 + n), target), "{n}");
            allowance.spend(1_000);
        }
        assert!(!allowance.permits(at(1_010), target));
        assert!(!allowance.permits(at(1_499), target));
        assert!(allowance.permits(at(1_500), target));
    }

    #[test]
    fn a_long_silence_forgets_everything() {
        let mut allowance = RtxAllowance::default();
        assert!(allowance.permits(Timestamp::ZERO, DataRate::from_kbps(1)));
        allowance.spend(1_000_000);
        assert!(!allowance.permits(Timestamp::from_millis(400), DataRate::from_kbps(1)));
        assert!(allowance.permits(Timestamp::from_secs(100), DataRate::from_kbps(1)));
    }
}
