//! The parameters of [`ScreamV2`](super::ScreamV2), one column per profile: the draft's, those of its
//! authors' code where they differ, and libwebrtc's. A profile fills every key that is not given; values of
//! two columns are never mixed unless a user sets one by name.

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error};

/// The origin of the second version.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum Profile {
    /// The draft with the adaptation of its target queue delay to competing flows (§4.5.4), without which it gets next
    /// to nothing beside loss-based flows in deep queues.
    #[serde(rename = "competing-flows")]
    CompetingFlows,
    /// [draft-johansson-ccwg-rfc8298bis-screamv2], as adopted by the working group (revision 01, August
    /// 2026).
    #[serde(rename = "v2-draft")]
    Draft,
    /// The draft's logic with the constants of its authors' code.
    #[serde(rename = "v2-ericsson")]
    Ericsson,
    /// libwebrtc M150 [libwebrtc-m150].
    #[serde(rename = "v2-libwebrtc")]
    Libwebrtc,
}

/// Parameters of `scream-v2`. Names are the draft's.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(remote = "Self", deny_unknown_fields)]
#[schemars(!remote)]
pub struct Config {
    /// Whose constants and, for libwebrtc, whose logic.
    pub profile: Profile,
    /// QDELAY_TARGET_LO: the target queue delay; half of it starts to count as congestion.
    pub qdelay_target_lo_ms: u32,
    /// MIN_REF_WND: the minimum reference window.
    pub min_ref_wnd_bytes: u32,
    /// BYTES_IN_FLIGHT_HEAD_ROOM: the window over the maximum in flight in two round trips.
    pub bytes_in_flight_head_room_ratio: f64,
    /// BETA_LOSS: the share of the window kept on loss.
    pub beta_loss_ratio: f64,
    /// MSS: the maximum segment size, the unit in which the window grows.
    pub mss_bytes: u32,
    /// POST_CONGESTION_DELAY_RTT: round trips after congestion until growth is free again.
    pub post_congestion_round_trips: u32,
    /// MUL_INCREASE_FACTOR: growth per round trip, as a share of the window.
    pub mul_increase_ratio: f64,
    /// VIRTUAL_RTT: the minimum time between reactions to congestion.
    pub virtual_rtt_ms: u32,
    /// L4S_AVG_G_UP: the weight of a share of marked packets above its average.
    pub l4s_up_gain: f64,
    /// L4S_AVG_G_DOWN: the weight of a share of marked packets below its average.
    pub l4s_down_gain: f64,
    /// QDELAY_AVG_G: of a queue delay above its average.
    pub qdelay_avg_gain: f64,
    /// REF_WND_OVERHEAD_MIN: the minimum of how far bytes in flight may exceed the window.
    pub ref_wnd_overhead_min_ratio: f64,
    /// REF_WND_OVERHEAD_MAX: the maximum of how far bytes in flight may exceed the window.
    pub ref_wnd_overhead_max_ratio: f64,
    /// How close to the last maximum growth is slowed: 8 is within an eighth.
    pub inflection_factor: f64,
    /// PACKET_PACING_HEADROOM: the pacing rate over the target.
    pub pacing_headroom_ratio: f64,
    /// Halve window and target after this long without feedback (ours).
    pub silence_ms: u32,
    /// Read by the profiles v2-draft, competing-flows and v2-ericsson.
    pub draft: DraftConfig,
    /// Read by the profile v2-libwebrtc.
    pub libwebrtc: LibwebrtcConfig,
}

