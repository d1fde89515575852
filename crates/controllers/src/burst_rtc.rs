//! `burst-rtc` believes that every frame shall leave at once, that its burst measures the path, and that the target follows from how frame sizes scatter ([burstrtc2024]). Sizes are Gaussian about the encoder's target, so one can solve for the largest target whose frames arrive in time.
//!
//! Only the paper's abstract was at hand. It says that frames are emitted whole, that bursts estimate the bandwidth,
//! that sizes are Gaussian and that the target is solved and not searched. The equations, their constants and the
//! meaning of "in time" are Legato's: with probability `in_time_ratio` a frame has left the bottleneck, with the queue
//! that it met, before the next one is coded. docs/papers/burstrtc2024.md says more.

use legato_control::estimate::frame_dispersion::{FirstDelay, dispersion_bps};
use legato_control::estimate::frame_interval::FrameInterval;
use legato_control::estimate::frame_trips::{FrameTrip, FrameTrips};
use legato_control::estimate::silence::Silence;
use legato_control::{
    BuildError, Construct, Context, Decision, EncodedFrameInfo, Event, FeedbackRule, Pacing, RateController,
    RateLimits, Side,
};
use legato_units::{DataRate, DataSize, TimeDelta, Timestamp};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Parameters of [`BurstRtc`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// The share of frames that shall have left the bottleneck before the next one.
    #[schemars(range(min = 0.5, max = 0.999))]
    pub in_time_ratio: f64,
    /// The weight of a frame in the mean bandwidth.
    #[schemars(range(max = 1), extend("exclusiveMinimum" = 0))]
    pub smoothing_ratio: f64,
    /// The weight of a frame in mean and deviation of sizes.
    #[schemars(range(max = 1), extend("exclusiveMinimum" = 0))]
    pub size_smoothing_ratio: f64,
}

impl Default for Config {
    fn default() -> Self {
        Self { in_time_ratio: 0.95, smoothing_ratio: 0.1, size_smoothing_ratio: 0.05 }
    }
}

/// Frames as bursts, sizes as a distribution.
#[derive(Clone, Debug)]
pub struct BurstRtc {
    config: Config,
    limits: RateLimits,
    trips: FrameTrips,
    first_delay: FirstDelay,
    silence: Silence,
    bandwidth_bps: f64,
    queued_s: f64,
    sizes: Sizes,
    /// How much lower silence has made it.
    silence_share: f64,
    frame_interval: FrameInterval,
}

/// Frame sizes over those asked for.
#[derive(Clone, Copy, Debug)]
struct Sizes {
    mean: f64,
    variance: f64,
}

impl Sizes {
    fn add(&mut self, ratio: f64, weight: f64) {
        let delta = ratio - self.mean;
        self.mean += weight * delta;
        self.variance = (1.0 - weight) * (self.variance + weight * delta * delta);
    }

    /// The size that this share of frames does not exceed, `deviations` above the mean.
    fn quantile(&self, deviations: f64) -> f64 {
        (self.mean + deviations * self.variance.sqrt()).max(0.1)
    }
}

/// How many deviations above the mean this share of a Gaussian ends (Abramowitz and Stegun's 26.2.23, to 0.00045).
// [abramowitz1964]: t = sqrt(-2 ln(1 - p)), t - (2.515517 + 0.802853 t + 0.010328 t^2) / (1 + 1.432788 t + …)
fn deviations(share: f64) -> f64 {
    let t = (-2.0 * libm::log(1.0 - share)).sqrt();
    t - (2.515_517 + t * (0.802_853 + t * 0.010_328)) / (1.0 + t * (1.432_788 + t * (0.189_269 + t * 0.001_308)))
}

impl Construct for BurstRtc {
    const NAME: &'static str = "burst-rtc";
    const SIDE: Side = Side::Sender;
    const SUMMARY: &'static str = "whole frames as bursts, and a target solved from how their sizes scatter";
    const CITES: &'static [&'static str] = &["burstrtc2024", "abramowitz1964"];
    type Config = Config;

    fn new(config: Config, context: Context<'_>) -> Result<Self, BuildError> {
        Ok(Self::fresh(config, context.limits))
    }
}

