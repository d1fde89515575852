//! The data sender of [rfc5348], sections 4 and 8, with the loss history of section 5 kept here too
//! (section 7's sender-based variant): reports go in, the allowed sending rate comes out.
//!
//! X follows the throughput equation at the measured loss event rate and round trip, never above twice the recent
//! receiver rate. Before the first loss it doubles every round trip; without feedback it is halved again and again.

use super::config::{Config, Edition};
use super::data_limit::DataLimit;
use super::packet_size::PacketSize;
use super::receive_rate::{ReceiveRate, ReceiveRateSet};
use legato_control::estimate::loss_events::LossEvents;
use legato_control::estimate::tcp_equation::TcpEquation;
use legato_control::{PacketKind, TransportFeedback};
use legato_units::{DataRate, TimeDelta, Timestamp};

/// The allowed sending rate and its inputs.
#[derive(Clone, Debug)]
pub struct TfrcSender {
    config: Config,
    /// X, bytes per second.
    allowed: f64,
    /// X_Bps, bytes per second; `None` before the first loss.
    equation: Option<f64>,
    /// p
    loss_event_ratio: f64,
    rtt: Option<RoundTrip>,
    /// When X was last doubled in slow start.
    last_doubled: Option<Timestamp>,
    receive_rate: ReceiveRate,
    receive_rates: ReceiveRateSet,
    /// The maximum X_recv ever.
    largest_receive_rate: Option<f64>,
    data_limit: DataLimit,
    losses: LossEvents,
    packet_size: PacketSize,
    /// When the nofeedback timer expires, and whether anything left since it was set.
    nofeedback: Timestamp,
    sent_since_timer: bool,
    /// The timer has expired since the last feedback.
    silent: bool,
    last_feedback: Option<Timestamp>,
    /// Mean time between feedbacks, s.
    feedback_interval_s: f64,
}

/// Round-trip times, in seconds.
#[derive(Clone, Copy, Debug)]
struct RoundTrip {
    /// R
    smoothed_s: f64,
    /// R_sample
    latest_s: f64,
    /// R_sqmean
    sqrt_mean: f64,
}

impl TfrcSender {
    /// Send at `start_rate` until the first feedback.
    pub fn new(config: Config, start_rate: DataRate, start: Timestamp) -> Self {
        Self {
            // Deviates from [rfc5348] §4.2: one packet a second is useless for a call; the application's start rate is used.
            allowed: start_rate.as_bps_f64() / 8.0,
            equation: None,
            loss_event_ratio: 0.0,
            rtt: None,
            last_doubled: None,
            receive_rate: ReceiveRate::default(),
            receive_rates: ReceiveRateSet::default(),
            largest_receive_rate: None,
            data_limit: DataLimit::new(start),
            losses: LossEvents::new(config.min_discount()),
            packet_size: PacketSize::new(config.packet_size_bytes),
            nofeedback: start + INITIAL_NOFEEDBACK,
            sent_since_timer: false,
            silent: false,
            last_feedback: None,
            feedback_interval_s: MAX_FEEDBACK_INTERVAL.as_secs_f64(),
            config,
        }
    }

    /// Forget everything learned.
    pub fn reset(&mut self, start_rate: DataRate, now: Timestamp) {
        *self = Self::new(self.config.clone(), start_rate, now);
    }

    /// A packet left.
    #[inline]
    pub fn on_sent(&mut self, bytes: u64) {
        self.sent_since_timer = true;
        self.data_limit.on_sent(bytes);
    }

    /// How long the pacer's queue takes to drain.
    #[inline]
    pub fn on_pacer_queue(&mut self, drain: TimeDelta) {
        self.data_limit.on_pacer_queue(drain, self.rtt.map(|rtt| TimeDelta::from_secs_f64(rtt.smoothed_s)));
    }