/// The draft's own parameters.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DraftConfig {
    /// QDELAY_TARGET_HI: the maximum target queue delay, with `competing_flows`.
    pub qdelay_target_hi_ms: u32,
    /// Adapt the target queue delay (§4.5.4, optional).
    pub competing_flows: bool,
    /// BETA_ECN: the share of the window kept on a classic mark.
    pub beta_ecn_ratio: f64,
    /// IS_L4S: marks are L4S marks and count by their share.
    pub l4s: bool,
    /// REDUCE_JITTER (§4.2.1.4, optional): grow more slowly if the queue delay varies.
    pub reduce_jitter: bool,
    /// QDELAY_MIN_MAX_AVG_G: the weight of a round trip in the averages of the minimum and maximum queue delay.
    pub qdelay_min_max_avg_gain: f64,
    /// QDELAY_DEV_AVG_G: the weight of a round trip in the average deviation of the queue delay.
    pub qdelay_dev_avg_gain: f64,
    /// QDELAY_DEV_THRESHOLD: at this deviation of the queue delay growth stops, with `reduce_jitter`.
    pub qdelay_dev_threshold_ms: f64,
    /// RATE_PACE_MIN: the minimum rate that pacing is computed from.
    pub rate_pace_min_bps: u64,
    /// MAX_RELAXED_PACING_FACTOR: the pacing factor at the maximum target.
    pub max_relaxed_pacing_ratio: f64,
    /// RELAXED_PACING_LIMIT_LOW: the pacing factor rises from this share of the maximum target on.
    pub relaxed_pacing_limit_ratio: f64,
    /// PACKET_OVERHEAD: the bytes of headers that come with each packet.
    pub packet_overhead_bytes: u32,
    /// RATE_ADJUST_GAIN: of the delay in the media queue.
    pub rate_adjust_gain: f64,
    /// FRAME_SIZE_DEV_ALPHA: of frames larger than requested.
    pub frame_size_dev_gain: f64,
    /// Cut for loss only if it is frequent or a queue stands (§4.5.2).
    pub conditional_loss: bool,
    /// LOSS_RATE_THRESHOLD: loss above this is frequent, with `conditional_loss`.
    pub loss_rate_threshold_ratio: f64,
    /// Bound the window if much is lost without a queue (§4.5.2, optional). Off: the loss of a queue that
    /// overflowed would outlast the queue, be taken for a policer's, and the bound lift by a thousandth per
    /// round trip.
    pub policer: bool,
    /// LOSS_RATE_THRESHOLD_POLICER: loss above this without a queue is a policer's, with `policer`.
    pub loss_rate_threshold_policer_ratio: f64,
    /// BETA_LOSS_POLICER: the share of the window kept on a policer's loss.
    pub beta_loss_policer_ratio: f64,
    /// Reset the base of the queue delay if it never falls (§4.5.1).
    pub drift_reset: bool,
    /// QDELAY_MIN_AVG_ALPHA: the weight of a sample in the average of the minimum queue delay, with `drift_reset`.
    pub qdelay_min_avg_gain: f64,
    /// ACKED_BITRATE_MARGIN: back off less with a target below this share of the acknowledged rate (§4.5.3).
    pub acked_bitrate_margin_ratio: f64,
    /// BACKOFF_SCALE_LOW_TARGET_RATE: how much of a back-off remains with such a low target.
    pub backoff_scale_low_ratio: f64,
}

/// libwebrtc's own parameters.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LibwebrtcConfig {
    /// The weight of a round trip in the average round-trip time.
    pub rtt_gain: f64,
    /// The weight of a round trip in the average round-trip time while the application limits itself.
    pub rtt_alr_gain: f64,
    /// The weight of a feedback in the average time that feedback is held at the receiver.
    pub feedback_hold_gain: f64,
    /// The weight of a feedback in the averages of the minimum queue delay and of the spread of delays.
    pub delay_spread_gain: f64,
    /// Minimum queue delays from here on slow growth to a tenth.
    pub qdelay_min_threshold_ms: f64,
    /// Spreads from here on do the same.
    pub latency_diff_threshold_ms: f64,
    /// Cut for loss after this many round trips with it.
    pub rtts_with_loss: u32,
    /// Forget loss after this many round trips without it.
    pub lossless_rtts: u32,
    /// Marks after this many calm round trips return the window to the bytes in flight.
    pub reset_after_round_trips: u32,
    /// A queue that stays above this is drained.
    pub drain_threshold_ms: f64,
    /// How long a queue stays above `drain_threshold_ms` before it is drained.
    pub drain_after_ms: u32,
    /// A queue is drained by half the target for this many round trips.
    pub drain_round_trips: u32,
    /// Pad for this long at a time; 0: never.
    pub padding_ms: u32,
    /// The time between two paddings.
    pub padding_pause_ms: u32,
    /// The time after the window shrank in which there is no padding.
    pub padding_calm_ms: u32,
}

