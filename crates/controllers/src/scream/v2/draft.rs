//! One feedback through the draft: delays, marks, losses, window, target, in this order.
//! [draft-johansson-ccwg-rfc8298bis-screamv2] §4.

use super::config::{Config, DraftConfig};
use super::draft_delay::DraftDelay;
use super::draft_loss::LossRate;
use super::draft_rate::{self, FrameWatch};
use super::draft_window::{DraftInput, DraftWindow};
use super::in_flight::InFlight;
use super::l4s::L4sAlpha;
use super::{REF_WND_OVERHEAD, VIRTUAL_RTT};
use crate::scream::competing_flows::{QueueTarget, QueueTargetConfig};
use crate::scream::feedback::Acknowledged;
use crate::scream::queue_delay::QueueDelay;
use crate::scream::round_trip::{self, SmoothedRtt};
use legato_units::{DataSize, TimeDelta, Timestamp};

/// The state of the draft.
#[derive(Clone, Debug)]
pub struct Draft {
    queue: QueueDelay,
    rtt: SmoothedRtt,
    delay: DraftDelay,
    target_delay: QueueTarget,
    alpha: L4sAlpha,
    loss_rate: LossRate,
    window: DraftWindow,
    frames: FrameWatch,
    acked: AckedRate,
    started: bool,
    /// Half the target until then, so that the queue drains.
    drain_end: Option<Timestamp>,
    round_trip_end: Option<Timestamp>,
    loss_in_round_trip: bool,
}

/// The bounds of the target, in bit/s.
#[derive(Clone, Copy, Debug)]
pub struct Bounds {
    /// The current target.
    pub target_bps: f64,
    /// The start target.
    pub start_bps: f64,
    /// The maximum target.
    pub max_bps: f64,
}

impl Draft {
    /// Nothing known.
    pub fn new(config: &Config) -> Self {
        let low = TimeDelta::from_millis(config.qdelay_target_lo_ms.into());
        let high = TimeDelta::from_millis(config.draft.qdelay_target_hi_ms.into());
        Self {
            queue: QueueDelay::new(10, TimeDelta::from_secs(60)),
            rtt: SmoothedRtt::default(),
            delay: DraftDelay::new(low),
            target_delay: QueueTarget::new(QueueTargetConfig { low, high, adapt: config.draft.competing_flows }),
            alpha: L4sAlpha::default(),
            loss_rate: LossRate::default(),
            window: DraftWindow::default(),
            frames: FrameWatch::default(),
            acked: AckedRate::default(),
            started: false,
            drain_end: None,
            round_trip_end: None,
            loss_in_round_trip: false,
        }
    }

    /// Take a feedback; returns the target in bit/s, not bounded.
    pub fn take(
        &mut self,
        now: Timestamp,
        said: &Acknowledged,
        in_flight: InFlight,
        bounds: &Bounds,
        config: &Config,
    ) -> f64 {
        if let Some(round_trip) = said.round_trip {
            self.rtt.update(round_trip, round_trip::GAIN);
        }
        let rtt = self.rtt.get();
        if !self.started && said.packets > 0 {
            self.started = true;
            // The draft starts at MIN_REF_WND; with a start rate given, we start at the window that carries it.
            let start_bytes = bounds.start_bps * rtt.as_secs_f64() / 8.0;
            self.window.start_at(start_bytes * bounds.start_bps / self.rate_of(start_bytes).max(1.0));
        }
        self.take_delay(now, said, VIRTUAL_RTT.min(rtt), &config.draft);
        let interval = TimeDelta::from_millis(10).min(rtt);
        self.alpha.update(now, said.packets, said.packets_ce, interval);
        self.loss_rate.update(said.packets_lost, said.packets, self.window.bytes());
        self.acked.update(now, said.bytes_arrived, rtt.max(TimeDelta::from_secs_f64(2.0 * self.frames.period_s())));
        let input = DraftInput {
            lost: said.packets_lost > 0,
            marked: said.packets_ce > 0,
            newly_acked_unmarked: said.bytes_newly_acked.saturating_sub(said.bytes_newly_acked_ce),
            round_trip: rtt,
            qdelay_s: self.queue.get().as_secs_f64(),
            qdelay_avg_s: self.delay.average_s(),
            qdelay_target_s: self.target_delay.get().as_secs_f64(),
            delay_scale: self.delay.scale(),
            l4s_alpha: self.alpha.get(),
            loss_rate: self.loss_rate.get(),
            in_flight,
            target_bps: bounds.target_bps,
            target_max_bps: bounds.max_bps,
            acked_bps: self.acked.bps,
        };
        self.window.update(now, &input, config);
        self.count_round_trip(now, said.packets_lost > 0);
        let drains = self.drain_end.is_some_and(|end| now < end);
        self.rate_of(self.window.bytes()) * if drains { 0.5 } else { 1.0 }
    }

