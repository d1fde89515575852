//! `ndtc` believes that frames sent over varied times show the capacity left to them without ever filling the path ([draft-ageneau-ccwg-ndtc]). Each frame's packets are spread over a time drawn anew, and a regression of receive time on send time (`fdace`) gives the capacity. A frame gets the bytes that this carries in six tenths of a frame's time. Loss and marks give a separate cap (`aimd`).
//!
//! Not here: the delay that aligns the ends of frames, as the pacer has no such wait; padding of frames below the
//! minimum. Sizes count packet headers, which the draft allows. docs/papers/draft-ageneau-ccwg-ndtc.md lists how each section is read.

mod aimd;
mod fdace;

use aimd::{Aimd, Steps};
use fdace::{Fdace, Weights};
use legato_control::estimate::frame_interval::FrameInterval;
use legato_control::estimate::frame_trips::{FrameTrip, FrameTrips};
use legato_control::estimate::silence::Silence;
use legato_control::{
    BuildError, Construct, Context, Decision, Event, FeedbackRule, Pacing, RateController, RateLimits, Side,
};
use legato_units::{DataRate, DataSize, Timestamp};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Parameters of [`Ndtc`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// TRECV: the time in which a frame shall arrive, as a share of the time between frames.
    #[schemars(range(max = 1), extend("exclusiveMinimum" = 0))]
    pub receive_ratio: f64,
    /// TSEND: the time in which it is sent, as a share of TRECV.
    #[schemars(range(max = 0.99), extend("exclusiveMinimum" = 0))]
    pub send_ratio: f64,
    /// DELTA: how far the send time varies, as a share of TSEND.
    #[schemars(range(min = 0, max = 1))]
    pub dither_ratio: f64,
    /// LAMBDA: the weight of a frame in the regression.
    #[schemars(range(max = 1), extend("exclusiveMinimum" = 0))]
    pub weight_ratio: f64,
    /// ITERATIONS: steps from the mean towards the capacity.
    #[schemars(range(min = 0, max = 20))]
    pub iterations: u32,
    /// KMARGIN: the margin for what the regression does not explain.
    #[schemars(range(min = 0, max = 10))]
    pub margin_ratio: f64,
    /// MIN_TARGET: the minimum frame size.
    #[schemars(range(min = 1, max = 1_000_000))]
    pub min_target_bytes: u32,
    /// ALPHA: what a frame without loss adds to the cap.
    #[schemars(range(min = 0, max = 1_000_000))]
    pub increase_bytes: u32,
    /// EALPHA: the same after marks.
    #[schemars(range(min = 0, max = 1_000_000))]
    pub ecn_increase_bytes: u32,
    /// BETA: what loss multiplies the cap by.
    #[schemars(range(max = 1), extend("exclusiveMinimum" = 0))]
    pub decrease_ratio: f64,
}

impl Default for Config {
    // [draft-ageneau-ccwg-ndtc]: the recommended values.
    fn default() -> Self {
        Self {
            receive_ratio: 0.6,
            send_ratio: 0.5,
            dither_ratio: 0.5,
            weight_ratio: 0.04,
            iterations: 3,
            margin_ratio: 0.25,
            min_target_bytes: 2_000,
            increase_bytes: 40,
            ecn_increase_bytes: 400,
            decrease_ratio: 0.7,
        }
    }
}

impl Config {
    fn weights(&self) -> Weights {
        Weights { lambda: self.weight_ratio, iterations: self.iterations, margin: self.margin_ratio }
    }

    fn steps(&self) -> Steps {
        Steps {
            increase: f64::from(self.increase_bytes),
            ecn_increase: f64::from(self.ecn_increase_bytes),
            decrease: self.decrease_ratio,
        }
    }
}

/// A regression over dithered frames.
#[derive(Clone, Debug)]
pub struct Ndtc {
    config: Config,
    limits: RateLimits,
    trips: FrameTrips,
    fdace: Fdace,
    aimd: Aimd,
    silence: Silence,
    /// TARGET and SLOPE as the regression last gave them, in bytes.
    estimated: f64,
    estimated_slope: f64,
    /// The same under the cap.
    target_bytes: f64,
    slope: f64,
    frame_interval: FrameInterval,
    /// The state of the dither's generator.
    random: u64,
    pacing_rate: DataRate,
}

