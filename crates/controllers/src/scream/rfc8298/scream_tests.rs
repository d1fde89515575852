use super::*;
use crate::scream::feedback::tests::{feedback, report};
use legato_control::{NoAssets, PacerQueue, PacketKind, PacketReport, SourceFrameInfo};
use legato_units::Burst;

fn ms(ms: i64) -> Timestamp {
    Timestamp::from_millis(ms)
}

fn scream() -> Scream {
    with(Config::default())
}

fn with(config: Config) -> Scream {
    let [min, start, max] = [50, 1_000, 6_000].map(DataRate::from_kbps);
    let context = Context { limits: RateLimits { min, start, max }, start: ms(0), seed: 1, assets: &NoAssets };
    Scream::new(config, context).expect("the defaults are valid")
}

fn send(scream: &mut Scream, at: Timestamp, seq: u64, in_flight: u64) {
    scream.on_event(
        at,
        &Event::PacketsSent(Burst::single(SentPacket {
            transport_seq: seq,
            ssrc: 1,
            size: DataSize::from_bytes(1_000),
            kind: PacketKind::Video,
            probe_cluster: None,
            in_flight: DataSize::from_bytes(in_flight),
            place: None,
        })),
    );
}

fn feed(scream: &mut Scream, at: Timestamp, reports: &[PacketReport]) {
    reports.iter().for_each(|report| scream.reader.sent(report.transport_seq, report.size.as_bytes()));
    scream.on_event(at, &Event::TransportFeedback(feedback(reports)));
}

/// [rfc8298] §4.1.2.1: window × 0.8 and target × 0.9 on loss, once a round trip of 100 ms.
#[test]
fn losses_of_one_round_trip_are_one_event() {
    let mut scream = with(Config::default());
    scream.window.sent(ms(0), 20_000);
    // A first feedback of 20 packets: fast increase takes the window from 3,000 to 23,000.
    let first: Vec<_> = (0..20).map(|seq| report(seq, 0, Some(50))).collect();
    feed(&mut scream, ms(100), &first);
    assert_eq!(scream.window.bytes(), 23_000.0);
    feed(&mut scream, ms(150), &[report(20, 50, None), report(21, 50, Some(50))]);
    assert_eq!((scream.window.bytes(), scream.media_rate.target_bps()), (18_400.0, 0.9e6));
    feed(&mut scream, ms(200), &[report(22, 100, None), report(23, 100, Some(50))]);
    assert_eq!(scream.media_rate.target_bps(), 0.9e6);
    feed(&mut scream, ms(250), &[report(24, 150, None), report(25, 150, Some(50))]);
    assert!((scream.media_rate.target_bps() - 0.81e6).abs() < 1e-6);
}

/// [rfc8298] §4.1.3: a loss exits the rate change procedure. The target does not rise in the same feedback, though 200
/// ms are over and the call is in fast increase, and the next adjustment is 200 ms later.
#[test]
fn the_feedback_of_a_loss_does_not_raise_the_target() {
    let mut scream = scream();
    feed(&mut scream, ms(100), &[report(1, 50, Some(50))]);
    feed(&mut scream, ms(350), &[report(2, 290, None), report(3, 290, Some(50))]);
    assert_eq!(scream.media_rate.target_bps(), 0.9e6);
    feed(&mut scream, ms(540), &[report(4, 480, Some(50))]);
    assert_eq!(scream.media_rate.target_bps(), 0.9e6);
    feed(&mut scream, ms(550), &[report(5, 490, Some(50))]);
    assert!(scream.media_rate.target_bps() != 0.9e6);
}

/// [rfc8298] §4.1.2.1: × 0.9 for window and target on a mark.
#[test]
fn a_mark_cuts_less_than_a_loss() {
    let mut scream = scream();
    scream.window.sent(ms(0), 20_000);
    let first: Vec<_> = (0..20).map(|seq| report(seq, 0, Some(50))).collect();
    feed(&mut scream, ms(100), &first);
    feed(&mut scream, ms(150), &[PacketReport { ce: true, ..report(20, 50, Some(50)) }]);
    assert_eq!((scream.window.bytes(), scream.media_rate.target_bps()), (20_700.0, 0.9e6));
}

