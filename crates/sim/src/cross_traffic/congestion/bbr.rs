//! BBR version 1 [draft-cardwell-iccrg-bbr-congestion-control-00]: believes that the delivery rate of a path and
//! its round-trip time without a queue are all there is to know, and that loss means nothing. It keeps the maximum
//! delivery rate of ten round trips and the minimum round trip of ten seconds, paces at the first times a gain,
//! and keeps at most twice their product in flight. The gain runs in a cycle: a quarter more for a round trip to
//! see whether there is more, a quarter less to drain what that queued, then six round trips at the rate. Every
//! ten seconds without a new minimum round trip it empties the pipe for 200 ms to find it.
//!
//! Not here: the policer detection and the allowance for aggregated acknowledgments that Linux added later
//! (neither is in the draft), and any reaction to marks (version 1 has none).

use super::max_filter::MaxFilter;
use super::{AckSample, Cause, Congestion, CongestionControl};
use legato_units::{DataRate, DataSize, TimeDelta, Timestamp};
use rand_chacha::ChaCha8Rng;
use rand_core::RngCore;

/// The states of §4.3, in the order a connection goes through them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Startup,
    Drain,
    ProbeBandwidth,
    ProbeRoundTrip,
}

/// Sizes in bytes; names as in the draft if it has one.
#[derive(Clone, Debug)]
pub(super) struct Bbr {
    segment: u64,
    initial_window: u64,
    rng: ChaCha8Rng,
    state: State,
    window: u64,
    pacing_rate: DataRate,
    pacing_gain: f64,
    window_gain: f64,
    rates: MaxFilter,
    /// The minimum round trip, and when it was seen.
    min_rtt: Option<TimeDelta>,
    min_rtt_at: Timestamp,
    round: u64,
    round_starts: bool,
    /// A segment that left once this much was delivered ends the round.
    round_ends_at: u64,
    /// Startup's plateau detector.
    filled_pipe: bool,
    full_rate: DataRate,
    rounds_without_growth: u32,
    /// The phase of the gain cycle, and its start.
    cycle: usize,
    cycle_since: Timestamp,
    prior_window: u64,
    /// The first round of a recovery.
    conserves_packets: bool,
    in_recovery: bool,
    idle_restart: bool,
    /// When ProbeRTT may end, once the pipe is empty.
    probe_ends: Option<Timestamp>,
    probe_round_done: bool,
}

impl Bbr {
    pub fn new(segment_bytes: u16, initial_window_bytes: u64, rng: ChaCha8Rng) -> Self {
        let first_rate = DataSize::from_bytes(initial_window_bytes) / NOMINAL_ROUND_TRIP;
        Self {
            segment: u64::from(segment_bytes),
            initial_window: initial_window_bytes,
            rng,
            state: State::Startup,
            window: initial_window_bytes,
            // [draft-cardwell-iccrg-bbr-congestion-control-00] §4.2.1: a round trip of 1 ms is assumed until one is seen.
            pacing_rate: first_rate.scale(HIGH_GAIN),
            pacing_gain: HIGH_GAIN,
            window_gain: HIGH_GAIN,
            rates: MaxFilter::default(),
            min_rtt: None,
            min_rtt_at: Timestamp::ZERO,
            round: 0,
            round_starts: false,
            round_ends_at: 0,
            filled_pipe: false,
            full_rate: DataRate::ZERO,
            rounds_without_growth: 0,
            cycle: 0,
            cycle_since: Timestamp::ZERO,
            prior_window: 0,
            conserves_packets: false,
            in_recovery: false,
            idle_restart: false,
            probe_ends: None,
            probe_round_done: false,
        }
    }

    /// BtlBw.
    fn rate(&self) -> DataRate {
        self.rates.max()
    }

    /// [draft-cardwell-iccrg-bbr-congestion-control-00] §4.2.3.2, BBRInflight: gain · BtlBw · RTprop + 3 quanta.
    fn in_flight_at(&self, gain: f64) -> u64 {
        match self.min_rtt {
            Some(min_rtt) => {
                let product = (self.rate() * min_rtt).as_bytes_f64();
                (gain * product) as u64 + 3 * self.send_quantum()
            }
            None => self.initial_window,
        }
    }

    /// [draft-cardwell-iccrg-bbr-congestion-control-00] §4.2.2: one segment below 1.2 Mbit/s, two below 24, else 1 ms, at
    /// most 64 kB.
    fn send_quantum(&self) -> u64 {
        match self.pacing_rate.as_bps() {
            0..1_200_000 => self.segment,
            1_200_000..24_000_000 => 2 * self.segment,
            bps => (bps / 8_000).min(64_000).max(self.segment),
        }
    }

    /// [draft-cardwell-iccrg-bbr-congestion-control-00] §4.1.1.3 and §4.1.1.5.
    fn update_rate(&mut self, ack: &AckSample) {
        self.round_starts = ack.newest_stamp_bytes.is_some_and(|stamp| stamp >= self.round_ends_at);
        if self.round_starts {
            self.round_ends_at = ack.total_delivered_bytes;
            self.round += 1;
            self.conserves_packets = false;
        }
        if let Some(sample) = ack.rate
            && (sample.rate >= self.rate() || !sample.app_limited)
        {
            self.rates.update(self.round, sample.rate);
        }
    }