impl Construct for Ndtc {
    const NAME: &'static str = "ndtc";
    const SIDE: Side = Side::Sender;
    const SUMMARY: &'static str = "the capacity out of frames sent over varied times, and a cap by loss and marks";
    const CITES: &'static [&'static str] = &["draft-ageneau-ccwg-ndtc", "ageneau2025"];
    type Config = Config;

    fn new(config: Config, context: Context<'_>) -> Result<Self, BuildError> {
        Ok(Self::fresh(config, context.limits, context.seed))
    }
}

impl Ndtc {
    fn fresh(config: Config, limits: RateLimits, random: u64) -> Self {
        let start_bytes = limits.start.as_bps_f64() / 8.0 * FIRST_FRAME_S;
        let mut ndtc = Self {
            trips: FrameTrips::default(),
            fdace: Fdace::default(),
            aimd: Aimd::new(f64::INFINITY),
            silence: Silence::default(),
            estimated: start_bytes,
            estimated_slope: 1.0,
            target_bytes: start_bytes,
            slope: 1.0,
            frame_interval: FrameInterval::default(),
            random,
            pacing_rate: DataRate::ZERO,
            config,
            limits,
        };
        ndtc.aimd = Aimd::new(ndtc.max_bytes());
        ndtc.apply_cap();
        ndtc.pacing_rate = ndtc.target().scale(1.0 / (ndtc.config.receive_ratio * ndtc.config.send_ratio));
        ndtc
    }

    /// MAX_TARGET: what the application's maximum fills.
    fn max_bytes(&self) -> f64 {
        self.limits.max.as_bps_f64() / 8.0 * self.frame_interval.mean().get()
    }

    fn receive_s(&self) -> f64 {
        self.config.receive_ratio * self.frame_interval.mean().get()
    }

    /// CMAX: what the pacer could send in TRECV at its fastest.
    fn cmax(&self) -> f64 {
        self.estimated / self.config.send_ratio
    }

    fn on_trip(&mut self, now: Timestamp, trip: &FrameTrip) {
        if let Some(length) = self.length(trip) {
            let send = trip.send_time().as_secs_f64() / length;
            // [draft-ageneau-ccwg-ndtc] §4.3: receive times count up to three frames' time.
            let received_s = trip.receive_time().map_or(0.0, |time| time.as_secs_f64());
            let receive = received_s.clamp(0.0, MAX_RECEIVE_FRAMES * self.frame_interval.mean().get()) / length;
            let estimate = self.fdace.add(send, receive, self.config.weights());
            // [draft-ageneau-ccwg-ndtc] §4.4: TARGET = min(TRECV x AVAILABLE, MAX_TARGET)
            self.estimated = (self.receive_s() * estimate.available).min(self.max_bytes());
            self.estimated_slope = estimate.slope;
        }
        self.aimd.on_frame(now, trip, self.cmax(), self.config.steps());
        self.apply_cap();
    }

    /// LENGTH of a frame that says something: all but half of its first packet and of its last.
    // [draft-ageneau-ccwg-ndtc] §5.2: the sum of all payloads minus the average size of the first and last one
    fn length(&self, trip: &FrameTrip) -> Option<f64> {
        let length = trip.bytes as f64 - (trip.first_bytes + trip.last_bytes) as f64 / 2.0;
        let whole = trip.packets >= 2 && trip.lost == 0 && trip.arrived == trip.packets;
        (whole && length >= f64::from(self.config.min_target_bytes) / 2.0).then_some(length)
    }

