use super::live::Live;
use super::playback::Player;
use super::*;
use crate::{Coded, EncoderSettings, LiveEncoder, PacketCost, PacketReport, Playback, Shown, Wanted};

const SIZE: (u16, u16) = (64, 48);
const BPS: u32 = 200_000;

/// A smooth slope that moves, with a square that moves the other way.
fn picture(number: usize) -> Vec<u8> {
    let (width, height) = (usize::from(SIZE.0), usize::from(SIZE.1));
    let luma = (0..width * height).map(|at| {
        let (x, y) = (at % width, at / width);
        let square = (x + 2 * number) % 40 < 12 && (10..30).contains(&y);
        if square { 200 } else { (40 + (3 * x + 2 * y + 5 * number) % 120) as u8 }
    });
    luma.chain((0..width * height / 2).map(|at| (100 + at % 40) as u8)).collect()
}

/// At 30 pictures per second.
fn wanted(time_ms: i64, bitrate_bps: u32, keyframe: bool) -> Wanted {
    Wanted { time_ms, frame_rate: 30.0, bitrate_bps, keyframe }
}

/// Loss by a fixed sequence of numbers.
struct Draws(u32);

impl Draws {
    fn percent(&mut self) -> u32 {
        self.0 = self.0.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (self.0 >> 8) % 100
    }
}

/// Both ends, and feedback some frames later.
struct Call {
    live: Live,
    playback: Player,
    draws: Draws,
    feedback: Vec<Vec<PacketReport>>,
    sent: u32,
    astray: u32,
}

impl Call {
    fn new() -> Self {
        let live = Live::open(SIZE, 0, 0).unwrap();
        Self { live, playback: Player::default(), draws: Draws(1), feedback: Vec::new(), sent: 0, astray: 0 }
    }

    /// Sends a picture of which a share of packets is lost; returns the picture shown.
    fn send(&mut self, loss_percent: u32, keyframe: bool) -> (Coded, Option<Shown>) {
        let coded = self.live.encode(&picture(self.sent as usize), wanted(0, BPS, keyframe)).unwrap();
        let mut bundle = Bundle::parse(&coded.bytes).unwrap();
        let (mut told, mut came, packets) = (Vec::new(), Vec::new(), bundle.packets.len() as u16);
        for (index, packet) in (0..).zip(bundle.packets) {
            let arrived = self.draws.percent() >= loss_percent;
            told.push(PacketReport { frame: self.sent, place: index, packets, arrived });
            came.extend(arrived.then_some(packet));
        }
        self.feedback.push(told);
        bundle.packets = came;
        self.sent += 1;
        let shown =
            (!bundle.packets.is_empty()).then(|| self.playback.decode(&bundle.to_bytes()).ok().flatten()).flatten();
        self.astray += u32::from(self.playback.is_astray());
        (coded, shown)
    }

    /// The oldest feedback arrives, or is lost.
    fn hear(&mut self, lost: bool) {
        let reports = self.feedback.remove(0);
        if !lost {
            self.live.take_reports(&reports).unwrap();
        }
    }

    fn agrees(&self, shown: Option<&Shown>) -> bool {
        let expected = self.live.encoder_shown();
        shown.is_some_and(|shown| expected.is_some_and(|expected| expected.luma() == shown.samples))
    }
}

#[test]
fn what_was_lost_is_forgotten_once_it_is_reported() {
    let mut call = Call::new();
    for frame in 0..60 {
        if frame >= 4 {
            call.hear(false);
        }
        let (_, shown) = call.send(if frame < 40 { 25 } else { 0 }, false);
        assert!(frame < 44 || call.agrees(shown.as_ref()), "frame {frame}");
    }
    assert_eq!(call.astray, 0, "feedback is whole, so the sender knows");
}

