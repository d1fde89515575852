//! Copa in its default mode ([arun2018]): the window aims at a rate that leaves `1 / delta` packets in the queue.
//!
//! Three things are ours. Feedback comes in batches and not per packet, so the queue is measured by one-way delays,
//! which do not contain the wait for feedback, and the round trip that a window fills does contain it. And lost packets halve the window once a round trip if they are many:
//! the paper's default mode knows no loss, and a queue that holds less than the target would never slow it down.

use legato_control::estimate::windowed_min::WindowedMin;
use legato_control::{PacketReport, TransportFeedback};
use legato_units::{DataRate, DataSize, TimeDelta, Timestamp};

/// Copa's window.
#[derive(Clone, Debug)]
pub struct Copa {
    /// 1 / delta packets are to wait in the queue.
    delta: f64,
    /// In packets.
    window: f64,
    /// How many times 1 / (delta window) a packet that arrived moves the window.
    velocity: f64,
    slow_start: bool,
    /// Delays count from the first packet's, as the clocks have an offset.
    origin_ns: Option<i64>,
    min_delay: WindowedMin,
    standing_delay: WindowedMin,
    min_round_trip: WindowedMin,
    smoothed_round_trip_s: Option<f64>,
    /// How much later than the newest packet's the others' reports come, smoothed.
    wait_s: f64,
    round: Round,
}

/// What the velocity looks at once a round trip.
#[derive(Clone, Debug, Default)]
struct Round {
    /// Packets that left before this belong to the last round.
    began: Option<Timestamp>,
    first_window: f64,
    /// The direction of the round before, and for how many rounds it has held.
    up: bool,
    rounds: u32,
    arrived: u32,
    lost: u32,
}

impl Copa {
    /// Begins at `start`, with the round trip a guess.
    pub fn new(delta: f64, start: DataRate) -> Self {
        let window = (start.as_bps_f64() * FIRST_ROUND_TRIP_S / PACKET_BITS).max(MIN_WINDOW);
        Self {
            delta,
            window,
            velocity: 1.0,
            slow_start: true,
            origin_ns: None,
            min_delay: WindowedMin::default(),
            standing_delay: WindowedMin::default(),
            min_round_trip: WindowedMin::default(),
            smoothed_round_trip_s: None,
            wait_s: 0.0,
            round: Round { first_window: window, ..Round::default() },
        }
    }

    /// Take feedback; the window stays within what `max` fills.
    pub fn on_feedback(&mut self, now: Timestamp, feedback: &TransportFeedback, max: DataRate) {
        let round_trip_s = feedback.round_trip(now).as_secs_f64();
        if round_trip_s > 0.0 {
            self.min_round_trip.after(now, round_trip_s, MIN_WINDOW_TIME);
            let smoothed = self.smoothed_round_trip_s.get_or_insert(round_trip_s);
            *smoothed += (round_trip_s - *smoothed) / 8.0;
            let since = |report: PacketReport| (now - report.departure).as_secs_f64();
            let mean_s = feedback.reports.iter().map(since).sum::<f64>() / feedback.reports.len() as f64;
            self.wait_s += ((mean_s - round_trip_s).max(0.0) - self.wait_s) / 8.0;
        }
        for report in feedback.reports.iter() {
            self.on_report(now, &report);
        }
        let max_window = 2.0 * max.as_bps_f64() * self.standing_round_trip_s() / PACKET_BITS;
        self.window = self.window.min(max_window).max(MIN_WINDOW);
    }

