//! Is the path over-used? A signal that grows with the queue is compared with a threshold that follows it slowly, so
//! that a path with inherent jitter is not taken for one that is filling. This is [carlucci2016]'s adaptive threshold,
//! as in libwebrtc [libwebrtc-m150]. The signal is a slope ([`super::trendline`]) or a filtered delay variation
//! ([`super::delay_filter`]), multiplied by how many groups it rests on.

use legato_units::{PeerTimestamp, TimeDelta};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What the delay indicates about the path.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum BandwidthUsage {
    /// Queues neither grow nor drain.
    #[default]
    Normal,
    /// Queues grow.
    Overusing,
    /// Queues drain.
    Underusing,
}

/// Parameters of the detector of over-use.
// [libwebrtc-m150] trendline_estimator, overuse_detector. The gains act on the scaled signal; [draft-ietf-rmcat-gcc-02]
// has K_u > K_d because it thresholds the unscaled one: do not mix the two pairs.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct OveruseConfig {
    /// The signal counts times the number of groups seen, at most this many; 1 leaves it as it is.
    #[schemars(range(min = 1, max = 10_000))]
    pub scale_groups: u32,
    /// The threshold never falls below this.
    #[schemars(range(min = 0.01, max = MAX_THRESHOLD_MS))]
    pub min_threshold_ms: f64,
    /// How fast the threshold rises towards a signal above it: this share of the distance per millisecond.
    #[schemars(range(min = 0, max = 1))]
    pub up_gain_per_ms: f64,
    /// How fast the threshold falls towards a signal below it: this share of the distance per millisecond.
    #[schemars(range(min = 0, max = 1))]
    pub down_gain_per_ms: f64,
}

impl Default for OveruseConfig {
    fn default() -> Self {
        Self { scale_groups: 60, min_threshold_ms: 6.0, up_gain_per_ms: 0.0087, down_gain_per_ms: 0.039 }
    }
}

/// The threshold and the verdict.
#[derive(Clone, Debug)]
pub struct OveruseDetector {
    config: OveruseConfig,
    signal_ms: f64,
    threshold_ms: f64,
    last_arrival: Option<PeerTimestamp>,
    /// `None`: not above the threshold.
    overusing_ms: Option<f64>,
    overusing_count: u32,
    usage: BandwidthUsage,
}

impl OveruseDetector {
    /// Nothing seen.
    pub fn new(config: OveruseConfig) -> Self {
        Self {
            config,
            signal_ms: 0.0,
            threshold_ms: INITIAL_THRESHOLD_MS.max(config.min_threshold_ms),
            last_arrival: None,
            overusing_ms: None,
            overusing_count: 0,
            usage: BandwidthUsage::Normal,
        }
    }

    /// The parameters.
    pub fn config(&self) -> OveruseConfig {
        self.config
    }

    /// The verdict.
    #[inline]
    pub fn usage(&self) -> BandwidthUsage {
        self.usage
    }

    /// The scaled signal that was last compared with the threshold.
    pub fn signal_ms(&self) -> f64 {
        self.signal_ms
    }

    /// The threshold for the scaled signal.
    pub fn threshold_ms(&self) -> f64 {
        self.threshold_ms
    }

    /// Two groups are too few for a verdict.
    pub fn hold(&mut self) {
        self.usage = BandwidthUsage::Normal;
    }

    /// The factor for a signal that rests on `groups` groups.
    #[inline]
    pub fn scale(&self, groups: u32) -> f64 {
        f64::from(groups.min(self.config.scale_groups))
    }

    /// Compare a scaled signal with the threshold. It has `risen` unless the signal fell since the last group, which
    /// left `departure_delta` before this one; `arrival` is that of the packet that closed the group.
    #[inline]
    pub fn detect(&mut self, signal_ms: f64, risen: bool, departure_delta: TimeDelta, arrival: PeerTimestamp) {
        self.signal_ms = signal_ms;
        if signal_ms > self.threshold_ms {
            let span = departure_delta.as_millis_f64();
            // Initially assume that the over-use began half-way since the last sample.
            let overusing_ms = self.overusing_ms.map_or(span / 2.0, |before| before + span);
            self.overusing_ms = Some(overusing_ms);
            self.overusing_count += 1;
            if overusing_ms > MIN_TIME_MS && self.overusing_count > 1 && risen {
                self.overusing_ms = Some(0.0);
                self.overusing_count = 0;
                self.usage = BandwidthUsage::Overusing;
            }
        } else {
            self.overusing_ms = None;
            self.overusing_count = 0;
            self.usage =
                if signal_ms < -self.threshold_ms { BandwidthUsage::Underusing } else { BandwidthUsage::Normal };
        }
        self.adapt(arrival);
    }

