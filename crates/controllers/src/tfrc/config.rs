//! The parameters of [`Tfrc`](super::Tfrc), and what distinguishes the two editions of the RFC.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Parameters of `tfrc`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// The equation's segment size s; absent: the mean size of the packets of the last four loss
    /// intervals.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 65_535))]
    pub packet_size_bytes: Option<u32>,
    /// Maximum segment size, the unit of the initial window.
    #[schemars(range(min = 1, max = 65_535))]
    pub mss_bytes: u32,
    /// The equation's b: packets a TCP receiver would acknowledge with one ACK.
    #[schemars(range(min = 1, max = 2))]
    pub packets_per_ack: u32,
    /// Send less while the round trip is longer than usual, more while it is shorter.
    pub damp_oscillations: bool,
    /// Discount old losses more, the longer none has come.
    pub discount_history: bool,
    /// The edition whose rules apply.
    pub edition: Edition,
}

/// An edition of the protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Edition {
    /// [rfc3448], of 2003: starts from one packet a second or a round trip, and never sends more than twice the last
    /// received rate.
    Rfc3448,
    /// [rfc5348], of 2008: starts from an initial window, and a flow with little to send keeps its
    /// allowance.
    Rfc5348,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            packet_size_bytes: None,
            mss_bytes: 1_460,
            // [rfc5348] §3.1: b = 1 is recommended.
            packets_per_ack: 1,
            damp_oscillations: true,
            discount_history: true,
            edition: Edition::Rfc5348,
        }
    }
}

impl Config {
    /// The minimum discount; 1: none is made.
    pub(crate) fn min_discount(&self) -> f64 {
        match (self.discount_history, self.edition) {
            (false, _) => 1.0,
            // [rfc3448] §5.5: THRESHOLD = 0.5.
            (true, Edition::Rfc3448) => 0.5,
            // [rfc5348] §5.5: THRESHOLD = 0.25.
            (true, Edition::Rfc5348) => 0.25,
        }
    }

    /// W_init, bytes.
    pub(crate) fn initial_window_bytes(&self, segment_bytes: f64) -> f64 {
        let mss = f64::from(self.mss_bytes);
        match self.edition {
            // [rfc3448] §4.3: one packet a round trip.
            Edition::Rfc3448 => segment_bytes,
            // [rfc5348] §4.2: W_init = min(4 MSS, max(2 MSS, 4380)).
            Edition::Rfc5348 => (4.0 * mss).min((2.0 * mss).max(4_380.0)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// [rfc5348] §4.2, worked by hand: 4 · 500 = 2000; max(2920, 4380) = 4380; 2 · 3000 = 6000.
    /// [rfc3448] §4.3: one packet.
    #[test]
    fn the_initial_window_is_two_to_four_segments() {
        let window = |mss_bytes| Config { mss_bytes, ..Config::default() }.initial_window_bytes(900.0);
        assert_eq!([500, 1_460, 3_000].map(window), [2_000.0, 4_380.0, 6_000.0]);
        let old = Config { edition: Edition::Rfc3448, ..Config::default() };
        assert_eq!(old.initial_window_bytes(900.0), 900.0);
    }

    /// [rfc5348] §5.5 and [rfc3448] §5.5: the editions differ in how much of the past they keep.
    #[test]
    fn the_older_edition_discounts_less() {
        let floor =
            |edition, discount_history| Config { edition, discount_history, ..Config::default() }.min_discount();
        assert_eq!(floor(Edition::Rfc5348, true), 0.25);
        assert_eq!(floor(Edition::Rfc3448, true), 0.5);
        assert_eq!(floor(Edition::Rfc5348, false), 1.0);
    }
}
