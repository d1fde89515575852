//! How many copies of motion a sender adds to its packets, from the losses that its receiver reports.
//!
//! A copy costs about as many bytes in a frame of few bytes as in one of many, and is worth more the more is lost. So a
//! first copy goes with the bytes that are lost of a frame, a second one with the share of packets alone: it pays where
//! the first is likely to be lost as well. More packets pay only where nearly all are lost: headers cost more than smaller
//! holes bring. docs/concepts/hybrid-codec.md has the figures.

use crate::Size;

/// The losses of late, and the copies that they called for.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Resilience {
    /// Means of the share of packets lost: over a few frames, and over more than a second of them.
    quick_ratio: f32,
    slow_ratio: f32,
    motion_copies: u8,
}

impl Resilience {
    /// What feedback says of a frame: how many of its packets it named, and how many of these came.
    pub fn take(&mut self, named: u8, came: u8) {
        if named == 0 {
            return;
        }
        let lost_ratio = f32::from(named.saturating_sub(came)) / f32::from(named);
        self.quick_ratio += QUICK_GAIN * (lost_ratio - self.quick_ratio);
        self.slow_ratio += SLOW_GAIN * (lost_ratio - self.slow_ratio);
    }

    /// The share of packets lost of late: it rises within a few frames and falls within a second or two.
    pub fn loss_ratio(&self) -> f32 {
        self.quick_ratio.max(self.slow_ratio)
    }

    /// Copies of motion for the next frame ([`crate::Settings::motion_copies`]), if it has about so many bytes.
    pub fn motion_copies(&mut self, size: Size, frame_bytes: usize) -> u8 {
        let worth = (FIRST_COPY_BYTES_PER_MACROBLOCK * size.macroblocks() as f32).max(FIRST_COPY_BYTES);
        let first_copy_ratio = worth / frame_bytes.max(1) as f32;
        let wanted = |lost_ratio: f32| match lost_ratio {
            _ if lost_ratio < first_copy_ratio => 0,
            _ if lost_ratio < SECOND_COPY_RATIO => 1,
            _ => 2,
        };
        let lost_ratio = self.loss_ratio();
        self.motion_copies = self.motion_copies.clamp(wanted(lost_ratio), wanted(lost_ratio / KEPT_TO));
        self.motion_copies
    }
}

/// Per frame: half of all packets lost is seen as a quarter after four frames …
const QUICK_GAIN: f32 = 1.0 / 6.0;
/// … and, after a long time, remembered as a quarter for 28.
const SLOW_GAIN: f32 = 1.0 / 40.0;
/// So many bytes must be lost per frame for a copy. In the mean of the development clips one pays from 340 to 430 on,
/// at 300 to 1600 kbit/s. The rest is a margin for clips that gain less, and for the effect of chance on the means …
const FIRST_COPY_BYTES: f32 = 450.0;
/// … and pictures larger than most of those clips (690 macroblocks) have as much more motion to copy.
const FIRST_COPY_BYTES_PER_MACROBLOCK: f32 = 0.67;
/// A second copy pays from 56, 50, 40 and 30 % of the packets lost on at 300, 500, 800 and 1600 kbit/s.
const SECOND_COPY_RATIO: f32 = 0.55;
/// Copies stay until losses have fallen to this part of what called for them.
const KEPT_TO: f32 = 0.75;

#[cfg(test)]
mod tests {
    use super::*;

    /// 480x360: 30 times 23 macroblocks (22.5 rounded up), 690 * 0.67 = 462 bytes.
    fn size() -> Size {
        Size::new(480, 360).unwrap()
    }

    fn after(frames: impl IntoIterator<Item = (u8, u8)>) -> Resilience {
        let mut resilience = Resilience::default();
        frames.into_iter().for_each(|(named, came)| resilience.take(named, came));
        resilience
    }

    /// Of the quick mean 5/6 is left per frame: (5/6)^4 = 0.482. Of the slow one 39/40: 0.975^27 = 0.505, ^28 = 0.492.
    #[test]
    fn losses_are_seen_within_a_few_frames_and_remembered_for_a_second() {
        let mut resilience = after([(4, 2); 4]);
        assert!((resilience.loss_ratio() - 0.5 * (1.0 - 0.482)).abs() < 1e-3);
        resilience = after([(4, 2); 400]);
        (0..27).for_each(|_| resilience.take(4, 4));
        assert!((resilience.loss_ratio() - 0.5 * 0.505).abs() < 1e-3);
        resilience.take(4, 4);
        assert!(resilience.loss_ratio() < 0.25);
        // Feedback that names no packet of a frame says nothing.
        let before = resilience;
        resilience.take(0, 0);
        assert_eq!(resilience, before);
    }

    /// 462 bytes of 3333 are 13.9 %, of 1250 37 %; a second copy from 55 % on, whatever the size.
    #[test]
    fn a_copy_is_added_where_many_bytes_are_lost_and_a_second_where_most_packets_are() {
        let copies = |lost: u8, bytes| after([(100, 100 - lost); 400]).motion_copies(size(), bytes);
        assert_eq!([0, 13, 15, 54, 56].map(|lost| copies(lost, 3_333)), [0, 0, 1, 1, 2]);
        assert_eq!([0, 36, 38, 54, 56].map(|lost| copies(lost, 1_250)), [0, 0, 1, 1, 2]);
        // All 460 bytes of a frame are not enough.
        assert_eq!(copies(100, 460), 0);
    }

    /// 1280x720 has 3600 macroblocks: 2412 bytes, 60 % of 4000. 160x96 has 60: 450 bytes as all small pictures, 45 % of
    /// 1000.
    #[test]
    fn large_pictures_have_more_motion_to_copy() {
        let copies = |width, height, lost: u8, bytes| {
            after([(100, 100 - lost); 400]).motion_copies(Size::new(width, height).unwrap(), bytes)
        };
        assert_eq!([59, 61].map(|lost| copies(1280, 720, lost, 4_000)), [0, 2]);
        assert_eq!([44, 46].map(|lost| copies(160, 96, lost, 1_000)), [0, 1]);
    }

    /// A fifth of the packets is lost, then fewer: the copy stays down to 13.9 * 0.75 = 10.4 % and comes again at 13.9.
    #[test]
    fn copies_do_not_come_and_go_where_losses_waver() {
        let mut resilience = after([(100, 80); 400]);
        let copies_at = |lost: u8| {
            (0..400).for_each(|_| resilience.take(100, 100 - lost));
            resilience.motion_copies(size(), 3_333)
        };
        assert_eq!([20, 12, 11, 10, 12, 13, 15, 12].map(copies_at), [1, 1, 1, 0, 0, 0, 1, 1]);
    }
}
