//! Tests of [`super`]: golden packets, the inputs that broke other parsers, round trips.

use super::*;
use crate::rtcp;
use legato_units::Timestamp;
use proptest::prelude::*;

/// From the tests of webrtc-rs/rtc (MIT/Apache-2.0), which has them from Pion.
const GOLDEN_ONE: &str = "afcd0005 fa17fa17 43032fa0 00990001 3de80217 20019401";
const GOLDEN_RESERVED: &str = "afcd0006 fa17fa17 193dd8bb 0174000e 45b15a40 d800f0ff d0000003";
const GOLDEN_LARGE: &str = "8fcd0007 fa17fa17 193dd8bb 01740006 45b15a40 40022004 1ffe1f9a d000d000";
const GOLDEN_RUN: &str = "afcd0007 fa17fa17 193dd8bb 00040007 10636e01 20074c24 24100c0c 10000003";

fn hex(text: &str) -> Vec<u8> {
    let digits: Vec<u8> = text.bytes().filter(u8::is_ascii_hexdigit).collect();
    digits.chunks(2).map(|pair| u8::from_str_radix(str::from_utf8(pair).unwrap(), 16).unwrap()).collect()
}

fn micros(feedback: &Feedback<'_>) -> Vec<Option<i64>> {
    let arrival = |(_, status)| match status {
        Status::Arrived(offset) => offset.map(TimeDelta::as_micros),
        Status::Missing => None,
    };
    feedback.statuses().map(arrival).collect()
}

/// Absolute arrivals, in ticks of the wrapped reference.
fn ticks(feedback: &Feedback<'_>) -> Vec<Option<i64>> {
    let base = i64::from(feedback.reference()) * 256;
    micros(feedback).into_iter().map(|us| us.map(|us| base + us / 250)).collect()
}

/// A packet of `chunks` and `deltas`, with its length and padding as they should be.
fn packet(status_count: u16, reference: u32, chunks: &[u16], deltas: &[u8]) -> Vec<u8> {
    let mut body = vec![0, 0, 0, 1, 0, 0, 0, 2, 0, 10];
    body.extend_from_slice(&status_count.to_be_bytes());
    body.extend_from_slice(&(reference << 8).to_be_bytes());
    chunks.iter().for_each(|chunk| body.extend_from_slice(&chunk.to_be_bytes()));
    body.extend_from_slice(deltas);
    let padding = body.len().wrapping_neg() % 4;
    body.resize(body.len() + padding, 0);
    if padding > 0 {
        *body.last_mut().unwrap() = padding as u8;
    }
    let mut bytes = vec![rtcp::first_byte(padding > 0, FORMAT), rtcp::TRANSPORT_FEEDBACK];
    bytes.extend_from_slice(&((body.len() / 4) as u16).to_be_bytes());
    bytes.extend_from_slice(&body);
    bytes
}

#[test]
fn golden_packets_read_as_their_origin_says() {
    let bytes = hex(GOLDEN_ONE);
    let one = Feedback::parse(&bytes).unwrap();
    assert_eq!((one.sender_ssrc(), one.media_ssrc()), (0xfa17_fa17, 0x4303_2fa0));
    assert_eq!((one.base_seq(), one.status_count(), one.reference()), (153, 1, 4_057_090));
    assert_eq!((one.feedback_count(), micros(&one)), (23, vec![Some(37_000)]));

    let bytes = hex(GOLDEN_LARGE);
    let large = Feedback::parse(&bytes).unwrap();
    assert_eq!((large.base_seq(), large.status_count(), large.reference()), (372, 6, 4_567_386));
    // Deltas of 2047.5, 2022.5, 52, 0, 52 and 0 ms, added up.
    let sums = [2_047_500, 4_070_000, 4_122_000, 4_122_000, 4_174_000, 4_174_000];
    assert_eq!(micros(&large), sums.map(Some));

    let bytes = hex(GOLDEN_RUN);
    let run = Feedback::parse(&bytes).unwrap();
    assert_eq!((run.base_seq(), run.reference(), run.feedback_count()), (4, 1_074_030, 1));
    assert_eq!(micros(&run), [19_000, 28_000, 37_000, 41_000, 44_000, 47_000, 51_000].map(Some));
}

