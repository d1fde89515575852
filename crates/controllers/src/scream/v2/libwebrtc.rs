//! One feedback through libwebrtc M150: delays, the starting window, marks, window, target, in this order.
//! ScreamV2 and ScreamNetworkController [libwebrtc-m150].

use super::REF_WND_OVERHEAD;
use super::config::Config;
use super::draft::Bounds;
use super::in_flight::InFlight;
use super::l4s::L4sAlpha;
use super::libwebrtc_delay::LibwebrtcDelay;
use super::libwebrtc_loss::LossLevel;
use super::libwebrtc_window::{LibwebrtcInput, LibwebrtcWindow, MSS_BYTES};
use super::padding::Padding;
use crate::scream::feedback::Acknowledged;
use legato_units::{TimeDelta, Timestamp};

/// The state of libwebrtc's second version.
#[derive(Clone, Debug, Default)]
pub struct Libwebrtc {
    delay: LibwebrtcDelay,
    loss: LossLevel,
    alpha: L4sAlpha,
    window: LibwebrtcWindow,
    padding: Padding,
    started: bool,
    application_limited: bool,
    /// Since when the queue is being drained.
    drains: Option<Timestamp>,
}

impl Libwebrtc {
    /// Take a feedback; returns the target in bit/s, not bounded. One without any arrival says nothing.
    pub fn take(
        &mut self,
        now: Timestamp,
        said: &Acknowledged,
        in_flight: InFlight,
        bounds: &Bounds,
        config: &Config,
    ) -> f64 {
        if said.packets == 0 {
            return bounds.target_bps;
        }
        self.application_limited = LibwebrtcWindow::allowed_bytes(in_flight) < self.window.bytes();
        self.delay.update(now, said, self.application_limited);
        if !self.started {
            self.started = true;
            self.window.start_at(bounds.start_bps / 8.0 * self.delay.round_trip_and_hold_s());
        }
        // [libwebrtc-m150] with every feedback, not every 10 ms.
        self.alpha.update(now, said.packets, said.packets_ce, TimeDelta::ZERO);
        self.loss.update(now, said, self.delay.round_trip());
        let input = LibwebrtcInput { said, delay: &self.delay, loss: &self.loss, in_flight };
        self.window.update(now, &input, &mut self.alpha, config);
        self.padding.update(now, self.window.last_decrease());
        self.target_bps(now)
    }

    fn target_bps(&mut self, now: Timestamp) -> f64 {
        let small = 1.0 - ((MSS_BYTES / self.window.bytes()).min(1.0) - 0.1).clamp(0.0, 0.2);
        let target_bps = small * self.window.bytes() * 8.0 / self.delay.round_trip_and_hold_s().max(1e-3);
        if !self.delay.must_drain(now) {
            self.drains = None;
            return target_bps;
        }
        let since = *self.drains.get_or_insert(now);
        let span_s = (DRAIN_ROUND_TRIPS * self.delay.round_trip().as_secs_f64()).max(0.1);
        if (now - since).as_secs_f64() < span_s {
            return target_bps / 2.0;
        }
        self.delay.reset_queue();
        target_bps
    }

    /// No feedback for long: no padding, and half the window.
    pub fn silence(&mut self, now: Timestamp) {
        self.window.silence(now);
        self.padding.update(now, self.window.last_decrease());
    }

    /// Whether to fill up with padding.
    pub fn pads(&self) -> bool {
        self.padding.is_on()
    }

    /// The maximum in flight, in bytes.
    pub fn in_flight_limit(&self) -> f64 {
        let [min, max] = REF_WND_OVERHEAD;
        self.window.bytes() * (min + (max - min) * self.delay.min_delay_scale(0.0))
    }

    /// The smoothed round trip.
    pub fn round_trip(&self) -> TimeDelta {
        self.delay.round_trip()
    }

    /// Report the inner state.
    pub fn observe(&self, gauge: &mut dyn FnMut(&'static str, f64)) {
        gauge("ref_wnd_bytes", self.window.bytes());
        gauge("qdelay_avg_ms", self.delay.average_s() * 1e3);
        gauge("smoothed_rtt_ms", self.round_trip().as_millis_f64());
        gauge("feedback_hold_ms", self.delay.round_trip_and_hold_s() * 1e3 - self.round_trip().as_millis_f64());
        gauge("l4s_alpha_ratio", self.alpha.get());
        gauge("application_limited", f64::from(u8::from(self.application_limited)));
    }
}

// [libwebrtc-m150] ScreamV2Parameters.
/// The pacing rate over the target.
pub const PACING_HEADROOM: f64 = 1.1;
/// A queue is drained by half the target for this many round trips.
const DRAIN_ROUND_TRIPS: f64 = 5.0;

#[cfg(test)]
mod tests {
    use super::super::config::Profile;
    use super::*;
    use crate::scream::feedback::OneWayDelays;

    /// [libwebrtc-m150], worked by hand: 300 kbit/s × (100 + 20) ms = 4,500 bytes; 1,280 / 4,500 is above
    /// 0.1 by more than 0.18: × (1 - 0.18444).
    #[test]
    fn the_first_feedback_sizes_the_window_for_the_start_rate() {
        let config = Profile::Libwebrtc.config();
        let mut scream = Libwebrtc::default();
        let at = TimeDelta::from_millis(50);
        let said = Acknowledged {
            packets: 3,
            round_trip: Some(TimeDelta::from_millis(100)),
            one_way: Some(OneWayDelays::all(at)),
            arrival_span: TimeDelta::from_millis(20),
            ..Acknowledged::default()
        };
        let bounds = Bounds { target_bps: 3e5, start_bps: 3e5, max_bps: 6e6 };
        let target_bps = scream.take(Timestamp::from_millis(100), &said, InFlight::default(), &bounds, &config);
        assert_eq!(scream.window.bytes(), 4_500.0);
        assert!((target_bps - 3e5 * (1.1 - 1_280.0 / 4_500.0)).abs() < 1e-6, "{target_bps}");
        assert!(scream.pads());
    }
}
