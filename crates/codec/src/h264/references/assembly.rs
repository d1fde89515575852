//! Frames of H.264 from packets, and the slices of frames with gaps.
//!
//! No packet says which of how many it is: a frame begins with a slice of its first macroblock, or with parameter sets if
//! it is a key frame, and ends with the marker. A slice in several packets is of use only if all of them came. A packet
//! that comes late is of no use to a decoder, but shows it that the sender is wrong about the receiver.

use super::slices::{SliceStart, joined_slices, slice_start};
use crate::assembly::in_parts::{FramesInParts, Gappy};
use legato_call::VideoPacket;
use legato_units::TimeDelta;
use std::collections::BTreeMap;

/// The buffer of packets.
pub type SliceAssembly = FramesInParts<SlicedParts>;

/// The packets of a frame that arrived.
#[derive(Debug)]
pub struct SlicedParts {
    timestamp: u32,
    /// By their numbers; the last of the frame has the marker.
    packets: BTreeMap<u64, Vec<u8>>,
    end: Option<u64>,
    /// Number of its first packet, if that came and says so.
    start: Option<u64>,
}

/// Packets of a frame; more are ignored.
const MAX_PACKETS: usize = 2_048;

impl Gappy for SlicedParts {
    /// How the payload begins, and whether it is of a key frame.
    type Piece<'a> = (SliceStart, bool);
    /// RTP time.
    type Key = u32;
    /// RTP time of the last frame, and one past its last packet.
    type End = Option<(u32, u64)>;

    const SILENCE: Option<(TimeDelta, TimeDelta)> = None;

    fn read<'a>(packet: &VideoPacket<'a>) -> Option<(Self::Piece<'a>, u32, bool)> {
        let (start, keyframe) = slice_start(packet.payload)?;
        Some(((start, keyframe), packet.timestamp, keyframe))
    }

    fn is_after(time: u32, other: u32) -> bool {
        time.wrapping_sub(other).cast_signed() > 0
    }

    fn is_over(time: u32, last: &Self::End) -> bool {
        last.is_some_and(|(last, _)| !Self::is_after(time, last))
    }

    fn late(_: Self::Piece<'_>, _: u32, _: &Self::End) -> Option<Vec<u8>> {
        Some(Vec::new())
    }

    fn begin(_: Self::Piece<'_>, timestamp: u32) -> Self {
        Self { timestamp, packets: BTreeMap::new(), end: None, start: None }
    }

    fn take(&mut self, (start, keyframe): Self::Piece<'_>, packet: &VideoPacket<'_>) -> bool {
        let VideoPacket { seq, marker, payload, .. } = *packet;
        if self.packets.len() >= MAX_PACKETS || self.packets.contains_key(&seq) {
            return false;
        }
        self.packets.insert(seq, payload.to_vec());
        match start {
            SliceStart::Parameters => self.start = Some(seq),
            // Parameter sets may be ahead of it.
            SliceStart::First if !keyframe => self.start = Some(seq),
            SliceStart::First | SliceStart::Within => {}
        }
        self.end = if marker { Some(seq + 1) } else { self.end };
        true
    }

    fn is_whole(&self, last: &Self::End) -> bool {
        let begins = self.start == Some(self.first()) || last.map(|(_, next)| next) == Some(self.first());
        begins && self.end.is_some_and(|end| end.checked_sub(self.first()) == Some(self.packets.len() as u64))
    }

    fn finish(self, last: &mut Self::End, behind: Option<&Self>) -> (Option<Vec<u8>>, u16) {
        let next_start = behind.and_then(|behind| behind.start);
        let known_end = self.end.or(next_start).unwrap_or(self.past());
        let before = last.replace((self.timestamp, known_end)).map(|(_, next)| next);
        let first = self.start.or(before).unwrap_or(self.first()).min(self.first());
        let lost = (known_end.max(self.past()) - first).saturating_sub(self.packets.len() as u64);
        (joined_slices(&self.packets), u16::try_from(lost).unwrap_or(u16::MAX))
    }
}

impl SlicedParts {
    fn first(&self) -> u64 {
        self.packets.first_key_value().map_or(0, |(&seq, _)| seq)
    }

    /// One past the last packet that came.
    fn past(&self) -> u64 {
        self.packets.last_key_value().map_or(0, |(&seq, _)| seq + 1)
    }
}

#[cfg(test)]
#[path = "assembly_tests.rs"]
mod tests;
