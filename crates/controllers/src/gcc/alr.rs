//! Is the application leaving the rate unused? A budget of half a second at 65 % of the estimate fills with time and
//! drains with every packet. Above 80 % full the application is the limit, below 50 % it no longer is. This is
//! libwebrtc's `AlrDetector` [libwebrtc-m150].

use legato_units::{DataRate, DataSize, Timestamp};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Parameters of the application-limited region.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct AlrConfig {
    /// The budget of half a second fills at this share of the estimate.
    #[schemars(range(min = 0.01, max = 10))]
    pub usage_ratio: f64,
    /// The application is the limit once the budget is fuller than this share of its size.
    #[schemars(range(min = -1, max = 1))]
    pub start_level_ratio: f64,
    /// It no longer is once the budget is below this share of its size.
    #[schemars(range(min = -1, max = 1))]
    pub stop_level_ratio: f64,
}

impl Default for AlrConfig {
    fn default() -> Self {
        Self { usage_ratio: 0.65, start_level_ratio: 0.80, stop_level_ratio: 0.50 }
    }
}

/// Watches departures.
#[derive(Clone, Debug)]
pub struct AlrDetector {
    config: AlrConfig,
    last_sent: Option<Timestamp>,
    last_sent_ms: i64,
    budget_kbps: i64,
    bytes: i64,
    max_bytes: i64,
    /// Levels in bytes, so that a packet costs no division.
    start_bytes: i64,
    stop_bytes: i64,
    started: Option<Timestamp>,
}

impl AlrDetector {
    /// An empty budget.
    pub fn new(config: AlrConfig) -> Self {
        Self {
            config,
            last_sent: None,
            last_sent_ms: 0,
            budget_kbps: 0,
            bytes: 0,
            max_bytes: 0,
            start_bytes: 0,
            stop_bytes: 0,
            started: None,
        }
    }

    /// The estimate changed; the budget keeps its bytes.
    pub fn set_estimate(&mut self, estimate: DataRate) {
        let budget_kbps = (estimate.as_bps_f64() * self.config.usage_ratio / 1e3) as i64;
        if budget_kbps == self.budget_kbps {
            return;
        }
        self.budget_kbps = budget_kbps.min(MAX_BUDGET_KBPS);
        self.max_bytes = WINDOW_MS * self.budget_kbps / 8;
        self.bytes = self.bytes.clamp(-self.max_bytes, self.max_bytes);
        // Level > ratio · max and < ratio · max, on whole bytes.
        self.start_bytes = (self.config.start_level_ratio * self.max_bytes as f64).floor() as i64;
        self.stop_bytes = (self.config.stop_level_ratio * self.max_bytes as f64).ceil() as i64;
    }

    /// A packet left.
    #[inline]
    pub fn on_sent(&mut self, size: DataSize, now: Timestamp) {
        // Packets of a burst leave at one instant: the budget gains nothing between them.
        let waited_ms = if self.last_sent == Some(now) {
            0
        } else {
            let now_ms = now.as_nanos() / 1_000_000;
            let last_ms = std::mem::replace(&mut self.last_sent_ms, now_ms);
            // The time before the first packet is unknown.
            if self.last_sent.replace(now).is_none() {
                return;
            }
            now_ms - last_ms
        };
        // Twice the largest budget is as good as more.
        let size = size.as_bytes().min(1 << 48).cast_signed();
        self.bytes = (self.bytes - size).max(-self.max_bytes);
        if waited_ms != 0 {
            let gained = self.budget_kbps.saturating_mul(waited_ms) / 8;
            self.bytes = self.bytes.saturating_add(gained).min(self.max_bytes);
        }
        if self.started.is_none() {
            if self.bytes > self.start_bytes {
                self.started = Some(now);
            }
        } else if self.bytes < self.stop_bytes {
            self.started = None;
        }
    }

    /// Whether a packet that ends the region never lets a packet after it start it again.
    #[inline]
    pub fn takes_bursts(&self) -> bool {
        self.stop_bytes <= self.start_bytes
    }

    /// Packets that left at one instant: the first, and the others as `rest` together.
    #[inline]
    pub fn on_burst_sent(&mut self, first: DataSize, rest: DataSize, now: Timestamp) {
        self.on_sent(first, now);
        if rest > DataSize::ZERO {
            // The budget gains nothing in between, so it only falls and the levels are crossed in order.
            self.on_sent(rest, now);
        }
    }

    /// Since when the application is the limit, if it is.
    #[inline]
    pub fn started(&self) -> Option<Timestamp> {
        self.started
    }
}

// [libwebrtc-m150] interval_budget: 500 ms.
const WINDOW_MS: i64 = 500;
/// Far above any link; keeps the products in range.
const MAX_BUDGET_KBPS: i64 = 1 << 40;

#[cfg(test)]
mod tests {
    use super::*;

    /// Sends every 10 ms at a share of the estimate.
    struct Sender {
        alr: AlrDetector,
        now_ms: i64,
    }

    const ESTIMATE: DataRate = DataRate::from_kbps(300);

    impl Sender {
        fn new() -> Self {
            let mut alr = AlrDetector::new(AlrConfig::default());
            alr.set_estimate(ESTIMATE);
            Self { alr, now_ms: 0 }
        }
        fn send(&mut self, for_ms: i64, usage_ratio: f64) -> bool {
            for _ in 0..for_ms / 10 {
                self.now_ms += 10;
                let bytes = (ESTIMATE.as_bps_f64() * usage_ratio * 0.01 / 8.0) as u64;
                self.alr.on_sent(DataSize::from_bytes(bytes), Timestamp::from_millis(self.now_ms));
            }
            self.alr.started().is_some()
        }
    }

    #[test]
    fn below_a_fifth_the_region_starts_and_above_the_budget_it_ends() {
        let mut sender = Sender::new();
        assert!(!sender.send(1_000, 0.90));
        // 0.65 − 0.2 of the estimate fills a budget of 0.65 · 0.5 s.
        assert!(sender.send(1_500, 0.20));
        assert!(!sender.send(4_000, 1.0));
    }

    #[test]
    fn packets_of_one_instant_count_together_as_they_do_singly() {
        let mut one_by_one = AlrDetector::new(AlrConfig::default());
        one_by_one.set_estimate(ESTIMATE);
        let mut together = one_by_one.clone();
        let mut started = 0;
        for n in 0..400 {
            let now = Timestamp::from_millis(n * 33);
            // Little for a while, then much, then little again.
            let size = DataSize::from_bytes(if (100..200).contains(&n) { 900 } else { 60 });
            (0..5).for_each(|_| one_by_one.on_sent(size, now));
            together.on_burst_sent(size, size * 4, now);
            assert_eq!(format!("{one_by_one:?}"), format!("{together:?}"));
            started += u32::from(together.started().is_some());
        }
        assert!(together.takes_bursts() && (100..300).contains(&started), "{started}");
    }

    #[test]
    fn a_short_spike_does_not_end_the_region() {
        let mut sender = Sender::new();
        assert!(sender.send(1_500, 0.20));
        // 100 ms at 1.5 drain 0.085 s of 0.325 s: 74 % are left.
        assert!(sender.send(100, 1.50));
        assert!(sender.send(200, 0.50));
        assert!(!sender.send(4_000, 1.0));
    }

    #[test]
    fn a_rate_that_falls_to_the_sending_rate_ends_the_region() {
        let mut sender = Sender::new();
        assert!(sender.send(1_500, 0.20));
        sender.alr.set_estimate(DataRate::from_kbps(60));
        assert!(!sender.send(1_000, 0.20), "60 kbit/s sent of 60");
    }
}