    /// [draft-cardwell-iccrg-bbr-congestion-control-00] §4.3.4.3: whether a phase of the gain cycle has done its work.
    fn check_cycle(&mut self, ack: &AckSample) {
        if self.state != State::ProbeBandwidth {
            return;
        }
        let lasted = self.min_rtt.is_some_and(|min_rtt| ack.now - self.cycle_since > min_rtt);
        let done = if self.pacing_gain > 1.0 {
            lasted && (ack.lost_bytes > 0 || ack.prior_in_flight_bytes >= self.in_flight_at(self.pacing_gain))
        } else if self.pacing_gain < 1.0 {
            lasted || ack.prior_in_flight_bytes <= self.in_flight_at(1.0)
        } else {
            lasted
        };
        if done {
            self.advance_cycle(ack.now);
        }
    }

    fn advance_cycle(&mut self, now: Timestamp) {
        self.cycle_since = now;
        self.cycle = (self.cycle + 1) % CYCLE_GAINS.len();
        self.pacing_gain = CYCLE_GAINS[self.cycle];
    }

    /// [draft-cardwell-iccrg-bbr-congestion-control-00] §4.3.2.2: full after three rounds that grew by less than a quarter.
    fn check_full_pipe(&mut self, ack: &AckSample) {
        let app_limited = ack.rate.is_none_or(|sample| sample.app_limited);
        if self.filled_pipe || !self.round_starts || app_limited {
            return;
        }
        if self.rate() >= self.full_rate.scale(FULL_GROWTH) {
            self.full_rate = self.rate();
            self.rounds_without_growth = 0;
            return;
        }
        self.rounds_without_growth += 1;
        self.filled_pipe = self.rounds_without_growth >= FULL_ROUNDS;
    }

    /// [draft-cardwell-iccrg-bbr-congestion-control-00] §4.3.3.
    fn check_drain(&mut self, ack: &AckSample) {
        if self.state == State::Startup && self.filled_pipe {
            (self.state, self.pacing_gain, self.window_gain) = (State::Drain, 1.0 / HIGH_GAIN, HIGH_GAIN);
        }
        if self.state == State::Drain && ack.in_flight_bytes <= self.in_flight_at(1.0) {
            self.enter_probe_bandwidth(ack.now);
        }
    }

    /// [draft-cardwell-iccrg-bbr-congestion-control-00] §4.3.4.2: at a random phase, except the draining one.
    fn enter_probe_bandwidth(&mut self, now: Timestamp) {
        (self.state, self.window_gain) = (State::ProbeBandwidth, CYCLE_WINDOW_GAIN);
        self.cycle = CYCLE_GAINS.len() - 1 - (self.rng.next_u64() % 7) as usize;
        self.advance_cycle(now);
    }

    /// [draft-cardwell-iccrg-bbr-congestion-control-00] §4.1.2.3; true if the known value had expired.
    fn update_min_rtt(&mut self, ack: &AckSample) -> bool {
        let expired = self.min_rtt.is_some() && ack.now - self.min_rtt_at > MIN_RTT_WINDOW;
        if let Some(rtt) = ack.rtt
            && (expired || self.min_rtt.is_none_or(|min_rtt| rtt <= min_rtt))
        {
            if self.min_rtt.is_none() && rtt > TimeDelta::ZERO {
                let rate = DataSize::from_bytes(self.initial_window) / rtt;
                self.pacing_rate = rate.scale(HIGH_GAIN);
            }
            (self.min_rtt, self.min_rtt_at) = (Some(rtt), ack.now);
        }
        expired
    }

    /// [draft-cardwell-iccrg-bbr-congestion-control-00] §4.3.5.
    fn check_probe_round_trip(&mut self, ack: &AckSample, expired: bool) {
        if self.state != State::ProbeRoundTrip && expired && !self.idle_restart {
            self.prior_window = self.saved_window();
            (self.state, self.pacing_gain, self.window_gain) = (State::ProbeRoundTrip, 1.0, 1.0);
            self.probe_ends = None;
        }
        self.idle_restart = false;
        if self.state != State::ProbeRoundTrip {
            return;
        }
        match self.probe_ends {
            None if ack.in_flight_bytes <= MIN_WINDOW_SEGMENTS * self.segment => {
                self.probe_ends = Some(ack.now + PROBE_ROUND_TRIP_TIME);
                self.probe_round_done = false;
                self.round_ends_at = ack.total_delivered_bytes;
            }
            Some(ends) => {
                self.probe_round_done |= self.round_starts;
                if self.probe_round_done && ack.now > ends {
                    self.min_rtt_at = ack.now;
                    self.window = self.window.max(self.prior_window);
                    self.leave_probe_round_trip(ack.now);
                }
            }
            None => {}
        }
    }

    fn leave_probe_round_trip(&mut self, now: Timestamp) {
        if self.filled_pipe {
            self.enter_probe_bandwidth(now);
        } else {
            (self.state, self.pacing_gain, self.window_gain) = (State::Startup, HIGH_GAIN, HIGH_GAIN);
        }
    }

