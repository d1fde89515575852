//! `sqp` believes that a frame, sent as a paced train, measures the path by itself: how far its last packet exceeds the minimum delay shows the rate that the path gave it, queues included ([ray2022]). The paper's text was not at hand: equations and constants are from memory, and not numbered here.
//!
//! For each frame it measures bytes over the time from its first departure to its last arrival minus
//! the minimum one-way delay of the last two round trips. It moves the bitrate towards nine tenths
//! of that, by a step derived from a logarithmic utility of rate and a cost of overshooting; frames
//! are paced at twice the bitrate. The window of the minimum delay is so short that others' queues
//! are soon taken for the path, and its own queue drains in the tenth left free.
//!
//! Ours: the definition of a train (a pause in departures ends it), the first packet of a train that
//! does not count, samples capped at the pacing rate, steps that never pass their sample.

use legato_control::estimate::silence::Silence;
use legato_control::{
    BuildError, Construct, Context, Decision, Event, Pacing, PacketKind, PacketReport, RateController, RateLimits,
    Side, TransportFeedback,
};
use legato_units::{DataRate, PeerTimestamp, TimeDelta, Timestamp};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Parameters of [`Sqp`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// T: the share of a sample that is aimed at.
    #[schemars(range(max = 1), extend("exclusiveMinimum" = 0))]
    pub target_ratio: f64,
    /// m: the pacing rate as a multiple of the bitrate.
    #[schemars(range(min = 1, max = 10))]
    pub pacing_ratio: f64,
    /// The window of the minimum one-way delay in round trips.
    #[schemars(range(min = 1, max = 100))]
    pub min_delay_window_ratio: f64,
    /// delta: how far the bitrate moves per frame for a relative distance of one.
    #[schemars(range(min = 1, max = 1_000_000_000))]
    pub step_bps: u64,
    /// r: the weight of utilisation against overshooting.
    #[schemars(range(max = 1), extend("exclusiveMinimum" = 0))]
    pub utilisation_weight_ratio: f64,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            target_ratio: 0.9,
            pacing_ratio: 2.0,
            min_delay_window_ratio: 2.0,
            step_bps: 320_000,
            utilisation_weight_ratio: 0.25,
        }
    }
}

/// A bandwidth sample per frame.
#[derive(Clone, Debug)]
pub struct Sqp {
    config: Config,
    limits: RateLimits,
    /// B, in bit/s.
    bitrate_bps: f64,
    train: Option<Train>,
    /// Delays count from the first packet's, as the clocks have an offset.
    origin: Option<(Timestamp, PeerTimestamp)>,
    min_delay: MinDelay,
    round_trip_ns: Option<f64>,
    last_capture: Option<Timestamp>,
    frame_interval_ns: f64,
    last_sample_bps: Option<f64>,
    silence: Silence,
}

/// The packets of one frame that have arrived; delays are relative to the origin's.
#[derive(Clone, Copy, Debug)]
struct Train {
    first_departure: Timestamp,
    last_departure: Timestamp,
    first_arrival: PeerTimestamp,
    last_arrival: PeerTimestamp,
    bytes: u64,
    first_bytes: u64,
}

impl Construct for Sqp {
    const NAME: &'static str = "sqp";
    const SIDE: Side = Side::Sender;
    const SUMMARY: &'static str = "a bandwidth sample out of each frame's paced train";
    const CITES: &'static [&'static str] = &["ray2022"];
    type Config = Config;

    fn new(config: Config, context: Context<'_>) -> Result<Self, BuildError> {
        let limits = context.limits;
        Ok(Self {
            config,
            limits,
            bitrate_bps: limits.start.as_bps_f64(),
            train: None,
            origin: None,
            min_delay: MinDelay::default(),
            round_trip_ns: None,
            last_capture: None,
            frame_interval_ns: 1e9 / 30.0,
            last_sample_bps: None,
            silence: Silence::default(),
        })
    }
}

impl Sqp {
    fn take_feedback(&mut self, now: Timestamp, feedback: &TransportFeedback) {
        if feedback.reports.is_empty() {
            return;
        }
        self.silence.on_feedback(now, feedback.round_trip(now));
        for report in feedback.reports.iter() {
            // Only media is paced as trains.
            if report.kind == PacketKind::Video {
                self.take_report(&report);
            }
        }
        let newest = feedback.reports.iter().rev().find(|report| report.arrived());
        if let Some(newest) = newest {
            let round_trip_ns = (now - newest.departure).as_nanos().max(0) as f64;
            let smoothed = self.round_trip_ns.get_or_insert(round_trip_ns);
            *smoothed += RTT_SMOOTHING * (round_trip_ns - *smoothed);
        }
    }

