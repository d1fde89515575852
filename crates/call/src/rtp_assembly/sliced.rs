//! Packets of H.264 in, frames out: whole ones, and the slices that came of the others.
//!
//! As with the hybrid codec (`partial.rs`) nothing is requested again and no frame waits for another. But no packet says
//! which of how many it is: a frame begins with a slice of its first macroblock, or with parameter sets if it is a key frame,
//! and ends with the marker. A frame with a gap is handed over once it was overtaken, by its own last packet or by a later
//! frame, and a reordered packet had its time. A slice in several packets is of use only if all of them came. A frame of
//! which no slice came is passed over. What comes later still is of no use to a decoder, and is only counted.
//!
//! The sender is not trusted: what waits is bounded.

use super::VideoPacket;
use super::partial::REORDER_WAIT;
use super::slices::{SliceStart, joined_slices, slice_start};
use legato_media::frame_buffer::FrameAssembly;
use legato_units::Timestamp;
use std::collections::{BTreeMap, VecDeque};

/// The slices that came of a frame.
#[derive(Clone, Debug, PartialEq)]
pub struct SlicedFrame {
    /// RTP time.
    pub timestamp: u32,
    /// Decodable without any other.
    pub keyframe: bool,
    /// NAL units after start codes.
    pub bytes: Vec<u8>,
    /// Packets that did not come, as far as their neighbours show.
    pub lost_packets: u16,
    /// Bytes of the payloads.
    pub size_bytes: u32,
    /// First and last arrival.
    pub arrivals: (Timestamp, Timestamp),
    /// The encoder's own figure, if the sender reports it.
    pub psnr_db: Option<f32>,
}

/// What leaves the buffer, in decoding order.
#[derive(Clone, Debug, PartialEq)]
pub enum Sliced {
    /// A frame, or what came of it.
    Frame(SlicedFrame),
    /// A packet came after its frame was handed over, or passed over.
    Late {
        /// RTP time of the frame.
        timestamp: u32,
    },
}

/// The buffer.
#[derive(Debug, Default)]
pub struct SlicedAssembly {
    /// Frames in progress, by their times.
    open: VecDeque<Open>,
    /// RTP time of the last frame handed over, and one past its last packet.
    last: Option<(u32, u64)>,
    /// RTP time of the latest key frame, and the last arrival of it.
    keyframe: Option<(u32, Timestamp)>,
    ready: VecDeque<Sliced>,
}

#[derive(Debug)]
struct Open {
    timestamp: u32,
    keyframe: bool,
    /// By their numbers; the last of the frame has the marker.
    packets: BTreeMap<u64, Vec<u8>>,
    end: Option<u64>,
    /// Number of its first packet, if that came and says so.
    start: Option<u64>,
    size_bytes: u32,
    arrivals: (Timestamp, Timestamp),
    /// When a packet came that was sent after one that is missing here.
    overtaken: Option<Timestamp>,
    psnr_db: Option<f32>,
}

/// Frames in progress; beyond it the first is handed over as it is.
const MAX_OPEN: usize = 64;
/// Packets of a frame; more are ignored.
const MAX_PACKETS: usize = 2_048;

impl SlicedAssembly {
    /// Take a packet. What is no payload of H.264 is ignored.
    pub fn insert(&mut self, now: Timestamp, packet: &VideoPacket<'_>) {
        let Some((start, keyframe)) = slice_start(packet.payload) else { return };
        let timestamp = packet.timestamp;
        if self.last.is_some_and(|(last, _)| !is_after(timestamp, last)) {
            self.ready.push_back(Sliced::Late { timestamp });
            return;
        }
        if keyframe {
            self.keyframe = Some((timestamp, now));
        }
        let place = self.open.partition_point(|open| is_after(timestamp, open.timestamp));
        if self.open.get(place).is_none_or(|open| open.timestamp != timestamp) {
            self.open.insert(place, Open::at(timestamp, now));
        }
        self.open[place].take(now, packet, start, keyframe);
        let last = self.open.len() - 1;
        for open in self.open.range_mut(..place) {
            open.overtaken.get_or_insert(now);
        }
        if packet.marker || place < last {
            self.open[place].overtaken.get_or_insert(now);
        }
        self.advance(now);
    }

