use super::*;
use legato_control::{Fate, NoAssets, PacketKind, SentPacket, TransportFeedback};
use legato_units::{Burst, DataSize, PeerTimestamp};

const LIMITS: RateLimits =
    RateLimits { min: DataRate::from_kbps(50), start: DataRate::from_kbps(300), max: DataRate::from_mbps(5) };

fn gcc(config: Config) -> Gcc {
    Gcc::new(config, Context { limits: LIMITS, start: Timestamp::ZERO, seed: 0, assets: &NoAssets }).unwrap()
}

fn at(ms: i64) -> Timestamp {
    Timestamp::from_millis(ms)
}

/// A packet that left at `sent_ms` and took 50 ms.
fn report(seq: u64, sent_ms: i64, bytes: u64, arrived: bool) -> PacketReport {
    let arrival = PeerTimestamp::from_nanos((sent_ms + 7_050) * 1_000_000);
    PacketReport {
        transport_seq: seq,
        ssrc: 1,
        size: DataSize::from_bytes(bytes),
        departure: at(sent_ms),
        fate: if arrived { Fate::Arrived(Some(arrival)) } else { Fate::Missing },
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

fn sent(seq: u64, in_flight_bytes: u64) -> Event {
    Event::PacketsSent(Burst::single(SentPacket {
        transport_seq: seq,
        ssrc: 1,
        size: DataSize::from_bytes(1_000),
        kind: PacketKind::Video,
        probe_cluster: None,
        in_flight: DataSize::from_bytes(in_flight_bytes),
        place: None,
    }))
}

#[test]
fn it_starts_at_the_start_rate_and_paces_at_two_and_a_half_until_the_first_feedback() {
    let mut gcc = gcc(Config::default());
    assert_eq!(gcc.decision().target_bitrate, LIMITS.start);
    assert_eq!(gcc.decision().pacing.rate, DataRate::from_kbps(750));
    gcc.on_event(at(100), &feedback(vec![report(0, 10, 1_000, true)]));
    let decision = gcc.decision();
    assert_eq!(decision.pacing.rate, decision.target_bitrate.scale(1.1));
}

#[test]
fn the_initial_probes_wait_for_the_first_deadline() {
    let mut gcc = gcc(Config::default());
    assert_eq!(gcc.next_deadline(), Some(Timestamp::ZERO));
    gcc.on_event(at(0), &Event::Deadline);
    let rates: Vec<_> = std::iter::from_fn(|| gcc.poll_probe()).map(|cluster| cluster.target_rate).collect();
    assert_eq!(rates, [DataRate::from_kbps(900), DataRate::from_kbps(1_800)]);
    // Next it stops waiting for their results.
    assert_eq!(gcc.next_deadline(), Some(at(1_000)));
    gcc.on_event(at(1_000), &Event::Deadline);
    assert_eq!(gcc.next_deadline(), None, "nothing is due: no ticks");
}

#[test]
fn a_remote_estimate_caps_the_target_until_it_is_lifted() {
    let mut gcc = gcc(Config::default());
    gcc.on_event(at(10), &Event::RemoteEstimate(DataRate::from_kbps(250)));
    assert_eq!(gcc.decision().target_bitrate, DataRate::from_kbps(250));
    gcc.on_event(at(20), &Event::RemoteEstimate(DataRate::ZERO));
    assert_eq!(gcc.decision().target_bitrate, DataRate::from_kbps(300));
}

#[test]
fn limits_are_obeyed_at_once() {
    let mut gcc = gcc(Config::default());
    let limits = RateLimits { start: DataRate::from_kbps(900), max: DataRate::from_kbps(700), ..LIMITS };
    gcc.on_event(at(10), &Event::Limits(limits));
    assert_eq!(gcc.decision().target_bitrate, DataRate::from_kbps(700));
}

/// Packets of 1,250 bytes every 10 ms, 1 Mbit/s, all arriving; feedback every 50 ms.
fn steady(gcc: &mut Gcc, from_ms: i64, until_ms: i64) {
    for feedback_ms in (from_ms..until_ms).step_by(50) {
        let reports = (0..5).map(|n| {
            let sent_ms = feedback_ms + n * 10;
            report(sent_ms as u64 / 10, sent_ms, 1_250, true)
        });
        for n in 0..5 {
            gcc.on_event(at(feedback_ms + n * 10), &sent((feedback_ms / 10 + n) as u64, 5_000));
        }
        gcc.on_event(at(feedback_ms + 100), &feedback(reports.collect()));
    }
}

#[test]
fn another_route_returns_to_the_start_rate_or_the_delivered_rate_if_lower() {
    let mut fast = gcc(Config::default());
    steady(&mut fast, 0, 10_000);
    assert!(fast.decision().target_bitrate > DataRate::from_kbps(600));
    fast.on_event(at(10_200), &Event::RouteChange);
    assert_eq!(fast.decision().target_bitrate, LIMITS.start);
    assert!(fast.poll_probe().is_some(), "it probes again");
    let mut slow = gcc(Config::default());
    let reports = |from: i64| (0..10).map(|n| report(n as u64, from + n * 50, 625, true)).collect();
    slow.on_event(at(600), &feedback(reports(0)));
    slow.on_event(at(1_200), &feedback(reports(500)));
    slow.on_event(at(1_300), &Event::RouteChange);
    assert_eq!(slow.decision().target_bitrate, DataRate::from_kbps(100));
}

#[test]
fn an_overfull_window_lowers_the_target_if_frames_are_not_dropped() {
    let mut config = Config::default();
    config.pushback.drop_frames = false;
    let mut gcc = gcc(config);
    gcc.on_event(at(0), &Event::Deadline);
    gcc.on_event(at(1_000), &Event::Deadline);
    steady(&mut gcc, 1_000, 5_000);
    let before = gcc.decision();
    for n in 0..20 {
        gcc.on_event(at(5_100 + n), &sent(1_000 + n as u64, 400_000));
    }
    let after = gcc.decision();
    // 0.9 to the power of 20 is 0.12.
    assert!(after.target_bitrate < before.target_bitrate.scale(0.13));
    assert_eq!(after.pacing.rate, before.pacing.rate, "pacing does not queue what is pushed back");
    assert_eq!(gcc.next_deadline(), Some(at(5_119 + 25)));
}

#[test]
fn three_seconds_without_feedback_cut_the_target_every_second() {
    let mut gcc = gcc(Config {
        pushback: pushback::PushbackConfig { enabled: false, ..Default::default() },
        ..Config::default()
    });
    steady(&mut gcc, 0, 5_000);
    gcc.on_event(at(5_150), &Event::Deadline);
    let before = gcc.decision().target_bitrate;
    for ms in (5_200..8_000).step_by(100) {
        gcc.on_event(at(ms), &sent(ms as u64, 5_000));
    }
    assert_eq!(gcc.decision().target_bitrate, before);
    gcc.on_event(at(8_200), &sent(8_200, 5_000));
    let due = gcc.next_deadline().unwrap();
    gcc.on_event(due.max(at(8_200)), &Event::Deadline);
    assert_eq!(gcc.decision().target_bitrate, before.scale(0.8));
    let due = gcc.next_deadline().unwrap();
    gcc.on_event(due, &Event::Deadline);
    assert_eq!(gcc.decision().target_bitrate, before.scale(0.8).scale(0.8));
}

#[test]
fn a_train_counts_as_its_packets_do() {
    let mut unpushed = Config::default();
    unpushed.pushback.enabled = false;
    for config in [Config::default(), unpushed] {
        let (mut together, mut one_by_one) = (gcc(config.clone()), gcc(config));
        let (mut seq, mut in_flight_bytes) = (0, 0);
        for n in 0..400_i64 {
            // Feedback comes except for a while in the middle, when packets gather on the path.
            let (now, packets) = (at(n * 33), n.cast_unsigned() % 9 + 1);
            let size = DataSize::from_bytes(1_000);
            let first = SentPacket {
                transport_seq: seq,
                ssrc: 1,
                size,
                kind: PacketKind::Video,
                probe_cluster: None,
                in_flight: DataSize::from_bytes(in_flight_bytes + 1_000),
                place: None,
            };
            let burst = Burst { first, packets: packets as u16, smaller: (packets / 2) as u16 };
            together.on_event(now, &Event::PacketsSent(burst));
            burst.iter().for_each(|packet| one_by_one.on_event(now, &Event::PacketsSent(Burst::single(packet))));
            let reports: Vec<_> = (0..packets).map(|k| report(seq + k, n * 33, 1_000, k != 5)).collect();
            seq += packets;
            in_flight_bytes = if (150..300).contains(&n) { in_flight_bytes + 1_000 * packets } else { 0 };
            for gcc in [&mut together, &mut one_by_one] {
                if in_flight_bytes == 0 {
                    gcc.on_event(now, &feedback(reports.clone()));
                }
                if gcc.next_deadline().is_some_and(|due| due <= now) {
                    gcc.on_event(now, &Event::Deadline);
                }
                while gcc.poll_probe().is_some() {}
            }
            assert_eq!(together.decision(), one_by_one.decision(), "{n}");
            assert_eq!(together.next_deadline(), one_by_one.next_deadline(), "{n}");
        }
    }
}

#[test]
fn a_profile_gives_every_parameter_that_is_not_named() {
    let table = toml::toml! { profile = "low-delay" };
    let entry = crate::entry("gcc").unwrap();
    let whole = entry.config_with(&table).unwrap();
    assert_eq!(whole["pushback"]["queue_ms"].as_integer(), Some(80));
    assert_eq!(whole["throughput"]["min_packets"].as_integer(), Some(20));
    let mut named = table.clone();
    named.insert("pushback".to_owned(), toml::toml! { queue_ms = 120 }.into());
    let whole = entry.config_with(&named).unwrap();
    assert_eq!(whole["pushback"]["queue_ms"].as_integer(), Some(120));
    assert_eq!(whole["pushback"]["add_pacer_queue"].as_bool(), Some(true), "of the profile");
    assert_eq!(entry.config_with(&toml::toml! { profile = "m150" }).unwrap(), entry.default_config());
    let error = entry.config_with(&toml::toml! { profile = "fast" }).unwrap_err().to_string();
    assert!(error.contains("fast") && error.contains("low-delay"), "{error}");
}

/// A frame after more than 2 s without one is a new allocation.
#[test]
fn the_first_frame_after_a_pause_is_probed_for_while_the_application_is_the_limit() {
    let frame = |gcc: &mut Gcc, ms| {
        let info = legato_control::EncodedFrameInfo {
            frame: 0,
            size: DataSize::from_bytes(1_000),
            keyframe: false,
            height: 360,
            qp: 30.0,
            psnr_db: None,
            encoder_bitrate: LIMITS.start,
        };
        gcc.on_event(at(ms), &Event::FrameEncoded(info));
        std::iter::from_fn(|| gcc.poll_probe()).map(|cluster| cluster.target_rate).collect::<Vec<_>>()
    };
    for (pause_ms, probed) in [(1_900, false), (2_100, true)] {
        let mut gcc = gcc(Config {
            probe: probe_controller::ProbeConfig { alr: false, ..Default::default() },
            ..Config::default()
        });
        gcc.on_event(at(0), &Event::Deadline);
        frame(&mut gcc, 0);
        gcc.on_event(at(1_100), &Event::Deadline);
        frame(&mut gcc, 1_150);
        // Small packets, long apart: the budget is full.
        for n in 0..18 {
            gcc.on_event(at(1_200 + 100 * n), &sent(n as u64, 0));
        }
        assert!(frame(&mut gcc, 3_000).is_empty(), "1.85 s is no pause");
        let rates = frame(&mut gcc, 3_000 + pause_ms);
        // Once the allocation of 5 Mbit/s is beyond twice the estimate of 300 kbit/s.
        assert_eq!(rates, if probed { vec![DataRate::from_kbps(600)] } else { vec![] }, "{pause_ms} ms");
    }
}
