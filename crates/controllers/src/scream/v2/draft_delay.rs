//! The queue delay as the draft averages it, how much it varies, and whether its base has become too low.
//! [draft-johansson-ccwg-rfc8298bis-screamv2] §4.2.1.4 and §4.5.1.
//!
//! The draft has two variables named qdelay_min_avg; here the one of §4.2.1.4 is `min`, the one of §4.5.1
//! `standing`.

use super::QDELAY_AVG_GAIN;
use super::config::DraftConfig;
use legato_units::{TimeDelta, Timestamp};

/// qdelay_avg, ref_wnd_delay_scale, and the watch over the base.
#[derive(Clone, Debug)]
pub struct DraftDelay {
    average_s: f64,
    max_s: f64,
    min_s: f64,
    deviation_s: f64,
    scale: f64,
    updated: Option<Timestamp>,
    /// Minimum queue delay of the round trip that ends at `round_trip_end`.
    minimum_s: f64,
    round_trip_end: Option<Timestamp>,
    standing_s: f64,
}

impl DraftDelay {
    /// No delay; qdelay_max_avg starts at the target.
    pub fn new(target: TimeDelta) -> Self {
        Self {
            average_s: 0.0,
            max_s: target.as_secs_f64(),
            min_s: 0.0,
            deviation_s: 0.0,
            scale: 1.0,
            updated: None,
            minimum_s: f64::MAX,
            round_trip_end: None,
            standing_s: 0.0,
        }
    }

    /// A feedback showed `delay`; averages move once per `interval`.
    pub fn update(
        &mut self,
        now: Timestamp,
        delay: TimeDelta,
        target: TimeDelta,
        interval: TimeDelta,
        config: &DraftConfig,
    ) {
        let delay_s = delay.as_secs_f64();
        self.minimum_s = self.minimum_s.min(delay_s);
        if config.reduce_jitter {
            self.max_s = target.as_secs_f64().min(delay_s.max(self.max_s));
            self.min_s = delay_s.min(self.min_s);
        }
        if self.updated.is_some_and(|updated| now - updated < interval) {
            return;
        }
        self.updated = Some(now);
        // [draft-johansson-ccwg-rfc8298bis-screamv2] §4.2.1.4: a smaller delay at once, a larger one by
        // QDELAY_AVG_G.
        self.average_s = if delay_s < self.average_s {
            delay_s
        } else {
            QDELAY_AVG_GAIN * delay_s + (1.0 - QDELAY_AVG_GAIN) * self.average_s
        };
        if config.reduce_jitter {
            // §4.2.1.4: max falls, min follows it; dev = average of max - min; scale = 1 - dev / threshold.
            let (gain, deviation) = (QDELAY_MIN_MAX_AVG_GAIN, QDELAY_DEV_AVG_GAIN);
            self.max_s *= 1.0 - gain;
            self.min_s = self.min_s * (1.0 - gain) + self.max_s * gain;
            self.deviation_s = (1.0 - deviation) * self.deviation_s + deviation * (self.max_s - self.min_s);
            self.scale = (1.0 - self.deviation_s / QDELAY_DEV_THRESHOLD_S).clamp(0.0, 1.0);
        }
    }

    /// Whether the queue delay has stayed above zero long enough to show that its base is too low.
    pub fn base_is_too_low(
        &mut self,
        now: Timestamp,
        target: TimeDelta,
        round_trip: TimeDelta,
        config: &DraftConfig,
    ) -> bool {
        if !config.drift_reset || self.round_trip_end.is_some_and(|end| now < end) {
            return false;
        }
        self.round_trip_end = Some(now + round_trip);
        if self.minimum_s == f64::MAX {
            return false;
        }
        // [draft-johansson-ccwg-rfc8298bis-screamv2] §4.5.1: a slow average of the minimum delay of each
        // round trip; above target / 4 the history is void.
        self.standing_s = (1.0 - QDELAY_MIN_AVG_GAIN) * self.standing_s + QDELAY_MIN_AVG_GAIN * self.minimum_s;
        self.minimum_s = f64::MAX;
        let too_low = self.standing_s > target.as_secs_f64() / 4.0;
        if too_low {
            self.standing_s = 0.0;
        }
        too_low
    }

