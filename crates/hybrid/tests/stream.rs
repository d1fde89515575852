//! Whole streams of a generated scene: the receiver's picture is the one that the sender computes, whatever is lost.

use legato_hybrid::{Coded, Decoder, Encoder, Error, Origin, PacketSet, Picture, Settings, Size};

const WIDTH: usize = 176;
const HEIGHT: usize = 146;

/// A textured background that pans and a smooth disc that goes its own way; integers alone.
fn picture(frame: usize) -> Picture {
    let noise = |x: usize, y: usize| {
        let mixed = (x as u32).wrapping_mul(0x9e37_79b1) ^ (y as u32).wrapping_mul(0x85eb_ca77);
        (mixed ^ (mixed >> 13)).wrapping_mul(0xc2b2_ae3d) >> 24
    };
    let luma = |x: usize, y: usize| {
        let (bx, by) = (x + frame / 2, y + frame / 3);
        let (dx, dy) = (x as i64 - 60 - 2 * frame as i64 % 70, y as i64 - 70);
        if dx * dx + dy * dy < 900 {
            (180 - (dx * dx + dy * dy) / 9) as u8
        } else {
            let smooth: u32 = (0..9).map(|i| noise((bx + i % 3 * 2) / 6, (by + i / 3 * 2) / 6)).sum();
            (40 + smooth / 18) as u8
        }
    };
    let plane = |scale: usize, f: &dyn Fn(usize, usize) -> u8| -> Vec<u8> {
        (0..HEIGHT / scale).flat_map(|y| (0..WIDTH / scale).map(move |x| (x, y))).map(|(x, y)| f(x, y)).collect()
    };
    let chroma = |x: usize, y: usize| 128 + luma(2 * x, 2 * y) / 8;
    let size = Size::new(WIDTH as u16, HEIGHT as u16).expect("a valid size");
    Picture::new(size, plane(1, &luma), plane(2, &chroma), plane(2, &|x, y| 250 - chroma(x, y))).expect("a valid size")
}

fn encoder(min_packets: u8, motion_copies: u8) -> Encoder {
    let settings = Settings { min_packets, motion_copies, ..Settings::default() };
    Encoder::new(Size::new(WIDTH as u16, HEIGHT as u16).expect("a valid size"), settings)
}

fn slices(coded: &Coded) -> Vec<&[u8]> {
    coded.packets.iter().map(Vec::as_slice).collect()
}

const BUDGET: usize = 900;

#[test]
fn a_whole_stream_is_decoded_as_the_encoder_shows_it() {
    let (mut encoder, mut decoder) = (encoder(4, 1), Decoder::new());
    for frame in 0..12 {
        let coded = encoder.encode(&picture(frame), if frame == 0 { 6 * BUDGET } else { BUDGET }).unwrap();
        let decoded = decoder.decode(&slices(&coded)).unwrap();
        assert!(Some(decoded.picture) == encoder.shown(), "frame {frame}");
        assert!(decoded.received.is_complete());
    }
}

/// The bits of pictures and packets are the same on every machine: FNV-1a over both.
#[test]
fn the_same_pictures_give_the_same_bytes() {
    let mut encoder = encoder(5, 2);
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    for frame in 0..6 {
        let coded = encoder.encode(&picture(frame), BUDGET).unwrap();
        let shown = encoder.shown().unwrap();
        for byte in coded.packets.iter().flatten().chain(shown.luma()).chain(shown.plane(1)) {
            hash = (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3);
        }
    }
    assert_eq!(hash, HASH, "{hash:#x}");
}
const HASH: u64 = 0xf716_136f_e4a2_a89b;

#[test]
fn order_duplicates_and_foreign_packets_do_not_matter() {
    let (mut encoder, mut plain, mut mixed) = (encoder(6, 1), Decoder::new(), Decoder::new());
    for frame in 0..4 {
        let coded = encoder.encode(&picture(frame), BUDGET).unwrap();
        let mut given = slices(&coded);
        let expected = plain.decode(&given).unwrap().picture;
        given.reverse();
        given.insert(2, given[0]);
        given.insert(3, &[0x20, 0, 0]);
        given.push(b"an RTP packet of somebody else");
        let decoded = mixed.decode(&given).unwrap();
        assert!(decoded.picture == expected, "frame {frame}");
        assert_eq!(decoded.refused, 2);
    }
}

