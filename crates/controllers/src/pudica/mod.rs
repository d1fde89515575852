//! `pudica` believes that a sender that wants no queue shall not ask for the bandwidth, of which it takes whatever others leave. It shall ask for the share of the time that the bottleneck is busy ([wang2024]), which the delay of each paced frame shows (`utilisation`). Below 0.85 the bitrate is multiplied towards it. Up to 1, adding and multiplying at once make flows fair. A frame above 1 lowers the next one, three drain the queue, and it continues from the rate received meanwhile.
//!
//! Not here: the four packets without payload that look for others between two frames, as the pacer cannot send such;
//! eq. (3) to (5) need them. Without them a flow that sends between our frames is seen only through its queue. The step
//! of eq. (10) is made for 50 Mbit/s; bitrates are scaled so that the application's maximum stands for that.

mod utilisation;

use legato_control::estimate::frame_interval::FrameInterval;
use legato_control::estimate::frame_trips::{FrameTrip, FrameTrips};
use legato_control::estimate::silence::Silence;
use legato_control::{
    BuildError, Construct, Context, Decision, Event, FeedbackRule, Pacing, RateController, RateLimits, Side,
};
use legato_units::{DataRate, DataSize, TimeDelta, Timestamp};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;
use utilisation::Utilisation;

/// Parameters of [`Pudica`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// alpha: up to this smoothed utilisation the bitrate is multiplied.
    #[schemars(range(max = 1), extend("exclusiveMinimum" = 0))]
    pub efficient_ratio: f64,
    /// gamma_MI: how far towards it in one step.
    #[schemars(range(max = 1), extend("exclusiveMinimum" = 0))]
    pub multiply_ratio: f64,
    /// gamma_MD: the share of the bitrate given up while adding.
    #[schemars(range(max = 0.5), extend("exclusiveMinimum" = 0))]
    pub decrease_ratio: f64,
    /// zeta: by how much a frame above 1 lowers the next.
    #[schemars(range(min = 0, max = 0.9))]
    pub fallback_ratio: f64,
    /// gamma_rho: how much faster than the utilisation frames are paced.
    #[schemars(range(min = 1, max = 10))]
    pub pacing_ratio: f64,
    /// The queue shall be gone after this.
    #[schemars(range(min = 10, max = 5_000))]
    pub drain_ms: f64,
}

impl Default for Config {
    // [wang2024] §4.
    fn default() -> Self {
        Self {
            efficient_ratio: 0.85,
            multiply_ratio: 0.3,
            decrease_ratio: 0.05,
            fallback_ratio: 0.15,
            pacing_ratio: 1.25,
            drain_ms: 200.0,
        }
    }
}

/// The bottleneck's busy time, and a policy over it.
#[derive(Clone, Debug)]
pub struct Pudica {
    config: Config,
    limits: RateLimits,
    trips: FrameTrips,
    utilisation: Utilisation,
    silence: Silence,
    /// B, in bit/s.
    bitrate_bps: f64,
    /// The latest ratio.
    ratio: f64,
    /// tau: frames since the step began to grow, and when it did.
    frames: u32,
    frames_since: Timestamp,
    /// No change before reports on frames that left after this.
    adjusted: Timestamp,
    /// The next frame is smaller.
    fallback: bool,
    /// The arrivals since the congestion began, and whether the queue is being drained.
    received: Option<Received>,
    draining: bool,
    /// When frames left, and the bitrate each was coded at; the oldest first.
    sent: VecDeque<(Timestamp, f64)>,
    in_flight: DataSize,
    min_round_trip_s: f64,
    frame_interval: FrameInterval,
    pacing_rate: DataRate,
}

/// The bytes that have arrived since the congestion began.
#[derive(Clone, Copy, Debug)]
struct Received {
    bytes: u64,
    first_arrival_ns: i64,
    last_arrival_ns: i64,
}

impl Received {
    fn rate_bps(&self) -> Option<f64> {
        let span_ns = self.last_arrival_ns - self.first_arrival_ns;
        (span_ns > 0).then(|| self.bytes as f64 * 8e9 / span_ns as f64)
    }
}

impl Construct for Pudica {
    const NAME: &'static str = "pudica";
    const SIDE: Side = Side::Sender;
    const SUMMARY: &'static str = "how busy each paced frame finds the bottleneck, kept below one";
    const CITES: &'static [&'static str] = &["wang2024"];
    type Config = Config;

    fn new(config: Config, context: Context<'_>) -> Result<Self, BuildError> {
        Ok(Self::fresh(config, context.limits, context.start))
    }
}