impl Profile {
    /// Its column. [draft-johansson-ccwg-rfc8298bis-screamv2] §4.2.2, §4.3 and §4.4 state the first,
    /// ScreamV2Parameters [libwebrtc-m150] the third.
    pub fn config(self) -> Config {
        let draft = Config {
            profile: self,
            qdelay_target_lo_ms: 60,
            min_ref_wnd_bytes: 3_000,
            bytes_in_flight_head_room_ratio: 1.5,
            beta_loss_ratio: 0.7,
            mss_bytes: 1_000,
            post_congestion_round_trips: 100,
            mul_increase_ratio: 0.02,
            virtual_rtt_ms: 25,
            l4s_up_gain: 1.0 / 8.0,
            l4s_down_gain: 1.0 / 128.0,
            qdelay_avg_gain: 1.0 / 4.0,
            ref_wnd_overhead_min_ratio: 1.5,
            ref_wnd_overhead_max_ratio: 3.0,
            inflection_factor: 8.0,
            pacing_headroom_ratio: 1.5,
            silence_ms: 1_000,
            draft: DraftConfig::default(),
            libwebrtc: LibwebrtcConfig::default(),
        };
        match self {
            Self::CompetingFlows => {
                Config { draft: DraftConfig { competing_flows: true, ..DraftConfig::default() }, ..draft }
            }
            Self::Draft => draft,
            Self::Ericsson => Config {
                qdelay_target_lo_ms: 100,
                bytes_in_flight_head_room_ratio: 2.0,
                post_congestion_round_trips: 200,
                mul_increase_ratio: 0.05,
                draft: DraftConfig { qdelay_target_hi_ms: 300, beta_ecn_ratio: 0.9, ..DraftConfig::default() },
                ..draft
            },
            Self::Libwebrtc => Config {
                min_ref_wnd_bytes: 1_000,
                bytes_in_flight_head_room_ratio: 1.1,
                mss_bytes: 1_280,
                inflection_factor: 2.0,
                pacing_headroom_ratio: 1.1,
                ..draft
            },
        }
    }
}

impl Default for Config {
    fn default() -> Self {
        Profile::Draft.config()
    }
}

impl Default for DraftConfig {
    fn default() -> Self {
        Self {
            qdelay_target_hi_ms: 400,
            competing_flows: false,
            beta_ecn_ratio: 0.8,
            l4s: false,
            reduce_jitter: false,
            qdelay_min_max_avg_gain: 1.0 / 16.0,
            qdelay_dev_avg_gain: 1.0 / 32.0,
            qdelay_dev_threshold_ms: 10.0,
            rate_pace_min_bps: 50_000,
            max_relaxed_pacing_ratio: 4.0,
            relaxed_pacing_limit_ratio: 0.8,
            packet_overhead_bytes: 20,
            rate_adjust_gain: 1.0 / 16.0,
            frame_size_dev_gain: 1.0 / 64.0,
            conditional_loss: true,
            loss_rate_threshold_ratio: 0.01,
            policer: false,
            loss_rate_threshold_policer_ratio: 0.1,
            beta_loss_policer_ratio: 0.9,
            drift_reset: true,
            qdelay_min_avg_gain: 1.0 / 256.0,
            acked_bitrate_margin_ratio: 0.8,
            backoff_scale_low_ratio: 0.25,
        }
    }
}

impl Default for LibwebrtcConfig {
    fn default() -> Self {
        Self {
            rtt_gain: 1.0 / 8.0,
            rtt_alr_gain: 1.0 / 128.0,
            feedback_hold_gain: 1.0 / 8.0,
            delay_spread_gain: 1.0 / 32.0,
            qdelay_min_threshold_ms: 10.0,
            latency_diff_threshold_ms: 10.0,
            rtts_with_loss: 3,
            lossless_rtts: 2,
            reset_after_round_trips: 100,
            drain_threshold_ms: 5.0,
            drain_after_ms: 20_000,
            drain_round_trips: 5,
            padding_ms: 3_000,
            padding_pause_ms: 3_000,
            padding_calm_ms: 1_000,
        }
    }
}

impl Serialize for Config {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        Self::serialize(self, serializer)
    }
}

/// Missing keys take the values of the given profile.
impl<'de> Deserialize<'de> for Config {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let given = toml::Table::deserialize(deserializer)?;
        let profile = match given.get("profile") {
            None => Profile::Draft,
            Some(name) => name
                .clone()
                .try_into()
                .map_err(|error: toml::de::Error| D::Error::custom(format!("profile = {name}: {}", error.message())))?,
        };
        let mut all = toml::Table::try_from(profile.config()).map_err(D::Error::custom)?;
        merge(&mut all, given);
        Self::deserialize(toml::Value::Table(all)).map_err(|error| D::Error::custom(error.message()))
    }
}

