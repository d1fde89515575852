//! The reference window of the draft. Loss, marks and a queue delay above half its target cut it, at most once per
//! virtual round trip. Acknowledged bytes let it grow by a segment per round trip and, after a long time without
//! congestion, by a share of itself. Both are slower near the size at which it was last cut.
//! [draft-johansson-ccwg-rfc8298bis-screamv2] §4.2.2, §4.5.2 and §4.5.3.

use super::config::{Column, Config};
use super::in_flight::InFlight;
use super::{BETA_LOSS, VIRTUAL_RTT};
use legato_units::{TimeDelta, Timestamp};

/// ref_wnd.
#[derive(Clone, Debug)]
pub struct DraftWindow {
    bytes: f64,
    /// ref_wnd_i: the window at the last cut.
    inflection_bytes: f64,
    inflection_update_allowed: bool,
    last_congestion: Option<Timestamp>,
    last_reaction: Option<Timestamp>,
    /// The last cut for loss or a classic mark.
    last_deep_cut: Option<Timestamp>,
    loss_detected: bool,
    marked: bool,
    /// max_policed_ref_wnd.
    policed_bytes: f64,
}

/// The window's inputs from one feedback.
#[derive(Clone, Copy, Debug)]
pub struct DraftInput {
    /// Packets were lost.
    pub lost: bool,
    /// Packets were marked.
    pub marked: bool,
    /// bytes_newly_acked minus those marked.
    pub newly_acked_unmarked: u64,
    /// s_rtt.
    pub round_trip: TimeDelta,
    /// qdelay, in seconds.
    pub qdelay_s: f64,
    /// qdelay_avg, in seconds.
    pub qdelay_avg_s: f64,
    /// qdelay_target, in seconds.
    pub qdelay_target_s: f64,
    /// ref_wnd_delay_scale.
    pub delay_scale: f64,
    /// l4s_alpha.
    pub l4s_alpha: f64,
    /// loss_rate.
    pub loss_rate: f64,
    /// Bytes in flight, this round trip and the last.
    pub in_flight: InFlight,
    /// target_bitrate in bit/s.
    pub target_bps: f64,
    /// TARGET_BITRATE_MAX in bit/s.
    pub target_max_bps: f64,
    /// acked_bitrate in bit/s.
    pub acked_bps: f64,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Reaction {
    Loss,
    Marks,
    /// With l4s_alpha_v.
    VirtualMarks(f64),
}

impl Default for DraftWindow {
    fn default() -> Self {
        Self {
            bytes: MIN_REF_WND_BYTES,
            inflection_bytes: 1.0,
            inflection_update_allowed: true,
            last_congestion: None,
            last_reaction: None,
            last_deep_cut: None,
            loss_detected: false,
            marked: false,
            policed_bytes: f64::MAX,
        }
    }
}

impl DraftWindow {
    /// ref_wnd in bytes.
    #[inline]
    pub fn bytes(&self) -> f64 {
        self.bytes
    }

    /// Start at `bytes`.
    pub fn start_at(&mut self, bytes: f64) {
        self.bytes = bytes.max(MIN_REF_WND_BYTES);
    }

    /// No feedback for long.
    pub fn silence(&mut self) {
        self.bytes = (self.bytes / 2.0).max(MIN_REF_WND_BYTES);
    }