    fn on_report(&mut self, now: Timestamp, report: &PacketReport) {
        if self.round.began.is_none_or(|began| report.departure >= began) {
            self.end_round(now);
        }
        let Some(arrival) = report.arrival() else {
            self.round.lost += u32::from(!report.arrived());
            return;
        };
        self.round.arrived += 1;
        let raw_ns = arrival.as_nanos() - report.departure.as_nanos();
        let delay_s = (raw_ns - *self.origin_ns.get_or_insert(raw_ns)) as f64 / 1e9;
        let half_round_trip = TimeDelta::from_secs_f64(self.smoothed_round_trip_s.unwrap_or(FIRST_ROUND_TRIP_S) / 2.0);
        // [arun2018] §2.2: RTTmin over 10 s, RTTstanding over half a smoothed round trip.
        self.min_delay.after(now, delay_s, MIN_WINDOW_TIME);
        self.standing_delay.after(now, delay_s, half_round_trip);
        let up = self.rate_is_below_target();
        if self.slow_start && up {
            // [arun2018] §2.2: the window doubles once a round trip until the rate exceeds the target.
            self.window += 1.0;
        } else {
            self.slow_start = false;
            let step = self.velocity / (self.delta * self.window);
            self.window = (self.window + if up { step } else { -step }).max(MIN_WINDOW);
        }
    }

    // [arun2018] eq. (1): target = 1 / (delta d_q), d_q = RTTstanding - RTTmin; the rate is window / RTTstanding
    fn rate_is_below_target(&self) -> bool {
        let queue_s = self.queue_s();
        queue_s <= 0.0 || self.window / self.standing_round_trip_s() <= 1.0 / (self.delta * queue_s)
    }

    // [arun2018] §2.2: once a round trip the velocity doubles if the window has moved one way for three of them, else
    // it is 1.
    fn end_round(&mut self, now: Timestamp) {
        let Round { arrived, lost, .. } = self.round;
        let up = self.window > self.round.first_window;
        if up == self.round.up {
            self.round.rounds += 1;
            if self.round.rounds >= SAME_ROUNDS {
                self.velocity = (2.0 * self.velocity).min(self.delta * self.window);
            }
        } else {
            (self.round.rounds, self.velocity) = (0, 1.0);
        }
        if f64::from(lost) > MUCH_LOSS * f64::from(lost + arrived) {
            self.slow_start = false;
            self.halve();
        }
        let Round { rounds, .. } = self.round;
        self.round = Round { began: Some(now), first_window: self.window, up, rounds, ..Round::default() };
    }

    /// Nothing was heard, or much was lost.
    pub fn halve(&mut self) {
        self.window = (self.window / 2.0).max(MIN_WINDOW);
        self.velocity = 1.0;
    }

    /// The queue, as time.
    pub fn queue_s(&self) -> f64 {
        self.standing_delay.min().zip(self.min_delay.min()).map_or(0.0, |(standing, min)| (standing - min).max(0.0))
    }

    fn standing_round_trip_s(&self) -> f64 {
        let round_trip_s = self.min_round_trip.min().unwrap_or(FIRST_ROUND_TRIP_S);
        (round_trip_s + self.wait_s + self.queue_s()).max(SHORTEST_ROUND_TRIP_S)
    }

    /// The limit of bytes in flight.
    pub fn window(&self) -> DataSize {
        DataSize::from_bytes((self.window * PACKET_BITS / 8.0) as u64)
    }

    /// The window a round trip.
    pub fn rate(&self) -> DataRate {
        DataRate::from_bps_f64(self.window * PACKET_BITS / self.standing_round_trip_s())
    }
}

/// A full packet.
const PACKET_BITS: f64 = 8.0 * 1_200.0;
/// In packets.
const MIN_WINDOW: f64 = 2.0;
// [arun2018] §2.2.
const MIN_WINDOW_TIME: TimeDelta = TimeDelta::from_secs(10);
const SAME_ROUNDS: u32 = 3;
/// Until there is one.
const FIRST_ROUND_TRIP_S: f64 = 0.1;
const SHORTEST_ROUND_TRIP_S: f64 = 1e-3;
/// Ours.
const MUCH_LOSS: f64 = 0.1;

#[cfg(test)]
mod tests {
    use super::*;
    use legato_control::{Fate, PacketKind};
    use legato_units::PeerTimestamp;