#[test]
fn golden_packets_of_one_chunk_are_written_the_same() {
    for text in [GOLDEN_ONE, GOLDEN_RUN] {
        let bytes = hex(text);
        assert_eq!(write_again(&Feedback::parse(&bytes).unwrap()), bytes);
    }
}

/// Its three bytes of padding leave one byte for three bytes of deltas, and it has reserved symbols.
#[test]
fn the_golden_packet_with_reserved_symbols_is_refused_or_read_without_times() {
    let bytes = hex(GOLDEN_RESERVED);
    assert!(Feedback::parse(&bytes).is_err());
    let feedback = Feedback::parse_interop(&bytes).unwrap();
    assert!(!feedback.has_timestamps());
    let arrived: Vec<u16> =
        feedback.statuses().filter(|(_, s)| *s == Status::Arrived(None)).map(|(seq, _)| seq).collect();
    // d800: 01 10 00 00 00 00 00; f0ff: 11 00 00 11 11 11 11.
    assert_eq!(arrived, [372, 373, 379, 382, 383, 384, 385]);
}

#[test]
fn golden_chunks_give_their_symbols() {
    let received = |count, chunk| {
        let bytes = packet(count, 0, &[chunk], &[0; 72]);
        let feedback = Feedback::parse_interop(&bytes).map(|f| micros(&f).iter().map(Option::is_some).collect());
        feedback.unwrap_or_else(|_| Vec::<bool>::new())
    };
    assert_eq!(received(221, 0x00dd), [false; 221]);
    // 9f1c: 01111100011100. In the draft's text 0 means received; in its example and in all code, 1.
    let bits = [0, 1, 1, 1, 1, 1, 0, 0, 0, 1, 1, 1, 0, 0];
    assert_eq!(received(14, 0x9f1c), bits.map(|bit| bit == 1));
    // cd50: 00 11 01 01 01 00 00 has a reserved symbol; 6018 is a run of 24 of them.
    assert!(received(7, 0xcd50).is_empty());
    assert!(received(24, 0x6018).is_empty());
}

#[test]
fn golden_deltas_span_their_range() {
    let bytes = packet(3, 0, &[0xc000 | 0b01_10_10 << 8], &[0xff, 0x7f, 0xff, 0x80, 0x00]);
    let feedback = Feedback::parse(&bytes).unwrap();
    assert_eq!(micros(&feedback), [63_750, 63_750 + 8_191_750, 63_500].map(Some));
}

/// mediasoup issue 177: a packet that crashed its parser.
#[test]
fn the_packet_that_crashed_mediasoup_is_refused() {
    let bytes = hex("8fcd0005 34785678 051232cd 00053456 780012 89 d5616141 56219e04415604");
    assert!(Feedback::parse(&bytes).is_err());
    assert!(Feedback::parse(&bytes[..24]).is_err());
    assert!(Feedback::parse_interop(&bytes[..24]).is_err());
}

/// str0m panicked on the two-bit symbol 11.
#[test]
fn reserved_symbols_are_refused_wherever_they_count() {
    for chunk in [0xc000 | 0b11 << 12, 0xc000 | 0b11, 0x6007] {
        assert!(Feedback::parse(&packet(7, 0, &[chunk], &[0; 32])).is_err(), "{chunk:04x}");
        assert!(Feedback::parse_interop(&packet(7, 0, &[chunk], &[0; 32])).is_err(), "{chunk:04x}");
    }
    // Past the count, a vector's symbols mean nothing.
    assert!(Feedback::parse(&packet(6, 0, &[0xc000 | 0b11], &[])).is_ok());
}

