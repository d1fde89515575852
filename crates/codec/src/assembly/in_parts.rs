//! Frames with gaps: decoded whole, or from the packets that arrived.
//!
//! Every arrived packet helps, so nothing is requested again and no frame waits for another. A frame is handed over
//! once it is whole; once it was overtaken, by its own last packet or by a later frame, and a reordered packet had its
//! time; or, where the codec says so, once nothing came for longer than packets of a frame are apart. A later packet
//! is handed over by itself. A frame of which nothing of use came is passed over.
//!
//! A codec says by [`Gappy`] which packets make a frame.

use super::{Assembled, Assembly, CodedPicture};
use legato_call::{FrameAssembly, VideoPacket};
use legato_units::{TimeDelta, Timestamp};
use std::collections::VecDeque;
use std::fmt::Debug;

/// A frame of which packets may be missing, as its codec sees it.
pub trait Gappy: Debug + Send + Sized {
    /// What a payload says of itself.
    type Piece<'a>: Copy;
    /// Orders frames.
    type Key: Copy + PartialEq + Debug + Send;
    /// Where the frames end that were handed over.
    type End: Default + Debug + Send;

    /// The silence after which no more of a frame is expected: twice the spacing of packets of late, within these bounds;
    /// `None`: however long it lasts.
    const SILENCE: Option<(TimeDelta, TimeDelta)>;

