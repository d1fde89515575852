use super::*;
use crate::parity::parity_payload;
use rand_chacha::ChaCha8Rng;
use rand_core::{RngCore, SeedableRng};
use std::collections::BTreeMap;

/// A frame of packets of unlike lengths, and its parity.
struct Sent {
    first: u64,
    timestamp: u32,
    payloads: Vec<Vec<u8>>,
    parity: Vec<Vec<u8>>,
}

impl Sent {
    fn new(first: u64, packets: u8, parity: u8) -> Self {
        let payload = |index: u8| (0..30 - index % 7).map(|at| at.wrapping_mul(31) ^ index ^ first as u8).collect();
        let payloads: Vec<Vec<u8>> = (0..packets).map(payload).collect();
        let parity = (0..parity).map(|place| parity_payload(first as u16, &payloads, place).unwrap()).collect();
        Self { first, timestamp: first as u32 * 3_000, payloads, parity }
    }

    fn media(&self, index: usize) -> VideoPacket<'_> {
        let marker = index + 1 == self.payloads.len();
        let (seq, payload) = (self.first + index as u64, &self.payloads[index][..]);
        VideoPacket { seq, timestamp: self.timestamp, marker, repeated: false, psnr_db: None, payload }
    }

    fn restored(&self, index: usize) -> Restored {
        let VideoPacket { seq, timestamp, marker, payload, .. } = self.media(index);
        Restored { seq, timestamp, marker, payload: payload.to_vec() }
    }

    /// Parity number `place` comes.
    fn comes(&self, place: usize, to: &mut Recovery) -> Vec<Restored> {
        to.take_parity(self.timestamp, &self.parity[place])
    }
}

/// A recovery that has seen a video's numbers up to `first`.
fn behind(first: u64) -> Recovery {
    let mut recovery = Recovery::default();
    let before = Sent::new(first - 1, 1, 0);
    assert!(recovery.take_media(&before.media(0)).is_empty());
    recovery
}

#[test]
fn what_is_lost_is_restored_with_the_packet_that_makes_it_enough() {
    let (frame, mut recovery) = (Sent::new(70_000, 5, 2), behind(70_000));
    for index in [0, 2, 3] {
        assert!(recovery.take_media(&frame.media(index)).is_empty());
    }
    assert!(frame.comes(1, &mut recovery).is_empty(), "four of five");
    assert_eq!(frame.comes(0, &mut recovery), [frame.restored(1), frame.restored(4)]);
    assert_eq!(recovery.restored(), 2);
    let again = frame.restored(4);
    assert_eq!(again.packet(), VideoPacket { repeated: true, ..frame.media(4) });
}

#[test]
fn parity_may_come_before_media_and_twice() {
    let (frame, mut recovery) = (Sent::new(70_000, 4, 2), behind(70_000));
    for place in [1, 1, 0, 1] {
        assert!(frame.comes(place, &mut recovery).is_empty());
    }
    assert!(recovery.take_media(&frame.media(3)).is_empty());
    assert!(recovery.take_media(&frame.media(3)).is_empty(), "the same again is nothing new");
    assert_eq!(recovery.take_media(&frame.media(0)), [frame.restored(1), frame.restored(2)]);
    // The restored packet comes after all, and so does the parity again.
    assert!(recovery.take_media(&frame.media(1)).is_empty());
    assert!(frame.comes(0, &mut recovery).is_empty() && frame.comes(1, &mut recovery).is_empty());
    assert_eq!(recovery.restored(), 2);
}

#[test]
fn a_whole_frame_needs_no_parity_and_too_little_restores_nothing() {
    let (whole, torn, mut recovery) = (Sent::new(70_000, 3, 1), Sent::new(70_003, 3, 1), behind(70_000));
    for index in 0..3 {
        assert!(recovery.take_media(&whole.media(index)).is_empty());
    }
    assert!(whole.comes(0, &mut recovery).is_empty());
    assert!(recovery.take_media(&torn.media(0)).is_empty() && torn.comes(0, &mut recovery).is_empty());
    assert_eq!(recovery.restored(), 0);
    // The second of the two lost packets comes late, sent again.
    assert_eq!(recovery.take_media(&torn.media(2)), [torn.restored(1)]);
}

#[test]
fn late_parity_restores_frames_that_others_have_passed_until_it_is_too_late() {
    let mut recovery = behind(70_000);
    let frames: Vec<Sent> = (0..400).map(|n| Sent::new(70_000 + 4 * n, 4, 1)).collect();
    for frame in &frames {
        for index in 1..4 {
            assert!(recovery.take_media(&frame.media(index)).is_empty());
        }
    }
    assert_eq!(frames[399].comes(0, &mut recovery), [frames[399].restored(0)]);
    assert_eq!(frames[200].comes(0, &mut recovery), [frames[200].restored(0)]);
    assert!(frames[100].comes(0, &mut recovery).is_empty(), "1,200 packets ago");
}