/// 833 bytes a frame, of which 70 % are more than the 450 that call for a copy, and 70 % of the packets call for two.
#[test]
fn losses_that_are_reported_are_answered_with_copies_of_motion() {
    let mut call = Call::new();
    let mut copies_after = |frames: usize, loss_percent: u32| {
        for _ in 0..frames {
            call.send(loss_percent, false);
            call.hear(false);
        }
        let (coded, _) = call.send(loss_percent, false);
        call.hear(false);
        let packets = Bundle::parse(&coded.bytes).unwrap().packets;
        packets.iter().map(|packet| legato_hybrid::Header::parse(packet).unwrap().0.motion_copies).collect::<Vec<_>>()
    };
    assert_eq!(copies_after(30, 0), [0, 0]);
    assert_eq!(copies_after(40, 70), [2, 2]);
    assert_eq!(copies_after(120, 0), [0, 0]);
}

#[test]
fn where_feedback_is_lost_frames_are_predicted_from_what_is_known() {
    let mut call = Call::new();
    for frame in 0..120 {
        if frame >= 4 {
            let lost = frame < 90 && call.draws.percent() < 20;
            call.hear(lost);
        }
        let (coded, shown) = call.send(if frame < 90 { 15 } else { 0 }, false);
        assert!(frame == 0 || !coded.keyframe, "frame {frame}: no key frame is needed");
        assert!(frame < 100 || call.agrees(shown.as_ref()), "frame {frame}");
    }
    assert_eq!(call.astray, 0);
}

#[test]
fn where_the_first_feedback_is_lost_a_key_frame_makes_the_picture_known() {
    let mut call = Call::new();
    let mut keyframes = 0;
    for frame in 0..80 {
        if frame >= 4 {
            call.hear(frame < 8);
        }
        let (coded, shown) = call.send(if frame < 40 { 10 } else { 0 }, false);
        keyframes += u32::from(coded.keyframe);
        assert!(frame < 45 || call.agrees(shown.as_ref()), "frame {frame}");
    }
    assert!((2..=6).contains(&keyframes), "the first, and few others: {keyframes}");
    assert_eq!(call.astray, 0);
}

#[test]
fn a_wrong_belief_is_found_and_a_key_frame_ends_it() {
    let mut call = Call::new();
    for _ in 0..3 {
        call.send(0, false);
        call.hear(false);
    }
    // One packet is lost, and reported as if it had come.
    call.draws = Draws(1);
    let (coded, _) = call.send(60, false);
    let told = call.feedback.remove(0);
    assert!(told.iter().any(|report| !report.arrived) && !coded.keyframe);
    let all_came: Vec<_> = told.iter().map(|&report| PacketReport { arrived: true, ..report }).collect();
    call.live.take_reports(&all_came).unwrap();
    call.send(0, false);
    call.hear(false);
    assert!(call.playback.is_astray());
    // The frame after the key frame still names one before it.
    call.send(0, true);
    call.send(0, false);
    assert!(!call.playback.is_astray());
    (0..2).for_each(|_| call.hear(false));
    let (_, shown) = call.send(0, false);
    assert!(!call.playback.is_astray() && call.agrees(shown.as_ref()));
}

#[test]
fn late_packets_change_what_follows_as_if_they_had_come_in_time() {
    let mut live = Live::open(SIZE, 0, 0).unwrap();
    let (mut plain, mut late) = (Player::default(), Player::default());
    let mut held: Vec<(usize, Vec<u8>)> = Vec::new();
    for number in 0..12 {
        let bytes = live.encode(&picture(number), wanted(0, BPS, false)).unwrap().bytes;
        let shown = plain.decode(&bytes).unwrap();
        for (_, bytes) in held.extract_if(.., |(at, _)| *at + 2 == number) {
            // Of a frame that was shown in part, or not at all; and a copy of it.
            assert_eq!(late.decode(&bytes), Ok(None));
            assert_eq!(late.decode(&bytes), Ok(None));
        }
        let bundle = Bundle::parse(&bytes).unwrap();
        let keep = |packets: Vec<Vec<u8>>| Bundle { packets, ..bundle.clone() }.to_bytes();
        match number {
            4 => {
                held.push((number, keep(bundle.packets[..1].to_vec())));
                late.decode(&keep(bundle.packets[1..].to_vec())).unwrap().unwrap();
            }
            7 => held.push((number, bytes)),
            _ => {
                let seen = late.decode(&bytes).unwrap();
                assert_eq!(seen == shown, !matches!(number, 5 | 8), "frame {number}");
            }
        }
    }
}