    /// Take a feedback.
    pub fn update(&mut self, now: Timestamp, input: &DraftInput, config: &Config) {
        // [draft-johansson-ccwg-rfc8298bis-screamv2] §4.2.2.1:
        // scl = max(0.1, min(1, (8 (ref_wnd - ref_wnd_i) / ref_wnd_i)^2)).
        let distance = INFLECTION_FACTOR * (self.bytes - self.inflection_bytes) / self.inflection_bytes;
        let near = (distance * distance).clamp(0.1, 1.0);
        let before = self.bytes;
        self.reduce(now, near, input, config);
        self.increase(now, near, input, config.profile.column());
        if self.bytes > before {
            // Deviates from [draft-johansson-ccwg-rfc8298bis-screamv2] §4.2.2.2: there growth within the feedback of a
            // cut counts, and a cut of several steps would leave its last as "the last known max value before
            // congestion". This rule is libwebrtc's.
            self.inflection_update_allowed = true;
        }
        // §4.5.2: a policer's limit is lifted by a thousandth per round trip.
        if self.policed_bytes < f64::MAX {
            let acked = input.newly_acked_unmarked as f64 / self.bytes;
            self.policed_bytes *= 1.0 + 0.001 * acked.min(1.0);
            self.bytes = self.bytes.min(self.policed_bytes).max(MIN_REF_WND_BYTES);
        }
    }

    fn reduce(&mut self, now: Timestamp, near: f64, input: &DraftInput, config: &Config) {
        self.loss_detected |= input.lost;
        self.marked |= input.marked;
        if input.lost || input.marked {
            self.last_congestion = Some(now);
        }
        let since = self.last_reaction.map(|last| now - last);
        if since.is_some_and(|since| since < VIRTUAL_RTT.min(input.round_trip)) {
            return;
        }
        let reaction = self.reaction(now, input, config);
        (self.loss_detected, self.marked) = (false, false);
        let Some(reaction) = reaction else { return };
        self.last_reaction = Some(now);
        if reaction == Reaction::Loss || (reaction == Reaction::Marks && !config.draft.l4s) {
            self.last_deep_cut = Some(now);
        }
        if self.inflection_update_allowed {
            self.inflection_bytes = self.bytes;
            self.inflection_update_allowed = false;
        }
        // [draft-johansson-ccwg-rfc8298bis-screamv2] §4.2.2.1: with a round trip longer than the virtual one each
        // reaction is smaller in proportion, the first after a calm time as well.
        let per_round_trip = (input.round_trip.as_secs_f64() / VIRTUAL_RTT.as_secs_f64()).max(1.0);
        let low_target = input.target_bps < input.acked_bps * ACKED_BITRATE_MARGIN;
        let scale = if low_target { BACKOFF_SCALE_LOW_TARGET_RATE } else { 1.0 } / per_round_trip;
        match reaction {
            Reaction::Loss => self.bytes *= BETA_LOSS,
            Reaction::Marks if !config.draft.l4s => self.bytes *= config.profile.column().beta_ecn,
            Reaction::Marks => {
                let mut backoff = input.l4s_alpha / 2.0 * scale;
                if input.qdelay_s < input.qdelay_target_s * 0.25 {
                    backoff *= near.max(0.25) * input.delay_scale.max(0.25);
                }
                let long = VIRTUAL_RTT.max(input.round_trip) * 100;
                if since.is_none_or(|since| since > long) {
                    self.bytes = self.bytes.min(input.in_flight.previous() as f64);
                }
                self.bytes *= 1.0 - backoff;
            }
            Reaction::VirtualMarks(alpha) => self.bytes *= 1.0 - alpha / 2.0 * scale,
        }
        self.bytes = self.bytes.max(MIN_REF_WND_BYTES);
    }

