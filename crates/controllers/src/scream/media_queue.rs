//! The queue between encoder and pacer: SCReAM's "RTP queue". It is read just before a frame joins it: bytes left then
//! belong to earlier frames, and mean that media comes faster than it leaves. Right after a frame has joined, any queue
//! is long.

use legato_control::{PacketKind, SentPacket};
use legato_units::{DataSize, TimeDelta, Timestamp};
use std::collections::VecDeque;

/// The waiting frames.
#[derive(Clone, Debug)]
pub struct MediaQueue {
    /// When frames joined, and how many bytes will have left in all once each has.
    frames: VecDeque<(Timestamp, u64)>,
    left_bytes: u64,
    queued_bytes: u64,
    /// The bytes left when the last picture was taken, if captures are reported.
    rest: Option<(u64, TimeDelta)>,
}

impl Default for MediaQueue {
    fn default() -> Self {
        Self { frames: VecDeque::with_capacity(MAX_FRAMES), left_bytes: 0, queued_bytes: 0, rest: None }
    }
}

impl MediaQueue {
    /// A packet left.
    #[inline]
    pub fn sent(&mut self, packet: &SentPacket) {
        if matches!(packet.kind, PacketKind::Audio | PacketKind::Padding) {
            return; // Never waits in the queue.
        }
        let bytes = packet.size.as_bytes().min(self.queued_bytes);
        self.queued_bytes -= bytes;
        self.left_bytes += bytes;
        self.forget();
    }

    /// `size` is waiting at `now`.
    pub fn reported(&mut self, now: Timestamp, size: DataSize) {
        self.queued_bytes = size.as_bytes();
        let end = self.left_bytes + self.queued_bytes;
        let full = self.frames.len() == MAX_FRAMES;
        match self.frames.back_mut() {
            // Reported again before a feedback: nothing joined.
            Some(last) if full || last.1 >= end => last.1 = end,
            _ => self.frames.push_back((now, end)),
        }
        self.forget();
    }

    /// A picture is taken: waiting bytes belong to earlier ones.
    pub fn picture(&mut self, now: Timestamp) {
        let age = self.frames.front().map_or(TimeDelta::ZERO, |&(joined, _)| now - joined);
        self.rest = Some((self.queued_bytes, age));
    }

    #[inline]
    fn forget(&mut self) {
        while self.frames.front().is_some_and(|&(_, end)| end <= self.left_bytes) {
            self.frames.pop_front();
        }
    }

    /// Bytes of earlier frames; of all frames if captures are not reported.
    pub fn bytes(&self) -> u64 {
        self.rest.map_or(self.queued_bytes, |(bytes, _)| bytes)
    }

    /// How long the oldest frame had waited when the last picture was taken.
    pub fn age(&self) -> TimeDelta {
        self.rest.map_or(TimeDelta::ZERO, |(_, age)| age)
    }
}

/// Two seconds of frames at 30 Hz; further ones join the last.
const MAX_FRAMES: usize = 64;

#[cfg(test)]
mod tests {
    use super::*;

    fn packet(kind: PacketKind) -> SentPacket {
        let size = DataSize::from_bytes(1_000);
        SentPacket { transport_seq: 0, ssrc: 1, size, kind, probe_cluster: None, in_flight: size, place: None }
    }

    #[test]
    fn a_picture_finds_the_bytes_of_earlier_frames() {
        let at = Timestamp::from_millis;
        let mut queue = MediaQueue::default();
        queue.picture(at(0));
        queue.reported(at(1), DataSize::from_bytes(3_000));
        assert_eq!(queue.bytes(), 0, "the frame itself does not count");
        queue.sent(&packet(PacketKind::Video));
        queue.sent(&packet(PacketKind::Audio));
        queue.picture(at(33));
        assert_eq!((queue.bytes(), queue.age().as_millis()), (2_000, 32));
        queue.reported(at(34), DataSize::from_bytes(5_000));
        queue.sent(&packet(PacketKind::Video));
        queue.sent(&packet(PacketKind::Video));
        // The first frame is gone; three packets of the second, 32 ms old.
        queue.picture(at(66));
        assert_eq!((queue.bytes(), queue.age().as_millis()), (3_000, 32));
        (0..5).for_each(|_| queue.sent(&packet(PacketKind::Video)));
        queue.picture(at(99));
        assert_eq!((queue.bytes(), queue.age().as_millis()), (0, 0));
    }
}
