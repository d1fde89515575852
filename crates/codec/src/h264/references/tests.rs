use super::live::Live;
use super::playback::Player;
use crate::{EncoderSettings, LiveEncoder, PacketReport, Playback, Wanted};

const SIZE: (u16, u16) = (160, 128);

/// A texture that moves two columns per frame, with noise that takes any number of bits.
fn picture(n: usize) -> Vec<u8> {
    let noise = move |i: usize| (i + 7 * n).wrapping_mul(2_654_435_761) >> 13 & 15;
    let luma = (0..160 * 128).map(move |i| (((i % 160 + 2 * n) * (i / 160 + 3) * 5) % 200 + 20 + noise(i)) as u8);
    luma.chain(std::iter::repeat_n(128, 160 * 128 / 2)).collect()
}

/// At 30 pictures per second.
fn wanted(time_ms: i64, bitrate_bps: u32, keyframe: bool) -> Wanted {
    Wanted { time_ms, frame_rate: 30.0, bitrate_bps, keyframe }
}

fn open(bitrate_bps: u32) -> Live {
    Live::open(EncoderSettings { size: SIZE, frame_rate: 30.0, bitrate_bps }).unwrap()
}

/// Slices of a frame, and what else is in it, with start codes.
fn slices(frame: &[u8]) -> (Vec<u8>, Vec<Vec<u8>>) {
    let starts: Vec<usize> =
        frame.windows(4).enumerate().filter(|(_, four)| four == &[0, 0, 0, 1]).map(|(at, _)| at).collect();
    let ends = starts.iter().skip(1).copied().chain([frame.len()]);
    let units = starts.iter().zip(ends).map(|(&start, end)| frame[start..end].to_vec());
    let (slices, others) = units.partition::<Vec<_>, _>(|unit| matches!(unit[4] & 0x1f, 1 | 5));
    (others.concat(), slices)
}

/// Frame 20 loses a slice. The reports, packet by packet, come three frames later; from then on the receiver shows what a
/// decoder of the whole stream does, and no key frame was needed.
#[test]
fn a_reported_packet_is_enough_to_recover() {
    let mut live = open(400_000);
    let (mut whole, mut player) = (Player::new().unwrap(), Player::new().unwrap());
    let mut sent: Vec<Vec<PacketReport>> = Vec::new();
    for n in 0..40_u32 {
        if n >= 3 {
            live.take_reports(&sent[n as usize - 3]).unwrap();
        }
        let coded = live.encode(&picture(n as usize), wanted(i64::from(n) * 33, 400_000, false)).unwrap();
        assert_eq!(coded.keyframe, n == 0);
        let (head, slices) = slices(&coded.bytes);
        let packets = slices.len() as u16;
        let lost = |place: u16| n == 20 && place == 1;
        let report = |place| PacketReport { frame: n, place, packets, arrived: !lost(place) };
        sent.push((0..packets).map(report).collect());
        let came = (0..).zip(slices).filter(|(place, _)| !lost(*place)).flat_map(|(_, slice)| slice);
        let came: Vec<u8> = head.into_iter().chain(came).collect();
        let (expected, shown) = (whole.decode(&coded.bytes).unwrap(), player.decode(&came).unwrap());
        assert!(packets == 4 && shown.is_some(), "{n}: {packets}");
        assert_eq!(shown == expected, !(20..23).contains(&n), "{n}");
    }
}

#[test]
fn slices_pay_for_their_headers() {
    let mut live = open(300_000);
    let mut wire = 0;
    for n in 0..90 {
        let coded = live.encode(&picture(n), wanted(n as i64 * 33, 300_000, false)).unwrap();
        let (_, slices) = slices(&coded.bytes);
        wire += if n < 30 { 0 } else { slices.iter().map(|slice| slice.len() - 4 + 69).sum::<usize>() };
    }
    // A frame's share and the headers of its two full packets.
    let expected = 60 * (300_000 / 8 / 30 + 2 * 66);
    assert!((wire as f64 / expected as f64 - 1.0).abs() < 0.1, "{wire} of {expected}");
}

#[test]
fn another_size_goes_on_with_the_count_of_frames() {
    let mut live = open(300_000);
    let code = |live: &mut Live, bytes: usize| live.encode(&vec![90; bytes], wanted(0, 300_000, false)).unwrap();
    (0..3).for_each(|_| drop(code(&mut live, 160 * 128 * 3 / 2)));
    live.resize(EncoderSettings { size: (64, 64), frame_rate: 30.0, bitrate_bps: 300_000 }).unwrap();
    assert!(code(&mut live, 64 * 64 * 3 / 2).keyframe);
    // Of the old size, and then of the new: what began with it is lost.
    let lost = |frame| PacketReport { frame, place: 0, packets: 4, arrived: false };
    live.take_reports(&[lost(2)]).unwrap();
    assert!(!code(&mut live, 64 * 64 * 3 / 2).keyframe);
    live.take_reports(&[lost(3)]).unwrap();
    assert!(code(&mut live, 64 * 64 * 3 / 2).keyframe);
}

#[test]
fn packets_that_come_too_late_leave_the_player_astray_until_a_key_frame() {
    let mut live = open(300_000);
    let mut player = Player::new().unwrap();
    for n in 0..4 {
        let coded = live.encode(&picture(n), wanted(0, 300_000, n == 3)).unwrap();
        assert!(player.decode(&coded.bytes).unwrap().is_some());
        assert_eq!(player.is_astray(), n == 2);
        if n == 1 {
            assert_eq!(player.decode(&[]), Ok(None));
        }
    }
}