    fn reaction(&mut self, now: Timestamp, input: &DraftInput, config: &Config) -> Option<Reaction> {
        let standing = input.qdelay_avg_s > input.qdelay_target_s / 4.0;
        // §3.1: "in each RTT ref_wnd will be reduced at most once". The pseudocode of §4.2.2.1 reacts every
        // VIRTUAL_RTT, and compensates if the cut is by degree, but not for loss and classic marks.
        let deep = self.last_deep_cut.is_none_or(|last| now - last >= input.round_trip);
        if self.loss_detected && deep {
            // §4.5.2: if (loss_rate > LOSS_RATE_THRESHOLD || qdelay_avg > qdelay_target / 4).
            if config.draft.policer && input.loss_rate > LOSS_RATE_THRESHOLD_POLICER && !standing {
                self.policed_bytes = self.bytes * BETA_LOSS_POLICER;
            }
            if standing || input.loss_rate > LOSS_RATE_THRESHOLD {
                return Some(Reaction::Loss);
            }
        }
        if self.marked && (deep || config.draft.l4s) {
            return Some(Reaction::Marks);
        }
        // §4.2.2.1: l4s_alpha_v = (qdelay_avg - target / 2) / (target / 2), within [0, 1].
        let half = input.qdelay_target_s / 2.0;
        let excess = (input.qdelay_avg_s - half) / half;
        (excess > 0.0).then(|| Reaction::VirtualMarks(excess.min(1.0)))
    }

    fn increase(&mut self, now: Timestamp, near: f64, input: &DraftInput, column: Column) {
        if input.newly_acked_unmarked == 0 {
            return;
        }
        let round_trip_s = input.round_trip.as_secs_f64();
        let virtual_rtt_s = VIRTUAL_RTT.as_secs_f64();
        // [draft-johansson-ccwg-rfc8298bis-screamv2] §4.2.2.2: post_congestion_scale = (now - last
        // congestion) / (100 × max(VIRTUAL_RTT, s_rtt)), within [0, 1].
        let recovery_s = column.post_congestion_round_trips * round_trip_s.max(virtual_rtt_s);
        let post = self.last_congestion.map_or(1.0, |last| ((now - last).as_secs_f64() / recovery_s).clamp(0.0, 1.0));
        // increment = acked × MSS / ref_wnd × min(1, s_rtt / VIRTUAL_RTT) × max(0.25, scl)
        // × max(0.1, ref_wnd_delay_scale) × (1 + MUL_INCREASE_FACTOR × ref_wnd / MSS × post × scl).
        let increment = input.newly_acked_unmarked as f64
            * (MSS_BYTES / self.bytes).min(1.0)
            * (round_trip_s / virtual_rtt_s).min(1.0)
            * near.max(0.25)
            * input.delay_scale.max(0.1)
            * (1.0 + column.mul_increase * self.bytes / MSS_BYTES * post * near);
        // ref_wnd + increment <= MSS + max in flight × BYTES_IN_FLIGHT_HEAD_ROOM, and not at the maximum
        // target.
        let allowed = MSS_BYTES + input.in_flight.max() as f64 * column.head_room;
        if self.bytes + increment <= allowed && input.target_bps < input.target_max_bps {
            self.bytes += increment;
        }
    }
}

// [draft-johansson-ccwg-rfc8298bis-screamv2] §4.2.2.
/// MIN_REF_WND: the minimum reference window.
const MIN_REF_WND_BYTES: f64 = 3_000.0;
/// MSS: the maximum segment size, the unit in which the window grows.
pub const MSS_BYTES: f64 = 1_000.0;
/// Growth is slowed within this part of the last maximum, an eighth.
const INFLECTION_FACTOR: f64 = 8.0;
// [draft-johansson-ccwg-rfc8298bis-screamv2] §4.5.2.
/// Loss above this is frequent.
pub const LOSS_RATE_THRESHOLD: f64 = 0.01;
/// Loss above this without a queue is a policer's.
const LOSS_RATE_THRESHOLD_POLICER: f64 = 0.1;
/// The share of the window kept on a policer's loss.
const BETA_LOSS_POLICER: f64 = 0.9;
// [draft-johansson-ccwg-rfc8298bis-screamv2] §4.5.3.
/// Back off less with a target below this share of the acknowledged rate.
const ACKED_BITRATE_MARGIN: f64 = 0.8;
/// How much of a back-off remains with such a low target.
const BACKOFF_SCALE_LOW_TARGET_RATE: f64 = 0.25;

#[cfg(test)]
#[path = "draft_window_tests.rs"]
mod tests;
