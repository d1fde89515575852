//! Feedback joined with departures, by transport-wide numbers and by streams.

use super::*;
use legato_control::{FramePlace, PacketKind, PacketReport};
use legato_media::packet::{AUDIO_SSRC, MediaPacket, RTX_SSRC, VIDEO_SSRC};
use legato_units::Ecn;
use legato_wire::ccfb::{ArrivalOffset, Metric, StreamReport};
use legato_wire::twcc::{Encoder, Header};

fn sent(history: &mut SendHistory, packets: u64) {
    for _ in 0..packets {
        let seq = history.next_seq() as u32;
        send(history, VIDEO_SSRC, seq, i64::from(seq));
    }
}

/// A packet of 1,000 bytes, with this number in its stream.
fn send(history: &mut SendHistory, ssrc: u32, seq: u32, at_ms: i64) {
    let departure = Timestamp::from_millis(at_ms);
    history.push(&Burst::single(MediaPacket {
        transport_seq: history.next_seq(),
        enqueued: departure,
        departure,
        rtp_seq: if ssrc == RTX_SSRC { 77 } else { seq },
        rtx_seq: seq as u16,
        ssrc,
        ..packet_of_kind(PacketKind::Video)
    }));
}

fn packet_of_kind(kind: PacketKind) -> MediaPacket {
    MediaPacket {
        transport_seq: 0,
        enqueued: Timestamp::ZERO,
        departure: Timestamp::ZERO,
        rtp_seq: 0,
        rtx_seq: 0,
        ssrc: VIDEO_SSRC,
        frame: 0,
        index: 0,
        count: 1,
        size_bytes: 1_000,
        payload_bytes: 900,
        kind,
        ecn: Ecn::NotEct,
        probe_cluster: None,
    }
}

/// Feedback from `base` on; arrivals in ms.
fn feedback(history: &mut SendHistory, base: u64, arrivals_ms: &[Option<i64>]) -> Vec<PacketReport> {
    numbered(history, 0, base, arrivals_ms)
}

/// The same, with the number of the feedback.
fn numbered(history: &mut SendHistory, count: u8, base: u64, arrivals_ms: &[Option<i64>]) -> Vec<PacketReport> {
    let mut bytes = Vec::new();
    let header = Header { sender_ssrc: 1, media_ssrc: 2, base_seq: base as u16, feedback_count: count };
    let arrivals = arrivals_ms.iter().map(|ms| ms.map(Timestamp::from_millis));
    assert_eq!(usize::from(Encoder::default().encode(&mut bytes, &header, arrivals)), arrivals_ms.len());
    let mut reports = PacketReports::default();
    history.join(Timestamp::from_millis(500), &Feedback::parse(&bytes).unwrap(), &mut reports);
    reports.iter().collect()
}

#[test]
fn reports_name_the_frame_and_the_place_of_each_packet() {
    let mut history = SendHistory::default();
    sent(&mut history, 1);
    let first = MediaPacket { transport_seq: 1, frame: 9, count: 3, ..packet_of_kind(PacketKind::Video) };
    history.push(&Burst { first, packets: 3, smaller: 0 });
    history.push(&Burst::single(MediaPacket { transport_seq: 4, ..packet_of_kind(PacketKind::Padding) }));
    let reports = feedback(&mut history, 1, &[Some(100), None, Some(102), Some(103)]);
    let place = |index| Some(FramePlace { frame: 9, index, packets: 3 });
    assert_eq!(reports.iter().map(|report| report.place).collect::<Vec<_>>(), [place(0), place(1), place(2), None]);
}

#[test]
fn each_packet_is_reported_once_and_a_missing_one_may_turn_up() {
    let mut history = SendHistory::default();
    sent(&mut history, 4);
    assert_eq!(history.in_flight(), DataSize::from_bytes(4_000));
    let first = feedback(&mut history, 0, &[Some(100), None, Some(102)]);
    assert_eq!(first.iter().map(PacketReport::arrived).collect::<Vec<_>>(), [true, false, true]);
    assert_eq!(history.in_flight(), DataSize::from_bytes(1_000));
    let again = feedback(&mut history, 0, &[Some(100), Some(110), Some(102), Some(103)]);
    assert_eq!(again.iter().map(|report| report.transport_seq).collect::<Vec<_>>(), [1, 3]);
    assert!(again.iter().all(PacketReport::arrived));
    assert_eq!(history.in_flight(), DataSize::ZERO);
}

