use super::*;
use crate::{Fate, PacketKind, PacketReport, SentPacket};
use legato_units::{Burst, PeerTimestamp};

const MS: fn(i64) -> Timestamp = Timestamp::from_millis;
const SPAN: fn(i64) -> TimeDelta = TimeDelta::from_millis;
const TARGET: DataRate = DataRate::from_kbps(500);

/// A packet of 1,000 bytes; the receiver's clock is an hour ahead.
fn report(seq: u64, departure_ms: i64, delay_ms: Option<i64>) -> PacketReport {
    let arrival = |delay| PeerTimestamp::from_nanos((3_600_000 + departure_ms + delay) * 1_000_000);
    PacketReport {
        transport_seq: seq,
        ssrc: 1,
        size: DataSize::from_bytes(1_000),
        departure: MS(departure_ms),
        fate: delay_ms.map_or(Fate::Missing, |delay| Fate::Arrived(Some(arrival(delay)))),
        ce: false,
        kind: PacketKind::Video,
        probe_cluster: None,
        place: None,
    }
}

fn feedback(reports: Vec<PacketReport>) -> Event {
    Event::TransportFeedback(TransportFeedback {
        reports: reports.into(),
        in_flight: DataSize::ZERO,
        ..Default::default()
    })
}

#[test]
fn a_senders_interval_has_rates_loss_and_delay_above_the_minimum() {
    let mut window = Window::new(MS(0));
    let sent = SentPacket {
        transport_seq: 0,
        ssrc: 1,
        size: DataSize::from_bytes(1_000),
        kind: PacketKind::Video,
        probe_cluster: None,
        in_flight: DataSize::from_bytes(1_000),
        place: None,
    };
    window.on_event(MS(0), &Event::PacketsSent(Burst::single(sent)));
    window.on_event(MS(0), &Event::PacketsSent(Burst { first: sent, packets: 3, smaller: 1 }));
    window.on_event(MS(40), &feedback(vec![report(0, 0, Some(20)), report(1, 0, None), report(2, 0, None)]));
    let first = window.close(MS(50), TARGET);
    assert_eq!((first.sent_packets, first.sent.as_bytes()), (4, 3_999));
    assert_eq!(first.sending_rate().as_bps(), 639_840);
    assert_eq!(first.receiver_rate(), DataRate::from_kbps(160));
    assert_eq!((first.loss_ratio(), first.longest_loss), (2.0 / 3.0, 2));
    assert_eq!((first.delay, first.delay_gradient()), (Some(TimeDelta::ZERO), 0.0));
    assert_eq!((first.rtt, first.min_rtt, first.target_bitrate), (Some(SPAN(40)), Some(SPAN(40)), TARGET));

    // 10 and 30 ms above the minimum: 20 on average, 0.4 s per second; the run of losses goes on.
    window.on_event(MS(95), &feedback(vec![report(3, 45, None), report(4, 45, Some(30)), report(5, 46, Some(50))]));
    let second = window.close(MS(100), TARGET);
    assert_eq!(second.longest_loss, 3);
    assert_eq!((second.delay, second.delay_before), (Some(SPAN(20)), Some(TimeDelta::ZERO)));
    assert!((second.delay_gradient() - 0.4).abs() < 1e-12);
    assert_eq!((second.rtt, second.min_mean_rtt), (Some(SPAN(60)), Some(SPAN(40))));

    // Nothing reported: delay stays and grows no further.
    let third = window.close(MS(150), TARGET);
    assert_eq!((third.arrived_packets, third.delay, third.delay_gradient()), (0, Some(SPAN(20)), 0.0));
}

#[test]
fn a_receivers_interval_counts_gaps_as_lost_until_they_are_filled() {
    let mut window = Window::new(MS(0));
    let packet = |transport_seq, departure_ms: i64| {
        Event::PacketReceived(ReceivedPacket {
            transport_seq,
            ssrc: 1,
            size: DataSize::from_bytes(500),
            kind: PacketKind::Video,
            departure: Some(PeerTimestamp::from_nanos(departure_ms * 1_000_000)),
            ce: false,
        })
    };
    window.on_event(MS(10), &packet(7, 0));
    window.on_event(MS(20), &packet(10, 5));
    window.on_event(MS(30), &packet(9, 5));
    let stats = window.close(MS(50), TARGET);
    assert_eq!((stats.arrived_packets, stats.lost_packets, stats.longest_loss), (3, 1, 2));
    assert_eq!(stats.packet_interval, Some(SPAN(10)));
    // 10, 15 and 25 ms, the minimum subtracted.
    assert_eq!(stats.delay.map(TimeDelta::as_micros), Some(6_666));
    assert_eq!(stats.rtt, None);
    window.on_event(MS(60), &Event::RoundTripTime(SPAN(80)));
    assert_eq!(window.stats(MS(60), TARGET).rtt.map(TimeDelta::as_micros), Some(86_666));
}

#[test]
fn frames_have_their_delay_above_the_minimum() {
    let mut window = Window::new(MS(0));
    let frame = |queued_ms: i64, rendered| {
        Event::FrameReport(FrameReport {
            frame: 0,
            rendered,
            keyframe: false,
            size: DataSize::from_bytes(2_000),
            assembly: TimeDelta::ZERO,
            interval: TimeDelta::ZERO,
            height: 360,
            psnr_db: Some(40.0),
            queued: Some(PeerTimestamp::from_nanos(queued_ms * 1_000_000)),
        })
    };
    window.on_event(MS(30), &frame(0, true));
    window.on_event(MS(100), &frame(60, true));
    window.on_event(MS(110), &frame(90, false));
    let frames = window.close(MS(200), TARGET).frames;
    assert_eq!((frames.count, frames.given_up, frames.height), (2, 1, 360));
    assert_eq!((frames.psnr_db, frames.delay, frames.delay_before), (Some(40.0), Some(SPAN(5)), None));
    assert_eq!(window.close(MS(400), TARGET).frames.delay_before, Some(SPAN(5)));
}

#[test]
fn the_rate_over_200_ms_forgets_and_starts_with_what_is_known() {
    let mut window = Window::new(MS(0));
    // 1,000 bytes in the first 50 ms that count.
    window.on_event(MS(100), &feedback(vec![report(0, 60, Some(20))]));
    assert_eq!(window.stats(MS(100), TARGET).receiver_rate_200ms, DataRate::from_kbps(160));
    assert_eq!(window.stats(MS(250), TARGET).receiver_rate_200ms.as_bps(), 8_000_000 / 150);
    assert_eq!(window.stats(MS(310), TARGET).receiver_rate_200ms, DataRate::ZERO);
    for number in 1..=100 {
        window.on_event(MS(300 + 10 * number), &feedback(vec![report(number as u64, 0, Some(20))]));
    }
    // 1,000 bytes every 10 ms.
    assert_eq!(window.stats(MS(1_300), TARGET).receiver_rate_200ms, DataRate::from_kbps(800));
}
