//! The sender's rules against figures worked by hand.

use super::*;
use legato_control::{Fate, PacketKind, PacketReport};
use legato_units::{DataSize, PeerTimestamp};

/// A path of a fixed round trip: packets of 1,000 bytes leave evenly, feedback comes every round trip.
struct Path {
    sender: TfrcSender,
    now: Timestamp,
    rtt: TimeDelta,
    seq: u64,
}

impl Path {
    fn new(config: Config, rtt_ms: i64) -> Self {
        let sender = TfrcSender::new(config, DataRate::from_kbps(300), Timestamp::ZERO);
        let rtt = TimeDelta::from_millis(rtt_ms);
        Self { sender, now: Timestamp::ZERO + rtt, rtt, seq: 0 }
    }

    /// One round trip in which `packets` leave and the feedback on as many comes, all arrived except those
    /// at the places in `missing`.
    fn round(&mut self, packets: u64, missing: &[u64]) {
        self.round_of(packets, missing, self.rtt);
    }

    fn round_of(&mut self, packets: u64, missing: &[u64], sample: TimeDelta) {
        for _ in 0..packets {
            self.sender.on_sent(1_000);
        }
        self.now += self.rtt;
        let newest = self.now - sample;
        let report = |place: u64| {
            let departure = newest - self.rtt * (packets - 1 - place) as i64 / packets.max(1) as i64;
            let arrival = PeerTimestamp::from_nanos(departure.as_nanos() + 5_000_000_000);
            PacketReport {
                transport_seq: self.seq + place,
                ssrc: 1,
                size: DataSize::from_bytes(1_000),
                departure,
                fate: if missing.contains(&place) { Fate::Missing } else { Fate::Arrived(Some(arrival)) },
                ce: false,
                kind: PacketKind::Video,
                probe_cluster: None,
                place: None,
            }
        };
        let reports = (0..packets).map(report).collect();
        self.seq += packets;
        self.sender
            .on_feedback(self.now, &TransportFeedback { reports, in_flight: DataSize::ZERO, ..Default::default() });
    }

    fn allowed(&self) -> f64 {
        self.sender.allowed.round()
    }
}

fn config() -> Config {
    Config { damp_oscillations: false, ..Config::default() }
}

#[track_caller]
fn assert_close(got: f64, expected: f64, tolerance_ratio: f64) {
    assert!((got / expected - 1.0).abs() < tolerance_ratio, "{got} is not {expected}");
}

/// [rfc5348] §4.2, worked by hand: 4380 B / 0.1 s after the first feedback.
#[test]
fn the_first_feedback_allows_an_initial_window_a_round_trip() {
    let mut path = Path::new(config(), 100);
    assert_eq!(path.allowed(), 37_500.0);
    path.round(4, &[]);
    assert_eq!(path.allowed(), 43_800.0);
}

/// [rfc5348] §4.3: X doubles each round trip up to 2 · X_recv. 5 packets per round trip of 100 ms are 50,000 B/s.
#[test]
fn slow_start_doubles_up_to_twice_what_was_received() {
    let mut path = Path::new(config(), 100);
    path.round(5, &[]);
    path.round(5, &[]);
    assert_eq!(path.allowed(), 87_600.0);
    path.round(5, &[]);
    assert_eq!(path.allowed(), 100_000.0);
    path.round(8, &[]);
    assert_eq!(path.allowed(), 160_000.0);
}

/// [rfc5348] §4.3, worked by hand: 0.9 · 100 + 0.1 · 200 = 110 ms.
#[test]
fn round_trips_are_smoothed_by_nine_tenths() {
    let mut path = Path::new(config(), 100);
    path.round(5, &[]);
    path.round_of(5, &[], TimeDelta::from_millis(200));
    let (smoothed_s, latest_s) = path.sender.rtts_s().unwrap();
    assert_close(smoothed_s, 0.11, 1e-9);
    assert_close(latest_s, 0.2, 1e-9);
}

/// The rate of `sender` after one packet of 1,000 bytes of `kind` that left at 1,000 ms and arrived 30 ms later. A
/// feedback of 1,100 ms reports it, written `held_ms` after the arrival, if it says so.
fn take(sender: &mut TfrcSender, seq: u64, kind: PacketKind, held_ms: Option<i64>) {
    let departure = Timestamp::from_millis(1_000);
    let arrival = |ms: i64| PeerTimestamp::from_nanos((77_000 + ms) * 1_000_000);
    let report = PacketReport {
        transport_seq: seq,
        ssrc: 1,
        size: DataSize::from_bytes(if kind == PacketKind::Audio { 100 } else { 1_000 }),
        departure,
        fate: Fate::Arrived(Some(arrival(1_030))),
        ce: false,
        kind,
        probe_cluster: None,
        place: None,
    };
    let written = held_ms.map(|ms| arrival(1_030 + ms));
    let feedback = TransportFeedback { reports: vec![report].into(), in_flight: DataSize::ZERO, written };
    sender.on_feedback(Timestamp::from_millis(1_100), &feedback);
}

