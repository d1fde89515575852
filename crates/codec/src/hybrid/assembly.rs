//! Frames of the hybrid codec from packets: every packet decodes alone, and a late one mends the frames predicted from
//! it.
//!
//! The numbers of a frame's packets follow each other, so number minus place is the same for all of them, and orders
//! frames.

use super::bundle::Bundle;
use crate::assembly::in_parts::{FramesInParts, Gappy};
use legato_call::VideoPacket;
use legato_units::TimeDelta;
use legato_wire::hybrid::{Confirmed, Payload};

/// The buffer of packets.
pub type HybridAssembly = FramesInParts<HybridParts>;

/// The packets of a frame that arrived.
#[derive(Debug)]
pub struct HybridParts {
    /// The number of the first packet.
    first: u64,
    keyframe: bool,
    stream: u8,
    frame: u16,
    confirmed: Option<Confirmed>,
    packets: Vec<Option<Vec<u8>>>,
    missing: u16,
}

/// Packets further behind the next frame are of no use to any decoder: 32 frames of 64 packets.
const LATE_REACH: u64 = 32 * 64;

impl Gappy for HybridParts {
    type Piece<'a> = Payload<'a>;
    type Key = u64;
    /// One past the last packet of the last frame.
    type End = u64;

    /// Usually the next frame begins before. With 10 ms a busy machine, and with 25 to 50 ms a recorded LTE link, showed
    /// frames in part of which nothing was lost.
    const SILENCE: Option<(TimeDelta, TimeDelta)> = Some((TimeDelta::from_millis(60), TimeDelta::from_millis(200)));

    fn read<'a>(packet: &VideoPacket<'a>) -> Option<(Payload<'a>, u64, bool)> {
        let payload = Payload::parse(packet.payload).ok()?;
        Some((payload, packet.seq.checked_sub(payload.packet.into())?, payload.keyframe))
    }

    fn is_after(key: u64, other: u64) -> bool {
        key > other
    }

    fn is_over(key: u64, next: &u64) -> bool {
        key < *next
    }

    fn late(Payload { stream, bytes, .. }: Payload<'_>, key: u64, next: &u64) -> Option<Vec<u8>> {
        let bundle = || Bundle { stream, confirmed: None, packets: vec![bytes.to_vec()] };
        (next - key <= LATE_REACH).then(|| bundle().to_bytes())
    }

    fn begin(payload: Payload<'_>, first: u64) -> Self {
        let Payload { keyframe, stream, confirmed, frame, packets, .. } = payload;
        let (packets, missing) = (vec![None; packets.into()], packets.into());
        Self { first, keyframe, stream, frame, confirmed, packets, missing }
    }

    fn take(&mut self, payload: Payload<'_>, _: &VideoPacket<'_>) -> bool {
        let of_it = (payload.keyframe, payload.stream, payload.frame) == (self.keyframe, self.stream, self.frame)
            && usize::from(payload.packets) == self.packets.len();
        let slot = self.packets.get_mut(usize::from(payload.packet));
        let Some(slot) = slot.filter(|slot| of_it && slot.is_none()) else { return false };
        *slot = Some(payload.bytes.to_vec());
        self.missing -= 1;
        true
    }

    fn is_whole(&self, _: &u64) -> bool {
        self.missing == 0
    }

    fn finish(self, next: &mut u64, _: Option<&Self>) -> (Option<Vec<u8>>, u16) {
        *next = self.first + self.packets.len() as u64;
        let confirmed = self.confirmed.map(|Confirmed { behind, sum }| (behind, sum));
        let packets = self.packets.into_iter().flatten().collect();
        (Some(Bundle { stream: self.stream, confirmed, packets }.to_bytes()), self.missing)
    }
}

#[cfg(test)]
#[path = "assembly_tests.rs"]
mod tests;
