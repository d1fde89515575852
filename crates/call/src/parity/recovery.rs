//! The receiving end: keeps the latest packets of a video and their parity, and restores missing packets as soon as
//! enough of a frame came, in any order.
//!
//! Parity that came before the first media packet of a call is of no use, as its numbers cannot be placed. The sender is
//! not trusted: what contradicts is ignored, and packets, frames and the work for each are bounded.

use super::erasure::restore;
use crate::VideoPacket;
use legato_wire::parity::{Payload, read_symbol, symbol};
use std::collections::VecDeque;

/// A packet that was lost, and is here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Restored {
    /// RTP sequence number, unwrapped.
    pub seq: u64,
    /// RTP time.
    pub timestamp: u32,
    /// The last of its picture.
    pub marker: bool,
    /// Of RFC 6184, RFC 7741 or RFC 9628.
    pub payload: Vec<u8>,
}

impl Restored {
    /// The packet, as one that was sent again.
    pub fn packet(&self) -> VideoPacket<'_> {
        let Self { seq, timestamp, marker, ref payload } = *self;
        VideoPacket { seq, timestamp, marker, repeated: true, psnr_db: None, payload }
    }
}

/// Packets that may still restore, or be restored.
#[derive(Debug)]
pub struct Recovery {
    /// By number modulo their count.
    media: Vec<Option<Media>>,
    newest: Option<u64>,
    /// In order of the first parity of each.
    frames: VecDeque<Frame>,
    restored: u64,
}

#[derive(Clone, Debug)]
struct Media {
    seq: u64,
    timestamp: u32,
    symbol: Vec<u8>,
}

/// A frame of which parity came, and not all of its media.
#[derive(Debug)]
struct Frame {
    first: u64,
    packets: u8,
    timestamp: u32,
    /// By their places.
    parity: Vec<(u8, Vec<u8>)>,
}

/// Media packets kept: a second of 10 Mbit/s.
const MEDIA: usize = 1_024;
/// Frames that wait for more; beyond it the oldest is forgotten.
const FRAMES: usize = 32;

impl Default for Recovery {
    fn default() -> Self {
        Self { media: vec![None; MEDIA], newest: None, frames: VecDeque::new(), restored: 0 }
    }
}

impl Recovery {
    /// A media packet came; returns the packets that it restores.
    pub fn take_media(&mut self, packet: &VideoPacket<'_>) -> Vec<Restored> {
        let VideoPacket { seq, timestamp, marker, payload, .. } = *packet;
        let Some(symbol) = symbol(marker, payload) else { return Vec::new() };
        self.newest = self.newest.max(Some(seq));
        let slot = &mut self.media[seq as usize % MEDIA];
        if slot.as_ref().is_some_and(|here| here.seq >= seq) {
            return Vec::new();
        }
        *slot = Some(Media { seq, timestamp, symbol });
        let of_it = |frame: &Frame| frame.timestamp == timestamp && (frame.first..frame.end()).contains(&seq);
        self.frames.iter().position(of_it).map(|place| self.solve(place)).unwrap_or_default()
    }

    /// Parity came, in a packet of this RTP time; returns the packets that it restores.
    pub fn take_parity(&mut self, timestamp: u32, payload: &[u8]) -> Vec<Restored> {
        let (Ok(payload), Some(newest)) = (Payload::parse(payload), self.newest) else { return Vec::new() };
        let step = i64::from(payload.first_seq.wrapping_sub(newest as u16).cast_signed());
        let Some(first) = newest.checked_add_signed(step).filter(|first| newest < first + MEDIA as u64) else {
            return Vec::new();
        };
        let is_it = |frame: &Frame| (frame.first, frame.timestamp) == (first, timestamp);
        let place = self.frames.iter().position(is_it).unwrap_or_else(|| {
            if self.frames.len() == FRAMES {
                self.frames.pop_front();
            }
            self.frames.push_back(Frame { first, packets: payload.packets, timestamp, parity: Vec::new() });
            self.frames.len() - 1
        });
        let frame = &mut self.frames[place];
        let known = frame.parity.iter().any(|(place, _)| *place == payload.place);
        let fits = frame.parity.first().is_none_or(|(_, symbol)| symbol.len() == payload.symbol.len());
        if known || !fits || frame.packets != payload.packets {
            return Vec::new();
        }
        frame.parity.push((payload.place, payload.symbol.to_vec()));
        self.solve(place)
    }

    /// Media packets restored so far.
    pub fn restored(&self) -> u64 {
        self.restored
    }

    /// Restore the missing packets of a frame if enough are here; then it needs no more.
    fn solve(&mut self, place: usize) -> Vec<Restored> {
        let Some(frame) = self.frames.get(place) else { return Vec::new() };
        let (first, timestamp) = (frame.first, frame.timestamp);
        let numbers = first..frame.end();
        let media: Vec<Option<&[u8]>> = numbers
            .map(|seq| {
                let here = self.media[seq as usize % MEDIA].as_ref();
                here.filter(|media| (media.seq, media.timestamp) == (seq, timestamp)).map(|media| &media.symbol[..])
            })
            .collect();
        let missing = media.iter().filter(|symbol| symbol.is_none()).count();
        if missing > frame.parity.len() {
            return Vec::new();
        }
        let parity: Vec<(u8, &[u8])> = frame.parity.iter().map(|(place, symbol)| (*place, &symbol[..])).collect();
        let symbols = restore(&media, &parity).unwrap_or_default();
        self.frames.remove(place);
        let restored: Vec<Restored> = symbols
            .into_iter()
            .filter_map(|(index, symbol)| {
                let (marker, payload) = read_symbol(&symbol).ok()?;
                let seq = first + u64::from(index);
                Some(Restored { seq, timestamp, marker, payload: payload.to_vec() })
            })
            .collect();
        for Restored { seq, marker, payload, .. } in &restored {
            // So that parity that comes later finds its frame complete.
            let made = symbol(*marker, payload).map(|symbol| Media { seq: *seq, timestamp, symbol });
            self.media[*seq as usize % MEDIA] = made;
        }
        self.restored += restored.len() as u64;
        restored
    }
}

impl Frame {
    /// One past its last media packet.
    fn end(&self) -> u64 {
        self.first + u64::from(self.packets)
    }
}

#[cfg(test)]
#[path = "recovery_tests.rs"]
mod tests;