impl Pudica {
    fn fresh(config: Config, limits: RateLimits, start: Timestamp) -> Self {
        Self {
            trips: FrameTrips::default(),
            utilisation: Utilisation::default(),
            silence: Silence::default(),
            bitrate_bps: limits.start.as_bps_f64().max(1.0),
            ratio: 1.0,
            frames: 0,
            frames_since: start,
            adjusted: start,
            fallback: false,
            received: None,
            draining: false,
            sent: VecDeque::new(),
            in_flight: DataSize::ZERO,
            min_round_trip_s: FIRST_ROUND_TRIP_S,
            frame_interval: FrameInterval::default(),
            pacing_rate: limits.start,
            config,
            limits,
        }
    }

    /// Takes bit/s to the Mbit/s of the paper, whose maximum is 50.
    fn scale(&self) -> f64 {
        PAPERS_MAX_MBPS / self.limits.max.as_bps_f64().clamp(1e6, MAX_BPS)
    }

    fn on_trip(&mut self, now: Timestamp, trip: &FrameTrip) {
        while self.sent.len() > 1 && self.sent[1].0 <= trip.first_departure {
            self.sent.pop_front();
        }
        let coded_bps = self.sent.front().map_or(self.bitrate_bps, |(_, bps)| *bps);
        let Some(ratio) = self.utilisation.of(now, trip, self.frame_interval.mean().get(), coded_bps / 1e6) else {
            return;
        };
        self.ratio = ratio;
        self.frames = self.frames.saturating_add(1);
        self.count_received(trip, ratio);
        if self.utilisation.congested() >= CONGESTED_FRAMES {
            return self.drain(now);
        }
        // [wang2024] §4.3: one frame above 1 lowers the next only; the first at most 1 after a drain restores the rate.
        self.fallback = ratio > 1.0;
        if ratio <= 1.0
            && let Some(received) = self.received.take()
            && std::mem::take(&mut self.draining)
        {
            self.set(now, received.rate_bps().unwrap_or(self.bitrate_bps));
        } else if trip.first_departure >= self.adjusted {
            self.adapt(now);
        }
    }

    /// Count arrivals from the first frame above 1 on.
    fn count_received(&mut self, trip: &FrameTrip, ratio: f64) {
        let (Some(first), Some(last)) = (trip.first_arrival, trip.last_arrival) else { return };
        match &mut self.received {
            Some(received) => {
                received.bytes += trip.bytes;
                received.last_arrival_ns = received.last_arrival_ns.max(last.as_nanos());
            }
            None if ratio > 1.0 => {
                let bytes = trip.bytes.saturating_sub(trip.first_bytes);
                let (first_arrival_ns, last_arrival_ns) = (first.as_nanos(), last.as_nanos());
                self.received = Some(Received { bytes, first_arrival_ns, last_arrival_ns });
            }
            None => {}
        }
    }

    // [wang2024] eq. (11): B = alpha receiving_rate - draining_rate, which takes the queue away in 200 ms
    fn drain(&mut self, now: Timestamp) {
        let Some(received_bps) = self.received.and_then(|received| received.rate_bps()) else { return };
        // Of the bytes in flight, a round trip's worth is under way and not queued.
        let under_way = received_bps / 8.0 * self.min_round_trip_s;
        let queued_bits = 8.0 * (self.in_flight.as_bytes() as f64 - under_way).max(0.0);
        let draining_bps = queued_bits / (self.config.drain_ms / 1e3);
        (self.fallback, self.draining) = (false, true);
        self.set(now, self.config.efficient_ratio * received_bps - draining_bps);
    }

    /// By the smoothed ratio.
    fn adapt(&mut self, now: Timestamp) {
        let Some(smoothed) = self.utilisation.smoothed(self.bitrate_bps / 1e6, 1e6 * self.scale()) else { return };
        // [wang2024]: tau begins anew when the smoothed ratio exceeds 1, and every five seconds.
        if smoothed > 1.0 || now - self.frames_since >= STEP_RESET {
            (self.frames, self.frames_since) = (0, now);
        }
        let alpha = self.config.efficient_ratio;
        if smoothed <= alpha {
            // [wang2024] eq. (7), (8): B (1 + xi), xi = gamma_MI ((alpha + 1) / 2 - R) / R
            let aim = f64::midpoint(alpha, 1.0);
            let growth = self.config.multiply_ratio * (aim - smoothed) / smoothed.max(MIN_RATIO);
            self.set(now, self.bitrate_bps * (1.0 + growth.min(MAX_GROWTH)));
        } else {
            self.set(now, self.bitrate_bps + self.step_bps());
        }
    }