impl BurstRtc {
    fn fresh(config: Config, limits: RateLimits) -> Self {
        let mut burst_rtc = Self {
            trips: FrameTrips::default(),
            first_delay: FirstDelay::new(MIN_DELAY_WINDOW),
            silence: Silence::default(),
            bandwidth_bps: 0.0,
            queued_s: 0.0,
            sizes: Sizes { mean: 1.0, variance: FIRST_VARIANCE },
            silence_share: 1.0,
            frame_interval: FrameInterval::default(),
            config,
            limits,
        };
        // A bandwidth at which the target is the start rate.
        burst_rtc.bandwidth_bps = limits.start.as_bps_f64().max(1.0) * burst_rtc.size_quantile();
        burst_rtc
    }

    fn size_quantile(&self) -> f64 {
        self.sizes.quantile(deviations(self.config.in_time_ratio))
    }

    fn on_trip(&mut self, now: Timestamp, trip: &FrameTrip) {
        let Some(queued_s) = self.first_delay.queued_s(now, trip) else { return };
        self.queued_s = queued_s;
        let weight = self.config.smoothing_ratio;
        if let Some(bps) = dispersion_bps(trip) {
            self.bandwidth_bps += weight * (bps - self.bandwidth_bps);
        } else if trip.lost == 0 && queued_s < 0.1 * self.frame_interval.mean().get() {
            // A lone packet shows nothing but that it met no queue: frames grow until they have two.
            self.bandwidth_bps *= LONE_GROWTH;
        }
        self.bandwidth_bps = self.bandwidth_bps.clamp(1.0, MAX_BPS);
    }

    fn on_frame(&mut self, frame: &EncodedFrameInfo) {
        let asked_bytes = frame.encoder_bitrate.as_bps_f64() / 8.0 * self.frame_interval.mean().get();
        if asked_bytes >= 1.0 && !frame.keyframe {
            let ratio = (frame.size.as_bytes() as f64 / asked_bytes).min(MAX_SIZE_RATIO);
            self.sizes.add(ratio, self.config.size_smoothing_ratio);
        }
    }

    /// The mean size of a frame, over its time, for which the quantile of sizes leaves the bottleneck in time:
    /// (mean + z deviation) T = B (L - q).
    fn rate_bps(&self) -> f64 {
        let time_left = (1.0 - self.queued_s / self.frame_interval.mean().get()).max(LEAST_TIME_RATIO);
        self.bandwidth_bps * time_left / self.size_quantile()
    }

    fn target(&self) -> DataRate {
        self.limits.clamp(DataRate::from_bps_f64(self.silence_share * self.rate_bps()))
    }
}

impl RateController for BurstRtc {
    fn on_event(&mut self, now: Timestamp, event: &Event) {
        if self.silence.is_over(now) {
            let share = 0.5 * self.target().as_bps_f64() / self.rate_bps().max(1.0);
            self.silence_share = share.clamp(MIN_SILENCE_SHARE, 1.0);
        }
        match event {
            Event::TransportFeedback(feedback) if !feedback.reports.is_empty() => {
                self.silence.on_feedback(now, feedback.round_trip(now));
                self.silence_share = 1.0;
                for report in feedback.reports.iter() {
                    if let Some(trip) = self.trips.on_report(&report) {
                        self.on_trip(now, &trip);
                    }
                }
            }
            Event::PacketsSent(_) => self.silence.on_packet_sent(now),
            Event::FrameCaptured(_) => self.frame_interval.on_capture(now),
            // Sizes are learned from feedback on; in silence they would move the rate.
            Event::FrameEncoded(frame) if !self.silence.lasts() => self.on_frame(frame),
            Event::Limits(limits) => self.limits = *limits,
            Event::RouteChange => *self = Self::fresh(self.config.clone(), self.limits),
            _ => {}
        }
    }

    fn decision(&self) -> Decision {
        let target = self.target();
        let pacing = Pacing { burst: Some(WHOLE_FRAME), ..Pacing::of_target(target) };
        Decision { pacing, ..Decision::of_target(target) }
    }

    fn next_deadline(&self) -> Option<Timestamp> {
        self.silence.next_deadline()
    }

    fn feedback_rule(&self) -> FeedbackRule {
        FeedbackRule::DataUnits
    }