#[test]
fn counts_that_chunks_do_not_describe_are_refused() {
    let count_0 = packet(0, 0, &[0x2001], &[0]);
    assert_eq!(Feedback::parse(&count_0).unwrap_err(), Error::Invalid { field: "twcc.status_count", value: 0 });
    // 65,535 packets in one vector.
    assert!(Feedback::parse(&packet(65_535, 0, &[0x8000, 0], &[])).is_err());
    // Seven runs of 8191 and the rest, none received: 65,535 statuses in 16 bytes, not allocated for.
    let runs = [0x1fff; 8].map(|run| run & 0x1fff);
    let bytes = packet(8 * 8_191, 0, &runs, &[]);
    assert_eq!(Feedback::parse(&bytes).unwrap().statuses().count(), 65_528);
    // A run past the count: strict refuses it, interop cuts it.
    let past = packet(3, 0, &[0x0004], &[]);
    assert_eq!(Feedback::parse(&past).unwrap_err(), Error::Invalid { field: "twcc.run_length", value: 4 });
    assert_eq!(Feedback::parse_interop(&past).unwrap().statuses().count(), 3);
    // An empty run says nothing: strict refuses it, interop skips it.
    let none = packet(1, 0, &[0x0000, 0x2001], &[4]);
    assert!(Feedback::parse(&none).is_err());
    assert_eq!(micros(&Feedback::parse_interop(&none).unwrap()), [Some(1_000)]);
}

#[test]
fn missing_deltas_are_an_error_or_feedback_without_times() {
    let bytes = packet(3, 0, &[0x2003], &[7, 7]);
    let error = Feedback::parse(&bytes).unwrap_err();
    assert_eq!(error, Error::Truncated { field: "twcc.deltas", needed: 3, available: 2 });
    let feedback = Feedback::parse_interop(&bytes).unwrap();
    assert!(feedback.statuses().all(|(_, status)| status == Status::Arrived(None)));
    assert!(Feedback::parse(&packet(1, 0, &[0x2001], &[0; 9])).is_err(), "bytes after the deltas");
}

#[test]
fn the_first_delta_may_be_negative_and_the_reference_is_signed() {
    let bytes = packet(1, 0x80_0000, &[0x4001], &[0xff, 0xfc]);
    let feedback = Feedback::parse(&bytes).unwrap();
    assert_eq!((feedback.reference(), micros(&feedback)), (-0x80_0000, vec![Some(-1_000)]));
    let bytes = packet(1, 0x7f_ffff, &[0x2001], &[0]);
    assert_eq!(Feedback::parse(&bytes).unwrap().reference(), 0x7f_ffff);
}

#[test]
fn every_cut_of_a_packet_is_refused() {
    let whole = hex(GOLDEN_LARGE);
    for len in 0..whole.len() {
        assert!(Feedback::parse(&whole[..len]).is_err(), "{len}");
        // The same with a length word that agrees.
        let mut cut = whole[..len].to_vec();
        if len >= 4 && len % 4 == 0 {
            cut[2..4].copy_from_slice(&((len / 4 - 1) as u16).to_be_bytes());
            assert!(Feedback::parse(&cut).is_err(), "{len}");
        }
    }
    let mut nack = whole;
    nack[0] = 0x81;
    assert!(Feedback::parse(&nack).is_err());
}

#[test]
fn references_unwrap_to_the_nearer_period() {
    assert_eq!(unwrap_reference(0x7f_ffff, -0x80_0000), 0x80_0000);
    assert_eq!(unwrap_reference(0x80_0000, 0x7f_ffff), 0x7f_ffff);
    assert_eq!(unwrap_reference(5 << 24, 3), (5 << 24) + 3);
    assert_eq!(unwrap_reference(5 << 24, -3), (5 << 24) - 3);
    assert_eq!(unwrap_reference(-7, -7), -7);
}

fn encode(arrivals: &[Option<i64>]) -> (Vec<u8>, u16) {
    let mut out = Vec::new();
    let header = Header { sender_ssrc: 1, media_ssrc: 2, base_seq: 10, feedback_count: 3 };
    let reported = Encoder::default().encode(
        &mut out,
        &header,
        arrivals.iter().map(|tick| tick.map(|tick| Timestamp::from_nanos(tick * TICK.as_nanos()))),
    );
    (out, reported)
}