    // [wang2024] eq. (9), (10): B + A, A = (Bmax + 2 tau / ln B) gamma / 2 - gamma B, in Mbit/s
    fn step_bps(&self) -> f64 {
        let (gamma, scale) = (self.config.decrease_ratio, self.scale());
        let bitrate = self.bitrate_bps * scale;
        // Deviates from [wang2024] eq. (10): below e Mbit/s its logarithm would shrink to zero and turn negative.
        let growth = 2.0 * f64::from(self.frames) / libm::log(bitrate).max(1.0);
        let step = (PAPERS_MAX_MBPS + growth) * gamma / 2.0 - gamma * bitrate;
        // The paper says that the step is bounded, and not by what.
        step.clamp(-gamma * bitrate, gamma * bitrate) / scale
    }

    fn set(&mut self, now: Timestamp, bitrate_bps: f64) {
        let (min, max) = (self.limits.min.as_bps_f64().max(1.0), self.limits.max.as_bps_f64().max(1.0));
        self.bitrate_bps = bitrate_bps.max(min).min(max);
        self.adjusted = now;
    }

    fn on_capture(&mut self, now: Timestamp) {
        self.frame_interval.on_capture(now);
        // [wang2024] §4.3: the oldest frame without feedback has been under way for long; the paper does not say how long.
        let late = TimeDelta::from_secs_f64(self.min_round_trip_s + 2.0 * self.frame_interval.mean().get());
        let waits = self.in_flight > DataSize::ZERO && self.sent.get(1).is_some_and(|(at, _)| now - *at > late);
        self.fallback |= waits && !self.draining;
    }

    fn target(&self) -> DataRate {
        let share = if self.fallback { 1.0 - self.config.fallback_ratio } else { 1.0 };
        self.limits.clamp(DataRate::from_bps_f64(share * self.bitrate_bps))
    }

    /// Spread a frame of this size that has just been coded.
    // [wang2024] eq. (2): rho = 1.25 / min(R, 1); a frame is sent in L / rho
    fn pace(&mut self, now: Timestamp, size: DataSize, encoder_bitrate: DataRate) {
        let rho = self.config.pacing_ratio / self.ratio.clamp(MIN_RATIO, 1.0);
        self.pacing_rate =
            DataRate::from_bps_f64(8.0 * size.as_bytes() as f64 * rho / self.frame_interval.mean().get());
        if self.sent.len() == MOST_FRAMES {
            self.sent.pop_front();
        }
        self.sent.push_back((now, encoder_bitrate.as_bps_f64().max(1.0)));
        // The next one is as large as ever again.
        self.fallback = false;
    }
}

impl RateController for Pudica {
    fn on_event(&mut self, now: Timestamp, event: &Event) {
        if self.silence.is_over(now) {
            self.fallback = false;
            self.set(now, self.target().as_bps_f64() / 2.0);
        }
        match event {
            Event::TransportFeedback(feedback) => {
                self.in_flight = feedback.in_flight;
                if feedback.reports.is_empty() {
                    return;
                }
                let round_trip = feedback.round_trip(now);
                self.silence.on_feedback(now, round_trip);
                if round_trip > TimeDelta::ZERO {
                    self.min_round_trip_s = self.min_round_trip_s.min(round_trip.as_secs_f64());
                }
                for report in feedback.reports.iter() {
                    if let Some(trip) = self.trips.on_report(&report) {
                        self.on_trip(now, &trip);
                    }
                }
            }
            Event::PacketsSent(burst) => {
                self.silence.on_packet_sent(now);
                self.in_flight = burst.get(burst.packets - 1).in_flight;
            }
            Event::FrameCaptured(_) => self.on_capture(now),
            Event::FrameEncoded(frame) => self.pace(now, frame.size, frame.encoder_bitrate),
            Event::Limits(limits) => self.limits = *limits,
            Event::RouteChange => *self = Self::fresh(self.config.clone(), self.limits, now),
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
        gauge("pudica_utilisation_ratio", self.ratio);
        if let Some(smoothed) = self.utilisation.smoothed(self.bitrate_bps / 1e6, 1e6 * self.scale()) {
            gauge("pudica_smoothed_ratio", smoothed);
        }
        gauge("pudica_draining", f64::from(u8::from(self.draining)));
    }
}

// [wang2024]: the application's maximum there, and its two resets.
const PAPERS_MAX_MBPS: f64 = 50.0;
const STEP_RESET: TimeDelta = TimeDelta::from_secs(5);
const CONGESTED_FRAMES: usize = 3;
/// Ours: a link of which a frame takes a fiftieth of its time; below, delays are clock ticks.
const MIN_RATIO: f64 = 0.02;
/// Ours, for a path on which nothing is busy: the paper's rule has no bound there.
const MAX_GROWTH: f64 = 1.0;
const FIRST_ROUND_TRIP_S: f64 = 0.2;
const MOST_FRAMES: usize = 512;
const MAX_BPS: f64 = 1e12;

#[cfg(test)]
#[path = "pudica_tests.rs"]
mod tests;