/// [rfc5348] §4.3, worked by hand: R_sample = (1,100 - 1,000) - 40 ms, where the feedback says that it was written
/// 40 ms after the newest packet came.
#[test]
fn the_time_for_which_a_report_was_held_is_no_round_trip() {
    let sample = |held_ms| {
        let mut sender = TfrcSender::new(config(), DataRate::from_kbps(300), Timestamp::ZERO);
        take(&mut sender, 1, PacketKind::Video, held_ms);
        sender.rtt().as_millis()
    };
    assert_eq!([Some(40), Some(0), None].map(sample), [60, 100, 100]);
}

/// [rfc5348] §4.1: s is the segment size of the flow that is controlled: (1,000 + 1,000) / 2, with any audio.
#[test]
fn audio_does_not_lower_the_segment_size() {
    let mut sender = TfrcSender::new(config(), DataRate::from_kbps(300), Timestamp::ZERO);
    let kinds = [PacketKind::Video, PacketKind::Audio, PacketKind::Audio, PacketKind::Retransmission];
    (1..).zip(kinds).for_each(|(seq, kind)| take(&mut sender, seq, kind, None));
    assert_eq!(sender.packet_bytes(), 1_000.0);
}

/// [rfc5348] §6.3.1: X_target is at least half a packet a round trip, 5,000 B/s, when less was received as well.
#[test]
fn the_first_loss_interval_is_worth_at_least_half_a_packet_a_round_trip() {
    let mut path = Path::new(config(), 100);
    path.sender.largest_receive_rate = Some(1_000.0);
    path.round(10, &[6]);
    assert_close(path.sender.equation.unwrap(), 5_000.0, 0.05);
}

/// [rfc5348] §4.5, worked by hand: R_sqmean = 0.9 sqrt(0.1) + 0.1 sqrt(0.4) = 0.34785; over sqrt(0.4): 0.55.
#[test]
fn a_longer_round_trip_damps_the_rate() {
    let mut path = Path::new(Config::default(), 100);
    path.round(5, &[]);
    path.round(5, &[]);
    assert_eq!(path.sender.instantaneous(), path.sender.allowed());
    path.round_of(5, &[], TimeDelta::from_millis(400));
    assert_close(path.sender.instantaneous().as_bps_f64(), path.sender.allowed().as_bps_f64() * 0.55, 1e-6);
}

/// [rfc5348] §6.3.1: after the first loss the equation gives the largest rate received, here 100,000 B/s.
#[test]
fn the_first_loss_interval_is_worth_the_rate_received_so_far() {
    let mut path = Path::new(config(), 100);
    for _ in 0..5 {
        path.round(10, &[]);
    }
    path.round(10, &[2]);
    // X_recv of this round is lower; the equation's rate at the synthetic interval is the received rate.
    let equation = path.sender.equation.unwrap();
    assert_close(equation, 100_000.0, 0.05);
    // [rfc5348] §3.1: the same, from the equation itself.
    let p = path.sender.loss_event_ratio;
    assert_close(TcpEquation::new(1_000.0, 0.1, 1.0).bytes_per_s(p), equation, 1e-9);
}

/// [rfc5348] §6.3.1: nothing received before: half a packet a round trip, 5,000 B/s.
#[test]
fn a_first_loss_before_any_rate_is_known_is_worth_half_a_packet() {
    let mut path = Path::new(config(), 100);
    // The open interval, four packets, is shorter than the synthetic one.
    path.round(10, &[6]);
    assert_close(path.sender.equation.unwrap(), 5_000.0, 0.05);
}

/// [rfc5348] §4.3, worked by hand: with loss X is the equation's, at most 2 · X_recv, at least 1000 B / 64 s.
#[test]
fn with_loss_the_rate_is_the_equations() {
    let mut path = Path::new(config(), 100);
    for round in 0..200 {
        // Every 50th packet: one event in 50 packets, p = 0.02.
        let missing: &[u64] = if round % 5 == 4 { &[3] } else { &[] };
        path.round(10, missing);
    }
    assert_close(path.sender.loss_event_ratio, 0.02, 0.02);
    // s = 1000, R = 0.1: 703.2 kbit/s · 1000/1200 at p = 0.02.
    assert_close(path.sender.allowed().as_bps_f64(), 586_000.0, 0.02);
}

