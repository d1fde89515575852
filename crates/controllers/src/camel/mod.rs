//! `camel` believes that a frame that leaves at once measures the path, whatever the encoder leaves unused ([liu2026]). Its packets' spread is the capacity, and its first packet's delay shows the queue. A line through delays over bytes in flight reveals congestion (`slope`). Losses towards the ends of frames show how long a burst may be (`burst_length`). Where even short bursts lose their tails, Google congestion control takes over.
//!
//! Numbers are those of the authors' public code; docs/papers/liu2026.md lists them and Legato's additions.

mod burst_length;
mod slope;

use super::gcc::{self, Gcc};
use burst_length::BurstLength;
use legato_control::estimate::frame_dispersion::{FirstDelay, dispersion_bps};
use legato_control::estimate::frame_trips::{FrameTrip, FrameTrips};
use legato_control::estimate::silence::Silence;
use legato_control::estimate::windowed_min::WindowedMin;
use legato_control::{
    BuildError, Construct, Context, Decision, Event, FeedbackRule, NoAssets, Pacing, PacketKind, ProbeCluster,
    RateController, RateLimits, SentPacket, Side, TransportFeedback,
};
use legato_units::{Burst, DataRate, DataSize, TimeDelta, Timestamp};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use slope::Slope;
use std::collections::VecDeque;

/// Parameters of [`Camel`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// The weight of a frame in the mean capacity.
    #[schemars(range(max = 1), extend("exclusiveMinimum" = 0))]
    pub smoothing_ratio: f64,
    /// The network is congested where a byte more in flight delays by more than this.
    #[schemars(range(min = 0.001, max = 1_000))]
    pub slope_us_per_byte: f64,
    /// gamma: how far congestion lowers the rate at most.
    #[schemars(range(max = 1), extend("exclusiveMinimum" = 0))]
    pub min_gamma_ratio: f64,
    /// Bursts are too long where a piece is lost this much more often than the best one.
    #[schemars(range(min = 0, max = 1))]
    pub excess_loss_ratio: f64,
    /// The target is no lower, so that frames have packets to measure by; in silence it is.
    #[schemars(range(min = 0, max = 1_000_000_000))]
    pub min_bitrate_bps: u64,
}

impl Default for Config {
    // [liu2026]'s public code.
    fn default() -> Self {
        Self {
            smoothing_ratio: 0.1,
            slope_us_per_byte: 0.5,
            min_gamma_ratio: 0.2,
            excess_loss_ratio: 0.1,
            min_bitrate_bps: 500_000,
        }
    }
}

/// Frames as bursts that measure.
#[derive(Clone)]
pub struct Camel {
    config: Config,
    limits: RateLimits,
    seed: u64,
    trips: FrameTrips,
    first_delay: FirstDelay,
    slope: Slope,
    burst_length: BurstLength,
    silence: Silence,
    /// The mean of what frames showed, in bit/s; the start rate before the first.
    bandwidth_bps: f64,
    measured: bool,
    gamma: f64,
    /// How much lower silence has made it.
    silence_share: f64,
    /// From a frame's first departure to the report of its last packet, in seconds: with feedback in batches, the time
    /// after which the bytes in flight have certainly left.
    round_trip: WindowedMin,
    /// Frames that left, and the bytes in flight before their first packet; the oldest first.
    sent: VecDeque<(u32, u64)>,
    fallback: Option<Gcc>,
}

impl Construct for Camel {
    const NAME: &'static str = "camel";
    const SIDE: Side = Side::Sender;
    const SUMMARY: &'static str = "frames as bursts that measure the path, as long as their tails arrive";
    const CITES: &'static [&'static str] = &["liu2026"];
    type Config = Config;

    fn new(config: Config, context: Context<'_>) -> Result<Self, BuildError> {
        Ok(Self::fresh(config, context.limits, context.start, context.seed))
    }
}

impl Camel {
    fn fresh(config: Config, limits: RateLimits, start: Timestamp, seed: u64) -> Self {
        Self {
            trips: FrameTrips::default(),
            first_delay: FirstDelay::new(MIN_DELAY_WINDOW),
            slope: Slope::new(config.slope_us_per_byte, config.min_gamma_ratio),
            burst_length: BurstLength::new(config.excess_loss_ratio, start),
            silence: Silence::default(),
            bandwidth_bps: limits.start.as_bps_f64(),
            measured: false,
            gamma: 1.0,
            silence_share: 1.0,
            round_trip: WindowedMin::default(),
            sent: VecDeque::new(),
            fallback: None,
            config,
            limits,
            seed,
        }
    }

    fn take_feedback(&mut self, now: Timestamp, feedback: &TransportFeedback) {
        self.silence.on_feedback(now, feedback.round_trip(now));
        self.silence_share = 1.0;
        for report in feedback.reports.iter() {
            if let Some(place) = report.place.filter(|_| report.kind == PacketKind::Video) {
                // The pieces of a frame are of one size.
                self.burst_length.on_report(&report, u64::from(place.index) * report.size.as_bytes());
            }
            if let Some(trip) = self.trips.on_report(&report) {
                self.on_trip(now, &trip);
            }
        }
        self.burst_length.update(now);
        self.choose_fallback(now);
    }

