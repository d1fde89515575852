//! How fast the path delivers, sampled at each acknowledgment: [draft-cheng-iccrg-delivery-rate-estimation-00]. A
//! segment records how much had been delivered when it left; when it is acknowledged, the bytes delivered meanwhile
//! over the elapsed time are a sample. That time is the longer of the sending and the acknowledging interval, so that
//! neither bursts nor compressed acknowledgments show more than the path delivers.

use legato_units::{DataRate, DataSize, TimeDelta, Timestamp};

/// What a segment records.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Stamp {
    /// Bytes delivered when it left.
    pub delivered: u64,
    /// When the last of these was delivered.
    pub delivered_at: Timestamp,
    /// When the first segment of its sampling interval left.
    pub first_sent: Timestamp,
    /// It left while the application had nothing more to send.
    pub app_limited: bool,
}

/// A sample.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct RateSample {
    /// The path's delivery rate.
    pub rate: DataRate,
    /// The application may have had no more to send.
    pub app_limited: bool,
}

/// The connection's side of the samples.
#[derive(Clone, Debug, Default)]
pub(super) struct DeliveryRate {
    delivered: u64,
    delivered_at: Timestamp,
    first_sent: Timestamp,
    /// Segments that leave before this much is delivered are limited by the application; 0: none are.
    app_limited_until: u64,
}

impl DeliveryRate {
    /// Bytes acknowledged or SACKed so far.
    #[inline]
    pub fn delivered(&self) -> u64 {
        self.delivered
    }

    /// A segment leaves; `idle` means that nothing is in flight.
    #[inline]
    pub fn on_send(&mut self, now: Timestamp, idle: bool) -> Stamp {
        if idle {
            self.first_sent = now;
            self.delivered_at = now;
        }
        Stamp {
            delivered: self.delivered,
            delivered_at: self.delivered_at,
            first_sent: self.first_sent,
            app_limited: self.app_limited_until != 0,
        }
    }

    /// The application has nothing to send although the window is open.
    #[inline]
    pub fn mark_app_limited(&mut self, in_flight_bytes: u64) {
        self.app_limited_until = (self.delivered + in_flight_bytes).max(1);
    }

    /// Whether segments leave application-limited.
    #[inline]
    pub fn is_app_limited(&self) -> bool {
        self.app_limited_until != 0
    }

    /// `delivered_bytes` more were acknowledged or SACKed; the last-sent segment of them left at `sent` and recorded
    /// `stamp`. No sample if the interval is shorter than any round trip so far, `min_rtt`.
    #[inline]
    pub fn on_ack(
        &mut self,
        now: Timestamp,
        delivered_bytes: u64,
        sent: Timestamp,
        stamp: &Stamp,
        min_rtt: TimeDelta,
    ) -> Option<RateSample> {
        self.delivered += delivered_bytes;
        self.delivered_at = now;
        if self.app_limited_until != 0 && self.delivered > self.app_limited_until {
            self.app_limited_until = 0;
        }
        self.first_sent = sent;
        // [draft-cheng-iccrg-delivery-rate-estimation-00] §3.3: the longer of the two elapsed times.
        let interval = (sent - stamp.first_sent).max(now - stamp.delivered_at);
        if interval < min_rtt || interval <= TimeDelta::ZERO {
            return None;
        }
        let delivered = DataSize::from_bytes(self.delivered - stamp.delivered);
        Some(RateSample { rate: delivered / interval, app_limited: stamp.app_limited })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(ms: i64) -> Timestamp {
        Timestamp::from_millis(ms)
    }

    /// [draft-cheng-iccrg-delivery-rate-estimation-00] §3.3, worked by hand: ten segments of 1,000 bytes sent at
    /// once, acknowledged 10 ms apart from 100 ms on. The tenth: 10,000 bytes in 190 ms.
    #[test]
    fn a_sample_is_what_was_delivered_over_the_longer_of_sending_and_acknowledging() {
        let mut rate = DeliveryRate::default();
        let stamps: Vec<Stamp> = (0..10).map(|n| rate.on_send(ms(0), n == 0)).collect();
        let samples: Vec<_> = stamps
            .iter()
            .zip(0i64..)
            .map(|(stamp, n)| rate.on_ack(ms(100 + 10 * n), 1_000, ms(0), stamp, TimeDelta::from_millis(100)))
            .collect();
        assert_eq!(samples[0].expect("a round trip").rate, DataRate::from_bps(80_000));
        assert_eq!(samples[9].expect("a round trip").rate.as_bps(), 10_000 * 8 * 1_000 / 190);
        // Sent over 90 ms, acknowledged in a burst 10 ms long: sending took longer than acknowledging.
        let mut rate = DeliveryRate::default();
        let first = rate.on_send(ms(0), true);
        let last = rate.on_send(ms(90), false);
        rate.on_ack(ms(100), 1_000, ms(0), &first, TimeDelta::ZERO);
        let sample = rate.on_ack(ms(101), 1_000, ms(90), &last, TimeDelta::ZERO).expect("a sample");
        assert_eq!(sample.rate.as_bps(), 2_000 * 8 * 1_000 / 101);
        // Against a minimum round trip of 102 ms there would be no sample.
        assert_eq!(rate.clone().on_ack(ms(101), 1_000, ms(90), &last, TimeDelta::from_millis(102)), None);
    }

    #[test]
    fn segments_are_app_limited_until_what_was_in_flight_is_delivered() {
        let mut rate = DeliveryRate::default();
        let open = rate.on_send(ms(0), true);
        rate.mark_app_limited(1_000);
        let limited = rate.on_send(ms(10), false);
        assert!(!open.app_limited && limited.app_limited);
        let sample = rate.on_ack(ms(100), 1_000, ms(0), &open, TimeDelta::ZERO).expect("a sample");
        assert!(!sample.app_limited && rate.is_app_limited());
        let sample = rate.on_ack(ms(110), 1_000, ms(10), &limited, TimeDelta::ZERO).expect("a sample");
        assert!(sample.app_limited && !rate.is_app_limited());
    }
}
