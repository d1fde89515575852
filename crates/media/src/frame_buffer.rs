//! Frame assembly: packets in, frames out in `sequence` order, whole or in part.
//!
//! What bytes would reveal about a frame (its quantiser, its picture) is passed in by
//! [`FrameBuffer::expect`] when the sender codes it; none of it is used before a packet of the frame
//! has arrived.

use crate::EncodedFrame;
use crate::decoder::AssembledFrame;
use crate::packet::MediaPacket;
use crate::packetizer::pieces;
use legato_control::PacketKind;
use legato_units::{PeerTimestamp, Timestamp};
use std::collections::VecDeque;

/// State of a buffer of incomplete frames. The simulator's knows each frame in advance; that of real calls reads RTP
/// headers.
pub trait FrameAssembly {
    /// When the last packet arrived of the key frame in progress, or of the latest one.
    fn last_of_keyframe(&self) -> Option<Timestamp>;
    /// When the first packet arrived that was sent after one the next frame still lacks.
    fn overtaken_since(&self) -> Option<Timestamp>;
    /// When the first packet arrived that waits for the next frame to be complete.
    fn waiting_since(&self) -> Option<Timestamp>;
}

/// Frames between the oldest one wanted and the newest one coded.
#[derive(Clone, Debug, Default)]
pub struct FrameBuffer {
    slots: VecDeque<Slot>,
    /// Sequence of the first slot.
    base: u64,
    /// First slot from which on no packet has arrived yet.
    begun: usize,
}

#[derive(Clone, Copy, Debug)]
struct Slot {
    encoded: EncodedFrame,
    captured: PeerTimestamp,
    received: u16,
    parity: u16,
    count: u16,
    repaired: bool,
    next_rtp_seq: Option<u32>,
    first_arrival: Timestamp,
    last_arrival: Timestamp,
}

/// The effect of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Inserted {
    /// It belongs to a frame that is not complete yet.
    Adds,
    /// It is the first of its frame.
    Begins,
    /// It completes its frame.
    Completes,
    /// Its frame has already been passed on or given up.
    Refused,
}

/// A frame that leaves the buffer.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BufferedFrame {
    /// The part of it that arrived.
    pub assembled: AssembledFrame,
    /// When it was captured, sender's clock (the RTP timestamp).
    pub captured: PeerTimestamp,
    /// Whether a retransmission or parity was needed.
    pub repaired: bool,
    /// First and last packet of it, own clock; equal if none came.
    pub arrivals: (Timestamp, Timestamp),
    /// Number of the first video packet after it, if a video packet of it came.
    pub next_rtp_seq: Option<u32>,
}

impl FrameBuffer {
    /// The sender coded this frame, captured at `captured` by its clock.
    pub fn expect(&mut self, encoded: EncodedFrame, captured: PeerTimestamp) {
        debug_assert_eq!(encoded.sequence, self.base + self.slots.len() as u64, "every coded frame once, in order");
        self.slots.push_back(Slot {
            encoded,
            captured,
            received: 0,
            parity: 0,
            count: 0,
            repaired: false,
            next_rtp_seq: None,
            first_arrival: Timestamp::ZERO,
            last_arrival: Timestamp::ZERO,
        });
    }

    /// Take a packet that is not a duplicate.
    #[inline]
    pub fn insert(&mut self, now: Timestamp, packet: &MediaPacket) -> Inserted {
        let Some(place) = u64::from(packet.frame).checked_sub(self.base) else { return Inserted::Refused };
        let place = place as usize;
        let Some(slot) = self.slots.get_mut(place) else { return Inserted::Refused };
        let first = !slot.has_packets();
        if first {
            slot.first_arrival = now;
        }
        slot.last_arrival = now;
        slot.count = packet.count;
        match packet.kind {
            PacketKind::Fec => slot.parity += 1,
            kind => {
                slot.received += 1;
                slot.next_rtp_seq = Some(packet.rtp_seq + u32::from(packet.count) - u32::from(packet.index));
                slot.repaired |= kind == PacketKind::Retransmission;
            }
        }
        let complete = slot.is_complete();
        self.begun = self.begun.max(place + 1);
        match (complete, first) {
            (true, _) => Inserted::Completes,
            (false, true) => Inserted::Begins,
            (false, false) => Inserted::Adds,
        }
    }