    // [liu2026]: B = (S_2 + … + S_n) / (t_n - t_1), averaged with weight 0.1; a frame's delay is its first packet's
    fn on_trip(&mut self, now: Timestamp, trip: &FrameTrip) {
        let queued_s = self.first_delay.queued_s(now, trip);
        self.round_trip.after(now, (now - trip.first_departure).as_secs_f64().max(0.0), MIN_DELAY_WINDOW);
        if let Some(bps) = dispersion_bps(trip) {
            let weight = if self.measured { self.config.smoothing_ratio } else { 1.0 };
            self.measured = true;
            self.bandwidth_bps += weight * (bps - self.bandwidth_bps);
        }
        while self.sent.front().is_some_and(|(frame, _)| frame.wrapping_sub(trip.frame).cast_signed() < 0) {
            self.sent.pop_front();
        }
        let in_flight = self.sent.front().filter(|(frame, _)| *frame == trip.frame);
        if let (Some((_, bytes)), Some(queued_s)) = (in_flight, queued_s) {
            self.gamma = self.slope.add(now, *bytes as f64, 1e6 * queued_s);
        }
    }

    fn on_sent(&mut self, burst: &Burst<SentPacket>) {
        let first = &burst.first;
        let begins_frame = first.place.filter(|place| first.kind == PacketKind::Video && place.index == 0);
        if let Some(place) = begins_frame {
            if self.sent.len() == MOST_FRAMES {
                self.sent.pop_front();
            }
            self.sent.push_back((place.frame, first.in_flight.saturating_sub(first.size).as_bytes()));
        }
    }

    fn choose_fallback(&mut self, now: Timestamp) {
        if !self.burst_length.fallback() {
            self.fallback = None;
        } else if self.fallback.is_none() {
            let limits = RateLimits { start: self.target(), ..self.limits };
            let context = Context { limits, start: now, seed: self.seed, assets: &NoAssets };
            self.fallback = Gcc::new(gcc::Config::default(), context).ok();
        }
    }

    // [liu2026]: the rate is gamma times the mean capacity
    fn rate_bps(&self) -> f64 {
        (self.gamma * self.bandwidth_bps).max(self.config.min_bitrate_bps as f64).max(1.0)
    }

    fn target(&self) -> DataRate {
        self.limits.clamp(DataRate::from_bps_f64(self.silence_share * self.rate_bps()))
    }

    // [liu2026]: cwnd = gamma B D_min
    fn window(&self) -> Option<DataSize> {
        let bits = self.gamma * self.bandwidth_bps * self.round_trip.min()?;
        // Ours: no less than a burst, or a frame would wait for its own beginning's report.
        Some(DataSize::from_bytes((bits / 8.0) as u64).max(DataSize::from_bytes(self.burst_length.bytes())))
    }
}

impl RateController for Camel {
    fn on_event(&mut self, now: Timestamp, event: &Event) {
        if self.silence.is_over(now) {
            // Half of the sending rate, whatever the limits cut off.
            let share = 0.5 * self.target().as_bps_f64() / self.rate_bps();
            self.silence_share = share.clamp(MIN_SILENCE_SHARE, 1.0);
        }
        match event {
            Event::TransportFeedback(feedback) if !feedback.reports.is_empty() => self.take_feedback(now, feedback),
            Event::PacketsSent(burst) => {
                self.silence.on_packet_sent(now);
                self.on_sent(burst);
            }
            Event::Limits(limits) => self.limits = *limits,
            Event::RouteChange => *self = Self::fresh(self.config.clone(), self.limits, now, self.seed),
            _ => {}
        }
        if let Some(gcc) = &mut self.fallback {
            gcc.on_event(now, event);
        }
    }

    fn decision(&self) -> Decision {
        if let Some(gcc) = &self.fallback {
            return gcc.decision();
        }
        let target = self.target();
        let burst = Some(DataSize::from_bytes(self.burst_length.bytes()));
        // Deviates from [liu2026]'s public code, which paces at the target: Legato's encoders fill it, and bytes that
        // wait when the rate falls would wait for good. The window does the slowing.
        let pacing_rate = self.limits.clamp(DataRate::from_bps_f64(self.bandwidth_bps)).max(target);
        Decision {
            pacing: Pacing { burst, ..Pacing::at(pacing_rate) },
            congestion_window: self.window(),
            ..Decision::of_target(target)
        }
    }

    fn next_deadline(&self) -> Option<Timestamp> {
        let fallback = self.fallback.as_ref().and_then(|gcc| gcc.next_deadline());
        [fallback, self.silence.next_deadline()].into_iter().flatten().min()
    }

    fn poll_probe(&mut self) -> Option<ProbeCluster> {
        self.fallback.as_mut().and_then(|gcc| gcc.poll_probe())
    }