    fn adapt(&mut self, arrival: PeerTimestamp) {
        let since = arrival - self.last_arrival.unwrap_or(arrival);
        self.last_arrival = Some(arrival);
        let magnitude_ms = self.signal_ms.abs();
        if magnitude_ms > self.threshold_ms + MAX_OFFSET_MS {
            // A sudden drop of capacity must not raise the bar.
            return;
        }
        let below = magnitude_ms < self.threshold_ms;
        let gain_per_ms = if below { self.config.down_gain_per_ms } else { self.config.up_gain_per_ms };
        let step_ms = since.min(MAX_ADAPT_STEP).as_nanos() as f64 * MS_PER_NS;
        self.threshold_ms += gain_per_ms * (magnitude_ms - self.threshold_ms) * step_ms;
        self.threshold_ms = self.threshold_ms.clamp(self.config.min_threshold_ms, MAX_THRESHOLD_MS);
    }
}

// [libwebrtc-m150] trendline_estimator: threshold_.
/// At the start of a call.
const INITIAL_THRESHOLD_MS: f64 = 12.5;
/// The threshold never rises above this.
const MAX_THRESHOLD_MS: f64 = 600.0;
// [libwebrtc-m150] trendline_estimator: kMaxAdaptOffsetMs.
/// A signal further than this above the threshold is a sudden fall of the capacity and does not raise the threshold.
const MAX_OFFSET_MS: f64 = 15.0;
// [libwebrtc-m150] trendline_estimator: kOverUsingTimeThreshold.
/// Over-use begins when the signal has been above the threshold for longer than this, in two groups or more.
const MIN_TIME_MS: f64 = 10.0;
// [libwebrtc-m150] trendline_estimator: kMaxTimeDelta.
const MAX_ADAPT_STEP: TimeDelta = TimeDelta::from_millis(100);
/// A product where a quotient would take five times as long.
const MS_PER_NS: f64 = 1e-6;

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: i64) -> PeerTimestamp {
        PeerTimestamp::from_nanos(ms * 1_000_000)
    }

    #[test]
    fn the_threshold_falls_to_its_floor_on_a_calm_path_and_rises_with_a_noisy_one() {
        let mut detector = OveruseDetector::new(OveruseConfig::default());
        let group = TimeDelta::from_millis(10);
        detector.detect(0.0, true, group, at(0));
        // One step of 100 ms with no trend: 12.5 − 0.039 · 12.5 · 100 < 6.
        detector.detect(0.0, true, group, at(100));
        assert_eq!(detector.threshold_ms(), 6.0);
        // 10 ms at 16: 6 + 0.0087 · 10 · 10 = 6.87.
        detector.detect(16.0, true, group, at(110));
        assert!((detector.threshold_ms() - 6.87).abs() < 1e-12);
        // More than 15 ms above is a spike and moves nothing.
        detector.detect(22.0, true, group, at(120));
        assert!((detector.threshold_ms() - 6.87).abs() < 1e-12);
    }

    #[test]
    fn over_use_takes_two_groups_more_than_ten_milliseconds_and_no_fall() {
        let mut detector = OveruseDetector::new(OveruseConfig::default());
        let group = TimeDelta::from_millis(10);
        // Half of the first group, then a whole one: 15 ms.
        detector.detect(20.0, true, group, at(0));
        assert_eq!(detector.usage(), BandwidthUsage::Normal);
        detector.detect(20.0, false, group, at(10));
        assert_eq!(detector.usage(), BandwidthUsage::Normal, "it falls");
        detector.detect(20.0, true, group, at(20));
        assert_eq!(detector.usage(), BandwidthUsage::Overusing);
        detector.detect(-20.0, true, group, at(30));
        assert_eq!(detector.usage(), BandwidthUsage::Underusing);
    }
}
