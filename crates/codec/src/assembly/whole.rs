//! Whole pictures in decoding order: the counterpart of `legato_media::frame_buffer` for a simulated receiver.
//!
//! That one knows beforehand which frames there are, and each packet names its frame, its place in it and the number of
//! packets. RTP has none of this: a picture is a run of consecutive packets of one RTP time, which ends with the marker
//! or at another time ([rfc6184] §5.1). So a picture is complete when the run from the end of the last to its own end
//! has no gap, and only the numbers show whether anything was lost before it. As there, the buffer waits for the next
//! picture, unless a complete key frame further on makes it unnecessary.
//!
//! ```
//! use legato_call::VideoPacket;
//! use legato_codec::{Assembled, Assembly, assembly::whole::WholeFrames, h264};
//! use legato_units::Timestamp;
//!
//! let mut assembly = WholeFrames::new(&h264::FORMAT);
//! let payload = &[0x78, 0, 2, 0x67, 66, 0, 3, 0x65, 1, 2];
//! let packet = VideoPacket { seq: 7, timestamp: 90, marker: true, repeated: false, psnr_db: None, payload };
//! assembly.insert(Timestamp::ZERO, &packet);
//! let Some(Assembled::Picture { picture, .. }) = assembly.pop() else { panic!("one whole key frame came") };
//! assert_eq!(picture.bytes, [0, 0, 0, 1, 0x67, 66, 0, 0, 0, 1, 0x65, 1, 2]);
//! ```

use super::{Assembled, Assembly, CodedPicture};
use legato_call::{FrameAssembly, VideoPacket};
use legato_units::{TimeDelta, Timestamp};
use std::collections::VecDeque;

/// How RTP carries pictures that are of use if they are whole.
#[derive(Debug)]
pub struct PayloadFormat {
    /// Whether a key frame begins with a payload.
    pub key_start: fn(&[u8]) -> Option<KeyStart>,
    /// Adds a payload to those before it.
    pub push: fn(&mut Joined, &[u8]) -> Result<(), legato_wire::Error>,
}

/// Consecutive payloads of one picture, from its first on. It is broken, and will not be shown, if payloads cannot be
/// parsed or are not in the order of their format. Its contents are left to the decoder.
#[derive(Debug, Default)]
pub struct Joined {
    /// As the encoder made it.
    pub bytes: Vec<u8>,
    /// Decodable without any other.
    pub keyframe: bool,
    /// In the middle of something that must continue.
    pub open: bool,
    /// The packets do not form a picture.
    pub broken: bool,
}

impl Joined {
    fn push(&mut self, format: &PayloadFormat, payload: &[u8]) {
        self.broken |= (format.push)(self, payload).is_err();
    }

    /// The picture, and whether it is a key frame; `None`: it is not a valid picture.
    fn finish(self) -> Option<(Vec<u8>, bool)> {
        (!self.broken && !self.open && !self.bytes.is_empty()).then_some((self.bytes, self.keyframe))
    }

    #[cfg(test)]
    pub(crate) fn of(format: &PayloadFormat, payloads: &[&[u8]]) -> Option<(Vec<u8>, bool)> {
        let mut joined = Self::default();
        payloads.iter().for_each(|payload| joined.push(format, payload));
        joined.finish()
    }
}

/// How a payload begins a key frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyStart {
    /// It does, whatever came before it.
    Certain,
    /// It does if the previous picture ends there: a slice of H.264 without parameter sets ahead of it.
    IfNothingAhead,
}

/// The buffer of frames that are of use if they are whole.
#[derive(Debug)]
pub struct WholeFrames {
    format: &'static PayloadFormat,
    /// By sequence number modulo their count.
    slots: Vec<Slot>,
    /// First packet of the next picture; unknown until a key frame is complete.
    next: Option<u64>,
    /// The oldest and one past the newest number in `slots`.
    window: Option<(u64, u64)>,
    /// Packets from `next` to here have arrived, of one picture without an end.
    looked: u64,
    /// Where key frames begin, beyond `next`.
    key_starts: VecDeque<(u64, KeyStart)>,
    /// First arrival of the waiting packets.
    waiting_since: Option<Timestamp>,
    /// RTP time of the latest key frame, and the last arrival of it.
    keyframe: Option<(u32, Timestamp)>,
    /// Whether packets were discarded unread: later frames cannot be decoded.
    torn: bool,
    ready: VecDeque<Assembled>,
}

#[derive(Clone, Debug, Default, PartialEq)]
enum Slot {
    #[default]
    Empty,
    /// Later ones came before it, the first of them at this time.
    Missing(Timestamp),
    Here(Piece),
}

#[derive(Clone, Debug, PartialEq)]
struct Piece {
    timestamp: u32,
    marker: bool,
    arrival: Timestamp,
    repair: Option<TimeDelta>,
    psnr_db: Option<f32>,
    payload: Vec<u8>,
}