    /// When something is handed over if nothing more comes.
    pub fn due(&self) -> Option<Timestamp> {
        self.open.front()?.overtaken.map(|overtaken| overtaken + REORDER_WAIT)
    }

    /// Hand over what is due.
    pub fn advance(&mut self, now: Timestamp) {
        while let Some(open) = self.open.front() {
            let is_whole = open.is_whole(self.last.map(|(_, next)| next));
            if !is_whole && self.due().is_none_or(|due| due > now) && self.open.len() <= MAX_OPEN {
                return;
            }
            let Some(open) = self.open.pop_front() else { return };
            let next_start = self.open.front().and_then(|next| next.start);
            let before = self.last.map(|(_, next)| next);
            self.last = Some((open.timestamp, open.end.or(next_start).unwrap_or(open.past())));
            self.ready.extend(open.finish(before, next_start).map(Sliced::Frame));
        }
    }

    /// The next that leaves.
    pub fn pop(&mut self) -> Option<Sliced> {
        self.ready.pop_front()
    }
}

impl Open {
    /// Nothing yet of a frame.
    fn at(timestamp: u32, now: Timestamp) -> Self {
        Self {
            timestamp,
            keyframe: false,
            packets: BTreeMap::new(),
            end: None,
            start: None,
            size_bytes: 0,
            arrivals: (now, now),
            overtaken: None,
            psnr_db: None,
        }
    }

    fn take(&mut self, now: Timestamp, packet: &VideoPacket<'_>, start: SliceStart, keyframe: bool) {
        let VideoPacket { seq, marker, psnr_db, payload, .. } = *packet;
        if self.packets.len() >= MAX_PACKETS || self.packets.contains_key(&seq) {
            return;
        }
        self.packets.insert(seq, payload.to_vec());
        self.keyframe |= keyframe;
        match start {
            SliceStart::Parameters => self.start = Some(seq),
            // Parameter sets may be ahead of it.
            SliceStart::First if !keyframe => self.start = Some(seq),
            SliceStart::First | SliceStart::Within => {}
        }
        self.end = if marker { Some(seq + 1) } else { self.end };
        self.size_bytes += payload.len() as u32;
        self.psnr_db = self.psnr_db.or(psnr_db);
        self.arrivals.1 = now;
    }

    fn first(&self) -> u64 {
        self.packets.first_key_value().map_or(0, |(&seq, _)| seq)
    }

    /// One past the last packet that came.
    fn past(&self) -> u64 {
        self.packets.last_key_value().map_or(0, |(&seq, _)| seq + 1)
    }

    /// `next`: one past the frame before, as far as it is known.
    fn is_whole(&self, next: Option<u64>) -> bool {
        let begins = self.start == Some(self.first()) || next == Some(self.first());
        begins && self.end.is_some_and(|end| end.checked_sub(self.first()) == Some(self.packets.len() as u64))
    }

    /// `next`: one past the frame before; `next_start`: the first packet of the one behind.
    fn finish(self, next: Option<u64>, next_start: Option<u64>) -> Option<SlicedFrame> {
        let first = self.start.or(next).unwrap_or(self.first()).min(self.first());
        let past = self.end.or(next_start).unwrap_or(self.past()).max(self.past());
        let lost = (past - first).saturating_sub(self.packets.len() as u64);
        let bytes = joined_slices(&self.packets)?;
        Some(SlicedFrame {
            timestamp: self.timestamp,
            keyframe: self.keyframe,
            bytes,
            lost_packets: u16::try_from(lost).unwrap_or(u16::MAX),
            size_bytes: self.size_bytes,
            arrivals: self.arrivals,
            psnr_db: self.psnr_db,
        })
    }
}

/// Whether an RTP time is after another.
fn is_after(time: u32, other: u32) -> bool {
    time.wrapping_sub(other).cast_signed() > 0
}

impl FrameAssembly for SlicedAssembly {
    fn last_of_keyframe(&self) -> Option<Timestamp> {
        self.keyframe.map(|(_, last)| last)
    }
    /// No frame waits for another.
    fn overtaken_since(&self) -> Option<Timestamp> {
        None
    }
    fn waiting_since(&self) -> Option<Timestamp> {
        None
    }
}

#[cfg(test)]
#[path = "sliced_tests.rs"]
mod tests;
