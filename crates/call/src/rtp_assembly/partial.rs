//! Packets of the hybrid codec in, frames out: whole ones, and what came of the others.
//!
//! Every packet of that codec decodes alone, so nothing is requested again and no frame waits for another. A frame is handed
//! over once it is whole; once it was overtaken, by its own last packet or by a later frame, and a reordered packet had its
//! time; or once nothing came for longer than packets of a frame are apart. What comes later still is handed over by
//! itself: it changes no picture that was shown, but those predicted from it. A frame of which nothing came is passed over.
//!
//! The numbers of a frame's packets follow each other, so number minus place is the same for all of them, and orders
//! frames. The sender is not trusted: what contradicts the first packet of its frame is ignored, and what waits is bounded.

use super::VideoPacket;
use legato_media::frame_buffer::FrameAssembly;
use legato_units::{TimeDelta, Timestamp};
use legato_wire::hybrid::{Confirmed, Payload};
use std::collections::VecDeque;

/// What came of a frame.
#[derive(Clone, Debug, PartialEq)]
pub struct PartialFrame {
    /// RTP time.
    pub timestamp: u32,
    /// Decodable without any other.
    pub keyframe: bool,
    /// The codec's stream, modulo 256.
    pub stream: u8,
    /// What the sender believes of an earlier frame.
    pub confirmed: Option<Confirmed>,
    /// The codec's packets, in their order.
    pub packets: Vec<Vec<u8>>,
    /// Packets that did not come.
    pub lost_packets: u16,
    /// Bytes of the payloads.
    pub size_bytes: u32,
    /// First and last arrival.
    pub arrivals: (Timestamp, Timestamp),
    /// The encoder's own figure, if the sender reports it.
    pub psnr_db: Option<f32>,
}

/// What leaves the buffer, frames in decoding order.
#[derive(Clone, Debug, PartialEq)]
pub enum Part {
    /// A frame, or what came of it.
    Frame(PartialFrame),
    /// A packet of a frame that was handed over, or passed over, before.
    Late {
        /// RTP time of the frame.
        timestamp: u32,
        /// The codec's stream, modulo 256.
        stream: u8,
        /// The codec's packet.
        packet: Vec<u8>,
    },
}

/// The buffer.
#[derive(Debug, Default)]
pub struct PartialAssembly {
    /// Frames in progress, by the number of their first packet.
    open: VecDeque<Open>,
    /// One past the last packet of the last frame handed over.
    next: u64,
    /// How far apart packets of a frame came lately, at most.
    spacing: TimeDelta,
    /// RTP time of the latest key frame, and the last arrival of it.
    keyframe: Option<(u32, Timestamp)>,
    ready: VecDeque<Part>,
}

#[derive(Debug)]
struct Open {
    /// The number of the first packet.
    first: u64,
    timestamp: u32,
    keyframe: bool,
    stream: u8,
    frame: u16,
    confirmed: Option<Confirmed>,
    packets: Vec<Option<Vec<u8>>>,
    missing: u16,
    size_bytes: u32,
    arrivals: (Timestamp, Timestamp),
    /// When a packet came that was sent after one that is missing here.
    overtaken: Option<Timestamp>,
    psnr_db: Option<f32>,
}

/// A reordered packet has this long: more than the packets of a frame are apart, and less than frames are.
pub(super) const REORDER_WAIT: TimeDelta = TimeDelta::from_millis(5);
/// Silence after which no more of a frame is expected: twice the spacing of late, within these bounds. Usually the next frame
/// begins before. With 10 ms a busy machine, and with 25 to 50 ms a recorded LTE link, showed frames in part of which nothing
/// was lost.
const SILENCE: (TimeDelta, TimeDelta) = (TimeDelta::from_millis(60), TimeDelta::from_millis(200));
/// The spacing of late is forgotten by this share with each packet.
const FORGOTTEN: i64 = 32;
/// Frames in progress; beyond it the first is handed over as it is.
const MAX_OPEN: usize = 64;
/// Packets further behind the next frame are of no use to any decoder: 32 frames of 64 packets.
const LATE_REACH: u64 = 32 * 64;

