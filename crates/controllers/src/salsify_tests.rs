use super::*;
use legato_control::{Fate, NoAssets, PacerQueue, PacketKind, SentPacket, SourceFrameInfo};
use legato_units::Burst;

const LIMITS: RateLimits =
    RateLimits { min: DataRate::from_kbps(50), start: DataRate::from_kbps(982), max: DataRate::from_mbps(20) };

fn salsify(config: Config) -> Salsify {
    Salsify::new(config, Context { limits: LIMITS, start: Timestamp::ZERO, seed: 0, assets: &NoAssets }).unwrap()
}

fn at(us: i64) -> Timestamp {
    Timestamp::from_nanos(us * 1_000)
}

/// A packet of 1,228 bytes that left and arrived at these microseconds.
fn report(seq: u64, departure_us: i64, arrival_us: i64) -> PacketReport {
    PacketReport {
        transport_seq: seq,
        ssrc: 1,
        size: DataSize::from_bytes(1_228),
        departure: at(departure_us),
        fate: Fate::Arrived(Some(PeerTimestamp::from_nanos((arrival_us + 7_000_000) * 1_000))),
        ce: false,
        kind: PacketKind::Video,
        probe_cluster: None,
        place: None,
    }
}

fn feedback(reports: Vec<PacketReport>, in_flight_bytes: u64) -> Event {
    Event::TransportFeedback(TransportFeedback {
        reports: reports.into(),
        in_flight: DataSize::from_bytes(in_flight_bytes),
        ..Default::default()
    })
}

fn captured() -> Event {
    Event::FrameCaptured(SourceFrameInfo { frame: 0, complexity: None })
}

fn estimator(tau_us: f64) -> InterArrival {
    InterArrival { tau_ns: tau_us * 1e3, ..InterArrival::new(&Config::default(), LIMITS.start) }
}

/// [fouladi2018], worked by hand: tau starts at 1,228 x 8 / 0.982 Mbit/s = 10,004 us. A packet 5 ms after the
/// one before: 0.1 x 5,000 + 0.9 x 10,004 = 9,503.7 us.
#[test]
fn tau_is_smoothed_by_a_tenth_a_packet() {
    let mut arrivals = InterArrival::new(&Config::default(), LIMITS.start);
    assert!((arrivals.tau_ns / 1e3 - 10_004.1).abs() < 0.1, "{}", arrivals.tau_ns);
    arrivals.on_report(&report(0, 0, 40_000));
    arrivals.on_report(&report(1, 500, 45_000));
    assert!((arrivals.tau_ns / 1e3 - 9_503.7).abs() < 0.1, "{}", arrivals.tau_ns);
}

/// [fouladi2018], worked by hand: the sender paused for 30 ms and the packet came 38 ms after the last: the path
/// took 8 ms of that, 0.1 x 8 + 0.9 x 10 = 9.8 ms. Had it come after 20 ms, the path took nothing: 9 ms.
#[test]
fn the_senders_pauses_do_not_count() {
    for (arrival_us, tau_us) in [(78_000, 9_800.0), (60_000, 9_000.0)] {
        let mut arrivals = estimator(10_000.0);
        arrivals.on_report(&report(0, 0, 40_000));
        arrivals.on_report(&report(1, 30_000, arrival_us));
        assert!((arrivals.tau_ns / 1e3 - tau_us).abs() < 1e-6, "{}", arrivals.tau_ns);
    }
}

/// Half a packet in half the time is the same path: 1 - 0.1 / 2 of 10 ms and 0.1 of 5 ms.
#[test]
fn a_packet_weighs_by_its_size() {
    let mut arrivals = estimator(10_000.0);
    arrivals.on_report(&report(0, 0, 40_000));
    arrivals.on_report(&PacketReport { size: DataSize::from_bytes(614), ..report(1, 0, 45_000) });
    assert!((arrivals.tau_ns - 10e6).abs() < 1e-3, "{}", arrivals.tau_ns);
}

#[test]
fn a_packet_that_turns_up_late_or_came_without_a_time_changes_nothing() {
    let mut arrivals = estimator(10_000.0);
    arrivals.on_report(&report(5, 0, 40_000));
    arrivals.on_report(&report(4, 0, 90_000));
    arrivals.on_report(&PacketReport { fate: Fate::Arrived(None), ..report(6, 0, 0) });
    arrivals.on_report(&PacketReport { fate: Fate::Missing, ..report(7, 0, 0) });
    assert_eq!(arrivals.tau_ns, 10e6);
}

/// [fouladi2018], worked by hand: 100 ms at 10 ms a packet is room for 10; 3 are in flight and 2 in the pacer, so
/// 5 packets of 1,162 bytes may follow.
#[test]
fn a_frame_may_have_what_drains_within_100_ms() {
    let mut salsify = salsify(Config { assume_acks: false, ..Config::default() });
    salsify.inter_arrival.tau_ns = 10e6;
    salsify.on_event(
        at(0),
        &Event::PacerQueue(PacerQueue { size: DataSize::from_bytes(3 * 1_228), drain: TimeDelta::ZERO }),
    );
    let (size, in_flight) = (DataSize::from_bytes(1_228), DataSize::from_bytes(3 * 1_228));
    let packet = SentPacket {
        transport_seq: 2,
        ssrc: 1,
        size,
        kind: PacketKind::Video,
        probe_cluster: None,
        in_flight,
        place: None,
    };
    salsify.on_event(at(0), &Event::PacketsSent(Burst::single(packet)));
    salsify.on_event(at(0), &captured());
    let decision = salsify.decision();
    assert_eq!(decision.encoder.max_frame_size, Some(DataSize::from_bytes(5 * 1_162)));
    assert!(decision.encoder.best_of_two);
    // 1,228 x 8 bits every 10 ms; five times that is one every 2 ms.
    assert_eq!(decision.target_bitrate, DataRate::from_bps(982_400));
    assert_eq!(decision.pacing.rate, DataRate::from_bps(4_912_000));
}

