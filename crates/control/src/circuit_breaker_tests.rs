//! Constructed cases: each breaker trips when it must and not a report earlier.

use super::*;
use crate::controllers::fixed;
use crate::{Construct, Context, NoAssets, RateLimits, SentPacket, SourceFrameInfo, TransportFeedback};
use legato_units::Burst;

fn at(ms: i64) -> Timestamp {
    Timestamp::from_millis(ms)
}

/// A sender of packets of 1,200 bytes, twenty a report, one report a second.
struct Call {
    breakers: CircuitBreakers,
    seq: u64,
    reports: i64,
}

impl Call {
    /// Tdr is 1 s, as the reports come.
    fn new() -> Self {
        Self::with(CircuitBreakerConfig { receiver_interval: TimeDelta::from_secs(1), ..Default::default() })
    }

    fn with(config: CircuitBreakerConfig) -> Self {
        let limits =
            RateLimits { min: DataRate::from_kbps(50), start: DataRate::from_kbps(2_000), max: DataRate::from_mbps(4) };
        let context = Context { limits, start: Timestamp::ZERO, seed: 0, assets: &NoAssets };
        let inner = fixed::Fixed::new(fixed::Config::default(), context).unwrap();
        Self { breakers: CircuitBreakers::around(Box::new(inner), config, Timestamp::ZERO), seq: 0, reports: 0 }
    }

    fn send(&mut self, now: Timestamp, packets: u64, kind: PacketKind) {
        for _ in 0..packets {
            self.seq += 1;
            let (size, in_flight) = (DataSize::from_bytes(1_200), DataSize::ZERO);
            let packet = SentPacket { transport_seq: self.seq, ssrc: 1, size, kind, probe_cluster: None, in_flight };
            self.breakers.on_event(now, &Event::PacketsSent(Burst::single(packet)));
        }
    }

    /// One second: packets, then a round-trip time and a report; returns whether the call goes on.
    fn second(&mut self, packets: u64, rtt_ms: i64, fraction_lost: u8, highest_seq: u32) -> bool {
        self.reports += 1;
        self.send(at(1_000 * self.reports - 500), packets, PacketKind::Video);
        let now = at(1_000 * self.reports);
        self.breakers.on_event(now, &Event::RoundTripTime(TimeDelta::from_millis(rtt_ms)));
        let report = ReceptionReport { ssrc: 1, fraction_lost, highest_seq };
        self.breakers.on_event(now, &Event::ReceiverReport(report));
        !self.breakers.decision().cease
    }

    fn trip(&self) -> Option<(Breaker, i64)> {
        self.breakers.tripped().map(|trip| (trip.breaker, trip.at.as_nanos() / 1_000_000))
    }
}

/// [rfc8083] §4.1: three times 5 s without RTCP, not a nanosecond earlier.
#[test]
fn no_rtcp_for_three_intervals_ends_the_sending() {
    let mut call = Call::new();
    assert_eq!(call.breakers.next_deadline(), None, "nothing was sent");
    call.send(at(200), 1, PacketKind::Video);
    call.breakers.on_event(at(5_000), &Event::TransportFeedback(TransportFeedback::default()));
    assert_eq!(call.breakers.next_deadline(), None, "everything sent has been reported");
    for second in 6..21 {
        call.send(at(1_000 * second), 1, PacketKind::Video);
    }
    let due = call.breakers.next_deadline().expect("armed");
    assert_eq!(due, at(21_000));
    call.breakers.on_event(due - TimeDelta::from_nanos(1), &Event::Deadline);
    assert_eq!(call.trip(), None);
    call.breakers.on_event(due, &Event::Deadline);
    assert_eq!(call.trip(), Some((Breaker::RtcpTimeout, 21_000)));
    let decision = call.breakers.decision();
    assert!(decision.cease && decision.target_bitrate == DataRate::ZERO && decision.pacing_rate == DataRate::ZERO);
    assert_eq!(call.breakers.next_deadline(), None);
}