    /// [draft-cardwell-iccrg-bbr-congestion-control-00] §4.2.1: never slower before the pipe was full once.
    fn set_pacing_rate(&mut self, gain: f64) {
        let rate = self.rate().scale(gain);
        if self.filled_pipe || rate > self.pacing_rate {
            self.pacing_rate = rate;
        }
    }

    /// [draft-cardwell-iccrg-bbr-congestion-control-00] §4.2.3.6, with the recovery of §4.2.3.4 and ProbeRTT's bound of
    /// §4.2.3.5.
    fn set_window(&mut self, ack: &AckSample) {
        let target = self.in_flight_at(self.window_gain);
        if ack.lost_bytes > 0 && self.in_recovery {
            self.window = self.window.saturating_sub(ack.lost_bytes).max(self.segment);
        }
        if self.conserves_packets {
            self.window = self.window.max(ack.in_flight_bytes + ack.delivered_bytes);
        } else {
            if self.filled_pipe {
                self.window = (self.window + ack.delivered_bytes).min(target);
            } else if self.window < target || ack.total_delivered_bytes < self.initial_window {
                self.window += ack.delivered_bytes;
            }
            self.window = self.window.max(MIN_WINDOW_SEGMENTS * self.segment);
        }
        if self.state == State::ProbeRoundTrip {
            self.window = self.window.min(MIN_WINDOW_SEGMENTS * self.segment);
        }
    }

    /// [draft-cardwell-iccrg-bbr-congestion-control-00] §4.2.3.4, BBRSaveCwnd.
    fn saved_window(&self) -> u64 {
        if self.in_recovery || self.state == State::ProbeRoundTrip {
            self.prior_window.max(self.window)
        } else {
            self.window
        }
    }
}

impl CongestionControl for Bbr {
    fn on_ack(&mut self, ack: &AckSample) {
        self.update_rate(ack);
        self.check_cycle(ack);
        self.check_full_pipe(ack);
        self.check_drain(ack);
        let expired = self.update_min_rtt(ack);
        self.check_probe_round_trip(ack, expired);
        self.set_pacing_rate(self.pacing_gain);
        self.set_window(ack);
    }

    fn on_congestion(&mut self, congestion: &Congestion) {
        if congestion.cause == Cause::Mark {
            return;
        }
        // [draft-cardwell-iccrg-bbr-congestion-control-00] §4.2.3.4: the bytes in flight, for one round.
        self.prior_window = self.saved_window();
        self.window = congestion.in_flight_bytes + congestion.delivered_bytes.max(self.segment);
        self.round_ends_at = congestion.total_delivered_bytes;
        (self.in_recovery, self.conserves_packets) = (true, true);
    }

    fn on_timeout(&mut self, _in_flight_bytes: u64, _again: bool) {
        self.prior_window = self.saved_window();
        self.window = self.segment;
        (self.in_recovery, self.conserves_packets) = (true, false);
    }

    fn on_recovered(&mut self) {
        self.window = self.window.max(self.prior_window);
        (self.in_recovery, self.conserves_packets) = (false, false);
    }

    fn on_app_limited_restart(&mut self) {
        // [draft-cardwell-iccrg-bbr-congestion-control-00] §4.3.4.4: at exactly the rate.
        self.idle_restart = true;
        if self.state == State::ProbeBandwidth {
            self.set_pacing_rate(1.0);
        }
    }

    fn window_bytes(&self) -> u64 {
        self.window
    }

    fn pacing(&self) -> Option<(DataRate, u64)> {
        Some((self.pacing_rate, self.send_quantum()))
    }

    fn holds_back(&self) -> bool {
        self.state == State::ProbeRoundTrip
    }
}

/// 2 / ln 2, the minimum gain that doubles the sending rate each round.
// [draft-cardwell-iccrg-bbr-congestion-control-00] §4.3.2.1.
const HIGH_GAIN: f64 = 2.0 / core::f64::consts::LN_2;
// [draft-cardwell-iccrg-bbr-congestion-control-00] §4.3.4.1.
const CYCLE_GAINS: [f64; 8] = [1.25, 0.75, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0];
const CYCLE_WINDOW_GAIN: f64 = 2.0;
// [draft-cardwell-iccrg-bbr-congestion-control-00] §4.3.2.2.
const FULL_GROWTH: f64 = 1.25;
const FULL_ROUNDS: u32 = 3;
// [draft-cardwell-iccrg-bbr-congestion-control-00] §4.2.3.3.
const MIN_WINDOW_SEGMENTS: u64 = 4;
// [draft-cardwell-iccrg-bbr-congestion-control-00] §4.1.2.2 and §4.3.5.
const MIN_RTT_WINDOW: TimeDelta = TimeDelta::from_secs(10);
const PROBE_ROUND_TRIP_TIME: TimeDelta = TimeDelta::from_millis(200);
const NOMINAL_ROUND_TRIP: TimeDelta = TimeDelta::from_millis(1);

#[cfg(test)]
#[path = "bbr_tests.rs"]
mod tests;