#[test]
fn another_size_is_another_stream_and_what_is_left_of_the_old_one_is_not_shown() {
    let mut live = Live::open(SIZE, 0, 0).unwrap();
    let mut playback = Player::default();
    let old = live.encode(&picture(0), wanted(0, BPS, false)).unwrap().bytes;
    playback.decode(&old).unwrap().unwrap();
    let rest = live.encode(&picture(1), wanted(0, BPS, false)).unwrap().bytes;
    live.resize(EncoderSettings { size: (32, 32), frame_rate: 30.0, bitrate_bps: BPS }).unwrap();
    let small = vec![90; 32 * 32 * 3 / 2];
    let coded = live.encode(&small, wanted(0, BPS, false)).unwrap();
    let delta = live.encode(&small, wanted(0, BPS, false)).unwrap().bytes;
    assert!(coded.keyframe);
    assert!(playback.decode(&delta).unwrap_err().to_string().contains("no key frame"));
    assert_eq!(playback.decode(&coded.bytes).unwrap().map(|shown| shown.width), Some(32));
    assert_eq!(playback.decode(&rest), Ok(None));
    assert!(playback.decode(&delta).unwrap().is_some());
}

#[test]
fn frames_cost_on_the_wire_what_the_bitrate_leaves_and_no_packet_is_too_large() {
    let mut live = Live::open(SIZE, 0, 0).unwrap();
    let cost = PacketCost { max_bytes: 300, ..PacketCost::default() };
    live.set_packet_cost(cost);
    for (number, strict) in (0..40).map(|number| (number, number >= 20)) {
        live.set_strict(strict);
        let bps = if number % 20 < 10 { 60_000 } else { 200_000 };
        let coded = live.encode(&picture(number), wanted(0, bps, false)).unwrap();
        let packets = Bundle::parse(&coded.bytes).unwrap().packets;
        assert!(packets.iter().all(|packet| packet.len() <= 300) && packets.len() >= 2);
        let wire: usize = packets.iter().map(|packet| packet.len() + 69).sum();
        let (share, most) = (bps as usize / 8 / 30 + 66, if strict { 100 } else { 112 });
        assert!(number == 0 || wire * 100 <= share * most, "frame {number}: {wire} of {share}");
    }
}

/// Four shares of a key frame, and one of another, are more than 64 packets of this size hold.
#[test]
fn a_frame_that_64_packets_cannot_hold_is_made_smaller() {
    let mut live = Live::open(SIZE, 0, 0).unwrap();
    live.set_packet_cost(PacketCost { max_bytes: 50, ..PacketCost::default() });
    for number in 0..4 {
        let coded = live.encode(&picture(7 * number), wanted(0, 4_000_000, number == 2)).unwrap();
        let packets = Bundle::parse(&coded.bytes).unwrap().packets;
        assert!(packets.iter().all(|packet| packet.len() <= 50) && packets.len() <= 64);
    }
}

#[test]
fn what_is_no_frame_is_refused() {
    let mut playback = Player::default();
    for bytes in [&[][..], &[0, 0, 0], &[0; 4], &[0, 0, 0, 0, 0, 9, 1], &[0, 0, 0, 0, 0, 1, 7], &[0, 0, 0, 0, 0]] {
        assert!(playback.decode(bytes).is_err(), "{bytes:?}");
    }
}
