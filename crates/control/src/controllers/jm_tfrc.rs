//! `jm-tfrc`: what [vtfrc] is compared with: the encoder is set, frame by frame, to the rate that
//! plain TFRC of 2003 allows, and the frame's complexity is nobody's concern. The JM reference
//! encoder's own bit allocation, which gave the paper's set-up its name, is not here: encoders are
//! what the scenario says.

use super::tfrc::config as tfrc_config;
use super::tfrc::sender::TfrcSender;
use super::vtfrc::tfrc_of_2003;
use crate::{BuildError, Construct, Context, Decision, Event, RateController, RateLimits, SentTrain, Side};
use legato_units::Timestamp;
use serde::{Deserialize, Serialize};

/// Parameters of [`JmTfrc`].
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// The equation's segment size s; absent: the mean size of the packets of the last four loss
    /// intervals.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub packet_size_bytes: Option<u32>,
    /// The equation's b, 1 or 2.
    pub packets_per_ack: u32,
}

impl Default for Config {
    fn default() -> Self {
        Self { packet_size_bytes: None, packets_per_ack: 1 }
    }
}

/// Plain TFRC under a video encoder.
#[derive(Clone)]
pub struct JmTfrc {
    sender: TfrcSender,
    limits: RateLimits,
    decision: Decision,
}

impl Construct for JmTfrc {
    const NAME: &'static str = "jm-tfrc";
    const SIDE: Side = Side::Sender;
    const SUMMARY: &'static str = "the encoder at plain TFRC's rate of 2003, what Video TFRC is compared with";
    const CITES: &'static [&'static str] = &["vtfrc", "rfc3448"];
    type Config = Config;

    fn new(config: Config, context: Context<'_>) -> Result<Self, BuildError> {
        tfrc_config::check_packet_size(config.packet_size_bytes)
            .and_then(|()| tfrc_config::check_packets_per_ack(config.packets_per_ack))
            .map_err(|message| BuildError::Config { controller: Self::NAME, message })?;
        let Context { limits, start, .. } = context;
        let tfrc = tfrc_of_2003(config.packet_size_bytes, config.packets_per_ack);
        let sender = TfrcSender::new(tfrc, limits.start, start);
        let mut jm_tfrc = Self { sender, limits, decision: Decision::of_target(limits.start) };
        jm_tfrc.publish();
        Ok(jm_tfrc)
    }
}

impl JmTfrc {
    fn publish(&mut self) {
        let rate = self.limits.clamp(self.sender.allowed());
        self.decision = Decision { pacing_rate: rate, ..Decision::of_target(rate) };
    }
}

impl RateController for JmTfrc {
    #[inline]
    fn on_event(&mut self, now: Timestamp, event: &Event) {
        match event {
            Event::PacketSent(packet) => return self.sender.on_sent(packet.size.as_bytes()),
            Event::PacerQueue(queue) => return self.sender.on_pacer_queue(queue.drain),
            Event::TransportFeedback(feedback) => self.sender.on_feedback(now, feedback),
            Event::Deadline => self.sender.on_deadline(now),
            Event::Limits(limits) => self.limits = *limits,
            Event::RouteChange => self.sender.reset(self.limits.start, now),
            _ => return,
        }
        self.publish();
    }

    #[inline]
    fn on_train_sent(&mut self, _now: Timestamp, train: &SentTrain) {
        self.sender.on_sent((train.first.size + train.rest()).as_bytes());
    }

    #[inline]
    fn decision(&self) -> Decision {
        self.decision
    }

    #[inline]
    fn next_deadline(&self) -> Option<Timestamp> {
        Some(self.sender.next_deadline())
    }

    fn observe(&self, gauge: &mut dyn FnMut(&'static str, f64)) {
        self.sender.observe(gauge);
    }

    fn clone_box(&self) -> Box<dyn RateController> {
        Box::new(self.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::NoAssets;
    use legato_units::DataRate;

    #[test]
    fn it_starts_as_told_and_halves_when_nothing_comes_back() {
        let limits =
            RateLimits { min: DataRate::from_kbps(30), start: DataRate::from_kbps(300), max: DataRate::from_mbps(2) };
        let context = Context { limits, start: Timestamp::ZERO, seed: 0, assets: &NoAssets };
        let mut jm_tfrc = JmTfrc::new(Config::default(), context).unwrap();
        assert_eq!(jm_tfrc.decision().target_bitrate, DataRate::from_kbps(300));
        jm_tfrc.sender.on_sent(1_000);
        jm_tfrc.on_event(Timestamp::from_secs(2), &Event::Deadline);
        assert_eq!(jm_tfrc.decision().pacing_rate, DataRate::from_kbps(150));
    }

    #[test]
    fn a_refusal_names_key_and_value() {
        let limits = RateLimits { min: DataRate::ZERO, start: DataRate::ZERO, max: DataRate::MAX };
        let context = Context { limits, start: Timestamp::ZERO, seed: 0, assets: &NoAssets };
        let error = JmTfrc::new(Config { packets_per_ack: 0, ..Config::default() }, context).err().expect("refused");
        assert!(error.to_string().contains("packets_per_ack = 0"), "{error}");
    }
}