    fn take_delay(&mut self, now: Timestamp, said: &Acknowledged, interval: TimeDelta, config: &DraftConfig) {
        let Some(delays) = said.one_way else { return };
        let queue = self.queue.update(now, delays, delays.min);
        let target = self.target_delay.get();
        self.delay.update(now, queue, target, interval, config);
        let rtt = self.rtt.get();
        if self.delay.base_is_too_low(now, target, rtt, config) {
            // [draft-johansson-ccwg-rfc8298bis-screamv2] §4.5.1: half the target for max(5 s_rtt, 0.2 s).
            self.queue.reset();
            self.drain_end = Some(now + (rtt * 5).max(TimeDelta::from_millis(200)));
        }
        self.target_delay.update(queue);
    }

    fn count_round_trip(&mut self, now: Timestamp, with_loss: bool) {
        self.loss_in_round_trip |= with_loss;
        if self.round_trip_end.is_none_or(|end| now >= end) {
            self.target_delay.round_trip_over(self.loss_in_round_trip);
            self.loss_in_round_trip = false;
            self.round_trip_end = Some(now + self.rtt.get());
        }
    }

    fn rate_of(&self, bytes: f64) -> f64 {
        draft_rate::target_bps(bytes, self.rtt.get(), &self.frames)
    }

    /// A picture was taken while a frame had waited for `queued`.
    pub fn picture(&mut self, now: Timestamp, queued: TimeDelta) {
        self.frames.picture(now, queued);
    }

    /// A frame was coded.
    pub fn coded(&mut self, size: DataSize, target_bps: f64) {
        self.frames.coded(size, target_bps);
    }

    /// No feedback for long.
    pub fn silence(&mut self) {
        self.window.silence();
    }

    /// The maximum in flight, in bytes.
    pub fn in_flight_limit(&self) -> f64 {
        // [draft-johansson-ccwg-rfc8298bis-screamv2] §4.3.1: ref_wnd × (REF_WND_OVERHEAD_MIN
        // + (REF_WND_OVERHEAD_MAX - REF_WND_OVERHEAD_MIN) × ref_wnd_delay_scale).
        let [min, max] = REF_WND_OVERHEAD;
        self.window.bytes() * (min + (max - min) * self.delay.scale())
    }

    /// The smoothed round trip.
    pub fn round_trip(&self) -> TimeDelta {
        self.rtt.get()
    }

    /// Report the inner state.
    pub fn observe(&self, gauge: &mut dyn FnMut(&'static str, f64)) {
        gauge("ref_wnd_bytes", self.window.bytes());
        gauge("qdelay_ms", self.queue.get().as_millis_f64());
        gauge("qdelay_avg_ms", self.delay.average_s() * 1e3);
        gauge("qdelay_target_ms", self.target_delay.get().as_millis_f64());
        gauge("smoothed_rtt_ms", self.rtt.get().as_millis_f64());
        gauge("l4s_alpha_ratio", self.alpha.get());
        gauge("loss_ratio", self.loss_rate.get());
        gauge("target_divisor", self.frames.divisor());
    }
}

/// acked_bitrate: the arrivals of the last round trip, or two frames.
#[derive(Clone, Copy, Debug, Default)]
struct AckedRate {
    bytes: u64,
    since: Option<Timestamp>,
    bps: f64,
}

impl AckedRate {
    fn update(&mut self, now: Timestamp, bytes: u64, span: TimeDelta) {
        let Some(since) = self.since else {
            self.since = Some(now);
            return;
        };
        self.bytes += bytes;
        if now - since >= span {
            self.bps = self.bytes as f64 * 8.0 / (now - since).as_secs_f64();
            (self.bytes, self.since) = (0, Some(now));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// [draft-johansson-ccwg-rfc8298bis-screamv2] §4.5.3: over a round trip.
    #[test]
    fn what_is_acknowledged_is_averaged_over_a_round_trip() {
        let mut acked = AckedRate::default();
        let rtt = TimeDelta::from_millis(100);
        (0..=4).for_each(|n| acked.update(Timestamp::from_millis(n * 25), 2_500, rtt));
        // 10,000 bytes in 100 ms.
        assert_eq!(acked.bps, 8e5);
    }

    /// [draft-johansson-ccwg-rfc8298bis-screamv2] §4.3.1, worked by hand: 3,000 × 3 without REDUCE_JITTER;
    /// §4.5.1: the target halves for 500 ms when the base is void.
    #[test]
    fn three_windows_may_be_in_flight() {
        let config = Config::default();
        assert_eq!(Draft::new(&config).in_flight_limit(), 9_000.0);
    }
}