    fn take_report(&mut self, report: &PacketReport) {
        let Some(arrival) = report.arrival() else { return };
        self.origin.get_or_insert((report.departure, arrival));
        let bytes = report.size.as_bytes();
        // Within a train paced at twice the bitrate no gap is longer than a quarter of the frame
        // interval; between two trains it is at least half an interval.
        let longest_gap = TimeDelta::from_nanos((self.frame_interval_ns * LONGEST_GAP_RATIO) as i64);
        if let Some(train) = &mut self.train {
            let gap = report.departure - train.last_departure;
            if gap <= longest_gap {
                train.last_departure = train.last_departure.max(report.departure);
                train.last_arrival = train.last_arrival.max(arrival);
                train.bytes += bytes;
                return;
            }
        }
        let next = Train {
            first_departure: report.departure,
            last_departure: report.departure,
            first_arrival: arrival,
            last_arrival: arrival,
            bytes,
            first_bytes: bytes,
        };
        if let Some(done) = self.train.replace(next) {
            self.end_train(&done);
        }
    }

    fn end_train(&mut self, train: &Train) {
        let Some((departure_0, arrival_0)) = self.origin else { return };
        let since_ns = |arrival: PeerTimestamp| {
            ((arrival - arrival_0).as_nanos() as f64) - ((train.first_departure - departure_0).as_nanos() as f64)
        };
        let window_ns = self.round_trip_ns.unwrap_or(FIRST_ROUND_TRIP_NS) * self.config.min_delay_window_ratio;
        let min_delay_ns = self.min_delay.after(train.first_departure, since_ns(train.first_arrival), window_ns);
        let target_bytes = self.bitrate_bps / 8e9 * self.frame_interval_ns;
        let sample = FrameSample {
            // The path takes the time of all packets but the first, which is in the minimum delay.
            bytes: (train.bytes - train.first_bytes) as f64,
            since_least_ns: since_ns(train.last_arrival) - min_delay_ns,
            spread_ns: (train.last_arrival - train.first_arrival).as_nanos() as f64,
            growth: (target_bytes / train.bytes.max(1) as f64).clamp(1.0, MAX_GROWTH),
        };
        // Frames are paced: no sample can show more.
        let max_bps = self.config.pacing_ratio * self.bitrate_bps;
        let mut sample_bps = sample.bps().min(max_bps);
        if train.bytes == train.first_bytes {
            // A lone packet shows a queue and nothing else.
            let frame_bits = target_bytes.max(train.bytes as f64) * 8e9;
            let queued_ns = sample.since_least_ns.max(0.0) + frame_bits / max_bps;
            sample_bps = (frame_bits / queued_ns).min(max_bps);
        }
        self.last_sample_bps = Some(sample_bps);
        self.bitrate_bps = self.step(sample_bps).clamp(1.0, MAX_BPS);
        self.bitrate_bps = self.limits.clamp(DataRate::from_bps(self.bitrate_bps as u64)).as_bps_f64().max(1.0);
    }

    // [ray2022]: B <- B + delta (r (T S / B - 1) - (B / (T S) - 1))
    fn step(&self, sample_bps: f64) -> f64 {
        let Config { target_ratio, step_bps, utilisation_weight_ratio, .. } = self.config;
        let aim = (target_ratio * sample_bps).max(1.0);
        let bitrate = self.bitrate_bps;
        let next =
            bitrate + step_bps as f64 * (utilisation_weight_ratio * (aim / bitrate - 1.0) - (bitrate / aim - 1.0));
        // Deviates from [ray2022]: it is made for Mbit/s. At a few 100 kbit/s a step would overshoot its aim.
        if aim > bitrate { next.min(aim) } else { next.max(aim) }
    }
}

/// What one frame shows of the path.
#[derive(Clone, Copy, Debug)]
struct FrameSample {
    bytes: f64,
    /// From the first departure to the last arrival, minus the minimum delay.
    since_least_ns: f64,
    /// From the first arrival to the last.
    spread_ns: f64,
    /// gamma: how many times larger the frame ought to have been.
    growth: f64,
}

