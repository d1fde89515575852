//! `tfrc`: TCP-friendly rate control [rfc5348]. It believes that a flow is fair when it sends no more than a TCP flow would on the same path, and that a call is better off with the mean of that than with TCP's saw-tooth. It measures round trips and the rate of loss events, and sends at the rate of the throughput equation.
//!
//! Sender-based: reports replace the receiver's part. docs/papers/rfc5348.md lists the differences
//! from the RFC and why.

pub mod config;
pub mod controller;
pub mod data_limit;
pub mod packet_size;
pub mod receive_rate;
pub mod sender;

pub use config::Config;

use controller::{Flavour, TfrcController};

/// TCP-friendly rate control.
pub type Tfrc = TfrcController<Rfc5348>;

/// TFRC of 2008, in full.
#[derive(Clone, Copy, Debug)]
pub struct Rfc5348;

impl Flavour for Rfc5348 {
    const NAME: &'static str = "tfrc";
    const SUMMARY: &'static str = "TCP-friendly rate control, the throughput equation at the loss event rate";
    const CITES: &'static [&'static str] = &["rfc5348", "rfc3448"];
    type Config = Config;

    fn new(config: Config) -> (Self, Config) {
        (Self, config)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use legato_control::{BuildError, Construct, Context, Event, NoAssets, RateController, RateLimits};
    use legato_units::{DataRate, Timestamp};

    fn build(config: Config) -> Result<Tfrc, BuildError> {
        let limits =
            RateLimits { min: DataRate::from_kbps(30), start: DataRate::from_kbps(300), max: DataRate::from_mbps(2) };
        Tfrc::new(config, Context { limits, start: Timestamp::ZERO, seed: 0, assets: &NoAssets })
    }

    /// [rfc5348] §4.6: packets are s / X_inst apart, so the pacer runs at X_inst, and the encoder with it.
    #[test]
    fn encoder_and_pacer_get_the_same_rate_within_the_limits() {
        let mut tfrc = build(Config::default()).unwrap();
        for (s, kbps) in [(0, 300), (2, 150), (4, 75), (6, 38), (8, 30)] {
            tfrc.sender.on_sent(1_000);
            tfrc.on_event(Timestamp::from_secs(s), &Event::Deadline);
            let decision = tfrc.decision();
            assert_eq!(decision.pacing.rate, decision.target_bitrate);
            assert_eq!((decision.target_bitrate.as_bps() + 500) / 1_000, kbps);
        }
    }

    #[test]
    fn another_route_starts_over() {
        let mut tfrc = build(Config::default()).unwrap();
        tfrc.sender.on_sent(1_000);
        tfrc.on_event(Timestamp::from_secs(2), &Event::Deadline);
        tfrc.on_event(Timestamp::from_secs(3), &Event::RouteChange);
        assert_eq!(tfrc.decision().target_bitrate, DataRate::from_kbps(300));
        assert_eq!(tfrc.next_deadline(), Some(Timestamp::from_secs(5)));
    }
}