    /// Take a feedback.
    pub fn on_feedback(&mut self, now: Timestamp, feedback: &TransportFeedback) {
        let (mut newest, mut last_arrival, mut arrived) = (None, None, 0);
        let (mut segment_bytes, mut segments) = (0, 0);
        for report in feedback.reports.iter() {
            let size = report.size.as_bytes();
            // [rfc5348] §4.1: s is that of the flow; the small packets of audio would lower it, and X with it.
            if report.kind != PacketKind::Audio {
                segment_bytes += size;
                segments += 1;
            }
            if report.arrived() {
                arrived += size;
                newest = newest.max(Some((report.departure, report.arrival())));
                last_arrival = last_arrival.max(report.arrival());
            }
        }
        self.packet_size.on_reported(segment_bytes, segments);
        if let (Some((departure, _)), None) = (newest, self.last_feedback) {
            self.receive_rates.begin(departure);
        }
        // t_delay: how long the receiver held the newest packet's report, if the feedback says so.
        let held = match (feedback.written, newest) {
            (Some(written), Some((_, Some(arrival)))) => (written - arrival).max(TimeDelta::ZERO),
            _ => TimeDelta::ZERO,
        };
        let newest = newest.map(|(departure, _)| departure);
        let receive_rate = newest.and_then(|departure| {
            // [rfc5348] §4.3: R_sample = (t_now - t_recvdata) - t_delay.
            self.on_rtt_sample((now - departure - held).as_secs_f64());
            self.receive_rate.update(now, last_arrival, arrived, self.rtt())
        });
        if let Some(rate) = receive_rate {
            self.largest_receive_rate = Some(self.largest_receive_rate.map_or(rate, |largest| largest.max(rate)));
        }
        let (events, ratio) = (self.losses.events(), self.loss_event_ratio);
        self.on_losses(feedback);
        // A receiver of RFC 5348 sends no feedback unless something arrived.
        let (Some(departure), Some(rtt)) = (newest, self.rtt) else { return };
        let more_loss = self.losses.events() > events || self.loss_event_ratio > ratio;
        let limited = self.data_limit.on_feedback(now, departure, self.rtt(), self.allowed);
        let first = self.last_feedback.is_none();
        self.on_feedback_interval(now);
        self.silent = false;
        if first && self.config.edition == Edition::Rfc5348 {
            // [rfc5348] §4.2: after the first feedback X = W_init / R.
            self.allowed = self.initial_rate(rtt);
            self.last_doubled = Some(now);
        }
        if let Some(rate) = receive_rate {
            let limit = self.receive_limit(now, rate, limited, more_loss);
            self.update_allowed(now, rtt, limit);
        }
        self.set_nofeedback(now);
    }

    /// The deadline has come: no feedback since the timer was set.
    pub fn on_deadline(&mut self, now: Timestamp) {
        if now < self.nofeedback {
            return;
        }
        let before = self.allowed;
        let idle = !self.sent_since_timer;
        match self.rtt {
            Some(rtt) => self.halve(now, rtt, self.receive_rates.max(), idle),
            // [rfc5348] §4.4: without a sample or feedback, halve unless the sender has been idle.
            None if !idle => self.allowed = (self.allowed / 2.0).max(self.min_rate()),
            None => {}
        }
        // Whatever the rules give, silence is no reason to send more.
        self.allowed = self.allowed.min(before);
        self.silent = true;
        self.set_nofeedback(now);
    }

    /// When [`TfrcSender::on_deadline`] is due.
    #[inline]
    pub fn next_deadline(&self) -> Timestamp {
        self.nofeedback
    }

    /// X: the allowed sending rate.
    #[inline]
    pub fn allowed(&self) -> DataRate {
        rate_of(self.allowed)
    }

    /// X_inst: X with oscillation damping, if that is on.
    #[inline]
    pub fn instantaneous(&self) -> DataRate {
        let factor = match self.rtt {
            // [rfc5348] §4.5: X_inst = X R_sqmean / sqrt(R_sample).
            Some(rtt) if self.config.damp_oscillations => rtt.sqrt_mean / rtt.latest_s.sqrt(),
            _ => 1.0,
        };
        rate_of((self.allowed * factor).max(self.min_rate()))
    }

    /// R, or zero before the first sample.
    #[inline]
    pub fn rtt(&self) -> TimeDelta {
        TimeDelta::from_secs_f64(self.rtt.map_or(0.0, |rtt| rtt.smoothed_s))
    }

    /// R and the latest sample, in seconds.
    #[inline]
    pub fn rtts_s(&self) -> Option<(f64, f64)> {
        self.rtt.map(|rtt| (rtt.smoothed_s, rtt.latest_s))
    }

    /// s, in bytes.
    pub fn packet_bytes(&self) -> f64 {
        self.packet_size.bytes()
    }