impl FrameSample {
    // [ray2022]: S = gamma F / (R_end - S_start - Delta_min + (gamma - 1)(R_end - R_start))
    fn bps(&self) -> f64 {
        let span_ns = self.since_least_ns + (self.growth - 1.0) * self.spread_ns;
        self.growth * self.bytes * 8e9 / span_ns.max(SHORTEST_SPAN_NS)
    }
}

/// The minimum delay of the last frames, over a window that moves with the round trip.
#[derive(Clone, Debug)]
struct MinDelay {
    frames: [(Timestamp, f64); FRAMES],
    len: usize,
    next: usize,
}

impl Default for MinDelay {
    fn default() -> Self {
        Self { frames: [(Timestamp::ZERO, 0.0); FRAMES], len: 0, next: 0 }
    }
}

impl MinDelay {
    /// The minimum after a frame that left at `at`.
    fn after(&mut self, at: Timestamp, delay_ns: f64, window_ns: f64) -> f64 {
        self.frames[self.next] = (at, delay_ns);
        self.next = (self.next + 1) % FRAMES;
        self.len = (self.len + 1).min(FRAMES);
        let within = |place: &usize| (at - self.frames[*place].0).as_nanos() as f64 <= window_ns;
        let places = (0..self.len).map(|back| (self.next + FRAMES - 1 - back) % FRAMES);
        places.take_while(within).map(|place| self.frames[place].1).fold(delay_ns, f64::min)
    }
}

impl RateController for Sqp {
    fn on_event(&mut self, now: Timestamp, event: &Event) {
        if self.silence.is_over(now) {
            self.bitrate_bps = (0.5 * self.bitrate_bps).max(self.limits.min.as_bps_f64()).max(1.0);
        }
        match event {
            Event::TransportFeedback(feedback) => self.take_feedback(now, feedback),
            Event::PacketsSent(_) => self.silence.on_packet_sent(now),
            Event::FrameCaptured(_) => {
                if let Some(last) = self.last_capture.replace(now) {
                    let interval_ns = ((now - last).as_nanos() as f64).clamp(4e6, 2e8);
                    self.frame_interval_ns += INTERVAL_SMOOTHING * (interval_ns - self.frame_interval_ns);
                }
            }
            Event::Limits(limits) => {
                self.limits = *limits;
                self.bitrate_bps = limits.clamp(DataRate::from_bps(self.bitrate_bps as u64)).as_bps_f64().max(1.0);
            }
            Event::RouteChange => {
                self.bitrate_bps = self.limits.start.as_bps_f64().max(1.0);
                (self.train, self.origin, self.round_trip_ns) = (None, None, None);
                self.min_delay = MinDelay::default();
            }
            _ => {}
        }
    }

    fn decision(&self) -> Decision {
        let target = self.limits.clamp(DataRate::from_bps(self.bitrate_bps as u64));
        Decision { pacing: Pacing::at(target.scale(self.config.pacing_ratio)), ..Decision::of_target(target) }
    }

    fn next_deadline(&self) -> Option<Timestamp> {
        self.silence.next_deadline()
    }

    fn observe(&mut self, gauge: &mut dyn FnMut(&'static str, f64)) {
        if let Some(sample_bps) = self.last_sample_bps {
            gauge("sqp_sample_bps", sample_bps);
        }
        if let Some(round_trip_ns) = self.round_trip_ns {
            gauge("sqp_round_trip_ms", round_trip_ns / 1e6);
        }
    }
}

/// As many frames as two round trips of half a second hold, at 60 per second.
const FRAMES: usize = 64;
const LONGEST_GAP_RATIO: f64 = 0.4;
const FIRST_ROUND_TRIP_NS: f64 = 1e8;
/// The smoothing of TCP's round-trip time.
const RTT_SMOOTHING: f64 = 0.125;
const INTERVAL_SMOOTHING: f64 = 0.1;
/// The maximum stretch: a tenth of the wanted size.
const MAX_GROWTH: f64 = 10.0;
const SHORTEST_SPAN_NS: f64 = 1e3;
const MAX_BPS: f64 = 1e12;

#[cfg(test)]
mod tests {
    use super::*;
    use legato_control::{Fate, NoAssets};
    use legato_units::DataSize;

    const LIMITS: RateLimits =
        RateLimits { min: DataRate::from_kbps(50), start: DataRate::from_mbps(2), max: DataRate::from_mbps(50) };

    fn sqp() -> Sqp {
        Sqp::new(Config::default(), Context { limits: LIMITS, start: Timestamp::ZERO, seed: 0, assets: &NoAssets })
            .unwrap()
    }