/// [rfc8298] §4.1.2.5 and §4.1.2.6, worked by hand: 23,000 bytes in 100 ms are 1.84 Mbit/s; 1,000 more
/// may be in flight while the queue is short.
#[test]
fn the_decision_is_window_and_pace() {
    let mut scream = scream();
    scream.window.sent(ms(0), 20_000);
    let first: Vec<_> = (0..20).map(|seq| report(seq, 0, Some(50))).collect();
    feed(&mut scream, ms(100), &first);
    let decision = scream.decision();
    assert_eq!(decision.pacing.rate, DataRate::from_bps(1_840_000));
    assert_eq!(decision.congestion_window, Some(DataSize::from_bytes(24_000)));
}

/// [rfc8298] §4.1.3: with bytes of earlier frames left in the queue, the target loses a twentieth
/// every interval, feedback or not.
#[test]
fn a_growing_media_queue_lowers_the_target_without_feedback() {
    let mut scream = scream();
    scream.window.cut(1.0);
    scream.on_event(
        ms(0),
        &Event::PacerQueue(PacerQueue { size: DataSize::from_bytes(30_000), ..PacerQueue::default() }),
    );
    send(&mut scream, ms(10), 0, 1_000);
    scream.on_event(ms(33), &Event::FrameCaptured(SourceFrameInfo { frame: 1, complexity: None }));
    assert_eq!(scream.next_deadline(), Some(ms(400)));
    let before = scream.decision().target_bitrate;
    scream.on_event(ms(400), &Event::Deadline);
    assert!(scream.decision().target_bitrate < before.scale(0.95));
}

/// [rfc8298] §4.1.3: packets that are "excessively delayed" are discarded; here the pictures after them are skipped.
#[test]
fn pictures_are_skipped_while_media_waits_longer_than_a_fifth_of_a_second() {
    let mut scream = scream();
    let size = DataSize::from_bytes(2_000);
    scream.on_event(ms(0), &Event::PacerQueue(PacerQueue { size, ..PacerQueue::default() }));
    let left_out = |scream: &mut Scream, at: i64| {
        scream.on_event(ms(at), &Event::FrameCaptured(SourceFrameInfo { frame: 1, complexity: None }));
        scream.decision().encoder.drop_one_frame_in
    };
    assert_eq!([100, 200, 201].map(|at| left_out(&mut scream, at)), [None, None, Some(1)]);
    send(&mut scream, ms(210), 0, 1_000);
    assert_eq!(left_out(&mut scream, 233), Some(1));
    send(&mut scream, ms(240), 1, 2_000);
    assert_eq!(left_out(&mut scream, 266), None, "nothing waits any more");
}

/// [rfc8298] §4.1.3 to the letter.
#[test]
fn media_that_waits_longer_is_discarded_where_that_is_wanted() {
    let mut scream = with(Config { discard_media: true, ..Config::default() });
    let size = DataSize::from_bytes(2_000);
    scream.on_event(ms(0), &Event::PacerQueue(PacerQueue { size, ..PacerQueue::default() }));
    scream.on_event(ms(201), &Event::FrameCaptured(SourceFrameInfo { frame: 1, complexity: None }));
    let decision = scream.decision();
    assert_eq!(decision.sending.drop_queued, Some(TimeDelta::from_millis(200)));
    assert_eq!(decision.encoder.drop_one_frame_in, None);
}

#[test]
fn three_seconds_without_feedback_leave_an_eighth() {
    let mut scream = scream();
    let at = |ms| Timestamp::from_millis(ms);
    scream.window.sent(at(0), 20_000);
    feed(&mut scream, at(100), &(0..20).map(|seq| report(seq, 0, Some(50))).collect::<Vec<_>>());
    for step in 0..300 {
        send(&mut scream, at(100 + step * 10), 20 + step as u64, 1_000 * step as u64);
        while scream.next_deadline().is_some_and(|due| due <= at(110 + step * 10)) {
            scream.on_event(at(110 + step * 10), &Event::Deadline);
        }
    }
    let target = scream.decision().target_bitrate;
    assert!(target <= DataRate::from_kbps(125), "{target}");
}
