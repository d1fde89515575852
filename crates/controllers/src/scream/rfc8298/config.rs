//! The parameters of [`Scream`](super::Scream), with the values [rfc8298] §4.1.1.1 recommends.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Parameters of `scream`.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// `"rfc8298"`. The drafts of the second version are another controller, `scream-v2`.
    pub profile: String,
    /// QDELAY_TARGET_LO: the minimum target queue delay.
    pub qdelay_target_lo_ms: u32,
    /// QDELAY_TARGET_HI: the maximum, beside flows that keep a queue.
    pub qdelay_target_hi_ms: u32,
    /// Adapt the target between the two (§4.1.2.3: "MAY be turned off").
    pub competing_flows: bool,
    /// QDELAY_WEIGHT: of a sample in the average of the queue delay.
    pub qdelay_weight: f64,
    /// QDELAY_TREND_TH: a trend above ends fast increase.
    pub qdelay_trend_th_ratio: f64,
    /// QDELAY_TREND_LO: a trend that stays below it resumes fast increase.
    pub qdelay_trend_lo_ratio: f64,
    /// T_RESUME_FAST_INCREASE: how long the trend must stay below QDELAY_TREND_LO to resume fast increase.
    pub resume_fast_increase_ms: u32,
    /// MIN_CWND: the minimum congestion window.
    pub min_cwnd_bytes: u32,
    /// MAX_BYTES_IN_FLIGHT_HEAD_ROOM: the window over the maximum in flight in 5 s.
    pub max_bytes_in_flight_head_room_ratio: f64,
    /// GAIN of the window beyond fast increase.
    pub gain: f64,
    /// BETA_LOSS: the share of the window kept on loss.
    pub beta_loss_ratio: f64,
    /// BETA_ECN: the share of window and target kept on a mark.
    pub beta_ecn_ratio: f64,
    /// BETA_R: the share of the target kept on loss.
    pub beta_r_ratio: f64,
    /// MSS: the maximum segment size, the unit in which the window grows.
    pub mss_bytes: u32,
    /// RATE_ADJUST_INTERVAL: the time between two adjustments of the target.
    pub rate_adjust_interval_ms: u32,
    /// RAMP_UP_SPEED: the maximum rise of the target per second.
    pub ramp_up_speed_bps: u64,
    /// PRE_CONGESTION_GUARD: how much a trend slows the rise.
    pub pre_congestion_guard_ratio: f64,
    /// TX_QUEUE_SIZE_FACTOR: how much of the media queue is subtracted from the target.
    pub tx_queue_size_factor: f64,
    /// RTP_QDELAY_TH: a media queue longer than this lowers the target.
    pub rtp_qdelay_th_ms: u32,
    /// TARGET_RATE_SCALE_RTP_QDELAY: what the target is multiplied by while the media queue is longer than
    /// RTP_QDELAY_TH.
    pub target_rate_scale_rtp_qdelay_ratio: f64,
    /// Skip pictures while media has waited longer than this (§4.1.3: "excessively delayed").
    pub max_rtp_qdelay_ms: u32,
    /// Discard such media in place of skipping pictures, as §4.1.3 says: whole frames that have not begun to leave. The
    /// next picture is then a key frame.
    pub discard_media: bool,
    /// RATE_PACE_MIN: the minimum pacing rate.
    pub rate_pace_min_bps: u64,
    /// Halve window and target after this long without feedback (ours; the RFC names none).
    pub silence_ms: u32,
}

/// The one profile of `scream`.
pub const PROFILE: &str = "rfc8298";

impl Default for Config {
    fn default() -> Self {
        Self {
            profile: PROFILE.to_owned(),
            qdelay_target_lo_ms: 100,
            qdelay_target_hi_ms: 400,
            competing_flows: true,
            qdelay_weight: 0.1,
            qdelay_trend_th_ratio: 0.2,
            qdelay_trend_lo_ratio: 0.2,
            resume_fast_increase_ms: 5_000,
            min_cwnd_bytes: 3_000,
            max_bytes_in_flight_head_room_ratio: 1.1,
            gain: 1.0,
            beta_loss_ratio: 0.8,
            beta_ecn_ratio: 0.9,
            beta_r_ratio: 0.9,
            mss_bytes: 1_000,
            rate_adjust_interval_ms: 200,
            ramp_up_speed_bps: 200_000,
            pre_congestion_guard_ratio: 0.1,
            tx_queue_size_factor: 1.0,
            rtp_qdelay_th_ms: 20,
            target_rate_scale_rtp_qdelay_ratio: 0.95,
            max_rtp_qdelay_ms: 200,
            discard_media: false,
            rate_pace_min_bps: 50_000,
            silence_ms: 1_000,
        }
    }
}

impl Config {
    /// Name the first key whose value is invalid.
    pub fn check(&self) -> Result<(), String> {
        if self.profile != PROFILE {
            return Err(format!(
                "profile = \"{}\": scream is \"{PROFILE}\"; the drafts are the controller scream-v2",
                self.profile
            ));
        }
        let within = |key: &str, value: f64, low: f64, high: f64| match value >= low && value <= high {
            true => Ok(()),
            false => Err(format!("{key} = {value} is not within [{low}, {high}]")),
        };
        within("qdelay_target_lo_ms", self.qdelay_target_lo_ms.into(), 1.0, 10_000.0)?;
        let low_ms = self.qdelay_target_lo_ms.into();
        within("qdelay_target_hi_ms", self.qdelay_target_hi_ms.into(), low_ms, 60_000.0)?;
        within("qdelay_weight", self.qdelay_weight, 1e-3, 1.0)?;
        within("qdelay_trend_th_ratio", self.qdelay_trend_th_ratio, 0.0, 1.0)?;
        within("qdelay_trend_lo_ratio", self.qdelay_trend_lo_ratio, 0.0, 1.0)?;
        within("min_cwnd_bytes", self.min_cwnd_bytes.into(), 100.0, 1e9)?;
        within("max_bytes_in_flight_head_room_ratio", self.max_bytes_in_flight_head_room_ratio, 1.0, 100.0)?;
        within("gain", self.gain, 1e-3, 100.0)?;
        within("beta_loss_ratio", self.beta_loss_ratio, 0.01, 1.0)?;
        within("beta_ecn_ratio", self.beta_ecn_ratio, 0.01, 1.0)?;
        within("beta_r_ratio", self.beta_r_ratio, 0.01, 1.0)?;
        within("mss_bytes", self.mss_bytes.into(), 100.0, 65_535.0)?;
        within("rate_adjust_interval_ms", self.rate_adjust_interval_ms.into(), 10.0, 10_000.0)?;
        within("pre_congestion_guard_ratio", self.pre_congestion_guard_ratio, 0.0, 1.0)?;
        within("tx_queue_size_factor", self.tx_queue_size_factor, 0.0, 100.0)?;
        within("target_rate_scale_rtp_qdelay_ratio", self.target_rate_scale_rtp_qdelay_ratio, 0.01, 1.0)?;
        within("max_rtp_qdelay_ms", self.max_rtp_qdelay_ms.into(), 1.0, 60_000.0)?;
        within("silence_ms", self.silence_ms.into(), 100.0, 1e6)
    }
}
