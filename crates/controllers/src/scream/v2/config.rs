//! What of [`ScreamV2`](super::ScreamV2) a user chooses: a profile (the draft's constants, those of its authors' code, or
//! libwebrtc's logic and constants), the target queue delay, and the draft's optional parts. All else is a constant of
//! the profile, beside the rule that uses it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The origin of the second version.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum Profile {
    /// The draft with the adaptation of its target queue delay to competing flows (§4.5.4), without which it gets next
    /// to nothing against loss-based flows in deep queues.
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
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// Whose constants and, for libwebrtc, whose logic.
    pub profile: Profile,
    /// QDELAY_TARGET_LO: the target queue delay; half of it starts to count as congestion.
    #[schemars(range(min = 1, max = 10_000))]
    pub qdelay_target_lo_ms: u32,
    /// Read by the profiles v2-draft, competing-flows and v2-ericsson.
    pub draft: DraftConfig,
}

/// The draft's optional parts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct DraftConfig {
    /// QDELAY_TARGET_HI: the maximum target queue delay, with `competing_flows`.
    #[schemars(range(min = 1, max = 60_000))]
    pub qdelay_target_hi_ms: u32,
    /// Adapt the target queue delay (§4.5.4, optional).
    pub competing_flows: bool,
    /// IS_L4S: marks are L4S marks and count by their share.
    pub l4s: bool,
    /// REDUCE_JITTER (§4.2.1.4, optional): grow more slowly if the queue delay varies.
    pub reduce_jitter: bool,
    /// Bound the window if much is lost without a queue (§4.5.2, optional). Off: the loss of a queue that
    /// overflowed would outlast the queue, be taken for a policer's, and the bound lift by a thousandth per
    /// round trip.
    pub policer: bool,
    /// Reset the base of the queue delay if it never falls (§4.5.1).
    pub drift_reset: bool,
}

/// The draft's constants that its authors' code has differently.
#[derive(Clone, Copy, Debug)]
pub struct Column {
    /// BYTES_IN_FLIGHT_HEAD_ROOM: the window over the maximum in flight in two round trips.
    pub head_room: f64,
    /// POST_CONGESTION_DELAY_RTT: round trips after congestion until growth is free again.
    pub post_congestion_round_trips: f64,
    /// MUL_INCREASE_FACTOR: growth per round trip, as a share of the window.
    pub mul_increase: f64,
    /// BETA_ECN: the share of the window kept on a classic mark.
    pub beta_ecn: f64,
}

// [draft-johansson-ccwg-rfc8298bis-screamv2] §4.2.2, §4.3 and §4.4.
const DRAFT: Column = Column { head_room: 1.5, post_congestion_round_trips: 100.0, mul_increase: 0.02, beta_ecn: 0.8 };
/// Those of its authors' code.
const ERICSSON: Column =
    Column { head_room: 2.0, post_congestion_round_trips: 200.0, mul_increase: 0.05, beta_ecn: 0.9 };

impl Profile {
    /// What it gives every parameter that is not set by name.
    pub fn config(self) -> Config {
        let draft = Config { profile: self, ..Config::default() };
        match self {
            Self::CompetingFlows => {
                Config { draft: DraftConfig { competing_flows: true, ..DraftConfig::default() }, ..draft }
            }
            Self::Draft | Self::Libwebrtc => draft,
            Self::Ericsson => Config {
                qdelay_target_lo_ms: 100,
                draft: DraftConfig { qdelay_target_hi_ms: 300, ..DraftConfig::default() },
                ..draft
            },
        }
    }

    /// Its column of the draft's constants.
    pub const fn column(self) -> Column {
        match self {
            Self::Ericsson => ERICSSON,
            _ => DRAFT,
        }
    }
}

impl Default for Config {
    fn default() -> Self {
        Self { profile: Profile::Draft, qdelay_target_lo_ms: 60, draft: DraftConfig::default() }
    }
}

impl Default for DraftConfig {
    fn default() -> Self {
        Self {
            qdelay_target_hi_ms: 400,
            competing_flows: false,
            l4s: false,
            reduce_jitter: false,
            policer: false,
            drift_reset: true,
        }
    }
}

impl Config {
    /// Refuse targets in the wrong order.
    pub fn check(&self) -> Result<(), String> {
        let (low_ms, high_ms) = (self.qdelay_target_lo_ms, self.draft.qdelay_target_hi_ms);
        match low_ms <= high_ms {
            true => Ok(()),
            false => Err(format!("draft.qdelay_target_hi_ms = {high_ms}: below qdelay_target_lo_ms = {low_ms}")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::entry;

    fn whole(table: toml::Table) -> Config {
        entry("scream-v2").expect("registered").config_with(&table).expect("valid").try_into().expect("whole")
    }

    /// [draft-johansson-ccwg-rfc8298bis-screamv2] §4.2.2, §4.3, §4.4 and its authors' code.
    #[test]
    fn a_profile_fills_what_is_not_given() {
        assert_eq!(whole(toml::Table::new()), Config::default());
        assert_eq!(whole(toml::toml! { profile = "v2-libwebrtc" }), Profile::Libwebrtc.config());
        let config = whole(toml::toml! { profile = "v2-ericsson"
        draft = { l4s = true } });
        assert!(config.draft.l4s);
        assert_eq!((config.qdelay_target_lo_ms, config.draft.qdelay_target_hi_ms), (100, 300));
        assert_eq!(config.profile.column().mul_increase, 0.05);
    }

    /// [draft-johansson-ccwg-rfc8298bis-screamv2] §4.5.4: the draft's column but for the adaptation of the target, up to
    /// 400 ms.
    #[test]
    fn the_profile_for_competing_flows_adapts_the_target() {
        let config = whole(toml::toml! { profile = "competing-flows" });
        let mut draft = Config { profile: Profile::CompetingFlows, ..Config::default() };
        draft.draft.competing_flows = true;
        assert_eq!((config.draft.qdelay_target_hi_ms, config), (400, draft));
    }

    #[test]
    fn an_unknown_profile_is_refused_by_key_and_value() {
        let refused = entry("scream-v2").expect("registered").config_with(&toml::toml! { profile = "v3" });
        let message = refused.expect_err("unknown").to_string();
        assert!(message.contains("profile") && message.contains("v3"), "{message}");
    }

    #[test]
    fn targets_ascend() {
        let config = Config { qdelay_target_lo_ms: 500, ..Config::default() };
        assert_eq!(config.check(), Err("draft.qdelay_target_hi_ms = 400: below qdelay_target_lo_ms = 500".to_owned()));
    }
}
