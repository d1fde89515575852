//! `scream`: self-clocked rate adaptation for multimedia, [rfc8298]. It believes that a queue of a tenth of a second is congestion, and that a window should limit the bytes in flight, as in TCP. The encoder's rate should keep the queue before the pacer short.
//!
//! Per feedback: the queue delay (one-way delay above its minimum), its trend, the target queue delay
//! ([`super::competing_flows`]) and the [`window`]. Every 200 ms: the [`media_rate`]. Losses and marks cut
//! both, at most once per round trip.
//!
//! Missing: several streams and their priorities (§4.1.2.8; the driver has one video stream).
//! docs/papers/scream.md lists our interpretations where the RFC says less than a program needs.

pub mod delay_trend;
pub mod max_in_flight;
pub mod media_rate;
pub mod rates;
pub mod window;

mod config;

pub use config::Config;

use super::competing_flows::{QueueTarget, QueueTargetConfig};
use super::feedback::{Acknowledged, FeedbackReader};
use super::media_queue::MediaQueue;
use super::queue_delay::QueueDelay;
use super::round_trip::{self, SmoothedRtt};
use super::silence::Silence;
use delay_trend::DelayTrend;
use legato_control::{
    BuildError, Construct, Context, Decision, EncoderWishes, Event, FeedbackRule, Pacing, RateController, RateLimits,
    SendingWishes, SentPacket, Side, TransportFeedback,
};
use legato_units::{DataRate, DataSize, TimeDelta, Timestamp};
use media_rate::{MediaRate, RateInput};
use rates::Rates;
use window::{CongestionWindow, WindowInput};

/// SCReAM of the RFC.
#[derive(Clone)]
pub struct Scream {
    config: Config,
    limits: RateLimits,
    reader: FeedbackReader,
    rtt: SmoothedRtt,
    queue: QueueDelay,
    trend: DelayTrend,
    target_delay: QueueTarget,
    window: CongestionWindow,
    media_queue: MediaQueue,
    media_rate: MediaRate,
    rates: Rates,
    silence: Silence,
    /// The last loss or ECN event.
    event: Option<Timestamp>,
    /// End of the round trip whose losses are being counted.
    round_trip_end: Timestamp,
    loss_in_round_trip: bool,
    last_adjustment: Timestamp,
    decision: Decision,
}

impl Construct for Scream {
    const NAME: &'static str = "scream";
    const SIDE: Side = Side::Sender;
    const SUMMARY: &'static str = "SCReAM (RFC 8298): a window that aims for a short queue, a rate that keeps it fed";
    const CITES: &'static [&'static str] = &["rfc8298"];
    type Config = Config;

    fn new(config: Config, context: Context<'_>) -> Result<Self, BuildError> {
        config.check().map_err(|message| BuildError::Config { controller: Self::NAME, message })?;
        let Context { limits, start, .. } = context;
        let ms = |ms: u32| TimeDelta::from_millis(i64::from(ms));
        let target_delay = QueueTargetConfig {
            low: ms(config.qdelay_target_lo_ms),
            high: ms(config.qdelay_target_hi_ms),
            adapt: config.competing_flows,
        };
        let mut scream = Self {
            limits,
            reader: FeedbackReader::default(),
            rtt: SmoothedRtt::default(),
            queue: base_delay(),
            trend: DelayTrend::default(),
            target_delay: QueueTarget::new(target_delay),
            window: CongestionWindow::new(start),
            media_queue: MediaQueue::default(),
            media_rate: MediaRate::new(limits.start.as_bps_f64()),
            rates: Rates::new(start),
            silence: Silence::new(SILENCE),
            event: None,
            round_trip_end: start,
            loss_in_round_trip: false,
            last_adjustment: start,
            decision: Decision::of_target(limits.clamp(limits.start)),
            config,
        };
        scream.decide();
        Ok(scream)
    }
}

impl RateController for Scream {
    fn on_event(&mut self, now: Timestamp, event: &Event) {
        let mut heard = false;
        match event {
            Event::PacketsSent(burst) => return burst.iter().for_each(|packet| self.sent(now, &packet)),
            Event::TransportFeedback(feedback) if !feedback.reports.is_empty() => heard = self.take(now, feedback),
            Event::FrameEncoded(frame) => return self.rates.coded(frame.size.as_bytes()),
            Event::FrameCaptured(_) => self.media_queue.picture(now),
            Event::PacerQueue(queue) => return self.media_queue.reported(now, queue.size),
            Event::Limits(limits) => self.limits = *limits,
            Event::RouteChange => self.change_route(now),
            Event::Deadline => {}
            _ => return,
        }
        if self.silence.broken(now) {
            self.window.cut(0.5);
            self.media_rate.cut(0.5);
        }
        if now >= self.last_adjustment + RATE_ADJUST_INTERVAL && heard || now >= self.unheard_adjustment() {
            self.adjust(now, heard);
        }
        self.decide();
    }

