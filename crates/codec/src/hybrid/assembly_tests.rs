use super::*;
use crate::assembly::in_parts::MAX_OPEN;
use crate::{Assembled, Assembly};
use legato_call::FrameAssembly;
use legato_units::Timestamp;
use legato_wire::hybrid::head;

const MS: fn(i64) -> Timestamp = Timestamp::from_millis;

/// Packet `place` of frame `frame`, which has `packets`; the first frame has number 1000.
fn payload(frame: u16, place: u8, packets: u8) -> Vec<u8> {
    let [high, low] = frame.to_be_bytes();
    let packet = [0x20, high, low, place, packets, 100, 1, 0, place + 50];
    [&head(frame == 0, 0, Some(Confirmed { behind: 2, sum: 7 }))[..], &packet].concat()
}

fn give(assembly: &mut HybridAssembly, at_ms: i64, frame: u16, place: u8) {
    let (seq, timestamp) = (1_000 + 4 * u64::from(frame) + u64::from(place), 3_000 * u32::from(frame));
    let payload = &payload(frame, place, 4);
    let packet = VideoPacket { seq, timestamp, marker: place == 3, repeated: false, psnr_db: Some(40.0), payload };
    assembly.insert(MS(at_ms), &packet);
}

/// RTP time and the places of the packets, or of the late one.
fn popped(assembly: &mut HybridAssembly) -> Vec<(u32, Vec<u8>)> {
    let places =
        |bytes: &[u8]| -> Vec<u8> { Bundle::parse(bytes).unwrap().packets.iter().map(|packet| packet[3]).collect() };
    let parts = std::iter::from_fn(|| assembly.pop()).map(|part| match part {
        Assembled::Picture { picture, lost_packets } => {
            let places = places(&picture.bytes);
            assert_eq!(places.len() + usize::from(lost_packets), 4);
            (picture.timestamp, places)
        }
        Assembled::Late { timestamp, bytes } => (timestamp + 1, places(&bytes)),
        Assembled::GivenUp { .. } => panic!("no frame waits for another"),
    });
    parts.collect()
}

#[test]
fn whole_frames_come_at_once_and_copies_change_nothing() {
    let mut assembly = HybridAssembly::default();
    for place in [0, 2, 2, 1] {
        give(&mut assembly, 10, 0, place);
    }
    assert_eq!(popped(&mut assembly), []);
    give(&mut assembly, 12, 0, 3);
    let Some(Assembled::Picture { picture: frame, lost_packets }) = assembly.pop() else { panic!("it is whole") };
    let bundle = Bundle::parse(&frame.bytes).unwrap();
    assert_eq!((frame.timestamp, frame.keyframe, bundle.stream, lost_packets), (0, true, 0, 0));
    assert_eq!((bundle.confirmed, frame.psnr_db), (Some((2, 7)), Some(40.0)));
    assert_eq!((frame.size_bytes, frame.arrivals), (4 * 14, (MS(10), MS(12))));
    assert_eq!((assembly.due(), assembly.last_of_keyframe()), (None, Some(MS(12))));
}

#[test]
fn after_the_marker_or_a_later_frame_a_reordered_packet_has_five_milliseconds() {
    let mut assembly = HybridAssembly::default();
    give(&mut assembly, 0, 0, 0);
    give(&mut assembly, 1, 0, 3);
    assert_eq!(assembly.due(), Some(MS(6)));
    give(&mut assembly, 4, 0, 1);
    assembly.advance(MS(5));
    assert_eq!(popped(&mut assembly), []);
    assembly.advance(MS(6));
    assert_eq!(popped(&mut assembly), [(0, vec![0, 1, 3])]);
    // The marker is lost; the next frame, though whole, waits for its turn.
    (0..3).for_each(|place| give(&mut assembly, 33, 1, place));
    (0..4).for_each(|place| give(&mut assembly, 40, 2, place));
    assert_eq!((popped(&mut assembly), assembly.due()), (vec![], Some(MS(45))));
    assembly.advance(MS(45));
    assert_eq!(popped(&mut assembly), [(3_000, vec![0, 1, 2]), (6_000, vec![0, 1, 2, 3])]);
}

#[test]
fn silence_ends_a_frame_after_twice_the_spacing_of_packets() {
    let mut assembly = HybridAssembly::default();
    give(&mut assembly, 0, 0, 0);
    assert_eq!(assembly.due(), Some(MS(60)));
    assembly.advance(MS(60));
    // A slow link: packets are 40 ms apart.
    (0..3).for_each(|place| give(&mut assembly, 100 + 40 * i64::from(place), 1, place));
    assert_eq!((popped(&mut assembly), assembly.due()), (vec![(0, vec![0])], Some(MS(180 + 80))));
    assembly.advance(MS(260));
    assert_eq!(popped(&mut assembly), [(3_000, vec![0, 1, 2])]);
}

#[test]
fn what_comes_later_is_handed_over_by_itself_and_what_never_came_is_passed_over() {
    let mut assembly = HybridAssembly::default();
    (0..4).for_each(|place| give(&mut assembly, 0, 0, place));
    (0..4).for_each(|place| give(&mut assembly, 66, 2, place));
    assert_eq!(popped(&mut assembly).len(), 2);
    give(&mut assembly, 70, 1, 2);
    give(&mut assembly, 71, 0, 2);
    assert_eq!(popped(&mut assembly), [(3_001, vec![2]), (1, vec![2])]);
}

#[test]
fn what_contradicts_a_frame_is_ignored_and_what_waits_is_bounded() {
    let mut assembly = HybridAssembly::default();
    give(&mut assembly, 0, 0, 0);
    // Other counts, times and frames under the numbers of this one; no payload at all; a number before the first.
    let mut insert = |seq, timestamp, payload: &[u8]| {
        let packet = VideoPacket { seq, timestamp, marker: false, repeated: false, psnr_db: None, payload };
        assembly.insert(MS(1), &packet);
    };
    insert(1_001, 0, &payload(0, 1, 5));
    insert(1_001, 1, &payload(0, 1, 4));
    insert(1_001, 0, &payload(1, 1, 4));
    insert(1_001, 0, &[0x40, 0, 0]);
    insert(1, 0, &payload(0, 3, 4));
    assembly.advance(MS(100));
    assert_eq!(popped(&mut assembly), [(0, vec![0])]);
    // Frames begin far apart, and none ends.
    for frame in 1..1_000 {
        give(&mut assembly, 100, frame, 0);
        assert!(assembly.open().len() <= MAX_OPEN);
    }
    assert_eq!(popped(&mut assembly).len(), 999 - MAX_OPEN);
}
