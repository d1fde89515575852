use super::*;
use crate::assembly::in_parts::MAX_OPEN;
use crate::{Assembled, Assembly};
use legato_call::FrameAssembly;
use legato_units::Timestamp;

const MS: fn(i64) -> Timestamp = Timestamp::from_millis;

/// Slice `place` of four of frame `frame`; the first frame has number 1000.
fn give(assembly: &mut SliceAssembly, at_ms: i64, frame: u32, place: u8) {
    let seq = 1_000 + 4 * u64::from(frame) + u64::from(place);
    let first = if place == 0 { 0x80 } else { 0 };
    let packet = VideoPacket {
        seq,
        timestamp: 3_000 * frame,
        marker: place == 3,
        repeated: false,
        psnr_db: Some(40.0),
        payload: &[0x41, first | place, 7],
    };
    assembly.insert(MS(at_ms), &packet);
}

/// RTP time, slices and lost packets; of a late one only its time.
fn popped(assembly: &mut SliceAssembly) -> Vec<(u32, Vec<u8>, u16)> {
    let popped = std::iter::from_fn(|| assembly.pop()).map(|sliced| match sliced {
        Assembled::Picture { picture, lost_packets } => {
            let places = picture.bytes.chunks(7).map(|slice| slice[5] & 0x7f).collect();
            (picture.timestamp / 3_000, places, lost_packets)
        }
        Assembled::Late { timestamp, bytes } => (timestamp / 3_000, bytes, 0),
        Assembled::GivenUp { .. } => panic!("no frame waits for another"),
    });
    popped.collect()
}

#[test]
fn whole_frames_come_at_once() {
    let mut assembly = SliceAssembly::default();
    for (at, place) in [(0, 0), (1, 2), (1, 2), (2, 3)] {
        give(&mut assembly, at, 0, place);
    }
    assert_eq!(popped(&mut assembly), []);
    assert_eq!(assembly.due(), Some(MS(7)), "its last packet overtook one");
    give(&mut assembly, 3, 0, 1);
    assert_eq!(popped(&mut assembly), [(0, vec![0, 1, 2, 3], 0)]);
    (0..4).for_each(|place| give(&mut assembly, 40, 1, place));
    assert_eq!(popped(&mut assembly), [(1, vec![0, 1, 2, 3], 0)]);
    assert_eq!(assembly.due(), None);
}

#[test]
fn a_frame_with_a_gap_waits_for_a_reordered_packet_and_no_longer() {
    let mut assembly = SliceAssembly::default();
    for place in [0, 1, 3] {
        give(&mut assembly, 10, 0, place);
    }
    assembly.advance(MS(14));
    assert_eq!(popped(&mut assembly), []);
    assembly.advance(MS(15));
    assert_eq!(popped(&mut assembly), [(0, vec![0, 1, 3], 1)]);
    give(&mut assembly, 16, 0, 2);
    assert_eq!(popped(&mut assembly), [(0, vec![], 0)], "it is late");
}

#[test]
fn lost_beginnings_and_ends_are_of_the_frame_that_lacks_them() {
    let mut assembly = SliceAssembly::default();
    [0, 1, 2].into_iter().for_each(|place| give(&mut assembly, 0, 0, place));
    assert_eq!(assembly.due(), None, "more may come");
    // The end of frame 0, all of frame 1, and the beginning of frame 2 are lost.
    [1, 2, 3].into_iter().for_each(|place| give(&mut assembly, 66, 2, place));
    assembly.advance(MS(71));
    assert_eq!(popped(&mut assembly), [(0, vec![0, 1, 2], 0), (2, vec![1, 2, 3], 6)]);
    [0, 1, 2].into_iter().for_each(|place| give(&mut assembly, 99, 3, place));
    // The next one is whole, but waits for this.
    (0..4).for_each(|place| give(&mut assembly, 133, 4, place));
    assert_eq!(popped(&mut assembly), []);
    assembly.advance(MS(138));
    assert_eq!(popped(&mut assembly), [(3, vec![0, 1, 2], 1), (4, vec![0, 1, 2, 3], 0)]);
}

#[test]
fn a_frame_of_which_no_slice_came_is_passed_over() {
    let mut assembly = SliceAssembly::default();
    let mut give = |at_ms, seq, timestamp, payload| {
        let packet = VideoPacket { seq, timestamp, marker: false, repeated: false, psnr_db: None, payload };
        assembly.insert(MS(at_ms), &packet);
    };
    // The beginning of a slice, and then a slice of the next frame.
    give(0, 1_000, 0, &[0x7c, 0x85, 0x88][..]);
    give(0, 1_004, 3_000, &[0x41, 0x9a]);
    assert_eq!(assembly.last_of_keyframe(), Some(MS(0)));
    assembly.advance(MS(5));
    assert_eq!(popped(&mut assembly), []);
    assembly.insert(
        MS(6),
        &VideoPacket { seq: 1_003, timestamp: 0, marker: true, repeated: false, psnr_db: None, payload: &[0x41, 1] },
    );
    assert_eq!(popped(&mut assembly), [(0, vec![], 0)]);
}

#[test]
fn what_waits_is_bounded() {
    let mut assembly = SliceAssembly::default();
    for frame in 0..1_000 {
        give(&mut assembly, 0, frame, 1);
    }
    assert!(assembly.open().len() <= MAX_OPEN);
    for seq in 0..5_000 {
        let packet = VideoPacket {
            seq,
            timestamp: 9_000_000,
            marker: false,
            repeated: false,
            psnr_db: None,
            payload: &[0x41, 1],
        };
        assembly.insert(MS(0), &packet);
    }
    assert!(assembly.open().all(|open| open.packets.len() <= MAX_PACKETS));
}