    fn decision(&self) -> Decision {
        self.decision
    }

    fn next_deadline(&self) -> Option<Timestamp> {
        let adjustment = self.unheard_adjustment();
        Some(self.silence.deadline().map_or(adjustment, |silence| silence.min(adjustment)))
    }

    fn feedback_rule(&self) -> FeedbackRule {
        // [rfc8298] §4.2.2: fb_int = 1 / min(50, max(2.5, rate_media / 10000)) s.
        FeedbackRule::MediaRate
    }

    fn observe(&mut self, gauge: &mut dyn FnMut(&'static str, f64)) {
        gauge("cwnd_bytes", self.window.bytes());
        gauge("qdelay_ms", self.queue.get().as_millis_f64());
        gauge("qdelay_target_ms", self.target_delay.get().as_millis_f64());
        gauge("qdelay_trend_ratio", self.trend.get());
        gauge("fast_increase", f64::from(u8::from(self.window.in_fast_increase())));
        gauge("smoothed_rtt_ms", self.rtt.get().as_millis_f64());
        gauge("media_queue_bytes", self.media_queue.bytes() as f64);
    }
}

impl Scream {
    #[inline]
    fn sent(&mut self, now: Timestamp, packet: &SentPacket) {
        self.rates.sent(packet.size.as_bytes());
        self.reader.sent(packet.transport_seq, packet.size.as_bytes());
        self.media_queue.sent(packet);
        self.window.sent(now, packet.in_flight.as_bytes());
        self.silence.sent(now);
    }

    /// The rate is adjusted with the first feedback after an interval, so that nothing rises without one;
    /// after a second interval without feedback it is adjusted all the same, but only downwards.
    fn unheard_adjustment(&self) -> Timestamp {
        self.last_adjustment + RATE_ADJUST_INTERVAL * 2
    }

    /// Take feedback; returns whether any packet arrived.
    fn take(&mut self, now: Timestamp, feedback: &TransportFeedback) -> bool {
        let said = self.reader.read(now, feedback);
        self.rates.acked(said.bytes_arrived);
        let heard = said.packets > 0;
        if heard {
            self.silence.heard();
        }
        if let Some(round_trip) = said.round_trip {
            self.rtt.update(round_trip, round_trip::GAIN);
        }
        if let Some(delays) = said.one_way {
            // [rfc8298] §4.1.2: of the packet with the highest number, not smoothed.
            let queue_delay = self.queue.update(now, delays, delays.last);
            let fraction = queue_delay.as_secs_f64() / self.target_delay.get().as_secs_f64();
            self.trend.update(now, fraction, QDELAY_WEIGHT);
        }
        self.count_round_trip(now, said.packets_lost > 0);
        if self.congestion_event(now, &said) {
            // [rfc8298] §4.1.3: on loss or a mark the target is cut and the rate change procedure is exited.
            self.last_adjustment = now;
        } else if heard {
            self.acknowledge(now, &said);
        }
        self.target_delay.update(self.queue.get());
        heard
    }

    /// [rfc8298] §4.1.2.1: react to loss and marks, at most once per round trip. Returns whether it did.
    fn congestion_event(&mut self, now: Timestamp, said: &Acknowledged) -> bool {
        let lost = said.packets_lost > 0;
        let recent = self.event.is_some_and(|last| now - last < self.rtt.get());
        if !lost && said.packets_ce == 0 || recent {
            return false;
        }
        self.event = Some(now);
        let (window, rate) = if lost { (BETA_LOSS, BETA_R) } else { (BETA_ECN, BETA_ECN) };
        self.window.cut(window);
        self.media_rate.cut(rate);
        true
    }

    fn acknowledge(&mut self, now: Timestamp, said: &Acknowledged) {
        let input = WindowInput {
            newly_acked: said.bytes_newly_acked,
            in_flight: said.in_flight,
            queue_delay: self.queue.get(),
            target: self.target_delay.get(),
            trend: self.trend.get(),
        };
        if self.window.acknowledged(now, &input) {
            self.media_rate.congested();
        }
        self.window.resume(now);
    }