#[test]
fn numbers_wrap_between_media_and_parity() {
    let (frame, mut recovery) = (Sent::new((1 << 17) - 2, 4, 1), behind((1 << 17) - 2));
    for index in [0, 1, 3] {
        assert!(recovery.take_media(&frame.media(index)).is_empty());
    }
    assert_eq!(frame.comes(0, &mut recovery), [frame.restored(2)]);
    assert_eq!(frame.restored(2).seq, 1 << 17);
}

#[test]
fn what_is_cut_short_or_contradicts_restores_nothing() {
    let (frame, mut recovery) = (Sent::new(70_000, 3, 2), behind(70_000));
    let timestamp = frame.timestamp;
    assert!(Recovery::default().take_parity(timestamp, &frame.parity[0]).is_empty(), "its numbers cannot be placed");
    assert!(recovery.take_media(&frame.media(0)).is_empty());
    for length in 0..8 {
        assert!(recovery.take_parity(timestamp, &frame.parity[0][..length]).is_empty());
    }
    assert!(frame.comes(0, &mut recovery).is_empty());
    // Cut to another length than the first, and of another number of packets.
    assert!(recovery.take_parity(timestamp, &frame.parity[1][..20]).is_empty());
    let mut other = frame.parity[1].clone();
    other[1] = 2;
    assert!(recovery.take_parity(timestamp, &other).is_empty());
    // Another time: another frame, of which no media came.
    assert!(recovery.take_parity(timestamp + 1, &frame.parity[1]).is_empty());
    assert_eq!(frame.comes(1, &mut recovery), [frame.restored(1), frame.restored(2)]);
    // Bits that were changed give symbols without a sense, which are dropped.
    let (next, mut changed) = (Sent::new(70_003, 2, 1), Sent::new(70_003, 2, 1));
    changed.parity[0][5] ^= 0x7f;
    assert!(recovery.take_media(&next.media(0)).is_empty());
    assert!(changed.comes(0, &mut recovery).is_empty());
    assert_eq!(recovery.restored(), 2);
}

#[test]
fn frames_that_wait_are_bounded() {
    let mut recovery = behind(70_000);
    for n in 0..200 {
        let frame = Sent::new(70_000 + 5 * n, 5, 1);
        assert!(recovery.take_media(&frame.media(0)).is_empty() && frame.comes(0, &mut recovery).is_empty());
    }
    assert_eq!(recovery.frames.len(), FRAMES);
}

/// Frames of all sizes, of which packets are lost, late and doubled by chance. The restored packets equal the lost
/// ones, and a frame of which enough came lacks nothing.
#[test]
fn whatever_is_lost_late_or_doubled_enough_restores_all_of_it() {
    let mut random = ChaCha8Rng::seed_from_u64(3);
    let mut below = |most: u32| random.next_u32() % most;
    for _ in 0..40 {
        let (mut first, mut frames) = (70_000, Vec::new());
        for _ in 0..30 {
            let frame = Sent::new(first, 1 + below(20) as u8, below(8) as u8);
            first += frame.payloads.len() as u64;
            frames.push(frame);
        }
        // When each packet comes; places beyond the media's are parity.
        let (mut arrivals, mut came) = (Vec::new(), BTreeMap::new());
        for (number, frame) in frames.iter().enumerate() {
            for place in 0..frame.payloads.len() + frame.parity.len() {
                if below(5) > 0 {
                    let at = 30 * number + below(40) as usize;
                    arrivals.push((at, number, place));
                    let of_frame: &mut Vec<usize> = came.entry(number).or_default();
                    of_frame.push(place);
                    if below(10) == 0 {
                        arrivals.push((at + 5, number, place));
                    }
                }
            }
        }
        arrivals.sort();
        let (mut recovery, mut restored) = (behind(70_000), BTreeMap::new());
        for (_, number, place) in arrivals {
            let frame = &frames[number];
            let media = frame.payloads.len();
            let found = match place.checked_sub(media) {
                None => recovery.take_media(&frame.media(place)),
                Some(place) => frame.comes(place, &mut recovery),
            };
            for one in found {
                assert!(restored.insert(one.seq, one).is_none(), "restored once");
            }
        }
        for (number, frame) in frames.iter().enumerate() {
            let (media, came) = (frame.payloads.len(), came.remove(&number).unwrap_or_default());
            let enough = came.len() >= media;
            for place in (0..media).filter(|place| !came.contains(place)) {
                let expected = enough.then(|| frame.restored(place));
                assert_eq!(restored.remove(&(frame.first + place as u64)), expected, "frame {number}");
            }
        }
        // The rest was restored before it came after all.
        for (seq, one) in restored {
            let frame = frames.iter().find(|frame| frame.timestamp == one.timestamp).unwrap();
            assert_eq!(one, frame.restored((seq - frame.first) as usize));
        }
    }
}
