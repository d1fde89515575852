//! The reference window as libwebrtc M150 moves it. Differences from the draft's rules: congestion and growth exclude
//! each other except at the moment of a reaction. Queues and a spread of delays within a feedback slow growth, and its
//! pace is relative to the last reaction of any kind. ScreamV2 [libwebrtc-m150].

use super::config::Config;
use super::in_flight::InFlight;
use super::l4s::L4sAlpha;
use super::libwebrtc_delay::LibwebrtcDelay;
use super::libwebrtc_loss::LossLevel;
use super::{BETA_LOSS, VIRTUAL_RTT};
use crate::scream::feedback::Acknowledged;
use legato_units::{TimeDelta, Timestamp};

/// ref_window.
#[derive(Clone, Debug)]
pub struct LibwebrtcWindow {
    bytes: f64,
    inflection_bytes: f64,
    inflection_update_allowed: bool,
    last_reaction: Option<Timestamp>,
    last_decrease: Option<Timestamp>,
}

/// The window's inputs from one feedback.
pub struct LibwebrtcInput<'a> {
    /// The feedback …
    pub said: &'a Acknowledged,
    /// … the change in the delays …
    pub delay: &'a LibwebrtcDelay,
    /// … and in the losses.
    pub loss: &'a LossLevel,
    /// Bytes in flight, this round trip and the last.
    pub in_flight: InFlight,
}

impl Default for LibwebrtcWindow {
    fn default() -> Self {
        Self {
            bytes: MIN_REF_WND_BYTES,
            inflection_bytes: 1.0,
            inflection_update_allowed: true,
            last_reaction: None,
            last_decrease: None,
        }
    }
}

impl LibwebrtcWindow {
    /// In bytes.
    #[inline]
    pub fn bytes(&self) -> f64 {
        self.bytes
    }

    /// Start at `bytes`.
    pub fn start_at(&mut self, bytes: f64) {
        self.bytes = bytes.max(MIN_REF_WND_BYTES);
    }

    /// No feedback for long.
    pub fn silence(&mut self, now: Timestamp) {
        self.bytes = (self.bytes / 2.0).max(MIN_REF_WND_BYTES);
        self.last_decrease = Some(now);
    }

    /// When it last shrank.
    pub fn last_decrease(&self) -> Option<Timestamp> {
        self.last_decrease
    }

    /// The limit of the window's growth.
    pub fn allowed_bytes(in_flight: InFlight) -> f64 {
        let allowed = MSS_BYTES + in_flight.max() as f64 * HEAD_ROOM;
        allowed.max(MIN_REF_WND_BYTES)
    }

    /// Take a feedback.
    pub fn update(&mut self, now: Timestamp, input: &LibwebrtcInput<'_>, alpha: &mut L4sAlpha, config: &Config) {
        let before = self.bytes;
        let queue = input.delay.is_detected(config);
        let marked = input.said.packets_ce > 0;
        let lost = input.said.packets_missing > 0 && (input.loss.is_congested() || queue);
        let round_trip = input.delay.round_trip();
        let since = self.last_reaction.map(|last| now - last);
        let due = since.is_none_or(|since| since >= round_trip.min(VIRTUAL_RTT));
        let reacts = due && (queue || marked || lost);
        if reacts {
            self.last_reaction = Some(now);
            if lost {
                self.bytes *= BETA_LOSS;
            }
            if marked {
                self.back_off_of_marks(since, input, alpha, config);
            } else if queue {
                let per_round_trip = (round_trip.as_secs_f64() / VIRTUAL_RTT.as_secs_f64()).max(1.0);
                self.bytes *= 1.0 - input.delay.virtual_alpha(config) / 2.0 / per_round_trip;
            }
        }
        let calm = !marked && !queue && input.loss.is_calm();
        if calm || reacts {
            self.grow(now, input);
        }
        self.bytes = self.bytes.max(MIN_REF_WND_BYTES);
        if self.bytes > before {
            self.inflection_update_allowed = true;
        }
        if self.bytes < before {
            self.last_decrease = Some(now);
            if self.inflection_update_allowed {
                self.inflection_bytes = before;
                self.inflection_update_allowed = false;
            }
        }
    }

    fn back_off_of_marks(
        &mut self,
        since: Option<TimeDelta>,
        input: &LibwebrtcInput<'_>,
        alpha: &mut L4sAlpha,
        config: &Config,
    ) {
        let round_trip = input.delay.round_trip();
        let mut backoff = alpha.get() / 2.0 / (round_trip.as_secs_f64() / VIRTUAL_RTT.as_secs_f64()).max(1.0);
        if !input.delay.is_detected(config) {
            backoff *= self.near_inflection().max(0.25) * input.delay.min_delay_scale(0.1);
        }
        // libwebrtc compares with the reaction it has just recorded, so that this never happens; the
        // draft's order is meant (§4.2.2.1).
        let long_s = RESET_AFTER_ROUND_TRIPS * round_trip.max(VIRTUAL_RTT).as_secs_f64();
        if since.is_none_or(|since| since.as_secs_f64() > long_s) {
            self.bytes = self.bytes.min(input.in_flight.previous() as f64).max(MIN_REF_WND_BYTES);
            alpha.set(0.25);
        }
        self.bytes *= 1.0 - backoff;
    }