/// Packets kept: two seconds of 10 Mbit/s.
const SLOTS: usize = 2_048;
/// Maximum number of key frames in progress; more are of no use.
const MAX_KEY_STARTS: usize = 16;
/// str0m does not request packets further behind the newest than this.
pub const REPAIR_REACH: u64 = 100;

impl WholeFrames {
    /// Nothing of a video in this format has come yet.
    pub fn new(format: &'static PayloadFormat) -> Self {
        Self {
            format,
            slots: vec![Slot::Empty; SLOTS],
            next: None,
            window: None,
            looked: 0,
            key_starts: VecDeque::new(),
            waiting_since: None,
            keyframe: None,
            torn: false,
            ready: VecDeque::new(),
        }
    }
}

impl Assembly for WholeFrames {
    fn insert(&mut self, now: Timestamp, packet: &VideoPacket<'_>) {
        let seq = packet.seq;
        // Late: it was handed over or given up.
        if self.next.is_some_and(|next| seq < next) || !self.make_room(now, seq) {
            return;
        }
        let slot = &mut self.slots[seq as usize % SLOTS];
        let repair = match *slot {
            Slot::Here(_) => return,
            Slot::Missing(since) if packet.repeated => Some(now - since),
            Slot::Missing(_) | Slot::Empty => None,
        };
        let VideoPacket { timestamp, marker, psnr_db, payload, .. } = *packet;
        *slot = Slot::Here(Piece { timestamp, marker, arrival: now, repair, psnr_db, payload: payload.to_vec() });
        self.waiting_since.get_or_insert(now);
        if let Some(start) = (self.format.key_start)(payload) {
            if self.key_starts.len() == MAX_KEY_STARTS {
                self.key_starts.pop_front();
            }
            self.key_starts.push_back((seq, start));
            self.keyframe = Some((timestamp, now));
        } else if let Some((_, last)) = self.keyframe.as_mut().filter(|(time, _)| *time == timestamp) {
            *last = now;
        }
        self.take_whole();
    }

    fn pop(&mut self) -> Option<Assembled> {
        self.ready.pop_front()
    }

    fn is_hopeless(&self) -> bool {
        let Some((first, end)) = self.window else { return self.torn };
        let looked = match self.next {
            Some(_) => self.looked,
            None if self.key_starts.iter().any(|&(start, _)| self.end_of_run(start, start) == Err(end)) => end,
            None => first,
        };
        self.torn || (looked + REPAIR_REACH < end && self.waiting_since.is_some())
    }
}

impl WholeFrames {
    /// Slots for everything up to `seq`; false: it is older than all of them.
    fn make_room(&mut self, now: Timestamp, seq: u64) -> bool {
        let (first, end) = self.window.unwrap_or((seq, seq));
        if seq < first {
            // At the start of a call packets may come in any order.
            let fits = self.next.is_none() && end - seq <= SLOTS as u64;
            if fits {
                (seq + 1..first).for_each(|seq| self.slots[seq as usize % SLOTS] = Slot::Missing(now));
                self.window = Some((seq, end));
            }
            return fits;
        }
        if seq - self.next.unwrap_or(first) >= SLOTS as u64 {
            self.tear();
            self.window = Some((seq, seq + 1));
            return true;
        }
        if seq >= end {
            (end..seq).for_each(|seq| self.slots[seq as usize % SLOTS] = Slot::Missing(now));
            self.slots[seq as usize % SLOTS] = Slot::Empty;
            self.window = Some((first, seq + 1));
        }
        true
    }

    /// More is waiting than can be kept: start again with the next key frame.
    fn tear(&mut self) {
        self.slots.fill(Slot::Empty);
        self.key_starts.clear();
        (self.next, self.window, self.waiting_since, self.torn) = (None, None, None, true);
    }

    fn take_whole(&mut self) {
        loop {
            if let Some(next) = self.next {
                let end = self.end_of_run(next, self.looked.max(next));
                self.looked = end.unwrap_or_else(|looked| looked);
                if let Ok(end) = end {
                    self.hand_over(next, end);
                    continue;
                }
            }
            let Some((start, end)) = self.whole_key_frame() else { return };
            self.give_up_to(start);
            self.hand_over(start, end);
        }
    }

    /// One past the last packet of the picture that begins at `start`, of which all before `from` were checked; or how
    /// far it has arrived.
    fn end_of_run(&self, start: u64, from: u64) -> Result<u64, u64> {
        let (_, end) = self.window.unwrap_or((start, start));
        let Some(Slot::Here(first)) = (start < end).then(|| &self.slots[start as usize % SLOTS]) else {
            return Err(start);
        };
        for seq in from..end {
            match &self.slots[seq as usize % SLOTS] {
                Slot::Here(piece) if piece.timestamp != first.timestamp => return Ok(seq),
                Slot::Here(piece) if piece.marker => return Ok(seq + 1),
                Slot::Here(_) => {}
                Slot::Empty | Slot::Missing(_) => return Err(seq),
            }
        }
        Err(end)
    }