fn write_again(feedback: &Feedback<'_>) -> Vec<u8> {
    let mut out = Vec::new();
    let header = Header {
        sender_ssrc: feedback.sender_ssrc(),
        media_ssrc: feedback.media_ssrc(),
        base_seq: feedback.base_seq(),
        feedback_count: feedback.feedback_count(),
    };
    let arrivals = ticks(feedback).into_iter().map(|tick| tick.map(|t| Timestamp::from_nanos(t * TICK.as_nanos())));
    Encoder::default().encode(&mut out, &header, arrivals);
    out
}

fn chunks_of(arrivals: &[Option<i64>]) -> Vec<u16> {
    let (bytes, reported) = encode(arrivals);
    assert_eq!(usize::from(reported), arrivals.len());
    let body = &bytes[20..];
    let extent = Extent::measure(body, reported, true).unwrap();
    body[..extent.chunk_bytes].chunks(2).map(|pair| u16::from_be_bytes([pair[0], pair[1]])).collect()
}

#[test]
fn chunks_are_chosen_as_libwebrtc_chooses_them() {
    let same = vec![Some(0); 100];
    assert_eq!(chunks_of(&same), [0x2000 | 100], "one run");
    let mut one_lost = vec![Some(0); 14];
    one_lost[1] = None;
    assert_eq!(chunks_of(&one_lost), [0b1010_1111_1111_1111], "14 one-bit symbols");
    assert_eq!(chunks_of(&one_lost[..5]), [0xc000 | 0b01_00_01_01_01 << 4], "up to 7 mixed are two-bit");
    assert_eq!(chunks_of(&one_lost[..9]), [0x8000 | 0b1_0111_1111 << 5], "8 to 13 mixed are one-bit");
    // A large delta among 14: seven two-bit symbols, the rest as fits.
    let mut late = vec![Some(0); 14];
    late[10..].fill(Some(1_000));
    assert_eq!(chunks_of(&late), [0x2000 | 10, 0xc000 | 0b10_01_01_01 << 6]);
    late[1] = None;
    assert_eq!(chunks_of(&late), [0xc000 | 0b01_00_01_01_01_01_01, 0xc000 | 0b01_01_01_10_01_01_01]);
    // A lost burst longer than one run.
    let mut burst = vec![None; 14 + 8_191 + 2];
    burst[0] = Some(0);
    assert_eq!(chunks_of(&burst), [0xa000, 8_191, 2]);
}

#[test]
fn arrivals_out_of_order_get_negative_deltas() {
    let (bytes, reported) = encode(&[Some(1_000), Some(700), Some(1_001)]);
    assert_eq!(reported, 3);
    assert_eq!(ticks(&Feedback::parse(&bytes).unwrap()), [1_000, 700, 1_001].map(Some));
}

#[test]
fn a_delta_that_does_not_fit_16_bits_ends_the_packet_and_the_next_continues() {
    let arrivals = [Some(0), None, Some(32_768), Some(32_769)];
    let (bytes, reported) = encode(&arrivals);
    assert_eq!(reported, 2);
    assert_eq!(ticks(&Feedback::parse(&bytes).unwrap()), [Some(0), None]);
    let (bytes, reported) = encode(&arrivals[2..]);
    assert_eq!((reported, ticks(&Feedback::parse(&bytes).unwrap())), (2, vec![Some(32_768), Some(32_769)]));
    assert_eq!(encode(&[Some(0), Some(-32_768)]).1, 2);
    assert_eq!(encode(&[Some(0), Some(-32_769)]).1, 1);
}

#[test]
fn nothing_is_written_if_nothing_arrived() {
    assert_eq!(encode(&[]), (vec![], 0));
    assert_eq!(encode(&[None; 20]), (vec![], 0));
}