    /// How many packets the frame of `packet` lacks. Zero if it has not begun, unless `may_begin` and
    /// no other frame has: then it is no longer waited for.
    #[inline]
    pub fn room(&self, packet: &MediaPacket, may_begin: bool) -> u16 {
        let place = u64::from(packet.frame).checked_sub(self.base);
        let Some((place, slot)) = place.and_then(|place| Some((place, self.slots.get(place as usize)?))) else {
            return 0;
        };
        let begins = may_begin && place == 0 && self.begun == 0;
        if begins || slot.has_packets() { packet.count.saturating_sub(slot.received + slot.parity) } else { 0 }
    }

    /// Take `packets` video packets from `first` on, at most [`FrameBuffer::room`]; `arrivals` are those
    /// of the first and the last.
    #[inline]
    pub fn insert_plain(&mut self, arrivals: (Timestamp, Timestamp), first: &MediaPacket, packets: u16) -> Inserted {
        let place = u64::from(first.frame).wrapping_sub(self.base) as usize;
        let Some(slot) = self.slots.get_mut(place) else { return Inserted::Refused };
        let begins = !slot.has_packets();
        if begins {
            slot.first_arrival = arrivals.0;
            self.begun = self.begun.max(place + 1);
        }
        slot.last_arrival = arrivals.1;
        slot.count = first.count;
        slot.received += packets;
        slot.next_rtp_seq = Some(first.rtp_seq + u32::from(first.count) - u32::from(first.index));
        match (slot.is_complete(), begins) {
            (true, _) => Inserted::Completes,
            (false, true) => Inserted::Begins,
            (false, false) => Inserted::Adds,
        }
    }

    /// Frames from the next one wanted to the newest coded one, inclusive.
    pub fn len(&self) -> usize {
        self.slots.len()
    }

    /// Whether no coded frame is left to pass on.
    pub fn is_empty(&self) -> bool {
        self.slots.is_empty()
    }

    /// Whether the next frame is complete.
    #[inline]
    pub fn next_is_complete(&self) -> bool {
        self.slots.front().is_some_and(Slot::is_complete)
    }

    #[inline(never)]
    fn first_of_later(&self) -> Option<Timestamp> {
        let later = self.slots.iter().take(self.begun).skip(1);
        later.filter(|slot| slot.has_packets()).map(|slot| slot.first_arrival).min()
    }

    /// How many frames precede the first complete key frame after the next frame.
    pub fn frames_before_keyframe(&self) -> Option<usize> {
        if self.begun < 2 {
            return None;
        }
        let begun = self.slots.iter().take(self.begun);
        begun.enumerate().skip(1).find(|(_, slot)| slot.encoded.keyframe && slot.is_complete()).map(|(place, _)| place)
    }

    /// Pass on the next frame as it is.
    pub fn pop(&mut self) -> Option<BufferedFrame> {
        let slot = self.slots.pop_front()?;
        self.base += 1;
        self.begun = self.begun.saturating_sub(1);
        // If nothing arrived, the packets do not show how many there were; their bytes do.
        let total = if slot.count > 0 { slot.count } else { pieces(slot.encoded.size.as_bytes() as u32).packets() };
        let pieces = if slot.is_complete() { total } else { slot.received.min(total) };
        Some(BufferedFrame {
            assembled: AssembledFrame { encoded: slot.encoded, pieces_received: pieces, pieces_total: total },
            captured: slot.captured,
            repaired: slot.repaired || slot.received < total,
            arrivals: (slot.first_arrival, slot.last_arrival),
            next_rtp_seq: slot.next_rtp_seq,
        })
    }
}

impl FrameAssembly for FrameBuffer {
    /// Of a key frame still in the buffer.
    fn last_of_keyframe(&self) -> Option<Timestamp> {
        let begun = self.slots.iter().take(self.begun);
        begun.filter(|slot| slot.encoded.keyframe && slot.has_packets()).map(|slot| slot.last_arrival).max()
    }

    fn waiting_since(&self) -> Option<Timestamp> {
        let begun = self.slots.iter().take(self.begun);
        begun.filter(|slot| slot.has_packets()).map(|slot| slot.first_arrival).min()
    }

    #[inline]
    fn overtaken_since(&self) -> Option<Timestamp> {
        if self.begun < 2 {
            return None;
        }
        self.first_of_later()
    }
}

impl Slot {
    fn has_packets(&self) -> bool {
        self.received + self.parity > 0
    }