fn merge(into: &mut toml::Table, given: toml::Table) {
    for (key, value) in given {
        match (into.get_mut(&key), value) {
            (Some(toml::Value::Table(into)), toml::Value::Table(value)) => merge(into, value),
            (_, value) => {
                into.insert(key, value);
            }
        }
    }
}

impl Config {
    /// Name the first key whose value is invalid.
    pub fn check(&self) -> Result<(), String> {
        within("qdelay_target_lo_ms", self.qdelay_target_lo_ms.into(), 1.0, 10_000.0)?;
        within("min_ref_wnd_bytes", self.min_ref_wnd_bytes.into(), 100.0, 1e9)?;
        within("bytes_in_flight_head_room_ratio", self.bytes_in_flight_head_room_ratio, 1.0, 100.0)?;
        within("beta_loss_ratio", self.beta_loss_ratio, 0.01, 1.0)?;
        within("mss_bytes", self.mss_bytes.into(), 100.0, 65_535.0)?;
        within("post_congestion_round_trips", self.post_congestion_round_trips.into(), 1.0, 1e6)?;
        within("mul_increase_ratio", self.mul_increase_ratio, 0.0, 1.0)?;
        within("virtual_rtt_ms", self.virtual_rtt_ms.into(), 1.0, 10_000.0)?;
        within("l4s_up_gain", self.l4s_up_gain, 1e-6, 1.0)?;
        within("l4s_down_gain", self.l4s_down_gain, 1e-6, 1.0)?;
        within("qdelay_avg_gain", self.qdelay_avg_gain, 1e-6, 1.0)?;
        within("ref_wnd_overhead_min_ratio", self.ref_wnd_overhead_min_ratio, 1.0, 100.0)?;
        within("ref_wnd_overhead_max_ratio", self.ref_wnd_overhead_max_ratio, self.ref_wnd_overhead_min_ratio, 100.0)?;
        within("inflection_factor", self.inflection_factor, 0.0, 1e3)?;
        within("pacing_headroom_ratio", self.pacing_headroom_ratio, 1.0, 100.0)?;
        within("silence_ms", self.silence_ms.into(), 100.0, 1e6)?;
        self.check_draft()?;
        self.check_libwebrtc()
    }

    fn check_draft(&self) -> Result<(), String> {
        let draft = &self.draft;
        let low_ms = self.qdelay_target_lo_ms.into();
        within("draft.qdelay_target_hi_ms", draft.qdelay_target_hi_ms.into(), low_ms, 60_000.0)?;
        within("draft.beta_ecn_ratio", draft.beta_ecn_ratio, 0.01, 1.0)?;
        within("draft.qdelay_min_max_avg_gain", draft.qdelay_min_max_avg_gain, 1e-6, 1.0)?;
        within("draft.qdelay_dev_avg_gain", draft.qdelay_dev_avg_gain, 1e-6, 1.0)?;
        within("draft.qdelay_dev_threshold_ms", draft.qdelay_dev_threshold_ms, 0.1, 1e4)?;
        within("draft.max_relaxed_pacing_ratio", draft.max_relaxed_pacing_ratio, 1.0, 100.0)?;
        within("draft.relaxed_pacing_limit_ratio", draft.relaxed_pacing_limit_ratio, 0.0, 0.999)?;
        within("draft.packet_overhead_bytes", draft.packet_overhead_bytes.into(), 0.0, 1e3)?;
        within("draft.rate_adjust_gain", draft.rate_adjust_gain, 0.0, 1.0)?;
        within("draft.frame_size_dev_gain", draft.frame_size_dev_gain, 0.0, 1.0)?;
        within("draft.loss_rate_threshold_ratio", draft.loss_rate_threshold_ratio, 1e-6, 1.0)?;
        within("draft.loss_rate_threshold_policer_ratio", draft.loss_rate_threshold_policer_ratio, 0.0, 1.0)?;
        within("draft.beta_loss_policer_ratio", draft.beta_loss_policer_ratio, 0.01, 1.0)?;
        within("draft.qdelay_min_avg_gain", draft.qdelay_min_avg_gain, 1e-6, 1.0)?;
        within("draft.acked_bitrate_margin_ratio", draft.acked_bitrate_margin_ratio, 0.0, 1.0)?;
        within("draft.backoff_scale_low_ratio", draft.backoff_scale_low_ratio, 0.0, 1.0)
    }