    /// [ray2022], worked by hand: S = 4 Mbit/s, T S = 3.6; B = 2: 2 + 0.32 (0.25 x 0.8 - (0.5556 - 1)) = 2.2062.
    /// S = 1 Mbit/s, T S = 0.9: 2 + 0.32 (0.25 x -0.55 - 1.2222) = 1.5649.
    #[test]
    fn the_bitrate_steps_towards_nine_tenths_of_a_sample() {
        assert!((sqp().step(4e6) - 2_206_222.0).abs() < 1.0, "{}", sqp().step(4e6));
        assert!((sqp().step(1e6) - 1_564_889.0).abs() < 1.0, "{}", sqp().step(1e6));
        assert!((sqp().step(2e6 / 0.9) - 2e6).abs() < 1e-3);
    }

    #[test]
    fn no_step_passes_its_sample() {
        let mut sqp = sqp();
        sqp.bitrate_bps = 300e3;
        assert!((sqp.step(100e3) - 90e3).abs() < 1e-6);
        assert!((sqp.step(400e3) - 360e3).abs() < 1e-6);
    }

    /// [ray2022], worked by hand: 10,000 bytes whose last packet comes 40 ms after the minimum delay: 2 Mbit/s. At half
    /// the wanted size, spread over 20 of the 40 ms: 2 x 80,000 bits in 40 + 20 ms: 2.667 Mbit/s.
    #[test]
    fn a_frame_is_a_sample_and_a_small_one_is_stretched() {
        let frame = FrameSample { bytes: 1e4, since_least_ns: 4e7, spread_ns: 2e7, growth: 1.0 };
        assert!((frame.bps() - 2e6).abs() < 1e-3);
        assert!((FrameSample { growth: 2.0, ..frame }.bps() - 160e3 / 0.06).abs() < 1e-3);
    }

    #[test]
    fn the_minimum_delay_is_that_of_the_window() {
        let mut min_delay = MinDelay::default();
        let mut after = |ms, delay| min_delay.after(Timestamp::from_millis(ms), delay, 1e8);
        assert_eq!(
            [after(0, 5.0), after(50, 7.0), after(100, 9.0), after(120, 9.0), after(200, 9.0)],
            [5.0, 5.0, 5.0, 7.0, 9.0]
        );
    }

    /// Frames of the bitrate, 30 per second, over a bottleneck with a queue.
    fn run(sqp: &mut Sqp, from_ms: i64, frames: i64, capacity_bps: f64) {
        let mut seq = from_ms as u64 * 1_000;
        let mut free_ns = from_ms as f64 * 1e6;
        for frame in 0..frames {
            let departure = Timestamp::from_nanos(from_ms * 1_000_000 + frame * 33_333_333);
            let mut left = (sqp.decision().target_bitrate.as_bps_f64() / 8.0 / 30.0) as u64;
            let mut reports = Vec::new();
            while left > 0 {
                let size = left.min(1_200);
                left -= size;
                seq += 1;
                free_ns = free_ns.max(departure.as_nanos() as f64) + size as f64 * 8e9 / capacity_bps;
                let arrival = PeerTimestamp::from_nanos(free_ns as i64 + 20_000_000 + 9_000_000_000);
                reports.push(PacketReport {
                    transport_seq: seq,
                    ssrc: 1,
                    size: DataSize::from_bytes(size),
                    departure,
                    fate: Fate::Arrived(Some(arrival)),
                    ce: false,
                    kind: PacketKind::Video,
                    probe_cluster: None,
                    place: None,
                });
            }
            let now = Timestamp::from_nanos((free_ns as i64 + 40_000_000).max(departure.as_nanos()));
            let feedback =
                TransportFeedback { reports: reports.into(), in_flight: DataSize::ZERO, ..Default::default() };
            sqp.on_event(now, &Event::TransportFeedback(feedback));
        }
    }

    #[test]
    fn it_settles_at_nine_tenths_of_the_capacity_and_follows_it() {
        let mut sqp = sqp();
        for (from_ms, mbps) in [(0, 8.0), (20_000, 3.0), (40_000, 10.0)] {
            run(&mut sqp, from_ms, 450, mbps * 1e6);
            let share = sqp.decision().target_bitrate.as_bps_f64() / mbps / 1e6;
            assert!((0.8..=0.97).contains(&share), "{share} of {mbps} Mbit/s");
        }
    }
}