    /// An erasure code of the frame's packets recovers it from any `count` of them.
    fn is_complete(&self) -> bool {
        self.count > 0 && self.received + self.parity >= self.count
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::VIDEO_SSRC;
    use legato_units::{DataRate, DataSize, Ecn};

    fn encoded(sequence: u64, keyframe: bool) -> EncodedFrame {
        EncodedFrame {
            acknowledged: None,
            frame: sequence,
            sequence,
            content: 0,
            rung: 0,
            qp: 30.0,
            size: DataSize::from_bytes(2_000),
            head_bytes: 0,
            keyframe,
            width: 640,
            height: 360,
            psnr_db: None,
            quality: None,
            bitrate: DataRate::ZERO,
        }
    }

    fn packet(frame: u32, index: u16, kind: PacketKind) -> MediaPacket {
        MediaPacket {
            transport_seq: 0,
            enqueued: Timestamp::ZERO,
            departure: Timestamp::ZERO,
            rtp_seq: 0,
            rtx_seq: 0,
            ssrc: VIDEO_SSRC,
            frame,
            index,
            count: 2,
            size_bytes: 1_000,
            payload_bytes: 900,
            kind,
            ecn: Ecn::NotEct,
            probe_cluster: None,
        }
    }

    fn buffer(frames: u64) -> FrameBuffer {
        let mut buffer = FrameBuffer::default();
        (0..frames).for_each(|n| buffer.expect(encoded(n, n == 0 || n == 2), PeerTimestamp::from_nanos(0)));
        buffer
    }

    #[test]
    fn a_frame_is_complete_with_all_its_packets_or_as_many_including_parity() {
        let mut buffer = buffer(2);
        assert_eq!(buffer.insert(Timestamp::from_millis(1), &packet(0, 0, PacketKind::Video)), Inserted::Begins);
        assert!(!buffer.next_is_complete());
        assert_eq!(buffer.insert(Timestamp::from_millis(2), &packet(0, 2, PacketKind::Fec)), Inserted::Completes);
        assert!(buffer.next_is_complete());
        let frame = buffer.pop().unwrap();
        assert!(frame.assembled.is_complete() && frame.repaired);
        assert_eq!(frame.arrivals, (Timestamp::from_millis(1), Timestamp::from_millis(2)));
    }

    #[test]
    fn a_packet_of_a_frame_passed_on_is_refused() {
        let mut buffer = buffer(2);
        buffer.insert(Timestamp::ZERO, &packet(0, 0, PacketKind::Video));
        assert_eq!(buffer.pop().unwrap().assembled.loss_ratio(), 0.5);
        let late = buffer.insert(Timestamp::ZERO, &packet(0, 1, PacketKind::Retransmission));
        assert_eq!(late, Inserted::Refused);
        assert_eq!(buffer.base, 1);
    }

    #[test]
    fn waiting_and_being_overtaken_are_distinguished() {
        let mut buffer = buffer(3);
        assert_eq!(buffer.waiting_since(), None);
        buffer.insert(Timestamp::from_millis(5), &packet(0, 0, PacketKind::Video));
        assert_eq!((buffer.waiting_since(), buffer.overtaken_since()), (Some(Timestamp::from_millis(5)), None));
        buffer.insert(Timestamp::from_millis(9), &packet(1, 0, PacketKind::Video));
        assert_eq!(buffer.overtaken_since(), Some(Timestamp::from_millis(9)));
    }

    #[test]
    fn consecutive_packets_may_begin_a_frame_if_no_other_has_begun() {
        let of_three = |frame, index: u16| {
            let packet = packet(frame, index, PacketKind::Video);
            MediaPacket { count: 3, rtp_seq: index.into(), ..packet }
        };
        let (mut rows, mut singles) = (buffer(2), buffer(2));
        assert_eq!((rows.room(&of_three(0, 0), false), rows.room(&of_three(0, 0), true)), (0, 3));
        assert_eq!(rows.room(&of_three(1, 0), true), 0, "the frame before it has not come");
        let came = (Timestamp::from_millis(1), Timestamp::from_millis(2));
        assert_eq!(rows.insert_plain(came, &of_three(0, 0), 2), Inserted::Begins);
        for index in 0..2 {
            singles.insert(Timestamp::from_millis(1 + i64::from(index)), &of_three(0, index));
        }
        assert_eq!(rows.room(&of_three(0, 2), true), 1);
        assert_eq!(rows.room(&of_three(1, 0), true), 0);
        assert_eq!((rows.begun, rows.pop()), (singles.begun, singles.pop()));
    }

    #[test]
    fn a_complete_key_frame_further_on_is_found() {
        let mut buffer = buffer(3);
        buffer.insert(Timestamp::ZERO, &packet(2, 0, PacketKind::Video));
        assert_eq!(buffer.frames_before_keyframe(), None);
        buffer.insert(Timestamp::ZERO, &packet(2, 1, PacketKind::Video));
        assert_eq!(buffer.frames_before_keyframe(), Some(2));
    }
}