#[test]
fn after_reports_sender_and_receiver_agree_again() {
    let (mut encoder, mut decoder) = (encoder(6, 1), Decoder::new());
    let mut reports: Vec<(u16, PacketSet)> = Vec::new();
    for frame in 0..24_usize {
        if frame > 3 {
            let (number, received) = reports.remove(0);
            encoder.acknowledge(number, &received);
        }
        let coded = encoder.encode(&picture(frame), BUDGET).unwrap();
        let lost = |packet: usize| (6..14).contains(&frame) && (packet + frame).is_multiple_of(2) || frame == 9;
        let arrived: Vec<&[u8]> = slices(&coded)
            .into_iter()
            .enumerate()
            .filter(|(packet, _)| !lost(*packet))
            .map(|(_, bytes)| bytes)
            .collect();
        if arrived.is_empty() {
            decoder.miss();
            reports.push((coded.frame, PacketSet::none(coded.packets.len() as u8)));
        } else {
            let decoded = decoder.decode(&arrived).unwrap();
            reports.push((decoded.frame, decoded.received));
        }
        let agree = decoder.picture() == encoder.shown();
        // The last loss is in frame 13; its report is heard before frame 17.
        assert!(agree || (6..17).contains(&frame), "frame {frame}");
    }
}

/// Every third packet of the frames is lost, and reports come some at a time or one by one. The same frames follow, and
/// both ends have one sum for the reported frames. The sum differs if a packet came that was reported lost.
#[test]
fn several_reports_at_once_are_those_reports_and_sums_tell_beliefs_from_truth() {
    let (mut one, mut all, mut decoder) = (encoder(4, 0), encoder(4, 0), Decoder::new());
    assert_eq!((one.reported(), decoder.pixel_sum(0)), (None, None));
    let mut waiting = Vec::new();
    for frame in 0..12 {
        let coded = one.encode(&picture(frame), BUDGET).unwrap();
        assert_eq!(coded.packets, all.encode(&picture(frame), BUDGET).unwrap().packets);
        let came: Vec<&[u8]> = slices(&coded)
            .into_iter()
            .enumerate()
            .filter(|(n, _)| (frame + n) % 3 != 0)
            .map(|(_, packet)| packet)
            .collect();
        let decoded = decoder.decode(&came).unwrap();
        waiting.push((decoded.frame, decoded.received));
        if waiting.len() == 3 {
            waiting.iter().for_each(|(frame, received)| one.acknowledge(*frame, received));
            all.acknowledge_all(waiting.drain(..));
            let (last, sum) = one.reported().unwrap();
            assert_eq!((Some(last), Some(sum)), (decoder.last(), decoder.pixel_sum(last)));
            assert_eq!(all.reported(), Some((last, sum)));
        }
    }
    let coded = one.encode(&picture(12), BUDGET).unwrap();
    let received = decoder.decode(&slices(&coded)).unwrap().received;
    let mut fewer = PacketSet::none(received.count());
    fewer.insert(1);
    one.acknowledge(coded.frame, &fewer);
    assert_ne!(one.reported().map(|(_, sum)| sum), decoder.pixel_sum(coded.frame));
}

#[test]
fn frames_that_never_came_are_passed_over() {
    let (mut encoder, mut decoder) = (encoder(4, 0), Decoder::new());
    for frame in 0..8 {
        let coded = encoder.encode(&picture(frame), BUDGET).unwrap();
        if !(3..5).contains(&frame) {
            let decoded = decoder.decode(&slices(&coded)).unwrap();
            encoder.acknowledge(decoded.frame, &decoded.received);
            assert!(decoder.picture() == encoder.shown(), "after frame {frame}: 3 and 4 count as lost");
        }
    }
}

#[test]
fn what_cannot_be_decoded_is_refused_with_a_reason() {
    let mut encoder = encoder(4, 1);
    let (key, next) = (encoder.encode(&picture(0), BUDGET).unwrap(), encoder.encode(&picture(1), BUDGET).unwrap());
    let mut decoder = Decoder::new();
    assert_eq!(decoder.decode(&slices(&next)).unwrap_err(), Error::NoKeyFrame);
    assert_eq!(decoder.decode(&[]).unwrap_err(), Error::Nothing);
    decoder.decode(&slices(&key)).unwrap();
    let truncated = &next.packets[0][..next.packets[0].len() - 1];
    assert_eq!(decoder.decode(&[truncated]).unwrap_err(), Error::Checksum);
    decoder.decode(&slices(&next)).unwrap();
    assert_eq!(decoder.decode(&slices(&key)).unwrap_err(), Error::Old { frame: 0, last: 1 });
}

#[test]
fn frames_meet_their_budgets_while_those_change() {
    let mut encoder = encoder(4, 1);
    encoder.encode(&picture(0), 6 * BUDGET).unwrap();
    let budgets = (1..40_usize).map(|frame| [900, 1100, 700, 500][frame / 10]);
    let missed: Vec<(usize, usize)> = budgets
        .enumerate()
        .map(|(frame, budget)| (budget, encoder.encode(&picture(frame + 1), budget).unwrap().bytes()))
        .filter(|(budget, bytes)| bytes.abs_diff(*budget) * 20 > *budget)
        .collect();
    assert!(missed.len() <= 1, "95 % of 39 frames within 5 %: {missed:?}");
}