    // [draft-ageneau-ccwg-ndtc] §4.5: CSLOPE = max(1 - (TSEND / TRECV)(CMAX / CTARGET), 0) / (1 - TSEND / TRECV)
    // §4.6: TARGET = max(min(TARGET, CTARGET), MIN_TARGET), SLOPE = min(SLOPE, CSLOPE)
    fn apply_cap(&mut self) {
        let (cmax, share) = (self.cmax(), self.config.send_ratio);
        let capped = self.aimd.target(cmax).max(1.0);
        let slope = (1.0 - share * cmax / capped).max(0.0) / (1.0 - share);
        // Ours: the minimum is for frames that measure; in silence nothing is measured.
        let min = if self.silence.lasts() { 0.0 } else { f64::from(self.config.min_target_bytes) };
        self.target_bytes = self.estimated.min(capped).max(min).max(1.0);
        self.slope = self.estimated_slope.min(slope);
    }

    /// Spread a frame of this size that has just been coded.
    // [draft-ageneau-ccwg-ndtc] §4.7: PACE = SLOPE (TSEND + rand DELTA) + (1 - SLOPE) TRECV;
    // SEND = min(PACE x LENGTH / TARGET, TFRAME)
    fn pace(&mut self, size: DataSize) {
        let send_s = self.config.send_ratio * self.receive_s();
        let dithered = send_s * (1.0 + self.config.dither_ratio * self.draw());
        let pace_s = self.slope * dithered + (1.0 - self.slope) * self.receive_s();
        let length = size.as_bytes() as f64;
        let send_s = (pace_s * length / self.target_bytes).min(self.frame_interval.mean().get());
        self.pacing_rate = DataRate::from_bps_f64(8.0 * length.max(1.0) / send_s.max(1e-6));
    }

    /// The next number of a sequence within -1 and 1 (SplitMix64).
    fn draw(&mut self) -> f64 {
        self.random = self.random.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.random;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((z ^ (z >> 31)) >> 11) as f64 / (1_u64 << 52) as f64 - 1.0
    }

    fn target(&self) -> DataRate {
        self.limits.clamp(DataRate::from_bps_f64(8.0 * self.target_bytes / self.frame_interval.mean().get()))
    }
}

impl RateController for Ndtc {
    fn on_event(&mut self, now: Timestamp, event: &Event) {
        if self.silence.is_over(now) {
            // [draft-ageneau-ccwg-ndtc] §4.5: the sender also decreases if there is no feedback for long.
            self.aimd.decrease(now, self.target_bytes, self.config.steps());
            self.apply_cap();
        }
        match event {
            Event::TransportFeedback(feedback) if !feedback.reports.is_empty() => {
                self.silence.on_feedback(now, feedback.round_trip(now));
                for report in feedback.reports.iter() {
                    if let Some(trip) = self.trips.on_report(&report) {
                        self.on_trip(now, &trip);
                    }
                }
            }
            Event::PacketsSent(_) => self.silence.on_packet_sent(now),
            Event::FrameCaptured(_) => self.frame_interval.on_capture(now),
            Event::FrameEncoded(frame) => self.pace(frame.size),
            Event::Limits(limits) => self.limits = *limits,
            Event::RouteChange => *self = Self::fresh(self.config.clone(), self.limits, self.random),
            _ => {}
        }
    }

    fn decision(&self) -> Decision {
        let target = self.target();
        Decision {
            pacing: Pacing { burst: Some(DataSize::ZERO), ..Pacing::at(self.pacing_rate.max(target)) },
            ..Decision::of_target(target)
        }
    }

    fn next_deadline(&self) -> Option<Timestamp> {
        self.silence.next_deadline()
    }

    fn feedback_rule(&self) -> FeedbackRule {
        FeedbackRule::DataUnits
    }

    fn observe(&mut self, gauge: &mut dyn FnMut(&'static str, f64)) {
        gauge("ndtc_available_bps", 8.0 * self.estimated / self.receive_s());
        gauge("ndtc_slope_ratio", self.estimated_slope);
        gauge("ndtc_cap_bytes", self.aimd.target(self.cmax()));
        gauge("ndtc_target_bytes", self.target_bytes);
    }
}

/// Until two pictures were seen: 30 per second.
const FIRST_FRAME_S: f64 = 1.0 / 30.0;
const MAX_RECEIVE_FRAMES: f64 = 3.0;

#[cfg(test)]
#[path = "ndtc_tests.rs"]
mod tests;
