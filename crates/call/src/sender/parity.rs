//! Parity of a frame's packets: how many follow it, and what of the target the encoder is left.

use super::Sender;
use crate::parity::{PARITY_OVERHEAD_BYTES, ParityRule, ParityShare};
use legato_media::EncodedFrame;
use legato_media::packetizer::{IP_UDP_BYTES, MAX_UDP_PAYLOAD_BYTES, PACKET_OVERHEAD_BYTES};
use legato_units::{DataRate, TimeDelta};

/// How much parity there is, and what the controller has paid for.
#[derive(Default)]
pub(super) struct FrameParity {
    pub share: ParityShare,
    /// What a parity packet has more than the largest packet of its frame.
    overhead_bytes: u16,
    /// What the controller's rate has paid for and no packet has taken.
    credit_bytes: u64,
}

impl Sender {
    /// The same with real parity packets, which have a header before the code's bytes, as many as `rule` says.
    pub fn with_parity(mut self, rule: ParityRule) -> Self {
        self.parity.share.rule = rule;
        self.parity.overhead_bytes = PARITY_OVERHEAD_BYTES;
        self
    }

    /// What parity leaves of the target, for frames at this interval.
    pub(super) fn without_parity(&self, interval: TimeDelta) -> DataRate {
        let target = self.decision.target_bitrate;
        let full = u64::from(MAX_UDP_PAYLOAD_BYTES + IP_UDP_BYTES);
        let packets = (target * interval).as_bytes().div_ceil(full).min(u64::from(u16::MAX)) as u16;
        self.parity.share.without(target, packets, self.decision.sending.fec_rate)
    }

    /// Parity of an erasure code over the frame's packets, which carry at most `payload_bytes`: as many as the rule says,
    /// or as the controller's FEC rate has paid for.
    pub(super) fn packetize_parity(&mut self, frame: &EncodedFrame, count: u16, payload_bytes: u16) {
        let payload_bytes = payload_bytes + self.parity.overhead_bytes;
        if let Some(parity) = self.parity.share.packets(count) {
            for place in 0..parity {
                self.push_parity(frame, count, place, payload_bytes);
            }
            return;
        }
        if self.decision.sending.fec_rate == DataRate::ZERO {
            self.parity.credit_bytes = 0;
            return;
        }
        let interval = self.source.content().frame_rate.interval();
        self.parity.credit_bytes += (self.decision.sending.fec_rate * interval).as_bytes();
        let size = u64::from(payload_bytes + PACKET_OVERHEAD_BYTES);
        let mut parity = 0;
        while self.parity.credit_bytes >= size && parity < count {
            self.parity.credit_bytes -= size;
            self.push_parity(frame, count, parity, payload_bytes);
            parity += 1;
        }
        // Credit is for this frame and the next few, not for a burst after a pause.
        self.parity.credit_bytes = self.parity.credit_bytes.min(4 * size);
    }

    fn push_parity(&mut self, frame: &EncodedFrame, count: u16, place: u16, payload_bytes: u16) {
        let packet = self.numbering.parity(self.now, frame, (place, count), payload_bytes);
        self.pacer.push(packet);
    }
}
