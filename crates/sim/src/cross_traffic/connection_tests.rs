//! A connection against a receiver that the test plays by hand.

use super::*;
use crate::Seed;
use crate::cross_traffic::{Algorithm, TcpReceiver};

/// Segments of 1,000 bytes, initially `window` of them, `bytes` to send.
fn connection(window: u32, bytes: u64) -> Connection {
    let config = TcpConfig { segment_bytes: 1_000, initial_window_segments: Some(window), ..TcpConfig::default() };
    let mut rng = Seed(1).stream("connection");
    let mut connection = Connection::new(&config, &mut rng);
    connection.restart(0, bytes, &mut rng);
    connection
}
fn ms(ms: i64) -> Timestamp {
    Timestamp::from_millis(ms)
}
/// The numbers of the segments that leave.
fn poll(connection: &mut Connection, now: Timestamp) -> Vec<u64> {
    core::iter::from_fn(|| connection.poll(now)).map(|segment| segment.seq / 1_000).collect()
}
fn ack(cumulative: u64, echo: Timestamp, sacks: &[(u64, u64)]) -> Ack {
    let mut ack = Ack::new(0, cumulative * 1_000, echo, false);
    sacks.iter().for_each(|&(from, to)| ack.push_sack(from * 1_000, to * 1_000));
    ack
}

/// [rfc6675] §5: with ten in flight and 2 missing, the third SACK retransmits it at once and halves the window. More
/// leaves when the pipe is below five; recovery ends when everything sent before is acknowledged.
#[test]
fn one_loss_is_repaired_in_a_round_trip_and_halves_the_window_once() {
    let mut c = connection(10, u64::MAX);
    assert_eq!(poll(&mut c, ms(0)), (0..10).collect::<Vec<_>>());
    // Slow start: two acknowledged, four leave.
    c.on_ack(ms(100), &ack(1, ms(0), &[]));
    c.on_ack(ms(100), &ack(2, ms(0), &[]));
    assert_eq!(poll(&mut c, ms(100)), [10, 11, 12, 13]);
    // 3 and 4 are SACKed: limited transmit of one segment each.
    c.on_ack(ms(101), &ack(2, ms(0), &[(3, 4)]));
    assert_eq!(poll(&mut c, ms(101)), [14]);
    c.on_ack(ms(102), &ack(2, ms(0), &[(3, 5)]));
    assert_eq!(poll(&mut c, ms(102)), [15]);
    // Twelve were in flight.
    c.on_ack(ms(103), &ack(2, ms(0), &[(3, 6)]));
    assert_eq!((poll(&mut c, ms(103)), c.window().as_bytes(), c.phase), (vec![2], 6_000, Phase::Recovery));
    // In flight: 6 to 15 and 2. New data when five more are SACKed and one.
    c.on_ack(ms(104), &ack(2, ms(0), &[(3, 10)]));
    assert_eq!(poll(&mut c, ms(104)), Vec::<u64>::new());
    c.on_ack(ms(105), &ack(2, ms(0), &[(3, 12)]));
    assert_eq!(poll(&mut c, ms(105)), [16]);
    c.on_ack(ms(203), &ack(16, ms(103), &[]));
    assert_eq!((c.phase, c.window().as_bytes(), c.counts().recoveries), (Phase::Open, 6_000, 1));
    assert_eq!(poll(&mut c, ms(203)), [17, 18, 19, 20, 21]);
}

/// [rfc6675] §4, NextSeg (4), and §5 (4.3), by hand: ten segments and no more; 0 is lost, 1 to 3 are SACKed: 0 leaves again, and
/// no rescue yet. When 5, 6 and 7 are SACKed too, 4 is lost and leaves by NextSeg (1).
#[test]
fn a_rescue_does_not_hide_holes_that_are_found_later() {
    let mut c = connection(10, 10_000);
    poll(&mut c, ms(0));
    let mut left = Vec::new();
    for (n, sacks) in [&[(1, 2)][..], &[(1, 3)], &[(1, 4)], &[(5, 6), (1, 4)], &[(5, 7), (1, 4)], &[(5, 8), (1, 4)]]
        .into_iter()
        .enumerate()
    {
        let now = ms(100 + n as i64);
        c.on_ack(now, &ack(0, ms(0), sacks));
        left.push(poll(&mut c, now));
    }
    assert_eq!(left, [vec![], vec![], vec![0], vec![], vec![], vec![4]]);
    // 0 arrives: the rescue is allowed now, once; 9 is the highest that is not SACKed.
    c.on_ack(ms(200), &ack(4, ms(102), &[(5, 8)]));
    assert_eq!(poll(&mut c, ms(200)), [9]);
    c.on_ack(ms(201), &ack(8, ms(105), &[]));
    assert_eq!((poll(&mut c, ms(201)), c.counts().timeouts), (vec![], 0));
    c.on_ack(ms(300), &ack(10, ms(200), &[]));
    assert!(c.is_complete());
}