    /// Read a payload, its frame's key, and whether that is a key frame; `None`: another codec's, or damaged.
    fn read<'a>(packet: &VideoPacket<'a>) -> Option<(Self::Piece<'a>, Self::Key, bool)>;

    /// Whether a frame comes after another in decoding order.
    fn is_after(key: Self::Key, other: Self::Key) -> bool;

    /// Whether the frame of this key was handed over, or passed over.
    fn is_over(key: Self::Key, end: &Self::End) -> bool;

    /// What a decoder is given of a packet whose frame is over; `None`: nothing.
    fn late(piece: Self::Piece<'_>, key: Self::Key, end: &Self::End) -> Option<Vec<u8>>;

    /// Nothing yet of the frame of this packet.
    fn begin(piece: Self::Piece<'_>, key: Self::Key) -> Self;

    /// Take a packet; false: a copy, or one that contradicts those before it.
    fn take(&mut self, piece: Self::Piece<'_>, packet: &VideoPacket<'_>) -> bool;

    /// Whether nothing of it is missing.
    fn is_whole(&self, end: &Self::End) -> bool;

    /// Its bytes for the decoder, if there is anything of use, and how many packets are missing. `behind`: the next frame
    /// in progress.
    fn finish(self, end: &mut Self::End, behind: Option<&Self>) -> (Option<Vec<u8>>, u16);
}

/// The buffer.
#[derive(Debug)]
pub struct FramesInParts<G: Gappy> {
    /// Frames in progress, in their order.
    open: VecDeque<Open<G>>,
    end: G::End,
    /// How far apart packets of a frame came lately, at most.
    spacing: TimeDelta,
    /// The last arrival of the latest key frame.
    keyframe: Option<Timestamp>,
    ready: VecDeque<Assembled>,
}

#[derive(Debug)]
struct Open<G: Gappy> {
    key: G::Key,
    frame: G,
    timestamp: u32,
    keyframe: bool,
    size_bytes: u32,
    arrivals: (Timestamp, Timestamp),
    /// When a packet came that was sent after one that is missing here.
    overtaken: Option<Timestamp>,
    psnr_db: Option<f32>,
}

/// A reordered packet has this long: more than the packets of a frame are apart, and less than frames are.
const REORDER_WAIT: TimeDelta = TimeDelta::from_millis(5);
/// The spacing of late is forgotten by this share with each packet.
const FORGOTTEN: i64 = 32;
/// Frames in progress; beyond it the first is handed over as it is.
pub(crate) const MAX_OPEN: usize = 64;

impl<G: Gappy> Default for FramesInParts<G> {
    fn default() -> Self {
        let (open, ready) = (VecDeque::new(), VecDeque::new());
        Self { open, end: G::End::default(), spacing: TimeDelta::ZERO, keyframe: None, ready }
    }
}

impl<G: Gappy> Assembly for FramesInParts<G> {
    /// Other payloads than the codec's are ignored.
    fn insert(&mut self, now: Timestamp, packet: &VideoPacket<'_>) {
        let Some((piece, key, keyframe)) = G::read(packet) else { return };
        let timestamp = packet.timestamp;
        if G::is_over(key, &self.end) {
            let late = G::late(piece, key, &self.end);
            self.ready.extend(late.map(|bytes| Assembled::Late { timestamp, bytes }));
            return;
        }
        if keyframe {
            self.keyframe = Some(now);
        }
        let place = self.open.partition_point(|open| G::is_after(key, open.key));
        if self.open.get(place).is_none_or(|open| open.key != key) {
            self.open.insert(place, Open::of(key, G::begin(piece, key), timestamp, now));
        }
        let Some(apart) = self.open[place].take(now, packet, piece, keyframe) else { return };
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

    fn due(&self) -> Option<Timestamp> {
        self.open.front().and_then(|open| self.end_of(open))
    }

    fn advance(&mut self, now: Timestamp) {
        while let Some(open) = self.open.front() {
            let waits = self.end_of(open).is_none_or(|end| end > now);
            if waits && self.open.len() <= MAX_OPEN && !open.frame.is_whole(&self.end) {
                return;
            }
            let Some(open) = self.open.pop_front() else { return };
            let Open { frame, timestamp, keyframe, size_bytes, arrivals, psnr_db, .. } = open;
            let behind = self.open.front().map(|open| &open.frame);
            let (bytes, lost_packets) = frame.finish(&mut self.end, behind);
            self.ready.extend(bytes.map(|bytes| {
                let picture = CodedPicture { bytes, timestamp, keyframe, size_bytes, arrivals, psnr_db, repair: None };
                Assembled::Picture { picture, lost_packets }
            }));
        }
    }

    fn pop(&mut self) -> Option<Assembled> {
        self.ready.pop_front()
    }
}

impl<G: Gappy> FramesInParts<G> {
    /// When a frame is no longer waited for.
    fn end_of(&self, open: &Open<G>) -> Option<Timestamp> {
        let silent = G::SILENCE.map(|(least, most)| open.arrivals.1 + (self.spacing * 2).clamp(least, most));
        let overtaken = open.overtaken.map(|overtaken| overtaken + REORDER_WAIT);
        silent.into_iter().chain(overtaken).min()
    }

    /// Frames in progress.
    #[cfg(test)]
    pub(crate) fn open(&self) -> impl ExactSizeIterator<Item = &G> {
        self.open.iter().map(|open| &open.frame)
    }
}

impl<G: Gappy> Open<G> {
    fn of(key: G::Key, frame: G, timestamp: u32, now: Timestamp) -> Self {
        let (arrivals, overtaken) = ((now, now), None);
        Self { key, frame, timestamp, keyframe: false, size_bytes: 0, arrivals, overtaken, psnr_db: None }
    }

    /// Take a packet; the time since the one before it, or `None` where the frame refuses it.
    fn take(
        &mut self,
        now: Timestamp,
        packet: &VideoPacket<'_>,
        piece: G::Piece<'_>,
        keyframe: bool,
    ) -> Option<TimeDelta> {
        if packet.timestamp != self.timestamp || !self.frame.take(piece, packet) {
            return None;
        }
        self.keyframe |= keyframe;
        self.size_bytes += packet.payload.len() as u32;
        self.psnr_db = self.psnr_db.or(packet.psnr_db);
        let apart = now - self.arrivals.1;
        self.arrivals.1 = now;
        Some(apart)
    }
}

impl<G: Gappy> FrameAssembly for FramesInParts<G> {
    fn last_of_keyframe(&self) -> Option<Timestamp> {
        self.keyframe
    }
    /// No frame waits for another.
    fn overtaken_since(&self) -> Option<Timestamp> {
        None
    }
    fn waiting_since(&self) -> Option<Timestamp> {
        None
    }
}
