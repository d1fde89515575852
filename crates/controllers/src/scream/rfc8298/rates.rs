//! The inputs of the media rate control ([rfc8298] §4.1.3): the sending rate, the acknowledged rate and the
//! encoder's rate, each over the last interval, and the median of the encoder's over ten seconds.

use legato_units::{TimeDelta, Timestamp};

/// rate_transmit, rate_ack, rate_media, rate_media_median, in bit/s.
#[derive(Clone, Debug)]
pub struct Rates {
    sent_bytes: u64,
    acked_bytes: u64,
    coded_bytes: u64,
    since: Timestamp,
    transmit_bps: f64,
    acked_bps: f64,
    media_bps: f64,
    /// The last media rates; `len` of them.
    history: [f64; HISTORY],
    len: usize,
    next: usize,
    median_bps: f64,
}

impl Rates {
    /// All are zero.
    pub fn new(start: Timestamp) -> Self {
        Self {
            sent_bytes: 0,
            acked_bytes: 0,
            coded_bytes: 0,
            since: start,
            transmit_bps: 0.0,
            acked_bps: 0.0,
            media_bps: 0.0,
            history: [0.0; HISTORY],
            len: 0,
            next: 0,
            median_bps: 0.0,
        }
    }

    /// A packet left.
    #[inline]
    pub fn sent(&mut self, bytes: u64) {
        self.sent_bytes += bytes;
    }

    /// Packets arrived.
    #[inline]
    pub fn acked(&mut self, bytes: u64) {
        self.acked_bytes += bytes;
    }

    /// A frame was coded.
    #[inline]
    pub fn coded(&mut self, bytes: u64) {
        self.coded_bytes += bytes;
    }

    /// The interval is over.
    pub fn update(&mut self, now: Timestamp) {
        let seconds = (now - self.since).max(TimeDelta::from_millis(1)).as_secs_f64();
        let rate = |bytes: u64| bytes as f64 * 8.0 / seconds;
        self.transmit_bps = rate(self.sent_bytes);
        self.acked_bps = rate(self.acked_bytes);
        self.media_bps = rate(self.coded_bytes);
        (self.sent_bytes, self.acked_bytes, self.coded_bytes) = (0, 0, 0);
        self.since = now;
        self.history[self.next] = self.media_bps;
        self.next = (self.next + 1) % HISTORY;
        self.len = (self.len + 1).min(HISTORY);
        let mut sorted = self.history;
        let sorted = &mut sorted[..self.len];
        sorted.sort_unstable_by(f64::total_cmp);
        self.median_bps = sorted[self.len / 2];
    }

    /// [rfc8298] §4.1.3: current_rate = max(rate_transmit, rate_ack).
    pub fn current_bps(&self) -> f64 {
        self.transmit_bps.max(self.acked_bps)
    }

    /// [rfc8298] §4.1.3: max(current_rate, max(rate_media, rate_media_median)).
    pub fn media_limit_bps(&self) -> f64 {
        self.current_bps().max(self.media_bps.max(self.median_bps))
    }
}

/// [rfc8298] §4.1.1.2: the median is over more than ten seconds: 51 intervals of 200 ms.
const HISTORY: usize = 51;

#[cfg(test)]
mod tests {
    use super::*;

    /// [rfc8298] §4.1.3, worked by hand over 200 ms: 25,000 bytes left (1 Mbit/s), 20,000 arrived.
    #[test]
    fn rates_are_over_the_interval_and_the_median_over_ten_seconds() {
        let mut rates = Rates::new(Timestamp::ZERO);
        rates.sent(25_000);
        rates.acked(20_000);
        rates.coded(50_000);
        rates.update(Timestamp::from_millis(200));
        assert_eq!((rates.current_bps(), rates.media_limit_bps()), (1e6, 2e6));
        rates.acked(15_000);
        rates.update(Timestamp::from_millis(400));
        // The median of 0 and 2 Mbit/s is the upper of the two.
        assert_eq!((rates.current_bps(), rates.media_limit_bps()), (0.6e6, 2e6));
        rates.update(Timestamp::from_millis(600));
        assert_eq!(rates.media_limit_bps(), 0.0);
    }
}
