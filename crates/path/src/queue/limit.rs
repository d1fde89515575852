//! The limit of a queue.

use legato_units::{DataRate, DataSize, TimeDelta};
use serde::{Deserialize, Serialize};

/// The maximum that may wait in a queue; the packet being transmitted does not wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum QueueLimit {
    /// That many bytes.
    Bytes(DataSize),
    /// That many packets.
    Packets(u32),
    /// What a link sends in this time. RFC 8867 says "300 ms" without saying at which capacity of a
    /// varying link: here it is bytes at a given reference, unless it rescales.
    Time {
        /// The time.
        span: TimeDelta,
        /// The capacity that converts it to bytes.
        reference: DataRate,
        /// Whether the capacity at each arrival replaces the reference. Never below one full packet
        /// of 1,500 bytes; packets already queued stay.
        rescale: bool,
    },
    /// No limit.
    Unlimited,
}

impl QueueLimit {
    /// In bytes; unlimited if it counts packets.
    pub fn bytes(&self) -> u64 {
        match *self {
            Self::Bytes(size) => size.as_bytes(),
            Self::Packets(_) | Self::Unlimited => u64::MAX,
            Self::Time { span, reference, .. } => (reference * span).as_bytes(),
        }
    }

    /// In packets; unlimited if it counts bytes.
    pub fn packets(&self) -> usize {
        match *self {
            Self::Packets(packets) => packets as usize,
            _ => usize::MAX,
        }
    }

    /// Whether it follows the link's capacity.
    #[inline]
    pub fn rescales(&self) -> bool {
        matches!(self, Self::Time { rescale: true, .. })
    }

    /// In bytes while the link has this capacity.
    pub fn bytes_at(&self, capacity: DataRate) -> u64 {
        match *self {
            Self::Time { span, rescale: true, .. } => (capacity * span).as_bytes().max(FULL_PACKET),
            _ => self.bytes(),
        }
    }
}

const FULL_PACKET: u64 = 1_500;

#[cfg(test)]
mod tests {
    use super::*;

    /// [rfc8867] §4: 300 ms at 1 Mbit/s, worked by hand.
    #[test]
    fn a_time_is_bytes_at_the_reference() {
        let span = TimeDelta::from_millis(300);
        let limit = QueueLimit::Time { span, reference: DataRate::from_mbps(1), rescale: false };
        assert_eq!(limit.bytes(), 37_500);
        assert_eq!(limit.bytes_at(DataRate::from_mbps(9)), 37_500);
        let limit = QueueLimit::Time { span, reference: DataRate::from_mbps(1), rescale: true };
        assert_eq!(limit.bytes_at(DataRate::from_kbps(500)), 18_750);
        assert_eq!(limit.bytes_at(DataRate::ZERO), 1_500);
    }
}