#[test]
fn packets_whose_feedback_was_lost_are_neither_in_flight_nor_missing() {
    let mut history = SendHistory::default();
    sent(&mut history, 6);
    let reports = feedback(&mut history, 4, &[Some(100), Some(101)]);
    assert_eq!(reports.len(), 2);
    assert_eq!(history.in_flight(), DataSize::ZERO);
}

/// A receiver begins each feedback at the first packet that came. Packets 2 and 3 are lost between the first two
/// feedbacks. Packets 5 and 6 are lost between the others or reported by the one between, and the sender cannot know
/// which.
#[test]
fn packets_between_two_feedbacks_that_follow_each_other_are_missing() {
    let mut history = SendHistory::default();
    sent(&mut history, 9);
    assert_eq!(numbered(&mut history, 255, 0, &[Some(100), Some(101)]).len(), 2);
    let reports = numbered(&mut history, 0, 4, &[Some(104)]);
    let fates: Vec<_> = reports.iter().map(|report| (report.transport_seq, report.arrived())).collect();
    assert_eq!(fates, [(2, false), (3, false), (4, true)]);
    let reports = numbered(&mut history, 2, 7, &[Some(107)]);
    assert_eq!(reports.iter().map(|report| report.transport_seq).collect::<Vec<_>>(), [7]);
    assert_eq!(history.in_flight(), DataSize::from_bytes(1_000), "the last one");
    // A missing one turns up, and the feedback that was late does not count as the newest.
    let reports = numbered(&mut history, 1, 3, &[Some(103)]);
    assert_eq!(reports.iter().map(|report| (report.transport_seq, report.arrived())).collect::<Vec<_>>(), [(3, true)]);
    assert_eq!(numbered(&mut history, 3, 8, &[Some(108)]).len(), 1);
    assert_eq!(history.in_flight(), DataSize::ZERO);
}

#[test]
fn arrivals_differ_as_they_do_across_the_wrap_of_numbers() {
    let mut history = SendHistory::default();
    sent(&mut history, 65_530);
    // All but the last are reported first so that the history is short.
    for base in (0..65_530u64).step_by(500) {
        let count = 500.min(65_530 - base) as usize;
        let arrivals: Vec<_> = (0..count).map(|n| Some(base as i64 + n as i64)).collect();
        assert_eq!(feedback(&mut history, base, &arrivals).len(), count);
    }
    sent(&mut history, 10);
    let reports = feedback(&mut history, 65_530, &[Some(70_000); 10]);
    assert_eq!(reports.last().unwrap().transport_seq, 65_539);
    assert_eq!(reports[9].arrival().unwrap() - reports[0].arrival().unwrap(), TimeDelta::ZERO);
}

#[test]
fn feedback_about_packets_never_sent_is_ignored() {
    let mut history = SendHistory::default();
    sent(&mut history, 2);
    assert_eq!(feedback(&mut history, 1, &[Some(1), Some(2), Some(3)]).len(), 1);
    assert_eq!(history.next_seq(), 2);
    sent(&mut history, 1);
    assert_eq!(feedback(&mut history, 2, &[Some(9)]).len(), 1);
}

#[test]
fn feedback_after_a_long_silence_is_about_the_latest_packets() {
    let mut history = SendHistory::default();
    sent(&mut history, 10);
    assert_eq!(feedback(&mut history, 0, &[Some(1)]).len(), 1);
    // 50,000 packets without feedback: more than half the range of numbers.
    sent(&mut history, 50_000);
    let reports = feedback(&mut history, 50_005, &[Some(60_000)]);
    assert_eq!(reports.last().map(|report| report.transport_seq), Some(50_005));
}

type Block<'a> = (u32, u16, &'a [Option<Metric>]);

/// A packet that came `units` of 1/1024 s before the report.
fn came(units: u16) -> Option<Metric> {
    Some(Metric { ecn: Ecn::Ect0, offset: ArrivalOffset::Units(units) })
}

