//! A bucket of tokens, the meter of policers and shapers.
//!
//! [rfc2697] §3: the bucket is full at the start; tokens come at the committed rate up to the committed burst size; a
//! packet of B bytes conforms if there are B tokens, and takes them. Kept as the moment at which the bucket would be
//! full again, so that nothing happens between packets.

use legato_units::{DataRate, DataSize, TimeDelta, Timestamp};

/// A rate or a burst size that no bucket has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{key} = {value} is not above 0")]
pub struct MeterError {
    /// Which one: `rate_bps` or `burst_bytes`.
    pub key: &'static str,
    /// Its value.
    pub value: u64,
}

/// A bucket of tokens; see the module.
#[derive(Clone, Debug)]
pub(super) struct TokenMeter {
    rate: DataRate,
    burst: DataSize,
    full_at: Timestamp,
}

impl TokenMeter {
    /// A full bucket of `burst` that fills at `rate`.
    pub(super) fn new(rate: DataRate, burst: DataSize) -> Result<Self, MeterError> {
        for (key, value) in [("rate_bps", rate.as_bps()), ("burst_bytes", burst.as_bytes())] {
            if value == 0 {
                return Err(MeterError { key, value });
            }
        }
        Ok(Self { rate, burst, full_at: Timestamp::ZERO })
    }

    /// The rate at which it fills.
    pub(super) fn rate(&self) -> DataRate {
        self.rate
    }

    /// When there are tokens for a packet of `size`, not before `now`. A packet that is larger than the bucket waits
    /// until the bucket is full.
    pub(super) fn ready(&self, now: Timestamp, size: DataSize) -> Timestamp {
        let spare = self.burst.saturating_sub(size) / self.rate;
        now.max(Timestamp::from_nanos(self.full_at.as_nanos().saturating_sub(spare.as_nanos())))
    }

    /// A packet of `size` takes its tokens at `at`.
    pub(super) fn take(&mut self, at: Timestamp, size: DataSize) {
        let taken: TimeDelta = size / self.rate;
        self.full_at = self.full_at.max(at).saturating_add(taken);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// [rfc2697] §3, by hand: 1 Mbit/s and 3,000 bytes. Two packets of 1,500 conform at once; the third does once
    /// 1,500 tokens have come, 12 ms later.
    #[test]
    fn a_packet_conforms_once_its_tokens_have_come() {
        let size = DataSize::from_bytes(1_500);
        let mut meter = TokenMeter::new(DataRate::from_mbps(1), DataSize::from_bytes(3_000)).expect("valid");
        for _ in 0..2 {
            assert_eq!(meter.ready(Timestamp::ZERO, size), Timestamp::ZERO);
            meter.take(Timestamp::ZERO, size);
        }
        assert_eq!(meter.ready(Timestamp::ZERO, size), Timestamp::from_millis(12));
        // After 24 ms it is full, and it does not become fuller.
        meter.take(Timestamp::from_millis(500), size);
        assert_eq!(meter.ready(Timestamp::from_millis(500), size), Timestamp::from_millis(500));
        meter.take(Timestamp::from_millis(500), size);
        assert_eq!(meter.ready(Timestamp::from_millis(500), size), Timestamp::from_millis(512));
    }

    #[test]
    fn a_bucket_without_rate_or_room_is_refused_by_key() {
        let refusal = |bps, bytes| TokenMeter::new(DataRate::from_bps(bps), DataSize::from_bytes(bytes)).err();
        assert_eq!(refusal(0, 9), Some(MeterError { key: "rate_bps", value: 0 }));
        assert_eq!(refusal(9, 0), Some(MeterError { key: "burst_bytes", value: 0 }));
    }
}