impl PartialAssembly {
    /// Take a packet. What is no payload of the codec is ignored.
    pub fn insert(&mut self, now: Timestamp, packet: &VideoPacket<'_>) {
        let Ok(payload) = Payload::parse(packet.payload) else { return };
        let Some(first) = packet.seq.checked_sub(payload.packet.into()) else { return };
        if payload.keyframe {
            self.keyframe = Some((packet.timestamp, now));
        }
        if first < self.next {
            if self.next - first <= LATE_REACH {
                let (timestamp, stream, packet) = (packet.timestamp, payload.stream, payload.bytes.to_vec());
                self.ready.push_back(Part::Late { timestamp, stream, packet });
            }
            return;
        }
        let place = self.open.partition_point(|open| open.first < first);
        if self.open.get(place).is_none_or(|open| open.first != first) {
            self.open.insert(place, Open::of(first, now, packet, &payload));
        }
        let Some(apart) = self.open[place].take(now, packet, &payload) else { return };
        self.spacing = (self.spacing - self.spacing / FORGOTTEN).max(apart);
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
        self.open.front().map(|open| self.end_of(open))
    }

    /// Hand over what is due.
    pub fn advance(&mut self, now: Timestamp) {
        while let Some(open) = self.open.front() {
            if open.missing > 0 && self.end_of(open) > now && self.open.len() <= MAX_OPEN {
                return;
            }
            let Some(open) = self.open.pop_front() else { return };
            self.next = open.first + open.packets.len() as u64;
            self.ready.push_back(Part::Frame(open.finish()));
        }
    }

    /// The next part.
    pub fn pop(&mut self) -> Option<Part> {
        self.ready.pop_front()
    }

    /// When a frame is no longer waited for.
    fn end_of(&self, open: &Open) -> Timestamp {
        let (least, most) = SILENCE;
        let silent = open.arrivals.1 + (self.spacing * 2).clamp(least, most);
        open.overtaken.map_or(silent, |overtaken| silent.min(overtaken + REORDER_WAIT))
    }
}

impl Open {
    /// Nothing yet of the frame of this packet.
    fn of(first: u64, now: Timestamp, packet: &VideoPacket<'_>, payload: &Payload<'_>) -> Self {
        Self {
            first,
            timestamp: packet.timestamp,
            keyframe: payload.keyframe,
            stream: payload.stream,
            frame: payload.frame,
            confirmed: payload.confirmed,
            packets: vec![None; payload.packets.into()],
            missing: payload.packets.into(),
            size_bytes: 0,
            arrivals: (now, now),
            overtaken: None,
            psnr_db: None,
        }
    }

    /// Take a packet; the time since the one before it, or `None` for a copy, or one that is not of this frame.
    fn take(&mut self, now: Timestamp, packet: &VideoPacket<'_>, payload: &Payload<'_>) -> Option<TimeDelta> {
        let of_it = (packet.timestamp, payload.keyframe, payload.stream, payload.frame)
            == (self.timestamp, self.keyframe, self.stream, self.frame)
            && usize::from(payload.packets) == self.packets.len();
        let slot = self.packets.get_mut(usize::from(payload.packet)).filter(|slot| of_it && slot.is_none())?;
        *slot = Some(payload.bytes.to_vec());
        self.missing -= 1;
        self.size_bytes += packet.payload.len() as u32;
        self.psnr_db = self.psnr_db.or(packet.psnr_db);
        let apart = now - self.arrivals.1;
        self.arrivals.1 = now;
        Some(apart)
    }

    fn finish(self) -> PartialFrame {
        PartialFrame {
            timestamp: self.timestamp,
            keyframe: self.keyframe,
            stream: self.stream,
            confirmed: self.confirmed,
            packets: self.packets.into_iter().flatten().collect(),
            lost_packets: self.missing,
            size_bytes: self.size_bytes,
            arrivals: self.arrivals,
            psnr_db: self.psnr_db,
        }
    }
}

impl FrameAssembly for PartialAssembly {
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
#[path = "partial_tests.rs"]
mod tests;