/// The reports of one RFC 8888 feedback, made at `at_ms` of the receiver's clock.
fn by_stream(history: &mut SendHistory, at_ms: i64, blocks: &[Block<'_>]) -> Vec<PacketReport> {
    let streams: Vec<_> =
        blocks.iter().map(|&(ssrc, begin_seq, metrics)| StreamReport { ssrc, begin_seq, metrics }).collect();
    let mut bytes = Vec::new();
    let timestamp = CompactNtp::from_timestamp(Timestamp::from_millis(at_ms));
    ccfb::write(&mut bytes, 1, timestamp, &streams);
    let mut reports = PacketReports::default();
    history.join_streams(Timestamp::from_millis(500), &ccfb::Feedback::parse(&bytes).unwrap(), &mut reports);
    reports.iter().collect()
}

fn of(reports: &[PacketReport]) -> Vec<(u64, bool)> {
    reports.iter().map(|report| (report.transport_seq, report.arrived())).collect()
}

/// [rfc8888] §3.1: streams are reported one after another, by their own numbers.
#[test]
fn reports_of_several_streams_are_one_list_in_the_order_of_departures() {
    let mut history = SendHistory::new(FeedbackFormat::Ccfb);
    for (ssrc, seq) in [(VIDEO_SSRC, 65_535), (AUDIO_SSRC, 5), (VIDEO_SSRC, 65_536), (RTX_SSRC, 0), (AUDIO_SSRC, 6)] {
        send(&mut history, ssrc, seq, 1);
    }
    let blocks: [Block<'_>; 4] = [
        (AUDIO_SSRC, 5, &[came(3), came(2)]),
        (VIDEO_SSRC, 65_535, &[came(9), None]),
        (0xbad, 0, &[came(1)]),
        (RTX_SSRC, 0, &[came(1), came(0)]),
    ];
    let reports = by_stream(&mut history, 100, &blocks);
    assert_eq!(of(&reports), [(0, true), (1, true), (2, false), (3, true), (4, true)]);
    assert_eq!(history.in_flight(), DataSize::ZERO);
}

/// [rfc8888] §3: later reports may repeat what earlier ones reported; §3.1: CE is ECN 11.
#[test]
fn overlapping_reports_give_each_packet_once_and_correct_missing_ones() {
    let mut history = SendHistory::new(FeedbackFormat::Ccfb);
    sent(&mut history, 4);
    let first = by_stream(&mut history, 100, &[(VIDEO_SSRC, 0, &[came(5), None, came(3)])]);
    assert_eq!(of(&first), [(0, true), (1, false), (2, true)]);
    let marked = Some(Metric { ecn: Ecn::Ce, offset: ArrivalOffset::Units(8) });
    let overlapping: [Block<'_>; 1] = [(VIDEO_SSRC, 0, &[came(60), marked, came(58), came(1)])];
    let second = by_stream(&mut history, 150, &overlapping);
    assert_eq!(of(&second), [(1, true), (3, true)]);
    assert_eq!(second.iter().map(|report| report.ce).collect::<Vec<_>>(), [true, false]);
    assert_eq!(by_stream(&mut history, 150, &overlapping), []);
    assert_eq!(history.in_flight(), DataSize::ZERO);
}

/// [rfc8888] §3.1, worked by hand: 512/1024 s before a report at 2 s is 1.5 s; over range and
/// unavailable give no time.
#[test]
fn arrival_is_the_report_timestamp_minus_the_offset() {
    let mut history = SendHistory::new(FeedbackFormat::Ccfb);
    sent(&mut history, 4);
    let arrived = |offset| Some(Metric { ecn: Ecn::NotEct, offset });
    let metrics = [came(512), came(0), arrived(ArrivalOffset::OverRange), arrived(ArrivalOffset::Unavailable)];
    let reports = by_stream(&mut history, 2_000, &[(VIDEO_SSRC, 0, &metrics)]);
    let ms = |ms: i64| Some(PeerTimestamp::from_nanos(ms * 1_000_000));
    assert_eq!(reports.iter().map(PacketReport::arrival).collect::<Vec<_>>(), [ms(1_500), ms(2_000), None, None]);
    assert!(reports.iter().all(PacketReport::arrived));
}

#[test]
fn arrivals_differ_as_they_do_across_the_wrap_of_report_timestamps() {
    let mut history = SendHistory::new(FeedbackFormat::Ccfb);
    sent(&mut history, 2);
    let before = by_stream(&mut history, 65_535_500, &[(VIDEO_SSRC, 0, &[came(0)])]);
    let after = by_stream(&mut history, 65_536_500, &[(VIDEO_SSRC, 1, &[came(0)])]);
    assert_eq!(after[0].arrival().unwrap() - before[0].arrival().unwrap(), TimeDelta::from_secs(1));
}

#[test]
fn packets_between_the_reports_of_a_stream_are_neither_in_flight_nor_missing() {
    let mut history = SendHistory::new(FeedbackFormat::Ccfb);
    sent(&mut history, 6);
    send(&mut history, AUDIO_SSRC, 0, 6);
    let reports = by_stream(&mut history, 100, &[(VIDEO_SSRC, 4, &[came(1), came(0)])]);
    assert_eq!((reports.len(), history.in_flight()), (2, DataSize::from_bytes(1_000)));
}

#[test]
fn the_lost_end_of_a_silent_stream_does_not_stay_in_flight() {
    let mut history = SendHistory::new(FeedbackFormat::Ccfb);
    send(&mut history, RTX_SSRC, 0, 0);
    for seq in 0..11 {
        send(&mut history, VIDEO_SSRC, seq, 200 * i64::from(seq));
        by_stream(&mut history, 10 + 200 * i64::from(seq), &[(VIDEO_SSRC, seq as u16, &[came(0)])]);
        // 1,200 ms is the first departure more than a second behind.
        let lost = if seq < 6 { 1_000 } else { 0 };
        assert_eq!(history.in_flight(), DataSize::from_bytes(lost), "{seq}");
    }
}

#[test]
fn reports_of_packets_never_sent_and_empty_reports_are_ignored() {
    let mut history = SendHistory::new(FeedbackFormat::Ccfb);
    assert_eq!(by_stream(&mut history, 10, &[(VIDEO_SSRC, 0, &[came(0)])]), []);
    sent(&mut history, 2);
    assert_eq!(by_stream(&mut history, 10, &[(VIDEO_SSRC, 9, &[came(0)])]), []);
    assert_eq!(of(&by_stream(&mut history, 20, &[(VIDEO_SSRC, 1, &[came(0), came(0)])])), [(1, true)]);
}

#[test]
fn bursts_are_joined_as_their_packets_are() {
    let mut state = 1_u32;
    let mut random = |below: u32| {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 16) % below
    };
    let [mut bursts, mut packets] = [SendHistory::default(), SendHistory::default()];
    let (mut reported, mut arrivals) = (0, Vec::new());
    for n in 0..400_u32 {
        let departure = Timestamp::from_millis(i64::from(n) * 10);
        let count = 1 + random(9) as u16;
        let first = MediaPacket {
            transport_seq: bursts.next_seq(),
            enqueued: departure,
            departure,
            rtp_seq: n,
            rtx_seq: 0,
            ssrc: VIDEO_SSRC,
            frame: 0,
            index: 0,
            count,
            size_bytes: 1_000,
            payload_bytes: 900,
            kind: PacketKind::Video,
            ecn: Ecn::NotEct,
            probe_cluster: (n % 7 == 0).then_some(n),
        };
        let burst = Burst { first, packets: count, smaller: random(u32::from(count)) as u16 };
        bursts.push(&burst);
        burst.iter().for_each(|packet| packets.push(&Burst::single(packet)));
        // One in eight is lost, and one in eight of those is reported by a later feedback.
        arrivals.extend(burst.iter().map(|_| (random(8) > 0).then(|| i64::from(n) * 10 + i64::from(random(40)))));
        if random(3) == 0 {
            let from = if random(8) == 0 { arrivals.len().saturating_sub(30) } else { reported };
            let end = arrivals.len() - random(4) as usize % (arrivals.len() - reported + 1);
            if from >= end || arrivals[from..end].iter().all(Option::is_none) {
                continue;
            }
            let said = arrivals[from..end].to_vec();
            assert_eq!(feedback(&mut bursts, from as u64, &said), feedback(&mut packets, from as u64, &said), "{n}");
            assert_eq!(bursts.in_flight(), packets.in_flight());
            for arrival in &mut arrivals[from..end] {
                *arrival = arrival.or((random(8) == 0).then_some(i64::from(n) * 10));
            }
            // At times a feedback is lost: its content is not repeated.
            reported = if random(10) == 0 { arrivals.len() } else { end.max(reported) };
        }
    }
    assert!(bursts.in_flight() < DataSize::from_bytes(100_000) && reported > 1_500);
}
