//! What a breaker has to know of a stream's frames: the mean packet size s over the last 4 G of them, and Tf, the longest
//! time between two within 10 s.

use legato_units::{TimeDelta, Timestamp};
use std::collections::VecDeque;

/// [rfc8083] §3: s is the mean size of the packets of the last 4 G frames …
const FRAMES_PER_GROUP: usize = 4;
/// … and Tf the largest interval of those used in this time.
const INTERVAL_WINDOW: TimeDelta = TimeDelta::from_secs(10);

/// The last frames of one stream. Packets count for the frame that was coded last when they left: a pacer that
/// holds packets back shifts them by a frame or more, which a mean over several frames does not show.
#[derive(Clone, Debug)]
pub(super) struct Frames {
    kept: usize,
    /// Bytes and packets that left since each of the last frames, the newest last.
    sizes: VecDeque<(u64, u64)>,
    newest_bytes: u64,
    last: Option<Timestamp>,
    /// Intervals between frames with their ends, each longer than those behind it.
    intervals: VecDeque<(Timestamp, TimeDelta)>,
}

impl Frames {
    pub fn new(group_frames: u32) -> Self {
        let kept = FRAMES_PER_GROUP * group_frames.max(1) as usize;
        Self { kept, sizes: VecDeque::new(), newest_bytes: 0, last: None, intervals: VecDeque::new() }
    }

    /// A frame was coded.
    pub fn push(&mut self, now: Timestamp) {
        if self.sizes.len() == self.kept {
            self.sizes.pop_front();
        }
        self.sizes.push_back((0, 0));
        if let Some(last) = self.last.replace(now) {
            let interval = now - last;
            while self.intervals.back().is_some_and(|&(_, shorter)| shorter <= interval) {
                self.intervals.pop_back();
            }
            self.intervals.push_back((now, interval));
        }
    }

    /// Packets left.
    #[inline]
    pub fn send(&mut self, bytes: u64, packets: u64) {
        self.newest_bytes = bytes / packets.max(1);
        match self.sizes.back_mut() {
            Some(size) => *size = (size.0 + bytes, size.1 + packets),
            None => self.sizes.push_back((bytes, packets)),
        }
    }

    /// The stream paused: the time until its next frame is no interval between frames.
    pub fn pause(&mut self) {
        self.last = None;
    }

    /// s, in bytes.
    pub fn mean_packet_bytes(&self) -> f64 {
        let (bytes, packets) = self.sizes.iter().fold((0, 0), |sum, size| (sum.0 + size.0, sum.1 + size.1));
        if packets == 0 { self.newest_bytes as f64 } else { bytes as f64 / packets as f64 }
    }

    /// Tf; zero before the second frame.
    pub fn longest_interval(&mut self, now: Timestamp) -> TimeDelta {
        while self.intervals.front().is_some_and(|&(end, _)| now - end > INTERVAL_WINDOW) {
            self.intervals.pop_front();
        }
        self.intervals.front().map_or(TimeDelta::ZERO, |&(_, interval)| interval)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// [rfc8083] §3, worked by hand: the last four frames have 2 packets of 1,000 and 6 of 400 bytes, 550 in the mean.
    #[test]
    fn the_packet_size_is_the_mean_of_the_last_four_frames() {
        let mut frames = Frames::new(1);
        for (n, (bytes, packets)) in [(90_000, 60), (1_000, 1), (1_000, 1), (1_200, 3), (1_200, 3)].iter().enumerate() {
            frames.push(Timestamp::from_millis(33 * n as i64));
            frames.send(*bytes, *packets);
        }
        assert_eq!(frames.mean_packet_bytes(), 550.0);
        // A group of two frames looks back over eight.
        let mut frames = Frames::new(2);
        for n in 0..9 {
            frames.push(Timestamp::from_millis(33 * n));
            frames.send(if n == 0 { 90_000 } else { 500 }, 1);
        }
        assert_eq!(frames.mean_packet_bytes(), 500.0);
    }

    /// [rfc8083] §3: pictures were skipped for 200 ms; that is Tf for 10 s, whatever comes after.
    #[test]
    fn the_frame_interval_is_the_longest_of_ten_seconds() {
        let mut frames = Frames::new(1);
        let mut now = Timestamp::ZERO;
        for ms in [0, 33, 33, 200, 33, 100, 33] {
            now += TimeDelta::from_millis(ms);
            frames.push(now);
        }
        let ms = |frames: &mut Frames, s| frames.longest_interval(Timestamp::from_millis(s)).as_millis();
        assert_eq!((ms(&mut frames, 432), ms(&mut frames, 10_266)), (200, 200));
        assert_eq!((ms(&mut frames, 10_267), ms(&mut frames, 10_400)), (100, 33));
        frames.pause();
        frames.push(Timestamp::from_secs(60));
        assert_eq!(ms(&mut frames, 60_000), 0);
    }
}