/// [rfc8083] §4.2, worked by hand: ceil(5 × max(0.033, 0.1, 1) / 1) = 5 reports, the first sets the mark.
#[test]
fn five_reports_without_progress_end_the_sending() {
    let mut call = Call::new();
    assert!(call.second(20, 100, 0, 500));
    for _ in 0..4 {
        assert!(call.second(20, 100, 0, 500));
    }
    assert!(!call.second(20, 100, 0, 500));
    assert_eq!(call.trip(), Some((Breaker::MediaTimeout, 6_000)));
}

/// [rfc8083] §4.2, worked by hand: a round trip of 1.5 s makes it ceil(7.5) = 8 reports.
#[test]
fn a_long_round_trip_gives_the_media_more_time() {
    let mut call = Call::new();
    for _ in 0..8 {
        assert!(call.second(20, 1_500, 0, 500));
    }
    assert!(!call.second(20, 1_500, 0, 500));
}

#[test]
fn progress_or_a_sender_pause_is_not_a_media_timeout() {
    let mut call = Call::new();
    for n in 0..40 {
        assert!(call.second(20, 100, 0, 500 + n / 4), "one packet in four seconds is progress");
    }
    for _ in 0..40 {
        call.send(at(1_000 * call.reports + 1), 1, PacketKind::Audio);
        assert!(call.second(0, 100, 0, 510), "no video was sent");
    }
}

/// [rfc8083] §4.3, worked by hand: 1,200 bytes at 100 ms, and 1 % loss is 9,600 / (0.1 √(0.02/3)) = 1,175.8 kbit/s.
#[test]
fn the_rate_of_tcp_falls_with_the_root_of_loss() {
    for (loss_ratio, kbps) in [(0.001, 3_718.1), (0.01, 1_175.8), (0.05, 525.8), (0.1, 371.8), (0.2, 262.9)] {
        let rate = tcp_rate_bps(1_200.0, 0.1, loss_ratio).unwrap() / 1e3;
        assert!((rate - kbps).abs() < 0.05, "{rate}, not {kbps}");
    }
    assert_eq!(tcp_rate_bps(1_200.0, 0.1, 0.0), None);
}

/// [rfc8083] §4.3, worked by hand: at 100 ms ceil(3 × 3 / 3) = 3 reports, at 500 ms 5, at 2 s the
/// 15 s are the bound; frames of 1/2 s count as 5 s.
#[test]
fn congestion_takes_three_reports_or_ten_round_trips() {
    let mut call = Call::new();
    for (rtt_ms, reports) in [(100, 3), (500, 5), (2_000, 15)] {
        call.breakers.rtt = Some(TimeDelta::from_millis(rtt_ms));
        assert_eq!(call.breakers.congestion_reports(), reports, "{rtt_ms} ms");
    }
    call.breakers.rtt = None;
    for ms in [0, 500] {
        call.breakers.on_event(at(ms), &Event::FrameCaptured(SourceFrameInfo { frame: 0, complexity: None }));
    }
    assert_eq!(call.breakers.congestion_reports(), 5);
}

/// [rfc8083] §4.3: 26/256 lost at 100 ms allow ten times 369 kbit/s; 385 packets are 3,696 kbit/s,
/// above, and 384 are 3,686, below. Three reports divide by ten, three more end it.
#[test]
fn ten_times_the_rate_of_tcp_is_divided_by_ten_and_then_ended() {
    let mut call = Call::new();
    for n in 0..20 {
        assert!(call.second(384, 100, 26, n));
    }
    assert_eq!(call.breakers.decision().target_bitrate, DataRate::from_mbps(2), "below ten times nothing happens");
    for n in 20..22 {
        assert!(call.second(385, 100, 26, n));
    }
    assert_eq!(call.breakers.decision().target_bitrate, DataRate::from_mbps(2));
    assert!(call.second(385, 100, 26, 22));
    let reduced = call.breakers.decision();
    assert_eq!((reduced.target_bitrate.as_bps(), reduced.pacing_rate.as_bps()), (369_600, 924_000));
    for n in 23..25 {
        assert!(call.second(385, 100, 26, n));
    }
    assert!(!call.second(385, 100, 26, 25));
    assert_eq!(call.trip(), Some((Breaker::Congestion, 26_000)));
}