    fn count_round_trip(&mut self, now: Timestamp, with_loss: bool) {
        self.loss_in_round_trip |= with_loss;
        if now >= self.round_trip_end {
            self.target_delay.round_trip_over(self.loss_in_round_trip);
            self.loss_in_round_trip = false;
            self.round_trip_end = now + self.rtt.get();
        }
    }

    fn adjust(&mut self, now: Timestamp, heard: bool) {
        self.rates.update(now);
        let input = RateInput {
            rates: &self.rates,
            queued_bytes: self.media_queue.bytes(),
            in_fast_increase: self.window.in_fast_increase(),
            trend: self.trend.get(),
            trend_peak: self.trend.peak(),
            heard,
            interval_s: RATE_ADJUST_INTERVAL.as_secs_f64(),
        };
        self.media_rate.adjust(&input, self.config.ramp_up_speed_bps as f64);
        // Keeps to the interval on average, but does not make up for a longer silence.
        self.last_adjustment = (self.last_adjustment + RATE_ADJUST_INTERVAL).max(now - RATE_ADJUST_INTERVAL);
    }

    fn change_route(&mut self, now: Timestamp) {
        let route = Context { limits: self.limits, start: now, seed: 0, assets: &legato_control::NoAssets };
        let media_queue = std::mem::take(&mut self.media_queue);
        let fresh = Self::new(self.config.clone(), route).expect("the parameters were valid before");
        *self = Self { media_queue, ..fresh };
    }

    fn decide(&mut self) {
        self.media_rate.bound(self.limits.min.as_bps_f64(), self.limits.max.as_bps_f64());
        let target = self.limits.clamp(DataRate::from_bps_f64(self.media_rate.target_bps()));
        // [rfc8298] §4.1.2.6: pace_bitrate = max(RATE_PACE_MIN, cwnd × 8 / s_rtt). Never below the target:
        // Deviates from [rfc8298] §4.1.2.6: media waits in our pacer, and a target above its rate would make
        // it the bottleneck.
        let pace_bps = self.window.bytes() * 8.0 / self.rtt.get().as_secs_f64();
        let pacing_rate = DataRate::from_bps_f64(pace_bps.max(RATE_PACE_MIN_BPS)).max(target);
        // [rfc8298] §4.1.3: "The sender SHOULD also be equipped with a mechanism that discards RTP packets when the
        // network throughput becomes very low and RTP packets are excessively delayed". Deviates from [rfc8298]
        // §4.1.3 by default: pictures are skipped before they are coded, so that no later one lacks its
        // reference.
        let longest = TimeDelta::from_millis(i64::from(self.config.max_rtp_qdelay_ms));
        let discard = self.config.discard_media;
        let limit = self.window.in_flight_limit(self.queue.get(), self.target_delay.get());
        self.decision = Decision {
            pacing: Pacing::at(pacing_rate),
            congestion_window: Some(DataSize::from_bytes(limit as u64)),
            sending: SendingWishes { drop_queued: discard.then_some(longest), ..SendingWishes::default() },
            encoder: EncoderWishes {
                drop_one_frame_in: (!discard && self.media_queue.age() > longest).then_some(1),
                ..Default::default()
            },
            ..Decision::of_target(target)
        };
    }
}

// [rfc8298] §4.1.1.1.
/// Of a sample in the average of the queue delay.
const QDELAY_WEIGHT: f64 = 0.1;
/// The share of the window kept on loss.
const BETA_LOSS: f64 = 0.8;
/// The share of window and target kept on a mark.
const BETA_ECN: f64 = 0.9;
/// The share of the target kept on loss.
const BETA_R: f64 = 0.9;
/// The time between two adjustments of the target.
const RATE_ADJUST_INTERVAL: TimeDelta = TimeDelta::from_millis(200);
/// The minimum pacing rate.
const RATE_PACE_MIN_BPS: f64 = 50_000.0;
/// Ours, as the RFC names none: window and target are halved after this long without feedback.
const SILENCE: TimeDelta = TimeDelta::from_secs(1);

/// RFC 6817: the minimum one-way delay of the last ten minutes, in steps of a minute.
fn base_delay() -> QueueDelay {
    QueueDelay::new(10, TimeDelta::from_secs(60))
}

#[cfg(test)]
#[path = "scream_tests.rs"]
mod tests;