    fn feedback(departure_ms: i64, arrival_ms: i64, packets: u64, lost: u64) -> TransportFeedback {
        let report = |seq| PacketReport {
            transport_seq: departure_ms as u64 * 1_000 + seq,
            ssrc: 1,
            size: DataSize::from_bytes(1_200),
            departure: Timestamp::from_millis(departure_ms),
            fate: if seq < lost {
                Fate::Missing
            } else {
                Fate::Arrived(Some(PeerTimestamp::from_nanos(arrival_ms * 1_000_000 - 5_000_000_000)))
            },
            ce: false,
            kind: PacketKind::Video,
            probe_cluster: None,
            place: None,
        };
        TransportFeedback { reports: (0..packets).map(report).collect::<Vec<_>>().into(), ..Default::default() }
    }

    const MAX: DataRate = DataRate::from_mbps(100);

    fn at(ms: i64) -> Timestamp {
        Timestamp::from_millis(ms)
    }

    /// [arun2018] eq. (1), worked by hand: 100 ms of round trip and 20 ms of queue, delta 0.5. The target is 1 / (0.5 x
    /// 0.02) = 100 packets/s, which a window of 12 at 120 ms has; 11.9 is below and 12.1 above.
    #[test]
    fn the_window_aims_at_one_over_delta_packets_in_the_queue() {
        let mut copa = Copa::new(0.5, DataRate::from_mbps(1));
        copa.on_feedback(at(100), &feedback(0, 50, 1, 0), MAX);
        copa.on_feedback(at(260), &feedback(140, 210, 1, 0), MAX);
        assert!((copa.queue_s() - 0.02).abs() < 1e-9 && (copa.standing_round_trip_s() - 0.12).abs() < 1e-9);
        for (window, below) in [(11.9, true), (12.1, false)] {
            copa.window = window;
            assert_eq!(copa.rate_is_below_target(), below);
        }
        // 12 packets of 9,600 bits in 120 ms.
        copa.window = 12.0;
        assert_eq!(copa.rate(), DataRate::from_kbps(960));
    }

    /// [arun2018] §2.2, worked by hand: one packet more for each that arrives; once a rate exceeds the target, a packet
    /// moves the window by 1 / (0.5 x window).
    #[test]
    fn slow_start_ends_at_the_target_and_steps_begin() {
        let mut copa = Copa::new(0.5, DataRate::from_kbps(960));
        assert_eq!(copa.window, 10.0);
        copa.on_feedback(at(100), &feedback(0, 50, 8, 0), MAX);
        assert_eq!(copa.window, 18.0);
        copa.on_feedback(at(300), &feedback(140, 250, 1, 0), MAX);
        assert!((copa.window - (18.0 - 1.0 / 9.0)).abs() < 1e-9, "{}", copa.window);
        assert!(!copa.slow_start);
    }

    /// [arun2018] §2.2: 1, 1, 1, 2, 4 while it moves one way, and 1 when it turns.
    #[test]
    fn velocity_doubles_after_three_round_trips_one_way() {
        let mut copa = Copa::new(0.5, DataRate::from_mbps(2));
        copa.slow_start = false;
        let mut velocities = Vec::new();
        for round in 0..8 {
            copa.on_feedback(at(100 + 200 * round), &feedback(200 * round, 50 + 200 * round, 10, 0), MAX);
            velocities.push(copa.velocity);
        }
        assert_eq!(velocities[..3], [1.0; 3]);
        assert!(velocities[7] >= 4.0 && velocities.is_sorted(), "{velocities:?}");
        // Each report ends a round here; two turn the direction.
        for round in 8..10 {
            copa.on_feedback(at(200 + 200 * round), &feedback(200 * round, 190 + 200 * round, 10, 0), MAX);
        }
        assert_eq!(copa.velocity, 1.0);
    }

    #[test]
    fn much_loss_halves_the_window_once_a_round_trip() {
        let mut copa = Copa::new(0.5, DataRate::from_mbps(2));
        copa.slow_start = false;
        copa.on_feedback(at(100), &feedback(0, 50, 20, 3), MAX);
        let before = copa.window;
        copa.on_feedback(at(300), &feedback(200, 250, 1, 0), MAX);
        assert!((copa.window / before - 0.5).abs() < 0.1, "{before} {}", copa.window);
    }
}