#[test]
fn a_reduction_that_helps_is_lifted_after_as_many_reports() {
    let mut call = Call::new();
    for n in 0..4 {
        assert!(call.second(400, 100, 50, n), "the first report has no predecessor");
    }
    for n in 4..7 {
        assert_eq!(call.breakers.decision().target_bitrate, DataRate::from_kbps(384));
        assert!(call.second(40, 100, 0, n));
    }
    assert_eq!(call.breakers.decision().target_bitrate, DataRate::from_mbps(2));
}

/// [rfc8083] §4.3: Tr = 0.8 × 100 + 0.2 × 200 = 120 ms.
#[test]
fn the_round_trip_is_smoothed() {
    let mut call = Call::new();
    for rtt_ms in [100, 200] {
        call.breakers.on_event(at(1), &Event::RoundTripTime(TimeDelta::from_millis(rtt_ms)));
    }
    assert_eq!(call.breakers.rtt, Some(TimeDelta::from_millis(120)));
}

#[test]
fn while_nothing_trips_the_controller_inside_decides_and_gauges_alone() {
    let mut call = Call::new();
    let inner = call.breakers.inner.clone();
    for n in 0..100 {
        assert!(call.second(200, 50, 5, 10 * n));
        assert_eq!(call.breakers.decision(), inner.decision());
    }
    let mut gauges = 0;
    call.breakers.observe(&mut |_, _| gauges += 1);
    assert_eq!(gauges, 0);
}

/// [rfc8083] §4.2 with the RFC's Tdr of 5 s: five intervals of five reports. An outage of 20 s does not trip it.
#[test]
fn more_frequent_reports_are_merged() {
    let mut call = Call::with(CircuitBreakerConfig::default());
    for n in 0..5 {
        assert!(call.second(20, 100, 0, 100 + n));
    }
    for _ in 0..20 {
        assert!(call.second(20, 100, 0, 104));
    }
    for _ in 0..4 {
        assert!(call.second(20, 100, 0, 104));
    }
    assert!(!call.second(20, 100, 0, 104));
    assert_eq!(call.trip(), Some((Breaker::MediaTimeout, 30_000)));
}

/// Worked by hand: 10 of 40 and 0 of 120 packets lost are 1/16.
#[test]
fn loss_of_merged_reports_is_weighted_by_packets() {
    let mut interval = ReportInterval::new(at(0), Some(1_000));
    for (fraction_lost, highest_seq) in [(64, 1_040), (0, 1_160)] {
        interval.push(&ReceptionReport { ssrc: 1, fraction_lost, highest_seq });
    }
    assert_eq!(interval.loss_ratio(), 1.0 / 16.0);
}

#[test]
fn a_trip_is_gauged_by_number_and_time() {
    let mut call = Call::new();
    while call.second(20, 100, 0, 7) {}
    let mut gauges = Vec::new();
    call.breakers.observe(&mut |name, value| gauges.push((name, value)));
    assert_eq!(gauges, [("circuit_breaker", 2.0), ("circuit_breaker_s", 6.0)]);
}

/// A train is what its packets are, for the breakers as for the controller inside.
#[test]
fn a_burst_counts_as_its_packets_do() {
    let first = SentPacket {
        transport_seq: 7,
        ssrc: 1,
        size: DataSize::from_bytes(1_200),
        kind: PacketKind::Video,
        probe_cluster: None,
        in_flight: DataSize::from_bytes(9_000),
    };
    let burst = Burst { first, packets: 5, smaller: 2 };
    let (mut together, mut apart) = (Call::new(), Call::new());
    together.breakers.on_event(at(10), &Event::PacketsSent(burst));
    for packet in burst.iter() {
        apart.breakers.on_event(at(10), &Event::PacketsSent(Burst::single(packet)));
    }
    let counted = |call: &Call| (call.breakers.sent_bytes, call.breakers.sent_packets, call.breakers.unanswered_since);
    assert_eq!(counted(&together), (5_998, 5, Some(at(10))));
    assert_eq!(counted(&together), counted(&apart));
}
