//! One rate, forever.

use super::{Capacity, wire_bytes};
use legato_units::{DataRate, DataSize, TimeDelta, Timestamp};

/// One rate, forever. Zero never sends.
#[derive(Clone, Debug)]
pub struct Constant {
    rate: DataRate,
    /// The last size and its transmission time: consecutive packets are mostly of one size, and a
    /// 64-bit division costs more than the rest of a bottleneck.
    last: (u64, i64),
}

impl Constant {
    /// One rate, forever.
    pub fn new(rate: DataRate) -> Self {
        Self { rate, last: (0, 0) }
    }
}

impl Capacity for Constant {
    #[inline(always)]
    fn transmit_end(&mut self, start: Timestamp, size: DataSize) -> Timestamp {
        let bytes = wire_bytes(size);
        if bytes != self.last.0 {
            self.last = (bytes, (DataSize::from_bytes(bytes) / self.rate).as_nanos());
        }
        start.saturating_add(TimeDelta::from_nanos(self.last.1))
    }
    fn rate_at(&self, _at: Timestamp) -> DataRate {
        self.rate
    }
    fn mean_rate(&self, from: Timestamp, to: Timestamp) -> DataRate {
        if to > from { self.rate } else { DataRate::ZERO }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_packet_takes_its_bits_over_the_rate_rounded_up() {
        let mut link = Constant::new(DataRate::from_bps(3_000_000));
        // 1,250 bytes = 10,000 bits / 3 Mbit/s = 3.33… ms.
        assert_eq!(link.transmit_end(Timestamp::ZERO, DataSize::from_bytes(1_250)).as_nanos(), 3_333_334);
        assert_eq!(link.transmit_end(Timestamp::from_millis(5), DataSize::from_bytes(1_500)).as_nanos(), 9_000_000);
    }

    #[test]
    fn a_link_without_capacity_never_sends() {
        let mut link = Constant::new(DataRate::ZERO);
        assert_eq!(link.transmit_end(Timestamp::from_secs(1), DataSize::from_bytes(1)), Timestamp::MAX);
    }
}