/// A key frame with packets missing shows a picture without a frame before it.
#[test]
fn a_first_frame_in_part_is_interpolated() {
    let (mut encoder, mut decoder) = (encoder(6, 0), Decoder::new());
    let coded = encoder.encode(&picture(0), 6 * BUDGET).unwrap();
    let error = |shown: &Picture| -> u64 {
        let source = picture(0);
        shown.luma().iter().zip(source.luma()).map(|(a, b)| u64::from(a.abs_diff(*b)).pow(2)).sum()
    };
    let whole = error(&Decoder::new().decode(&slices(&coded)).unwrap().picture);
    let part = error(&decoder.decode(&slices(&coded)[..4]).unwrap().picture);
    let grey = error(&Picture::from_planar(picture(0).size(), &[128; WIDTH * HEIGHT * 3 / 2]).unwrap());
    assert!(whole < part && part < grey / 2, "{whole} {part} {grey}");
}

fn error(shown: &Picture, frame: usize) -> u64 {
    let source = picture(frame);
    shown.luma().iter().zip(source.luma()).map(|(a, b)| u64::from(a.abs_diff(*b)).pow(2)).sum()
}

/// A frame that did not come at all is nearer to its source than the one before is, and after three the picture rests.
#[test]
fn motion_goes_on_for_three_frames_that_never_came() {
    let (mut encoder, mut decoder) = (encoder(4, 0), Decoder::new());
    for frame in 0..8 {
        decoder.decode(&slices(&encoder.encode(&picture(6 * frame), 8 * BUDGET).unwrap())).unwrap();
    }
    let mut shown = vec![decoder.picture().unwrap()];
    for _ in 8..13 {
        decoder.miss();
        shown.push(decoder.picture().unwrap());
    }
    assert!(error(&shown[1], 48) * 4 < error(&shown[0], 48) * 3, "{} {}", error(&shown[1], 48), error(&shown[0], 48));
    let still: Vec<bool> = shown.windows(2).map(|pair| pair[0] == pair[1]).collect();
    assert_eq!(still, [false, false, false, true, true]);
}

/// A receiver that begins with a key frame conceals as one that has seen the frames before it.
#[test]
fn concealment_does_not_look_behind_the_last_key_frame() {
    let (mut encoder, mut before, mut new) = (encoder(4, 0), Decoder::new(), Decoder::new());
    for frame in 0..12 {
        if frame == 5 {
            encoder.request_keyframe();
        }
        let coded = encoder.encode(&picture(frame), BUDGET).unwrap();
        let came = if frame > 5 { 1 + frame % 2..3 } else { 0..4 };
        before.decode(&slices(&coded)[came.clone()]).unwrap();
        if frame >= 5 {
            new.decode(&slices(&coded)[came]).unwrap();
            assert!(before.picture() == new.picture(), "frame {frame}");
        }
    }
}

/// Where macroblocks came from: all of one packet is missing, and with a copy of motion its vectors are those sent.
#[test]
fn the_decoder_says_which_macroblocks_are_missing_and_how_they_move() {
    for copies in [0, 1] {
        let (mut encoder, mut whole, mut holed) = (encoder(4, copies), Decoder::new(), Decoder::new());
        assert!(whole.shown().is_none());
        for frame in 0..3 {
            let coded = encoder.encode(&picture(frame), if frame == 0 { 6 * BUDGET } else { BUDGET }).unwrap();
            let packets = slices(&coded);
            whole.decode(&packets).unwrap();
            holed.decode(if frame == 2 { &packets[1..] } else { &packets }).unwrap();
        }
        let ((distance, sent), (same, seen)) = (whole.shown().unwrap(), holed.shown().unwrap());
        assert_eq!((distance, same, sent.len()), (1, 1, WIDTH.div_ceil(16) * HEIGHT.div_ceil(16)));
        assert!(sent.iter().all(|macroblock| macroblock.origin == Origin::Received));
        assert!(sent.iter().any(|macroblock| macroblock.coded != 0));
        let missing: Vec<_> = sent.iter().zip(seen).filter(|(_, seen)| seen.origin != Origin::Received).collect();
        assert!((sent.len() / 5..sent.len() / 3).contains(&missing.len()), "a quarter: {}", missing.len());
        let origin = if copies == 0 { Origin::Concealed } else { Origin::MotionCopied };
        for (sent, seen) in missing {
            assert_eq!((seen.origin, seen.coded), (origin, 0));
            assert!(copies == 0 || sent.motion == seen.motion, "{sent:?} {seen:?}");
        }
        holed.miss();
        assert!(holed.shown().unwrap().1.iter().all(|macroblock| macroblock.origin == Origin::Concealed));
    }
}