    fn feedback_rule(&self) -> FeedbackRule {
        FeedbackRule::DataUnits
    }

    fn observe(&mut self, gauge: &mut dyn FnMut(&'static str, f64)) {
        gauge("camel_bandwidth_bps", self.bandwidth_bps);
        gauge("camel_gamma_ratio", self.gamma);
        gauge("camel_slope_us_per_byte", self.slope.slope_us_per_byte());
        gauge("camel_burst_bytes", self.burst_length.bytes() as f64);
        gauge("camel_fallback", f64::from(u8::from(self.fallback.is_some())));
    }
}

// [liu2026]: the minimum delay is that of five seconds.
const MIN_DELAY_WINDOW: TimeDelta = TimeDelta::from_secs(5);
const MOST_FRAMES: usize = 512;
const MIN_SILENCE_SHARE: f64 = 1e-3;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frame_reports::report;
    use legato_control::FramePlace;

    const LIMITS: RateLimits =
        RateLimits { min: DataRate::from_kbps(50), start: DataRate::from_mbps(1), max: DataRate::from_mbps(20) };

    fn camel() -> Camel {
        let context = Context { limits: LIMITS, start: Timestamp::ZERO, seed: 0, assets: &NoAssets };
        Camel::new(Config::default(), context).unwrap()
    }

    const MS: fn(i64) -> TimeDelta = TimeDelta::from_millis;

    /// A frame of five packets, 2 ms apart at the receiver, unless lost; `in_flight` bytes were under way before it.
    fn frame(camel: &mut Camel, number: u32, delay_ms: i64, in_flight: u64, lost: &[u16]) {
        let departure = MS(33 * i64::from(number));
        let sent = SentPacket {
            transport_seq: u64::from(number) * 100,
            ssrc: 1,
            size: DataSize::from_bytes(1_000),
            kind: PacketKind::Video,
            probe_cluster: None,
            in_flight: DataSize::from_bytes(in_flight + 1_000),
            place: Some(FramePlace { frame: number, index: 0, packets: 5 }),
        };
        let burst = Burst { first: sent, packets: 5, smaller: 0 };
        camel.on_event(Timestamp::ZERO + departure, &Event::PacketsSent(burst));
        let reports: Vec<_> = (0..5)
            .map(|index| {
                let arrival = departure + MS(delay_ms + 2 * i64::from(index));
                report((number, index, 5), departure, (!lost.contains(&index)).then_some(arrival))
            })
            .collect();
        let feedback = TransportFeedback { reports: reports.into(), ..Default::default() };
        camel.on_event(Timestamp::ZERO + departure + MS(32), &Event::TransportFeedback(feedback));
    }

    /// [liu2026], worked by hand: 4,000 bytes in 8 ms are 4 Mbit/s; the round trip is 32 ms, so the window is 16,000
    /// bytes. Twice as fast once moves the mean by a tenth.
    #[test]
    fn a_frames_spread_is_the_rate_and_the_window_what_fills_a_round_trip() {
        let mut camel = camel();
        frame(&mut camel, 0, 20, 0, &[]);
        assert_eq!(camel.target(), DataRate::from_mbps(4));
        assert_eq!(camel.window(), Some(DataSize::from_bytes(16_000)));
        assert_eq!(camel.decision().pacing.burst, Some(DataSize::from_bytes(12_288)));
        camel.on_trip(Timestamp::from_millis(40), &FrameTrip { frame: 1, bytes: 9_000, ..trip() });
        assert!((camel.bandwidth_bps - 4.4e6).abs() < 1.0, "{}", camel.bandwidth_bps);
    }

    fn trip() -> FrameTrip {
        let mut trips = FrameTrips::default();
        (0..5).filter_map(|i| trips.on_report(&report((9, i, 5), MS(0), Some(MS(2 * i64::from(i)))))).last().unwrap()
    }

    /// [liu2026], worked by hand: with 5,000 bytes under way 10 ms more are 2 µs a byte, above half a µs: 0.95.
    #[test]
    fn delay_that_grows_with_what_is_in_flight_lowers_the_rate() {
        let mut camel = camel();
        frame(&mut camel, 0, 20, 0, &[]);
        frame(&mut camel, 1, 30, 5_000, &[]);
        assert!((camel.gamma - 0.95).abs() < 1e-12);
        assert_eq!(camel.target(), DataRate::from_kbps(3_800));
    }

    #[test]
    fn where_even_short_bursts_lose_their_tails_another_controller_decides() {
        let mut camel = camel();
        for number in 0..1_200 {
            frame(&mut camel, number, 20, 0, &[3, 4]);
        }
        assert!(camel.burst_length.fallback() && camel.fallback.is_some());
        assert_eq!(camel.decision().pacing.burst, None);
        for number in 1_200..1_400 {
            frame(&mut camel, number, 20, 0, &[]);
        }
        assert!(camel.fallback.is_none());
    }
}