#[test]
fn a_packet_stays_within_its_bytes_whatever_the_symbols() {
    let alternating: Vec<_> = (0..5_000).map(|i| (i % 2 == 0).then_some(i * 300)).collect();
    let smooth: Vec<_> = (0..5_000).map(Some).collect();
    for arrivals in [alternating, smooth] {
        let (mut from, mut read) = (0, Vec::new());
        while from < arrivals.len() {
            let (bytes, reported) = encode(&arrivals[from..]);
            assert!(bytes.len() <= MAX_ENCODED_BYTES && reported > 200, "{} bytes, {reported} packets", bytes.len());
            read.extend(ticks(&Feedback::parse(&bytes).unwrap()));
            from += usize::from(reported);
        }
        assert_eq!(read, arrivals);
    }
}

#[test]
fn rounding_to_ticks_does_not_add_up() {
    // 1.3 ms apart: 5.2 ticks each. Rounded deltas added up would be 20 ticks short after 100.
    let arrivals = (0..101).map(|i: i32| Some(Timestamp::from_nanos(i64::from(i) * 1_300_000)));
    let mut bytes = Vec::new();
    let header = Header { sender_ssrc: 1, media_ssrc: 2, base_seq: 0, feedback_count: 0 };
    Encoder::default().encode(&mut bytes, &header, arrivals);
    for (i, us) in micros(&Feedback::parse(&bytes).unwrap()).into_iter().enumerate() {
        assert!((us.unwrap() - 1_300 * i as i64).abs() <= 125);
    }
}

fn arrivals() -> impl Strategy<Value = Vec<Option<i64>>> {
    let step = prop_oneof![
        8 => (0i64..40).prop_map(Some),
        4 => Just(None),
        1 => (-32_768i64..=32_767).prop_map(Some),
    ];
    let run = (step, 1usize..30).prop_map(|(step, len)| vec![step; len]);
    let reference = -(1i64 << 31) + (1 << 26)..(1i64 << 31) - (1 << 26);
    (reference, prop::collection::vec(run, 1..12)).prop_map(|(mut tick, runs)| {
        let step = |delta: Option<i64>| {
            tick += delta.unwrap_or(0);
            delta.map(|_| tick)
        };
        runs.into_iter().flatten().map(step).collect()
    })
}

proptest! {
    #[test]
    fn feedback_reads_back_as_written(arrivals in arrivals()) {
        let (bytes, reported) = encode(&arrivals);
        if reported == 0 {
            prop_assert!(arrivals.iter().all(Option::is_none));
        } else {
            prop_assert_eq!(usize::from(reported), arrivals.len());
            let feedback = Feedback::parse(&bytes).unwrap();
            prop_assert_eq!(feedback.base_seq(), 10);
            prop_assert_eq!(feedback.feedback_count(), 3);
            prop_assert_eq!(ticks(&feedback), arrivals);
            prop_assert_eq!(write_again(&feedback), bytes);
        }
    }

    #[test]
    fn whatever_parses_means_the_same_written_again(
        count in 1u16..60, reference in 0u32..1 << 24, chunks in prop::collection::vec(any::<u16>(), 1..8),
        deltas in prop::collection::vec(any::<u8>(), 0..120),
    ) {
        let bytes = packet(count, reference, &chunks, &deltas);
        if let Ok(feedback) = Feedback::parse_interop(&bytes) && feedback.has_timestamps() {
            prop_assert_eq!(feedback.statuses().count(), usize::from(count));
            let again = write_again(&feedback);
            if !again.is_empty() {
                let read = Feedback::parse(&again).unwrap();
                // The reference may differ by less than the deltas span, and wrap.
                let wrapped = |ticks: Vec<Option<i64>>| -> Vec<Option<i64>> {
                    ticks.into_iter().map(|t| t.map(|t| t & ((1 << 32) - 1))).collect()
                };
                prop_assert_eq!(wrapped(ticks(&read)), wrapped(ticks(&feedback)));
            }
        }
    }
}