    /// The loss history.
    pub fn losses(&self) -> &LossEvents {
        &self.losses
    }

    /// No feedback for as long as the timer runs.
    #[inline]
    pub fn silent(&self) -> bool {
        self.silent
    }

    /// Report the inner state.
    pub fn observe(&self, gauge: &mut dyn FnMut(&'static str, f64)) {
        gauge("allowed_bps", self.allowed * 8.0);
        if let Some(rate) = self.equation {
            gauge("equation_bps", rate * 8.0);
        }
        if let Some(rate) = self.receive_rates.max() {
            gauge("largest_receive_bps", rate * 8.0);
        }
        gauge("loss_event_ratio", self.loss_event_ratio);
        gauge("loss_events", self.losses.events() as f64);
        if let Some(rtt) = self.rtt {
            gauge("rtt_ms", rtt.smoothed_s * 1e3);
            gauge("rtt_sample_ms", rtt.latest_s * 1e3);
        }
        gauge("packet_bytes", self.packet_size.bytes());
    }

    fn on_rtt_sample(&mut self, sample_s: f64) {
        if sample_s <= 0.0 {
            return;
        }
        self.rtt = Some(match self.rtt {
            None => RoundTrip { smoothed_s: sample_s, latest_s: sample_s, sqrt_mean: sample_s.sqrt() },
            Some(rtt) => RoundTrip {
                // [rfc5348] §4.3: R = q R + (1 - q) R_sample.
                smoothed_s: Q * rtt.smoothed_s + (1.0 - Q) * sample_s,
                latest_s: sample_s,
                // [rfc5348] §4.5: R_sqmean = q2 R_sqmean + (1 - q2) sqrt(R_sample).
                sqrt_mean: Q2 * rtt.sqrt_mean + (1.0 - Q2) * sample_s.sqrt(),
            },
        });
    }

    fn on_losses(&mut self, feedback: &TransportFeedback) {
        let rtt = self.rtt();
        // [rfc5348] §6.3.1: X_target is the maximum rate received so far, and at least half a packet per round trip.
        let equation = self.equation_now();
        let largest = self.largest_receive_rate.unwrap_or(0.0);
        let first_interval = || match equation {
            Some(equation) => {
                let target = largest.max(0.5 * equation.segment_bytes / equation.rtt_s);
                1.0 / equation.loss_event_ratio(target)
            }
            None => 1.0,
        };
        for report in feedback.reports.iter() {
            let events = self.losses.events();
            self.losses.on_report(&report, rtt, first_interval);
            if self.losses.events() > events {
                self.packet_size.on_event();
            }
        }
        self.loss_event_ratio = self.losses.intervals().loss_event_ratio();
        self.equation = match self.equation_now() {
            Some(equation) if self.loss_event_ratio > 0.0 => Some(equation.bytes_per_s(self.loss_event_ratio)),
            _ => None,
        };
    }

    fn equation_now(&self) -> Option<TcpEquation> {
        let rtt = self.rtt?;
        Some(TcpEquation::new(self.packet_size.bytes(), rtt.smoothed_s, f64::from(self.config.packets_per_ack)))
    }

    /// recv_limit, bytes per second; `None` while nothing limits.
    fn receive_limit(&mut self, now: Timestamp, rate: f64, data_limited: bool, more_loss: bool) -> Option<f64> {
        let set = &mut self.receive_rates;
        let mut factor = 2.0;
        match self.config.edition {
            // [rfc3448] §4.3: 2 X_recv, the last.
            Edition::Rfc3448 => set.replace(now, rate),
            // [rfc5348] §4.3: a data-limited interval with new loss: X_recv_set halved, 0.85 X_recv added, not doubled.
            Edition::Rfc5348 if data_limited && more_loss => {
                set.halve();
                set.maximize(now, DATA_LIMITED_LOSS_FACTOR * rate);
                factor = 1.0;
            }
            Edition::Rfc5348 if data_limited => set.maximize(now, rate),
            Edition::Rfc5348 => {
                set.update(now, rate, TimeDelta::from_secs_f64(self.rtt.map_or(0.0, |rtt| rtt.smoothed_s)))
            }
        }
        set.max().map(|rate| factor * rate)
    }

    fn update_allowed(&mut self, now: Timestamp, rtt: RoundTrip, receive_limit: Option<f64>) {
        let limited = |rate: f64| receive_limit.map_or(rate, |limit| rate.min(limit));
        if let Some(equation) = self.equation {
            // [rfc5348] §4.3: X = max(min(X_Bps, recv_limit), s / t_mbi).
            self.allowed = limited(equation).max(self.min_rate());
        } else if self.last_doubled.is_none_or(|at| (now - at).as_secs_f64() >= rtt.smoothed_s) {
            // [rfc5348] §4.3: X = max(min(2 X, recv_limit), initial_rate), once a round trip.
            self.allowed = limited(2.0 * self.allowed).max(self.initial_rate(rtt));
            self.last_doubled = Some(now);
        }
    }

    /// [rfc5348] §4.4: the nofeedback timer has expired after feedback was seen.
    fn halve(&mut self, now: Timestamp, rtt: RoundTrip, receive_rate: Option<f64>, idle: bool) {
        let recover_rate = self.initial_rate(rtt);
        let slow = match self.equation {
            Some(_) => receive_rate.is_some_and(|rate| rate < recover_rate),
            None => self.allowed < 2.0 * recover_rate,
        };
        if slow && idle {
            return;
        }
        let Some(equation) = self.equation else {
            self.allowed = (self.allowed / 2.0).max(self.min_rate());
            return;
        };
        // Halve what limited X: the receive rate or the equation.
        let limit = receive_rate.filter(|rate| equation > 2.0 * rate).unwrap_or(equation / 2.0);
        let limit = limit.max(self.min_rate());
        // [rfc5348] §4.4: Update_Limits(): X_recv_set holds half the limit, which step (4) doubles.
        self.receive_rates.replace(now, limit / 2.0);
        self.allowed = equation.min(limit).max(self.min_rate());
    }

    fn set_nofeedback(&mut self, now: Timestamp) {
        let Some(rtt) = self.rtt else {
            self.nofeedback = now + INITIAL_NOFEEDBACK;
            return;
        };
        // [rfc5348] §4.3: max(4 R, 2 s / X). Deviates from [rfc5348] §4.3: feedback here keeps its own interval, which
        // may exceed R; four of those too.
        let span_s = (4.0 * rtt.smoothed_s).max(2.0 * self.packet_size.bytes() / self.allowed.max(1e-3));
        let span_s = span_s.max(4.0 * self.feedback_interval_s).min(T_MBI_S);
        self.nofeedback = now + TimeDelta::from_secs_f64(span_s).max(TimeDelta::from_millis(1));
        self.sent_since_timer = false;
    }

    fn on_feedback_interval(&mut self, now: Timestamp) {
        if let Some(last) = self.last_feedback {
            let interval = (now - last).min(MAX_FEEDBACK_INTERVAL);
            self.feedback_interval_s = 0.9 * self.feedback_interval_s + 0.1 * interval.as_secs_f64();
        }
        self.last_feedback = Some(now);
    }

    /// W_init / R.
    fn initial_rate(&self, rtt: RoundTrip) -> f64 {
        self.config.initial_window_bytes(self.packet_size.bytes()) / rtt.smoothed_s
    }

    /// s / t_mbi: one packet in 64 seconds.
    fn min_rate(&self) -> f64 {
        self.packet_size.bytes() / T_MBI_S
    }
}

fn rate_of(bytes_per_s: f64) -> DataRate {
    DataRate::from_bps_f64(bytes_per_s * 8.0)
}

// [rfc5348] §4.3: q = 0.9.
const Q: f64 = 0.9;
// [rfc5348] §4.5: q2 = 0.9.
const Q2: f64 = 0.9;
// [rfc5348] §4.3: t_mbi = 64 s.
const T_MBI_S: f64 = 64.0;
// [rfc5348] §4.3: X_recv = 0.85 X_recv.
const DATA_LIMITED_LOSS_FACTOR: f64 = 0.85;
// [rfc5348] §4.2: the nofeedback timer begins at 2 s.
const INITIAL_NOFEEDBACK: TimeDelta = TimeDelta::from_secs(2);
/// The maximum interval of transport-wide feedback.
const MAX_FEEDBACK_INTERVAL: TimeDelta = TimeDelta::from_millis(250);

#[cfg(test)]
#[path = "sender_tests.rs"]
mod tests;
