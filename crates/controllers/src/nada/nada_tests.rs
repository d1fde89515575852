//! Tests of [`Nada`] as a whole: shaping, modes, silence, limits.

use super::*;
use legato_control::{Fate, NoAssets, PacerQueue, PacketKind, SentPacket};
use legato_units::{Burst, PeerTimestamp};

const LIMITS: RateLimits =
    RateLimits { min: DataRate::from_kbps(150), start: DataRate::from_kbps(800), max: DataRate::from_kbps(1_500) };

fn nada(config: Config) -> Nada {
    let context = Context { limits: LIMITS, start: Timestamp::ZERO, seed: 0, assets: &NoAssets };
    Nada::new(config, context).unwrap()
}

fn at(ms: i64) -> Timestamp {
    Timestamp::from_millis(ms)
}

/// Packets leave every 10 ms; each arrives after 30 ms and `queue_ms` more; feedback every 100 ms.
struct Path {
    nada: Nada,
    seq: u64,
}

impl Path {
    fn new() -> Self {
        Self { nada: nada(Config::default()), seq: 0 }
    }

    fn feed(&mut self, rounds: usize, queue_ms: i64, fate_of: impl Fn(u64) -> bool, ce: bool) {
        for _ in 0..rounds {
            let report = |seq: u64| {
                let departure = at(10 * seq as i64);
                let arrival = PeerTimestamp::from_nanos(departure.as_nanos() + (30 + queue_ms) * 1_000_000 + 77);
                PacketReport {
                    transport_seq: seq,
                    ssrc: 1,
                    size: DataSize::from_bytes(1_000),
                    departure,
                    fate: if fate_of(seq) { Fate::Arrived(Some(arrival)) } else { Fate::Missing },
                    ce,
                    kind: PacketKind::Video,
                    probe_cluster: None,
                    place: None,
                }
            };
            let reports = (self.seq..self.seq + 10).map(report).collect();
            self.seq += 10;
            let feedback = TransportFeedback { reports, in_flight: DataSize::ZERO, ..Default::default() };
            self.nada.on_event(at(10 * self.seq as i64 + 100), &Event::TransportFeedback(feedback));
        }
    }
}

fn gauge(nada: &Nada, wanted: &str) -> f64 {
    let mut found = f64::NAN;
    nada.clone().observe(&mut |name, value| {
        if name == wanted {
            found = value
        }
    });
    found
}

/// [rfc8698] §5.2.2, worked by hand: 2,000 bytes are 0.1 × 8 × 2000 × 30 = 48 kbit/s, more than
/// 5 % of 800 kbit/s; 1,000 bytes are 24.
#[test]
fn a_backlog_slows_the_encoder_and_hastens_the_pacer() {
    let mut nada = nada(Config::default());
    let mut rates = |bytes| {
        let queue = PacerQueue { size: DataSize::from_bytes(bytes), drain: TimeDelta::ZERO };
        nada.on_event(at(0), &Event::PacerQueue(queue));
        let decision = nada.decision();
        (decision.target_bitrate.as_bps(), decision.pacing.rate.as_bps())
    };
    assert_eq!(rates(0), (800_000, 800_000));
    assert_eq!(rates(1_000), (776_000, 824_000));
    assert_eq!(rates(2_000), (760_000, 840_000));
}

/// [rfc8698] §4.2: without loss or a queue in the window the rate ramps up; 800 kbit/s arrive, a
/// round trip is 110 ms, gamma is 50 / 330.
#[test]
fn on_an_empty_path_the_rate_ramps_up() {
    let mut path = Path::new();
    path.feed(20, 0, |_| true, false);
    assert_eq!(gauge(&path.nada, "ramp_up"), 1.0);
    let reference = gauge(&path.nada, "reference_bps");
    assert!((reference - 800_000.0 * (1.0 + 50.0 / 330.0)).abs() < 20_000.0, "{reference}");
}

/// [rfc8698] §4.2: a queue of QEPS ends ramp-up, and [rfc8698] §4.3: the rate ends where r x is the
/// reference, 15 Mbit/s ms: at 20 ms 750 kbit/s.
#[test]
fn a_standing_queue_moves_the_rate_to_the_equilibrium() {
    let mut path = Path::new();
    path.feed(1, 0, |_| true, false);
    path.feed(2_000, 20, |_| true, false);
    assert_eq!(gauge(&path.nada, "ramp_up"), 0.0);
    assert_eq!(gauge(&path.nada, "queuing_delay_ms"), 20.0);
    let reference = gauge(&path.nada, "reference_bps");
    assert!((reference - 750_000.0).abs() < 1_000.0, "{reference}");
}