#[test]
fn no_frame_fits_while_more_is_in_flight_than_drains_in_time() {
    let mut salsify = salsify(Config::default());
    salsify.on_event(at(0), &feedback(vec![report(0, 0, 40_000)], 20_000));
    assert_eq!(salsify.decision().encoder.max_frame_size, Some(DataSize::ZERO));
}

/// 4 packets are in flight after a feedback. 20 ms later, at 10 ms a packet, 2 more have come; 5 s later no more than
/// in the 5 ms after which the next feedback was due.
#[test]
fn packets_are_assumed_to_arrive_until_the_next_feedback_is_due() {
    let budget = |feedback_interval_ns, after_us| {
        let mut salsify = salsify(Config::default());
        salsify.on_event(at(0), &feedback(vec![report(0, 0, 40_000)], 4 * 1_228));
        salsify.inter_arrival.tau_ns = 10e6;
        salsify.feedback_interval_ns = feedback_interval_ns;
        salsify.frame_budget(at(after_us)).as_bytes()
    };
    assert_eq!(budget(50e6, 0), 6 * 1_162);
    assert_eq!(budget(50e6, 20_000), 8 * 1_162);
    assert_eq!(budget(5e6, 5_000_000), 65 * 1_162 / 10);
}

/// 20 Mbit/s over a 30th of a second are 83,333 bytes, 1,162 of 1,228 of them coded.
#[test]
fn no_frame_is_larger_than_the_applications_largest_rate_allows() {
    let mut salsify = salsify(Config::default());
    salsify.inter_arrival.tau_ns = 1e3;
    salsify.on_event(at(0), &captured());
    assert_eq!(salsify.decision().encoder.max_frame_size, Some(DataSize::from_bytes(78_854)));
}

/// The paper's claim, on the controller alone: capacity falls from 4 to 1 Mbit/s (2.456 to 9.824 ms per packet).
/// After one feedback about 15 packets of the slow path, the budget of the very next frame obeys it.
#[test]
fn the_frame_after_the_first_feedback_obeys_a_smaller_capacity() {
    let mut salsify = salsify(Config { assume_acks: false, ..Config::default() });
    let packets = |first: u64, start_us: i64, gap_us: i64, count: i64| -> Vec<PacketReport> {
        (0..count).map(|n| report(first + n as u64, start_us, start_us + 40_000 + gap_us * (n + 1))).collect()
    };
    for burst in 0..10 {
        let start_us = 37_000 * burst;
        salsify.on_event(at(start_us), &feedback(packets(15 * burst as u64, start_us, 2_456, 15), 15 * 1_228));
        salsify.on_event(at(start_us), &captured());
    }
    let before = salsify.max_frame_size;
    // d / tau = 100 / 2.456 = 40.7 packets, minus 15; the pause before each burst pulls tau down a little.
    assert!((25 * 1_162..33 * 1_162).contains(&before.as_bytes()), "{before:?}");
    // 15 x 9.824 ms are 147 ms of queue: nothing may follow.
    salsify.on_event(at(500_000), &feedback(packets(150, 370_000, 9_824, 15), 15 * 1_228));
    salsify.on_event(at(500_000), &captured());
    assert_eq!(salsify.max_frame_size, DataSize::ZERO);
    // With 4 in flight it is what 1 Mbit/s drains: 100 / 9.824 - 4 = 6 packets; an estimate of 15 samples is short by 0.9^15.
    salsify.in_flight = DataSize::from_bytes(4 * 1_228);
    salsify.on_event(at(533_000), &captured());
    let after = salsify.max_frame_size.as_bytes();
    assert!((6 * 1_162..10 * 1_162).contains(&after), "{after}");
}

#[test]
fn three_seconds_of_silence_leave_an_eighth_of_the_rate() {
    let mut salsify = salsify(Config::default());
    let before = salsify.decision().target_bitrate;
    let size = DataSize::from_bytes(1_228);
    let packet = SentPacket {
        transport_seq: 0,
        ssrc: 1,
        size,
        kind: PacketKind::Video,
        probe_cluster: None,
        in_flight: size,
        place: None,
    };
    salsify.on_event(at(0), &Event::PacketsSent(Burst::single(packet)));
    for _ in 0..3 {
        let due = salsify.next_deadline().unwrap();
        salsify.on_event(due, &Event::Deadline);
    }
    let after = salsify.decision().target_bitrate;
    assert_eq!(after.as_bps() / 100, before.as_bps() / 800);
}

/// Padding every 8 ms, as at 1.2 Mbit/s: each gap is the sender's own pause, none of it is the path's.
#[test]
fn padding_says_nothing_of_the_path() {
    let mut salsify = salsify(Config::default());
    let before = salsify.inter_arrival.tau_ns;
    for seq in 0..20 {
        let padding = PacketReport { kind: PacketKind::Padding, ..report(seq, 8_000 * seq as i64, 8_000 * seq as i64) };
        salsify.on_event(at(8_000 * seq as i64), &feedback(vec![padding], 0));
    }
    assert_eq!(salsify.inter_arrival.tau_ns, before);
}