    /// The bounds of the first complete key frame beyond the next picture.
    fn whole_key_frame(&mut self) -> Option<(u64, u64)> {
        let (first, end) = self.window?;
        let least = self.next.map_or(first, |next| next + 1);
        self.key_starts.retain(|(start, _)| (least..end).contains(start));
        let found = self.key_starts.iter().filter_map(|&(start, kind)| {
            let run_end = self.end_of_run(start, start).ok()?;
            let begin = self.begin_of_run(least, start);
            let ends_before = begin > least && matches!(self.slots[(begin - 1) as usize % SLOTS], Slot::Here(_));
            (kind == KeyStart::Certain || ends_before).then_some((begin, run_end))
        });
        found.min()
    }

    /// The first packet of a picture that contains `start`: what precedes its parameter sets is part of it.
    fn begin_of_run(&self, least: u64, start: u64) -> u64 {
        let time = |seq: u64| match &self.slots[seq as usize % SLOTS] {
            Slot::Here(piece) => Some(piece.timestamp),
            Slot::Empty | Slot::Missing(_) => None,
        };
        (least..start).rev().take_while(|&seq| time(seq) == time(start)).last().unwrap_or(start)
    }

    /// Give up packets before `start`.
    fn give_up_to(&mut self, start: u64) {
        let Some((first, _)) = self.window else { return };
        let mut lost_packets = 0;
        let mut current: Option<(u32, u16)> = None;
        for seq in self.next.unwrap_or(first)..start {
            let Slot::Here(piece) = std::mem::take(&mut self.slots[seq as usize % SLOTS]) else {
                lost_packets += 1;
                continue;
            };
            match &mut current {
                Some((timestamp, lost)) if *timestamp == piece.timestamp => *lost += lost_packets,
                _ => {
                    self.push_given_up(current);
                    current = Some((piece.timestamp, lost_packets));
                }
            }
            lost_packets = 0;
        }
        // Those before the key frame belong to the last known one.
        self.push_given_up(current.map(|(timestamp, lost)| (timestamp, lost + lost_packets)));
    }

    fn push_given_up(&mut self, given_up: Option<(u32, u16)>) {
        self.ready.extend(given_up.map(|(timestamp, lost_packets)| Assembled::GivenUp { timestamp, lost_packets }));
    }

    /// Packets `start` to `end`, all present, are a picture.
    fn hand_over(&mut self, start: u64, end: u64) {
        let mut joined = Joined::default();
        let mut timestamp = 0;
        let (mut repair, mut psnr_db, mut arrivals, mut size_bytes) = (None, None, None, 0);
        for seq in start..end {
            let Slot::Here(piece) = std::mem::take(&mut self.slots[seq as usize % SLOTS]) else { continue };
            joined.push(self.format, &piece.payload);
            timestamp = piece.timestamp;
            size_bytes += piece.payload.len() as u32;
            repair = repair.max(piece.repair);
            psnr_db = psnr_db.or(piece.psnr_db);
            let (first, last) = arrivals.unwrap_or((piece.arrival, piece.arrival));
            arrivals = Some((first.min(piece.arrival), last.max(piece.arrival)));
        }
        (self.next, self.looked, self.torn) = (Some(end), end, false);
        let newest = self.window.map_or(end, |(_, newest)| newest.max(end));
        self.window = Some((end, newest));
        let left = (end..newest).filter_map(|seq| match &self.slots[seq as usize % SLOTS] {
            Slot::Here(piece) => Some(piece.arrival),
            _ => None,
        });
        self.waiting_since = left.min();
        let Some(arrivals) = arrivals else { return };
        let picture = joined.finish().map(|(bytes, keyframe)| {
            let picture = CodedPicture { bytes, timestamp, keyframe, size_bytes, arrivals, psnr_db, repair };
            Assembled::Picture { picture, lost_packets: 0 }
        });
        self.ready.push_back(picture.unwrap_or(Assembled::GivenUp { timestamp, lost_packets: 0 }));
    }
}

impl FrameAssembly for WholeFrames {
    fn last_of_keyframe(&self) -> Option<Timestamp> {
        self.keyframe.map(|(_, last)| last)
    }
    /// Unknown before the first key frame: a gap there may be packets from before the call.
    fn overtaken_since(&self) -> Option<Timestamp> {
        let ((_, end), next) = (self.window?, self.looked.max(self.next?));
        match self.slots[next as usize % SLOTS] {
            Slot::Missing(since) if next < end => Some(since),
            _ => None,
        }
    }
    fn waiting_since(&self) -> Option<Timestamp> {
        self.waiting_since
    }
}

#[cfg(test)]
#[path = "whole_tests.rs"]
mod tests;