/// [rfc3168] §6.1.2, [rfc9438] §4.6: marks halve the window down to one segment; there the next segment waits for the
/// retransmission timer.
#[test]
fn marks_at_one_segment_slow_the_sender_by_its_timer() {
    for congestion_control in [Algorithm::Reno, Algorithm::Cubic] {
        let mut c = connection(4, u64::MAX);
        c.config.ecn = true;
        c.config.congestion_control = congestion_control;
        let mut rng = Seed(1).stream("marks");
        c.restart(0, u64::MAX, &mut rng);
        let (mut now, mut windows, mut acked) = (ms(0), Vec::new(), 0);
        while let Some(&last) = poll(&mut c, now).last() {
            now += TimeDelta::from_millis(100);
            acked = last + 1;
            c.on_ack(now, &Ack::new(0, acked * 1_000, now - TimeDelta::from_millis(100), true));
            windows.push(c.window().as_bytes() / 1_000);
        }
        assert!(windows.is_sorted_by(|a, b| a >= b) && windows.last() == Some(&1), "{windows:?}");
        // A mark at one segment: nothing until the timer of one second, its minimum.
        assert_eq!(c.next_deadline(), Some(now + TimeDelta::from_secs(1)), "{congestion_control:?}");
        now += TimeDelta::from_secs(1);
        c.on_deadline(now);
        assert_eq!((poll(&mut c, now), c.counts().timeouts), (vec![acked], 0), "{congestion_control:?}");
    }
}

/// [rfc6298] §5.1, §5.2, §5.3, §5.4, §5.5 and §5.6, [rfc6675] §5.1: one second after the first segment, then two, only the first is retransmitted;
/// when it is acknowledged the rest follows in slow start.
#[test]
fn a_silence_times_out_and_doubles() {
    let mut c = connection(4, 4_000);
    poll(&mut c, ms(0));
    assert_eq!((c.next_deadline(), c.poll(ms(999))), (Some(ms(1_000)), None));
    c.on_deadline(ms(1_000));
    assert_eq!((poll(&mut c, ms(1_000)), c.next_deadline()), (vec![0], Some(ms(3_000))));
    c.on_deadline(ms(3_000));
    assert_eq!((poll(&mut c, ms(3_000)), c.counts().timeouts), (vec![0], 2));
    c.on_ack(ms(3_100), &ack(1, ms(3_000), &[]));
    assert_eq!((poll(&mut c, ms(3_100)), c.next_deadline()), (vec![1, 2], Some(ms(4_100))));
    c.on_ack(ms(3_200), &ack(3, ms(3_100), &[]));
    assert_eq!(poll(&mut c, ms(3_200)), [3]);
    c.on_ack(ms(3_300), &ack(4, ms(3_200), &[]));
    assert_eq!((c.is_complete(), c.next_deadline(), c.phase), (true, None, Phase::Open));
}

/// [rfc3168] §6.1.2 and §6.1.5: one reaction per window, confirmed by CWR on new data; retransmissions are not ECN-capable.
#[test]
fn marks_halve_once_a_window_and_are_confirmed() {
    let mut c = connection(10, u64::MAX);
    c.config.ecn = true;
    assert!(core::iter::from_fn(|| c.poll(ms(0))).all(|segment| segment.ect && !segment.cwr));
    let marked = |cumulative: u64, echo| Ack::new(0, cumulative * 1_000, echo, true);
    c.on_ack(ms(100), &marked(2, ms(0)));
    assert_eq!((c.window().as_bytes(), c.counts().marks), (5_000, 1));
    c.on_ack(ms(101), &marked(4, ms(0)));
    assert_eq!(c.counts().marks, 1);
    c.on_ack(ms(102), &marked(6, ms(0)));
    let flags: Vec<(bool, bool)> = core::iter::from_fn(|| c.poll(ms(102))).map(|s| (s.ect, s.cwr)).collect();
    assert_eq!(flags, [(true, true)]);
    c.on_ack(ms(200), &marked(11, ms(102)));
    assert_eq!(c.counts().marks, 2);
    c.on_deadline(ms(60_000));
    assert!(c.poll(ms(60_000)).is_none_or(|segment| !segment.ect || !segment.retransmission));
}

/// [rfc5681] §4.1: after a pause longer than the timeout the window is the first one again.
#[test]
fn a_pause_sends_nothing_new_and_ends_with_the_first_window() {
    let mut c = connection(3, u64::MAX);
    let mut receiver = TcpReceiver::new(&TcpConfig { ack_every_segments: 1, ..c.config.clone() });
    let mut now = ms(0);
    for _ in 0..5 {
        let flight: Vec<_> = core::iter::from_fn(|| c.poll(now)).collect();
        now += TimeDelta::from_millis(100);
        for segment in &flight {
            receiver.on_segment(now, segment, false);
            let ack = receiver.poll_ack(now).expect("each");
            c.on_ack(now, &ack);
        }
    }
    assert_eq!(c.window().as_bytes(), 3_000 * 32);
    c.set_paused(true);
    assert_eq!((c.poll(now), c.next_deadline()), (None, None));
    c.set_paused(false);
    assert_eq!(poll(&mut c, now + TimeDelta::from_secs(2)).len(), 3);
}

/// [draft-cardwell-iccrg-bbr-congestion-control-00] §4.2.1: two segments at once, and the next two after the time both take.
#[test]
fn a_paced_connection_sends_a_quantum_at_a_time() {
    let congestion_control = Algorithm::Bbr;
    let config = TcpConfig { congestion_control, segment_bytes: 1_000, ..TcpConfig::default() };
    let mut rng = Seed(1).stream("connection");
    let mut c = Connection::new(&config, &mut rng);
    c.restart(0, u64::MAX, &mut rng);
    // 230.8 Mbit/s until the first round trip: 28 segments' quantum of 1 ms holds all ten.
    assert_eq!(poll(&mut c, ms(0)).len(), 10);
    c.on_ack(ms(100), &ack(2, ms(0), &[]));
    // 10,000 bytes in 100 ms, times 2.885: 2.308 Mbit/s, 3.466 ms per segment.
    assert_eq!(poll(&mut c, ms(100)), [10, 11]);
    let next = c.next_deadline().expect("paced");
    assert!((next - ms(100) - TimeDelta::from_micros(6_931)).abs() < TimeDelta::from_micros(2), "{next}");
}