/// [rfc8698] §5.1.2, worked by hand: one packet of 20 lost is two or three of the 50 in LOGWIN, 4 to 6 %; smoothing
/// remembers ten packets. The signal is 160 to 360 ms.
#[test]
fn loss_alone_lowers_the_rate() {
    let mut path = Path::new();
    path.feed(100, 0, |seq| seq % 20 != 19, false);
    assert!((0.04..=0.06).contains(&gauge(&path.nada, "loss_ratio")));
    assert!((160.0..=360.0).contains(&gauge(&path.nada, "signal_ms")));
    let target = path.nada.decision().target_bitrate;
    assert!(target < DataRate::from_kbps(400), "{target}");
}

/// [rfc8698] §4.3: r_ref = RMIN at first, and after a new route; or the call's start rate.
#[test]
fn the_rate_begins_at_the_minimum_or_where_the_call_does() {
    for (start_at_minimum, begin) in [(true, LIMITS.min), (false, LIMITS.start)] {
        let mut path = Path { nada: nada(Config { start_at_minimum, ..Config::default() }), seq: 0 };
        assert_eq!(path.nada.decision().target_bitrate, begin);
        path.feed(20, 0, |_| true, false);
        assert!(path.nada.decision().target_bitrate > begin);
        path.nada.on_event(at(3_000), &Event::RouteChange);
        assert_eq!(path.nada.decision().target_bitrate, begin);
    }
}

#[test]
fn marks_alone_lower_the_rate() {
    let mut path = Path::new();
    path.feed(200, 0, |_| true, true);
    assert!(gauge(&path.nada, "mark_ratio") > 0.9);
    assert_eq!(path.nada.decision().target_bitrate, LIMITS.min);
}

/// [rfc8698] §5.1.1 and DFILT, worked by hand: packets every 10 ms. One without a queue is the minimum for the next 12
/// packets, 120 ms, although the filter holds 15; a queue of 20 ms delays arrivals as much.
#[test]
fn no_sample_of_the_minimum_filter_is_older_than_dfilt() {
    let mut path = Path::new();
    path.feed(1, 0, |_| true, false);
    path.feed(1, 20, |_| true, false);
    assert_eq!(gauge(&path.nada, "queuing_delay_ms"), 0.0);
    path.feed(1, 20, |_| true, false);
    assert_eq!(gauge(&path.nada, "queuing_delay_ms"), 20.0);
}

/// [rfc8698] §5.1.1: of 15 packets one without a queue suffices.
#[test]
fn a_burst_that_queues_behind_itself_is_not_congestion() {
    let mut path = Path::new();
    for _ in 0..10 {
        path.feed(1, 40, |_| true, false);
        path.feed(1, 0, |_| true, false);
    }
    assert_eq!(gauge(&path.nada, "queuing_delay_ms"), 0.0);
}

/// [rfc8888] §5, worked by hand: before the first feedback a second is silence; with one every 100 ms at a round trip
/// of 100 ms, four intervals and a round trip are 500 ms.
#[test]
fn silence_halves_the_rate_again_and_again_while_packets_leave() {
    let sent = Event::PacketsSent(Burst::single(SentPacket {
        transport_seq: 1,
        ssrc: 1,
        size: DataSize::from_bytes(1_000),
        kind: PacketKind::Video,
        probe_cluster: None,
        in_flight: DataSize::ZERO,
        place: None,
    }));
    let falls = |nada: &mut Nada, from: i64, to: i64| {
        let mut falls = Vec::new();
        nada.on_event(at(from), &sent);
        while let Some(due) = nada.next_deadline().filter(|due| *due < at(to)) {
            let before = nada.decision().target_bitrate;
            nada.on_event(due, &Event::Deadline);
            falls.push((due.as_nanos() / 1_000_000 - from, before.as_bps(), nada.decision().target_bitrate.as_bps()));
        }
        falls
    };
    let mut path = Path { nada: nada(Config::default()), seq: 0 };
    assert_eq!(path.nada.next_deadline(), None, "nothing left yet");
    let at_first = falls(&mut path.nada, 0, 2_500);
    assert_eq!(at_first, [(1_000, 800_000, 400_000), (2_000, 400_000, 200_000)]);
    for _ in 0..200 {
        let newest = 10 * (path.seq as i64 + 10) + 100;
        path.nada.on_event(at(newest - 100), &sent);
        path.feed(1, 0, |_| true, false);
    }
    let later = falls(&mut path.nada, 20_200, 21_300);
    assert_eq!(later.len(), 2, "{later:?}");
    for (n, (after_ms, before, then)) in (1..).zip(later) {
        // The newest packet of a report left 110 ms before.
        assert!((after_ms - n * 510).abs() <= 5, "{after_ms}");
        assert!((then as f64 - 0.5 * before as f64).abs() < 2.0);
    }
}