    fn check_libwebrtc(&self) -> Result<(), String> {
        let libwebrtc = &self.libwebrtc;
        within("libwebrtc.rtt_gain", libwebrtc.rtt_gain, 1e-6, 1.0)?;
        within("libwebrtc.rtt_alr_gain", libwebrtc.rtt_alr_gain, 1e-6, 1.0)?;
        within("libwebrtc.feedback_hold_gain", libwebrtc.feedback_hold_gain, 0.0, 1.0)?;
        within("libwebrtc.delay_spread_gain", libwebrtc.delay_spread_gain, 1e-6, 1.0)?;
        within("libwebrtc.qdelay_min_threshold_ms", libwebrtc.qdelay_min_threshold_ms, 0.1, 1e4)?;
        within("libwebrtc.latency_diff_threshold_ms", libwebrtc.latency_diff_threshold_ms, 0.1, 1e4)?;
        within("libwebrtc.rtts_with_loss", libwebrtc.rtts_with_loss.into(), 1.0, 1e3)?;
        within("libwebrtc.lossless_rtts", libwebrtc.lossless_rtts.into(), 1.0, 1e3)?;
        within("libwebrtc.reset_after_round_trips", libwebrtc.reset_after_round_trips.into(), 0.0, 1e6)?;
        within("libwebrtc.drain_threshold_ms", libwebrtc.drain_threshold_ms, 0.0, 1e4)?;
        within("libwebrtc.drain_after_ms", libwebrtc.drain_after_ms.into(), 100.0, 1e9)?;
        within("libwebrtc.drain_round_trips", libwebrtc.drain_round_trips.into(), 0.0, 1e3)?;
        within("libwebrtc.padding_pause_ms", libwebrtc.padding_pause_ms.into(), 100.0, 1e9)
    }
}

fn within(key: &str, value: f64, low: f64, high: f64) -> Result<(), String> {
    match value >= low && value <= high {
        true => Ok(()),
        false => Err(format!("{key} = {value} is not within [{low}, {high}]")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// [draft-johansson-ccwg-rfc8298bis-screamv2] §4.2.2, §4.3, §4.4: three columns, one per profile.
    #[test]
    fn a_profile_fills_what_is_not_given() {
        let config: Config = toml::toml! { profile = "v2-libwebrtc" }.try_into().expect("valid");
        assert_eq!(config, Profile::Libwebrtc.config());
        assert_eq!((config.mss_bytes, config.inflection_factor), (1_280, 2.0));
        let config: Config = toml::toml! { profile = "v2-ericsson"
        draft = { l4s = true } }
        .try_into()
        .expect("valid");
        assert!(config.draft.l4s);
        assert_eq!((config.draft.beta_ecn_ratio, config.mul_increase_ratio), (0.9, 0.05));
        let config: Config = toml::Table::new().try_into().expect("valid");
        assert_eq!(config, Config::default());
    }

    /// [draft-johansson-ccwg-rfc8298bis-screamv2] §4.5.4: the draft's column but for the adaptation of the target, up to
    /// 400 ms.
    #[test]
    fn the_profile_for_competing_flows_adapts_the_target() {
        let config: Config = toml::toml! { profile = "competing-flows" }.try_into().expect("valid");
        assert!(config.draft.competing_flows && config.draft.qdelay_target_hi_ms == 400);
        let mut draft = Config { profile: Profile::CompetingFlows, ..Config::default() };
        draft.draft.competing_flows = true;
        assert_eq!(config, draft);
    }

    #[test]
    fn an_unknown_profile_is_refused_by_key_and_value() {
        let refused = toml::toml! { profile = "v3" }.try_into::<Config>().expect_err("unknown");
        assert!(refused.message().contains("profile") && refused.message().contains("v3"), "{refused}");
        let refused = toml::toml! { draft = { no_such_key = 1 } }.try_into::<Config>().expect_err("unknown");
        assert!(refused.message().contains("no_such_key"), "{refused}");
    }
}
