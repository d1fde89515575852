//! The configuration of a TCP flow, as a scenario writes it.

use super::packet::MAX_SEGMENT_BYTES;
use super::workload::Workload;
use legato_units::TimeDelta;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The algorithms of congestion control.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Algorithm {
    /// BBR version 1: a model of rate and round trip, paced.
    Bbr,
    /// BIC, Linux's from 2004 to 2006: a binary search of the window.
    Bic,
    /// RFC 9438: a cubic curve in time.
    Cubic,
    /// RFC 5681: one more segment per round trip, half at a loss.
    Reno,
}

/// Both ends of a TCP flow.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct TcpConfig {
    /// `bbr`, `bic`, `cubic` or `reno`.
    #[schemars(skip)]
    pub congestion_control: Algorithm,
    /// The data to send: `"long"`, `{ once = { bytes = 2_000_000 } }` or `{ on_off = { … } }`.
    #[schemars(skip)]
    pub workload: Workload,
    /// Payload of a full segment; 52 bytes of headers come on top. No key of scenarios, and the next two neither.
    #[serde(skip)]
    pub segment_bytes: u16,
    /// Sent at once at the start. Absent: 3 for `reno` and `bic`, [rfc5681]'s value for this segment size, else 10 ([rfc6928]).
    #[serde(skip)]
    pub initial_window_segments: Option<u32>,
    /// The receiver acknowledges at least every this many segments; 1 means no delay.
    #[serde(skip)]
    pub ack_every_segments: u8,
    /// How long an acknowledgment waits for a second segment.
    #[schemars(range(min = 0, max = 500))]
    pub delayed_ack_ms: u32,
    /// Send ECN-capable packets and react to marks. `bbr` ignores them.
    pub ecn: bool,
}

impl Default for TcpConfig {
    fn default() -> Self {
        Self {
            congestion_control: Algorithm::Reno,
            workload: Workload::Long,
            segment_bytes: MAX_SEGMENT_BYTES,
            initial_window_segments: None,
            // [rfc5681] §4.2: at least every second full segment.
            ack_every_segments: 2,
            delayed_ack_ms: DELAYED_ACK_MS,
            ecn: false,
        }
    }
}

impl TcpConfig {
    /// Refuse invalid values, with the key (below `place`) and the reason.
    ///
    /// # Errors
    /// The first such value.
    pub fn check(&self, place: &str) -> Result<(), (String, String)> {
        self.workload.check(&format!("{place}.workload"))
    }

    /// In bytes.
    pub(super) fn initial_window(&self) -> u64 {
        let default = match (self.congestion_control, self.segment_bytes) {
            // [rfc5681] §3.1: 4, 3 or 2 segments, more for smaller ones.
            (Algorithm::Bic | Algorithm::Reno, ..=1_095) => 4,
            (Algorithm::Bic | Algorithm::Reno, ..=2_190) => 3,
            (Algorithm::Bic | Algorithm::Reno, _) => 2,
            // [rfc6928] §2: ten segments, at most 14,600 bytes unless two are more.
            _ => (14_600 / u32::from(self.segment_bytes)).clamp(2, 10),
        };
        u64::from(self.initial_window_segments.unwrap_or(default)) * u64::from(self.segment_bytes)
    }
}

// [rfc5681] §4.2 asks for less than 500 ms; Linux waits at least 40 ms, and about that if round trips are short.
const DELAYED_ACK_MS: u32 = 40;
// [rfc6298] §2.4: one second. Linux has 200 ms.
/// The minimum of the retransmission timer.
pub(super) const MIN_RTO: TimeDelta = TimeDelta::from_secs(1);
/// The receiver's buffer; no more is ever outstanding. 6 MiB, the limit of Linux's automatic growth.
pub(super) const RECEIVE_WINDOW_BYTES: u64 = 6 << 20;

#[cfg(test)]
mod tests {
    use super::*;

    /// [rfc5681] §3.1 and [rfc6928] §2.
    #[test]
    fn initial_windows_depend_on_the_algorithm_and_the_segments() {
        let segments = |congestion_control, segment_bytes: u16| {
            let config = TcpConfig { congestion_control, segment_bytes, ..TcpConfig::default() };
            config.initial_window() / u64::from(segment_bytes)
        };
        assert_eq!([536, 1_448, 4_000].map(|bytes| segments(Algorithm::Reno, bytes)), [4, 3, 2]);
        assert_eq!([536, 1_448, 4_000, 9_000].map(|bytes| segments(Algorithm::Cubic, bytes)), [10, 10, 3, 2]);
        let config = TcpConfig { initial_window_segments: Some(7), ..TcpConfig::default() };
        assert_eq!(config.initial_window(), 7 * 1_448);
    }

    #[test]
    fn scenario_values_are_read_and_invalid_ones_refused_by_key() {
        let config: TcpConfig = toml::from_str("congestion_control = \"cubic\"\nworkload = \"long\"").expect("valid");
        assert_eq!((config.congestion_control, config.check("tcp")), (Algorithm::Cubic, Ok(())));
        let config: TcpConfig = toml::from_str("[workload.on_off]\nstarts_on = true").expect("valid");
        assert!(matches!(&config.workload, Workload::OnOff(on_off) if on_off.starts_on));
        // Keys of scenarios once.
        for key in ["segment_bytes = 1448", "byte_counting = true", "workload = { bursts = { min_bytes = 1 } }"] {
            assert!(toml::from_str::<TcpConfig>(key).unwrap_err().message().starts_with("unknown field"), "{key}");
        }
        assert!(toml::from_str::<TcpConfig>("congestion_control = \"vegas\"").is_err());
        assert!(toml::from_str::<TcpConfig>("[workload.on_off]\nmean = 1").is_err());
    }
}
