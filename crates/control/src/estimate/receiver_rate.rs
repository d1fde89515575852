//! The receiver rate over a sliding window of arrivals, as libwebrtc's `RateStatistics`
//! [libwebrtc-overuse-estimator]: bits over the time since the window's first packet, at most the window.

use legato_units::{DataRate, DataSize, TimeDelta, Timestamp};
use std::collections::VecDeque;

/// Packets of the last window.
#[derive(Clone, Debug)]
pub struct ReceiverRate {
    window: TimeDelta,
    packets: VecDeque<(Timestamp, u64)>,
    bytes: u64,
    /// The window counts from here on until it is full; `None`: nothing has arrived for a window.
    first: Option<Timestamp>,
}

impl ReceiverRate {
    /// Nothing has arrived.
    pub fn new(window: TimeDelta) -> Self {
        Self { window, packets: VecDeque::new(), bytes: 0, first: None }
    }

    /// A packet arrived.
    pub fn push(&mut self, now: Timestamp, size: DataSize) {
        self.drop_old(now);
        if self.packets.is_empty() {
            // After a pause the window begins anew.
            self.first = Some(now);
        }
        let bytes = size.as_bytes().min(MAX_SIZE_BYTES);
        self.bytes += bytes;
        self.packets.push_back((now, bytes));
    }

    /// The rate; `None` while there is only one packet, and less than a window.
    pub fn rate(&mut self, now: Timestamp) -> Option<DataRate> {
        self.drop_old(now);
        let since = (now - self.first?).min(self.window);
        let enough = since == self.window || self.packets.len() > 1;
        (enough && since > TimeDelta::ZERO && !self.packets.is_empty())
            .then(|| DataSize::from_bytes(self.bytes) / since.max(MIN_SPAN))
    }

    fn drop_old(&mut self, now: Timestamp) {
        while let Some(&(at, bytes)) = self.packets.front() {
            if now - at < self.window {
                break;
            }
            self.packets.pop_front();
            self.bytes -= bytes;
        }
    }
}

/// Far more than any packet; keeps the sum in range.
const MAX_SIZE_BYTES: u64 = 1 << 32;
const MIN_SPAN: TimeDelta = TimeDelta::from_millis(1);

#[cfg(test)]
mod tests {
    use super::*;

    const AT: fn(i64) -> Timestamp = Timestamp::from_millis;

    #[test]
    fn the_rate_is_over_the_time_that_is_known_and_at_most_the_window() {
        let mut rate = ReceiverRate::new(TimeDelta::from_secs(1));
        assert_eq!(rate.rate(AT(0)), None);
        rate.push(AT(0), DataSize::from_bytes(1_000));
        assert_eq!(rate.rate(AT(100)), None, "one packet says nothing");
        rate.push(AT(100), DataSize::from_bytes(1_000));
        // 2,000 bytes in 100 ms.
        assert_eq!(rate.rate(AT(100)), Some(DataRate::from_kbps(160)));
        for ms in (200..=1_100).step_by(100) {
            rate.push(AT(ms), DataSize::from_bytes(1_000));
        }
        // The packets of 200 to 1,100 ms.
        assert_eq!(rate.rate(AT(1_100)), Some(DataRate::from_kbps(80)));
    }

    #[test]
    fn after_a_pause_the_window_begins_anew() {
        let mut rate = ReceiverRate::new(TimeDelta::from_secs(1));
        for ms in (0..=1_000).step_by(100) {
            rate.push(AT(ms), DataSize::from_bytes(1_000));
        }
        assert_eq!(rate.rate(AT(5_000)), None);
        rate.push(AT(5_000), DataSize::from_bytes(1_000));
        rate.push(AT(5_050), DataSize::from_bytes(1_000));
        assert_eq!(rate.rate(AT(5_050)), Some(DataRate::from_kbps(320)));
    }
}
