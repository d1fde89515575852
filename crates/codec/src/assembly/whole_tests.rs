//! What our own sender cuts into payloads, put together by the receiver.

use super::*;
use crate::Payloads;
use crate::h264::{self, H264Frame};
use crate::vp8::{self, Vp8Frame};

/// Packets of a picture as our own sender cuts it.
struct Cut {
    payloads: Vec<Vec<u8>>,
    bytes: Vec<u8>,
}

fn cut(keyframe: bool, length: usize) -> Cut {
    let mut annex_b = Vec::new();
    if keyframe {
        annex_b.extend([0, 0, 0, 1, 0x67, 1, 2, 3, 0, 0, 0, 1, 0x68, 9]);
    }
    annex_b.extend([0, 0, 0, 1, if keyframe { 0x65 } else { 0x41 }]);
    annex_b.extend((1..length).map(|n| (n % 250 + 1) as u8));
    let frame = H264Frame::new(&annex_b, 0).unwrap();
    Cut { payloads: (0..).map_while(|index| frame.payload(index)).collect(), bytes: annex_b }
}

fn cut_vp8(keyframe: bool, length: usize, number: u32) -> Cut {
    let mut bytes: Vec<u8> = (0..length).map(|n| (n % 251) as u8).collect();
    bytes[0] = if keyframe { 0x50 } else { 0x51 };
    let frame = Vp8Frame::new(&bytes, number, 0);
    Cut { payloads: (0..).map_while(|index| frame.payload(index)).collect(), bytes }
}

/// A sender: numbers count on.
#[derive(Default)]
struct Stream {
    seq: u64,
    timestamp: u32,
}

type Owned = (u64, u32, bool, Vec<u8>);

impl Stream {
    fn send(&mut self, cut: &Cut) -> Vec<Owned> {
        self.timestamp = self.timestamp.wrapping_add(3_000);
        let last = cut.payloads.len() - 1;
        let packets = cut.payloads.iter().enumerate().map(|(place, payload)| {
            self.seq += 1;
            (self.seq, self.timestamp, place == last, payload.clone())
        });
        packets.collect()
    }
}

fn give(assembly: &mut dyn Assembly, at_ms: i64, packet: &Owned, repeated: bool) {
    let &(seq, timestamp, marker, ref payload) = packet;
    assembly.insert(
        Timestamp::from_millis(at_ms),
        &VideoPacket { seq, timestamp, marker, repeated, psnr_db: None, payload },
    );
}

fn pictures(assembly: &mut dyn Assembly) -> Vec<CodedPicture> {
    std::iter::from_fn(|| assembly.pop())
        .map(|assembled| match assembled {
            Assembled::Picture { picture, lost_packets: 0 } => picture,
            other => panic!("{other:?}"),
        })
        .collect()
}

/// [rfc6184] §5.1: packets of one time up to the marker, whatever they carry.
#[test]
fn pictures_come_out_as_they_were_coded() {
    let (mut assembly, mut stream) =
        (WholeFrames::new(&h264::FORMAT), Stream { seq: 65_530, timestamp: u32::MAX - 4_000 });
    for (number, length) in [5_000, 20, 1_161, 1_162, 1_163, 40_000].into_iter().enumerate() {
        let cut = cut(number == 0 || number == 3, length);
        for packet in stream.send(&cut) {
            assert!(assembly.pop().is_none());
            give(&mut assembly, number as i64, &packet, false);
        }
        let [picture] = &pictures(&mut assembly)[..] else { panic!("one is whole") };
        // Too long for an aggregation and too short for two fragments: it gets extra zeros.
        let zeros = picture.bytes.len() - cut.bytes.len();
        assert!(picture.bytes.starts_with(&cut.bytes) && zeros <= 2, "{length}");
        assert_eq!((picture.keyframe, picture.timestamp, picture.repair), (number % 3 == 0, stream.timestamp, None));
        assert_eq!(assembly.waiting_since(), None);
    }
}

#[test]
fn a_picture_without_its_marker_ends_where_another_time_begins() {
    let (mut assembly, mut stream) = (WholeFrames::new(&h264::FORMAT), Stream::default());
    for mut packet in stream.send(&cut(true, 3_000)) {
        packet.2 = false;
        give(&mut assembly, 0, &packet, false);
    }
    assert!(assembly.pop().is_none());
    stream.send(&cut(false, 100)).iter().for_each(|packet| give(&mut assembly, 1, packet, false));
    assert_eq!(pictures(&mut assembly).len(), 2);
}

#[test]
fn a_gap_is_waited_for_and_the_repair_is_timed() {
    let (mut assembly, mut stream) = (WholeFrames::new(&h264::FORMAT), Stream::default());
    stream.send(&cut(true, 3_000)).iter().for_each(|packet| give(&mut assembly, 0, packet, false));
    assert_eq!(pictures(&mut assembly).len(), 1);
    let packets = [stream.send(&cut(false, 3_000)), stream.send(&cut(false, 100))].concat();
    give(&mut assembly, 33, &packets[0], false);
    give(&mut assembly, 34, &packets[2], false);
    give(&mut assembly, 66, &packets[3], false);
    assert!(assembly.pop().is_none() && !assembly.is_hopeless());
    assert_eq!(assembly.waiting_since(), Some(Timestamp::from_millis(33)));
    give(&mut assembly, 94, &packets[1], true);
    // Another copy, and one of a picture that is gone.
    give(&mut assembly, 95, &packets[1], true);
    let both = pictures(&mut assembly);
    assert_eq!(both[0].repair, Some(TimeDelta::from_millis(60)));
    assert_eq!(both[0].arrivals, (Timestamp::from_millis(33), Timestamp::from_millis(94)));
    assert_eq!((both[1].repair, both.len(), assembly.waiting_since()), (None, 2, None));
}

