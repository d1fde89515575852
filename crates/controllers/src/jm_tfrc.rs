//! `jm-tfrc`: the baseline of [vtfrc]: the encoder is set, frame by frame, to the rate that plain
//! TFRC of 2003 allows, whatever the frame's complexity. The JM reference encoder's own bit
//! allocation, which gave the paper's set-up its name, is not here: the scenario chooses the
//! encoder.

use super::tfrc::config as tfrc_config;
use super::tfrc::controller::{Flavour, TfrcController};
use super::vtfrc::tfrc_of_2003;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Plain TFRC under a video encoder.
pub type JmTfrc = TfrcController<Of2003>;

/// Parameters of [`JmTfrc`].
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// The equation's segment size s; absent: the mean size of the packets of the last four loss
    /// intervals.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 65_535))]
    pub packet_size_bytes: Option<u32>,
    /// The equation's b: packets a TCP receiver would acknowledge with one ACK.
    #[schemars(range(min = 1, max = 2))]
    pub packets_per_ack: u32,
}

impl Default for Config {
    fn default() -> Self {
        Self { packet_size_bytes: None, packets_per_ack: 1 }
    }
}

/// TFRC of 2003, as [vtfrc] compares with it.
#[derive(Clone, Copy, Debug)]
pub struct Of2003;

impl Flavour for Of2003 {
    const NAME: &'static str = "jm-tfrc";
    const SUMMARY: &'static str = "the encoder at plain TFRC's rate of 2003, the baseline of Video TFRC";
    const CITES: &'static [&'static str] = &["vtfrc", "rfc3448"];
    type Config = Config;

    fn new(config: Config) -> (Self, tfrc_config::Config) {
        (Self, tfrc_of_2003(config.packet_size_bytes, config.packets_per_ack))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use legato_control::{Construct, Context, Event, NoAssets, RateController, RateLimits};
    use legato_units::{DataRate, Timestamp};

    #[test]
    fn it_starts_at_the_start_rate_and_halves_without_feedback() {
        let limits =
            RateLimits { min: DataRate::from_kbps(30), start: DataRate::from_kbps(300), max: DataRate::from_mbps(2) };
        let context = Context { limits, start: Timestamp::ZERO, seed: 0, assets: &NoAssets };
        let mut jm_tfrc = JmTfrc::new(Config::default(), context).unwrap();
        assert_eq!(jm_tfrc.decision().target_bitrate, DataRate::from_kbps(300));
        jm_tfrc.sender.on_sent(1_000);
        jm_tfrc.on_event(Timestamp::from_secs(2), &Event::Deadline);
        assert_eq!(jm_tfrc.decision().pacing.rate, DataRate::from_kbps(150));
    }
}