    fn grow(&mut self, now: Timestamp, input: &LibwebrtcInput<'_>) {
        let virtual_rtt_s = VIRTUAL_RTT.as_secs_f64();
        let round_trip_s = input.delay.round_trip().as_secs_f64();
        let near = self.near_inflection();
        let short = (input.delay.round_trip_and_hold_s() / virtual_rtt_s).min(1.0);
        let recovery_s = POST_CONGESTION_ROUND_TRIPS * round_trip_s.max(virtual_rtt_s);
        let post = self.last_reaction.map_or(1.0, |last| ((now - last).as_secs_f64() / recovery_s).clamp(0.0, 1.0));
        let unmarked = input.said.bytes_newly_acked.saturating_sub(input.said.bytes_newly_acked_ce) as f64;
        let increase = unmarked
            * (MSS_BYTES / self.bytes).min(1.0)
            * short
            * short
            * near.max(0.25)
            * input.delay.min_delay_scale(0.1)
            * input.delay.spread_scale()
            * (1.0 + MUL_INCREASE * self.bytes / MSS_BYTES * post * near);
        let allowed = Self::allowed_bytes(input.in_flight);
        if self.bytes < allowed {
            self.bytes = (self.bytes + increase).min(allowed);
        }
    }

    fn near_inflection(&self) -> f64 {
        let distance = INFLECTION_FACTOR * (self.bytes - self.inflection_bytes) / self.inflection_bytes;
        (distance * distance).clamp(0.1, 1.0)
    }
}

// [libwebrtc-m150] ScreamV2Parameters.
/// MinRefWindow.
const MIN_REF_WND_BYTES: f64 = 1_000.0;
/// MaxSegmentSize: the unit in which the window grows.
pub const MSS_BYTES: f64 = 1_280.0;
/// BytesInFlightHeadRoom: the window over the maximum in flight in two round trips.
const HEAD_ROOM: f64 = 1.1;
/// PostCongestionDelayRtts: round trips after congestion until growth is free again.
const POST_CONGESTION_ROUND_TRIPS: f64 = 100.0;
/// MultiplicativeIncreaseFactor: growth per round trip, as a share of the window.
const MUL_INCREASE: f64 = 0.02;
/// BackoffScaleFactorCloseToRefWindowI: growth is slowed within this part of the last maximum, a half.
const INFLECTION_FACTOR: f64 = 2.0;
/// NumberOfRttsBetweenResetRefWindowIOnCongestion: marks after this many calm round trips return the window to the bytes in flight.
const RESET_AFTER_ROUND_TRIPS: f64 = 100.0;

#[cfg(test)]
mod tests {
    use super::super::config::Profile;
    use super::*;
    use crate::scream::feedback::OneWayDelays;

    /// A delay that has long been `queue_ms`, with a round trip of 25 ms.
    fn delay(queue_ms: i64) -> LibwebrtcDelay {
        let mut delay = LibwebrtcDelay::default();
        for n in 0..200 {
            let at = TimeDelta::from_millis(if n == 0 { 50 } else { 50 + queue_ms });
            let said = Acknowledged {
                round_trip: Some(TimeDelta::from_millis(25)),
                one_way: Some(OneWayDelays::all(at)),
                ..Acknowledged::default()
            };
            delay.update(Timestamp::from_millis(n * 25), &said, false);
        }
        delay
    }

    fn after(bytes: f64, said: Acknowledged, delay: &LibwebrtcDelay) -> f64 {
        let config = Profile::Libwebrtc.config();
        let mut window = LibwebrtcWindow { bytes, ..LibwebrtcWindow::default() };
        let mut in_flight = InFlight::default();
        in_flight.update(100_000);
        let input = LibwebrtcInput { said: &said, delay, loss: &LossLevel::default(), in_flight };
        window.update(Timestamp::from_secs(10), &input, &mut L4sAlpha::default(), &config);
        window.bytes()
    }

    /// [libwebrtc-m150], worked by hand: 2,000 × 1,280 / 20,480 = 125 bytes, × (1 + 0.02 × 16); a queue of
    /// 10 ms leaves a tenth of that.
    #[test]
    fn it_grows_more_slowly_over_a_queue() {
        let said = Acknowledged { bytes_newly_acked: 2_000, ..Acknowledged::default() };
        assert!((after(20_480.0, said, &delay(0)) - (20_480.0 + 125.0 * 1.32)).abs() < 1e-6);
        let slow = after(20_480.0, said, &delay(10)) - 20_480.0;
        assert!((slow / (125.0 * 1.32) - 0.1).abs() < 0.01, "{slow}");
    }

    /// [libwebrtc-m150], worked by hand: 45 ms against a target of 60: × (1 - 0.5 / 2); nothing is
    /// acknowledged, so nothing grows.
    #[test]
    fn a_queue_beyond_half_its_target_cuts() {
        assert!((after(20_000.0, Acknowledged::default(), &delay(45)) - 15_000.0).abs() < 1.0);
        assert_eq!(after(20_000.0, Acknowledged::default(), &delay(29)), 20_000.0);
    }

    /// [libwebrtc-m150]: a first loss without a queue changes nothing; with a queue of 45 ms: × 0.7 × 0.75.
    #[test]
    fn a_loss_counts_beside_a_queue() {
        let said = Acknowledged { packets_missing: 1, ..Acknowledged::default() };
        assert_eq!(after(20_000.0, said, &delay(0)), 20_000.0);
        assert!((after(20_000.0, said, &delay(45)) - 10_500.0).abs() < 1.0);
    }
}