#[test]
fn a_complete_key_frame_ends_the_wait_and_reports_the_losses() {
    let (mut assembly, mut stream) = (WholeFrames::new(&h264::FORMAT), Stream::default());
    stream.send(&cut(true, 100)).iter().for_each(|packet| give(&mut assembly, 0, packet, false));
    pictures(&mut assembly);
    let damaged = stream.send(&cut(false, 3_000));
    give(&mut assembly, 1, &damaged[2], false);
    let damaged_time = stream.timestamp;
    stream.send(&cut(false, 100));
    let key = stream.send(&cut(true, 3_000));
    // Its parameter sets come last.
    key.iter().rev().for_each(|packet| give(&mut assembly, 2, packet, false));
    assert_eq!(assembly.pop(), Some(Assembled::GivenUp { timestamp: damaged_time, lost_packets: 3 }));
    assert!(pictures(&mut assembly)[0].keyframe);
    give(&mut assembly, 3, &damaged[0], true);
    assert_eq!((assembly.pop(), assembly.waiting_since()), (None, None));
}

#[test]
fn gaps_that_can_no_longer_be_repaired_are_hopeless() {
    let (mut assembly, mut stream) = (WholeFrames::new(&h264::FORMAT), Stream::default());
    stream.send(&cut(true, 100)).iter().for_each(|packet| give(&mut assembly, 0, packet, false));
    pictures(&mut assembly);
    stream.send(&cut(false, 100));
    for _ in 0..REPAIR_REACH {
        stream.send(&cut(false, 100)).iter().for_each(|packet| give(&mut assembly, 1, packet, false));
    }
    assert!(assembly.is_hopeless() && assembly.pop().is_none());
    stream.send(&cut(true, 100)).iter().for_each(|packet| give(&mut assembly, 2, packet, false));
    assert!(!assembly.is_hopeless());
}

#[test]
fn after_a_jump_in_the_numbers_it_starts_again_with_a_key_frame() {
    let (mut assembly, mut stream) = (WholeFrames::new(&h264::FORMAT), Stream::default());
    stream.send(&cut(true, 100)).iter().for_each(|packet| give(&mut assembly, 0, packet, false));
    pictures(&mut assembly);
    stream.seq += 1_000_000;
    stream.send(&cut(false, 100)).iter().for_each(|packet| give(&mut assembly, 1, packet, false));
    assert!(assembly.pop().is_none() && assembly.is_hopeless());
    stream.send(&cut(true, 100)).iter().for_each(|packet| give(&mut assembly, 2, packet, false));
    let Some(Assembled::GivenUp { lost_packets: 0, .. }) = assembly.pop() else { panic!("it cannot be decoded") };
    assert!(pictures(&mut assembly)[0].keyframe && !assembly.is_hopeless());
}

#[test]
fn a_truncated_unit_is_not_a_picture() {
    let (mut assembly, mut stream) = (WholeFrames::new(&h264::FORMAT), Stream::default());
    let mut packets = stream.send(&cut(true, 3_000));
    packets[1].2 = true;
    packets.truncate(2);
    packets.iter().for_each(|packet| give(&mut assembly, 0, packet, false));
    assert!(matches!(assembly.pop(), Some(Assembled::GivenUp { lost_packets: 0, .. })));
}

/// [rfc7741] §4.2: a frame begins where S is set and the partition is the first, and ends with the marker.
#[test]
fn frames_of_vp8_come_out_as_they_were_coded_and_a_key_frame_ends_a_wait() {
    let (mut assembly, mut stream) = (WholeFrames::new(&vp8::FORMAT), Stream { seq: 65_530, timestamp: 9 });
    for (number, length) in [5_000, 20, 1_160, 1_161, 40_000].into_iter().enumerate() {
        let cut = cut_vp8(number == 0 || number == 3, length, 32_766 + number as u32);
        stream.send(&cut).iter().for_each(|packet| give(&mut assembly, number as i64, packet, false));
        let [picture] = &pictures(&mut assembly)[..] else { panic!("one is whole") };
        assert_eq!((&picture.bytes, picture.keyframe), (&cut.bytes, number % 3 == 0));
    }
    let damaged = stream.send(&cut_vp8(false, 3_000, 1));
    give(&mut assembly, 9, &damaged[0], false);
    give(&mut assembly, 9, &damaged[2], false);
    let damaged_time = stream.timestamp;
    let key = stream.send(&cut_vp8(true, 3_000, 2));
    key.iter().rev().for_each(|packet| give(&mut assembly, 10, packet, false));
    assert_eq!(assembly.pop(), Some(Assembled::GivenUp { timestamp: damaged_time, lost_packets: 1 }));
    assert!(pictures(&mut assembly)[0].keyframe && assembly.waiting_since().is_none());
    // One that comes in the middle of a call begins with a key frame.
    let mut late = WholeFrames::new(&vp8::FORMAT);
    damaged.iter().for_each(|packet| give(&mut late, 0, packet, false));
    assert!(late.pop().is_none());
    stream.send(&cut_vp8(true, 100, 3)).iter().for_each(|packet| give(&mut late, 1, packet, false));
    assert!(matches!(late.pop(), Some(Assembled::GivenUp { .. })) && pictures(&mut late)[0].keyframe);
}