/// [rfc5348] §4.3, worked by hand: 0.5 Mbit/s by the equation, but only 2 · 10,000 B/s were received in two round trips.
#[test]
fn twice_what_was_received_caps_the_rate() {
    let mut path = Path::new(config(), 100);
    for round in 0..200 {
        path.round(10, if round % 5 == 4 { &[3] } else { &[] });
    }
    // The pacer holds media back: not data-limited, so old rates are forgotten.
    for _ in 0..5 {
        path.sender.on_pacer_queue(TimeDelta::from_secs(1));
        path.round(1, &[]);
    }
    assert_close(path.sender.allowed, 20_000.0, 0.01);
}

/// [rfc5348] §4.3: an application with little to send keeps its allowance.
#[test]
fn a_data_limited_flow_keeps_its_allowance() {
    let mut path = Path::new(config(), 100);
    for _ in 0..6 {
        path.round(20, &[]);
    }
    assert_eq!(path.allowed(), 400_000.0);
    for _ in 0..50 {
        path.round(2, &[]);
    }
    assert_eq!(path.allowed(), 400_000.0);
    // The older edition falls to 2 · X_recv: 2 packets a round trip are 20,000 B/s.
    // [rfc3448] §4.3: X = max(min(2 X, 2 X_recv), s / R).
    let mut old = Path::new(Config { edition: Edition::Rfc3448, ..config() }, 100);
    for packets in [20, 20, 20, 20, 20, 20, 2, 2] {
        old.round(packets, &[]);
    }
    assert_eq!(old.allowed(), 40_000.0);
}

/// [rfc5348] §4.3, worked by hand: data-limited and new loss: the set's 200,000 halved, against 0.85 · 20,000.
#[test]
fn loss_while_data_limited_halves_what_was_received() {
    let mut path = Path::new(config(), 100);
    for _ in 0..6 {
        path.round(20, &[]);
    }
    for _ in 0..10 {
        path.round(4, &[]);
    }
    path.round(8, &[0]);
    assert_close(path.sender.allowed, 100_000.0, 0.01);
}

/// [rfc5348] §4.4: no feedback from the start: halved every 2 s, while packets leave.
#[test]
fn without_any_feedback_the_start_rate_is_halved_every_two_seconds() {
    let mut sender = TfrcSender::new(config(), DataRate::from_kbps(300), Timestamp::ZERO);
    for (s, kbps) in [(2, 150), (4, 75)] {
        assert_eq!(sender.next_deadline(), Timestamp::from_secs(s));
        sender.on_sent(1_000);
        sender.on_deadline(Timestamp::from_secs(s));
        assert_eq!(sender.allowed(), DataRate::from_kbps(kbps));
    }
}

/// [rfc5348] §4.4: before loss X is halved; with loss, its limit: X_recv, or the equation. The timer is max(4 R,
/// 2 s / X, four feedback intervals).
#[test]
fn silence_after_feedback_halves_the_rate() {
    let mut path = Path::new(config(), 100);
    for _ in 0..60 {
        path.round(20, &[]);
    }
    let due = path.sender.next_deadline();
    // 4 · 100 ms, and feedback every 100 ms.
    assert_close((due - path.now).as_secs_f64(), 0.4, 0.01);
    path.sender.on_sent(1_000);
    path.sender.on_deadline(due);
    assert_eq!(path.allowed(), 200_000.0);
    assert!(path.sender.silent());

    let mut lossy = Path::new(config(), 100);
    for round in 0..200 {
        lossy.round(10, if round % 5 == 4 { &[3] } else { &[] });
    }
    let before = lossy.sender.allowed;
    for n in 1..4 {
        lossy.sender.on_sent(1_000);
        lossy.sender.on_deadline(lossy.sender.next_deadline());
        assert_close(lossy.sender.allowed, before / f64::from(1 << n), 0.01);
    }
}

/// [rfc5348] §4.4: an idle sender below the initial rate is not halved.
#[test]
fn an_idle_sender_keeps_a_small_rate() {
    let mut path = Path::new(config(), 100);
    path.round(3, &[]);
    path.round(3, &[]);
    let before = path.allowed();
    let due = path.sender.next_deadline();
    path.sender.on_deadline(due);
    assert_eq!(path.allowed(), before);
}

/// Three seconds of silence at usual feedback intervals halve any rate at least once.
#[test]
fn three_seconds_of_silence_at_least_halve_the_rate() {
    for rtt_ms in [20, 100, 300, 600] {
        let mut path = Path::new(config(), rtt_ms);
        for round in 0..100 {
            path.round(10, if round % 5 == 4 { &[3] } else { &[] });
        }
        let (before, end) = (path.sender.allowed, path.now + TimeDelta::from_secs(3));
        while path.sender.next_deadline() <= end {
            path.sender.on_sent(1_000);
            path.sender.on_deadline(path.sender.next_deadline());
        }
        assert!(path.sender.allowed <= before / 2.0, "{rtt_ms} ms: {} of {before}", path.sender.allowed);
    }
}
