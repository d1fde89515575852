//! The hybrid codec in calls between two Legato ends. The encoder meets a budget of bytes on the wire and predicts from
//! what feedback says the receiver has; the player decodes any part of a frame.
//!
//! A frame travels between them as a [`Bundle`]: those of its packets that are there.

mod assembly;
mod bundle;
mod live;
mod payloads;
mod playback;

use crate::{CallCodec, Recovery, RtpFormat, Stream};
use legato_media::encoder::size_rule::Thresholds;

pub use assembly::HybridAssembly;
pub use bundle::Bundle;

/// The codec, which recovers by references alone.
pub static HYBRID: CallCodec = CallCodec {
    name: "hybrid",
    check: || Ok(()),
    remedy: None,
    ours_alone: true,
    // No registered name.
    rtp: RtpFormat { name: "x-legato-hybrid", parameters: None },
    // Of the same steps as H.264's, 2^((24 - 4) / 6) = 10 and 45 grey levels, where its own double every 32 from 1 on.
    thresholds: Thresholds { low_qp: 106.0, high_qp: 176.0 },
    streams: &[Stream {
        recovery: Recovery::References,
        label: "hybrid (real)",
        encoder: |settings| Ok(Box::new(live::Live::open(settings.size, 0, 0)?)),
        packet_cost: payloads::packet_cost,
        payloads: |frame, room| Ok(Box::new(payloads::packets(frame.bytes, frame.keyframe, room)?)),
        assembly: || Box::new(HybridAssembly::default()),
        playback: || Ok(Box::new(playback::Player::default())),
    }],
    filling: |length, _| filling(length),
};

/// As many packets as are needed, none of which has its check sum.
fn filling(length: usize) -> Vec<u8> {
    const PIECE: usize = 1_000;
    let count = length.div_ceil(PIECE).clamp(1, 64);
    let packet = |place: usize| {
        let mut packet = vec![0x20, 0, 0, place as u8, count as u8, 0, 1];
        packet.resize((length / count).clamp(8, PIECE), 0x55);
        packet
    };
    Bundle { stream: 0, confirmed: None, packets: (0..count).map(packet).collect() }.to_bytes()
}

#[cfg(test)]
#[path = "tests.rs"]
mod tests;