    /// qdelay_avg, in seconds.
    #[inline]
    pub fn average_s(&self) -> f64 {
        self.average_s
    }

    /// ref_wnd_delay_scale, 0 (varies much) to 1.
    #[inline]
    pub fn scale(&self) -> f64 {
        self.scale
    }
}

// [draft-johansson-ccwg-rfc8298bis-screamv2] §4.2.1.4: with REDUCE_JITTER.
/// QDELAY_MIN_MAX_AVG_G: the weight of a round trip in the averages of the minimum and maximum queue delay.
const QDELAY_MIN_MAX_AVG_GAIN: f64 = 1.0 / 16.0;
/// QDELAY_DEV_AVG_G: the weight of a round trip in the average deviation of the queue delay.
const QDELAY_DEV_AVG_GAIN: f64 = 1.0 / 32.0;
/// QDELAY_DEV_THRESHOLD: at this deviation of the queue delay growth stops.
const QDELAY_DEV_THRESHOLD_S: f64 = 0.010;
// [draft-johansson-ccwg-rfc8298bis-screamv2] §4.5.1.
/// QDELAY_MIN_AVG_ALPHA: the weight of a round trip in the average of the minimum queue delay.
const QDELAY_MIN_AVG_GAIN: f64 = 1.0 / 256.0;

#[cfg(test)]
mod tests {
    use super::*;

    const TARGET: TimeDelta = TimeDelta::from_millis(60);
    const INTERVAL: TimeDelta = TimeDelta::from_millis(25);

    fn updated(config: &DraftConfig, delays_ms: &[i64]) -> DraftDelay {
        let mut delay = DraftDelay::new(TARGET);
        for (n, &ms) in delays_ms.iter().enumerate() {
            let now = Timestamp::from_millis(n as i64 * 25);
            delay.update(now, TimeDelta::from_millis(ms), TARGET, INTERVAL, config);
        }
        delay
    }

    /// [draft-johansson-ccwg-rfc8298bis-screamv2] §4.2.1.4, worked by hand: 40 ms: 10; 40 again: 17.5; 5: 5.
    #[test]
    fn the_average_rises_slowly_and_falls_at_once() {
        let config = DraftConfig::default();
        assert_eq!(updated(&config, &[40]).average_s(), 0.010);
        assert_eq!(updated(&config, &[40, 40]).average_s(), 0.0175);
        assert_eq!(updated(&config, &[40, 40, 5]).average_s(), 0.005);
        assert_eq!(updated(&config, &[40, 0, 40]).scale(), 1.0, "REDUCE_JITTER is off");
    }

    /// [draft-johansson-ccwg-rfc8298bis-screamv2] §4.2.1.4, worked by hand from max 60 ms, min 0: delay 0:
    /// max 56.25, min 3.515625, dev = 52.734375 / 32 = 1.64794921875 ms, scale = 1 - 0.164794921875.
    #[test]
    fn a_delay_that_varies_scales_growth_down() {
        let config = DraftConfig { reduce_jitter: true, ..DraftConfig::default() };
        assert!((updated(&config, &[0]).scale() - (1.0 - 0.164794921875)).abs() < 1e-12);
    }

    /// [draft-johansson-ccwg-rfc8298bis-screamv2] §4.5.1, worked by hand: 30 ms in every round trip averages
    /// to 30 (1 - (255/256)^n), above 15 after ln 2 / ln(256/255) = 177.1 round trips.
    #[test]
    fn a_queue_that_never_drains_voids_the_base() {
        let config = DraftConfig::default();
        let mut delay = DraftDelay::new(TARGET);
        let rtt = TimeDelta::from_millis(100);
        let after = (1..=400).find(|n| {
            let now = Timestamp::from_millis(n * 100);
            delay.update(now, TimeDelta::from_millis(30), TARGET, INTERVAL, &config);
            delay.base_is_too_low(now, TARGET, rtt, &config)
        });
        assert_eq!(after, Some(178));
    }
}