    fn observe(&mut self, gauge: &mut dyn FnMut(&'static str, f64)) {
        gauge("burst_rtc_bandwidth_bps", self.bandwidth_bps);
        gauge("burst_rtc_queue_ms", 1e3 * self.queued_s);
        gauge("burst_rtc_size_mean_ratio", self.sizes.mean);
        gauge("burst_rtc_size_deviation_ratio", self.sizes.variance.sqrt());
    }
}

/// No frame is larger.
const WHOLE_FRAME: DataSize = DataSize::from_bytes(10_000_000);
const MIN_DELAY_WINDOW: TimeDelta = TimeDelta::from_secs(10);
/// A deviation of a fifth.
const FIRST_VARIANCE: f64 = 0.04;
const MAX_SIZE_RATIO: f64 = 10.0;
const LEAST_TIME_RATIO: f64 = 0.1;
const LONE_GROWTH: f64 = 1.05;
const MIN_SILENCE_SHARE: f64 = 1e-3;
const MAX_BPS: f64 = 1e12;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frame_reports::report;
    use legato_control::NoAssets;

    const LIMITS: RateLimits =
        RateLimits { min: DataRate::from_kbps(50), start: DataRate::from_mbps(1), max: DataRate::from_mbps(20) };

    fn burst_rtc() -> BurstRtc {
        let context = Context { limits: LIMITS, start: Timestamp::ZERO, seed: 0, assets: &NoAssets };
        BurstRtc::new(Config::default(), context).unwrap()
    }

    fn trip(frame: u32, delay_ms: i64, packets: u16) -> FrameTrip {
        let mut trips = FrameTrips::default();
        let ended = (0..packets).filter_map(|index| {
            let arrival = TimeDelta::from_millis(delay_ms + 2 * i64::from(index));
            trips.on_report(&report((frame, index, packets), TimeDelta::ZERO, Some(arrival)))
        });
        ended.last().unwrap()
    }

    /// Tables of the Gaussian: half at 0, 95 % at 1.6449, 99 % at 2.3263.
    #[test]
    fn deviations_are_those_of_a_gaussian() {
        for (share, expected) in [(0.5, 0.0), (0.95, 1.6449), (0.99, 2.3263)] {
            assert!((deviations(share) - expected).abs() < 5e-4, "{share}: {}", deviations(share));
        }
    }

    /// Legato's, worked by hand: 4 Mbit/s, sizes of 1.0 +- 0.2. Of the frames 95 % are at most 1.329 of the mean, so 4
    /// / 1.329 = 3.010 Mbit/s. With a queue of half a frame's time it is half of that.
    #[test]
    fn the_target_is_the_mean_size_whose_quantile_leaves_in_time() {
        let mut burst_rtc = burst_rtc();
        assert!((burst_rtc.target().as_bps_f64() - 1e6).abs() < 1.0);
        burst_rtc.bandwidth_bps = 4e6;
        assert!((burst_rtc.rate_bps() / 1e6 - 3.010).abs() < 1e-3, "{}", burst_rtc.rate_bps());
        burst_rtc.queued_s = 0.5 / 30.0;
        assert!((burst_rtc.rate_bps() / 1e6 - 1.505).abs() < 1e-3);
        burst_rtc.queued_s = 1.0;
        assert!((burst_rtc.rate_bps() / 1e6 - 0.301).abs() < 1e-3);
    }

    /// Worked by hand: 4 Mbit/s moves a mean of 2 Mbit/s to 2.2; the first packet met 5 ms of queue.
    #[test]
    fn a_burst_measures_bandwidth_and_queue() {
        let mut burst_rtc = burst_rtc();
        burst_rtc.on_trip(Timestamp::from_millis(10), &trip(0, 20, 1));
        burst_rtc.bandwidth_bps = 2e6;
        burst_rtc.on_trip(Timestamp::from_millis(50), &trip(1, 25, 5));
        assert!((burst_rtc.bandwidth_bps - 2.2e6).abs() < 1.0, "{}", burst_rtc.bandwidth_bps);
        assert!((burst_rtc.queued_s - 0.005).abs() < 1e-9);
    }

    /// Worked by hand: sizes of 1 and 2 in turn settle at a mean of 1.5 and a deviation of 0.5.
    #[test]
    fn sizes_that_scatter_lower_the_target() {
        let mut sizes = Sizes { mean: 1.0, variance: 0.0 };
        for turn in 0..2_000 {
            sizes.add(f64::from(1 + turn % 2), 0.01);
        }
        assert!((sizes.mean - 1.5).abs() < 0.01 && (sizes.variance.sqrt() - 0.5).abs() < 0.01, "{sizes:?}");
    }
}
