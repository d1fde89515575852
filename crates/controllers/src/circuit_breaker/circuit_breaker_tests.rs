//! Constructed cases: each breaker trips when it must and not a report earlier.

use super::stream::{Interval, mean_loss_ratio, tcp_rate_bps};
use super::*;
use crate::fixed;
use legato_control::{Construct, Context, EncodedFrameInfo, NoAssets, RateLimits, SentPacket};
use legato_units::{Burst, DataSize};

fn at(ms: i64) -> Timestamp {
    Timestamp::from_millis(ms)
}

const VIDEO: u32 = 1;
const AUDIO: u32 = 2;

/// A sender of packets of 1,200 bytes with one report a second.
struct Call {
    breakers: CircuitBreakers,
    seq: u64,
    now_ms: i64,
}

impl Call {
    fn new() -> Self {
        Self::with(CircuitBreakerConfig::default())
    }

    fn that(response: Response) -> Self {
        Self::with(CircuitBreakerConfig { response, ..Default::default() })
    }

    fn with(config: CircuitBreakerConfig) -> Self {
        let limits =
            RateLimits { min: DataRate::from_kbps(50), start: DataRate::from_kbps(2_000), max: DataRate::from_mbps(4) };
        let context = Context { limits, start: Timestamp::ZERO, seed: 0, assets: &NoAssets };
        let inner = fixed::Fixed::new(fixed::Config::default(), context).unwrap();
        Self { breakers: CircuitBreakers::around(Box::new(inner), config), seq: 0, now_ms: 0 }
    }

    fn send(&mut self, now: Timestamp, packets: u64, kind: PacketKind) {
        for _ in 0..packets {
            self.seq += 1;
            let (size, in_flight) = (DataSize::from_bytes(1_200), DataSize::ZERO);
            let ssrc = if kind == PacketKind::Audio { AUDIO } else { VIDEO };
            let packet =
                SentPacket { transport_seq: self.seq, ssrc, size, kind, probe_cluster: None, in_flight, place: None };
            self.breakers.on_event(now, &Event::PacketsSent(Burst::single(packet)));
        }
    }

    fn report(&mut self, ssrc: u32, fraction_lost: u8, highest_seq: u32) {
        let report = ReceptionReport { ssrc, fraction_lost, highest_seq };
        self.breakers.on_event(at(self.now_ms), &Event::ReceiverReport(report));
    }

    /// Packets, then a round-trip time and a report `ms` after the last; returns whether the call goes on.
    fn interval(&mut self, ms: i64, packets: u64, rtt_ms: i64, fraction_lost: u8, highest_seq: u32) -> bool {
        self.now_ms += ms;
        self.send(at(self.now_ms - ms / 2), packets, PacketKind::Video);
        let now = at(self.now_ms);
        if self.breakers.next_deadline().is_some_and(|due| due <= now) {
            self.breakers.on_event(now, &Event::Deadline);
        }
        self.breakers.on_event(now, &Event::RoundTripTime(TimeDelta::from_millis(rtt_ms)));
        self.report(VIDEO, fraction_lost, highest_seq);
        !self.breakers.decision().sending.cease
    }

    fn second(&mut self, packets: u64, rtt_ms: i64, fraction_lost: u8, highest_seq: u32) -> bool {
        self.interval(1_000, packets, rtt_ms, fraction_lost, highest_seq)
    }

    fn trip(&self) -> Option<(Breaker, i64)> {
        self.breakers.tripped().map(|trip| (trip.breaker, trip.at.as_nanos() / 1_000_000))
    }

    fn reports(&mut self) -> (u32, u32) {
        let known = Known { config: &self.breakers.config, rtt: self.breakers.rtt };
        let (now, video) = (at(self.now_ms), &mut self.breakers.video);
        (video.congestion_reports(now, known), video.media_timeout_reports(now, known))
    }
}

fn coded() -> Event {
    Event::FrameEncoded(EncodedFrameInfo {
        frame: 0,
        size: DataSize::from_bytes(1_000),
        keyframe: false,
        height: 360,
        qp: 30.0,
        psnr_db: None,
        encoder_bitrate: DataRate::from_kbps(500),
    })
}

/// [rfc8083] §4.1 and §5: three times 5 s without RTCP of any content, not a nanosecond earlier.
#[test]
fn no_rtcp_for_three_intervals_ends_the_sending() {
    let mut call = Call::new();
    assert_eq!(call.breakers.next_deadline(), None, "nothing was sent");
    call.send(at(200), 1, PacketKind::Video);
    call.breakers.on_event(at(5_000), &Event::RtcpArrived);
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
    assert!(
        decision.sending.cease && decision.target_bitrate == DataRate::ZERO && decision.pacing.rate == DataRate::ZERO
    );
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
        call.send(at(call.now_ms + 1), 1, PacketKind::Audio);
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

/// [rfc8083] §4.3, worked by hand: 0.4, 0 and 0.4 over a second each are 0.267, over 1, 2 and 1 s 0.2; at 100 ms and 1,200
/// bytes TCP would have 227.7 and 262.9 kbit/s.
#[test]
fn loss_is_weighted_by_time() {
    for (durations, mean, kbps) in [([1.0, 1.0, 1.0], 0.266_667, 227.7), ([1.0, 2.0, 1.0], 0.2, 262.9)] {
        let intervals: Vec<_> = [0.4, 0.0, 0.4]
            .iter()
            .zip(durations)
            .map(|(&loss_ratio, duration_s)| Interval { duration_s, loss_ratio, bytes: 0 })
            .collect();
        let loss_ratio = mean_loss_ratio(intervals.iter()).unwrap();
        assert!((loss_ratio - mean).abs() < 1e-6, "{loss_ratio}");
        let rate = tcp_rate_bps(1_200.0, 0.1, loss_ratio).unwrap() / 1e3;
        assert!((rate - kbps).abs() < 0.05, "{rate}, not {kbps}");
    }
}

/// [rfc8083] §4.3, worked by hand: 102/256, 0 and 102/256 are 0.2656 and allow ten times 228.1 kbit/s: 238 packets a second
/// are 2,285 kbit/s, above, and 237 are 2,275, below. The report without loss in between does not help.
#[test]
fn a_report_without_loss_among_congested_ones_does_not_reset_the_breaker() {
    for (packets, reduced) in [(237, false), (238, true)] {
        let mut call = Call::new();
        let fractions = [0, 102, 0, 102];
        for (n, fraction) in fractions.into_iter().enumerate() {
            assert_eq!(call.breakers.reduction, None);
            assert!(call.second(packets, 100, fraction, n as u32));
        }
        assert_eq!(call.breakers.reduction.is_some(), reduced, "{packets}");
    }
}

/// [rfc8083] §4.2 and §4.3, worked by hand, Tdr = 1 s and Td = 5 s. At Tr = 100 ms and 30 frames/s CB_INTERVAL is
/// ceil(3 · 3 / 3) = 3 and MEDIA_TIMEOUT 5. At 500 ms they are 5 and 5, at 2 s the 15 s are the bound and 10; frames
/// 1/2 s apart make it 5.
#[test]
fn congestion_takes_three_reports_or_ten_round_trips_or_frames() {
    let mut call = Call::new();
    for ms in [0, 33] {
        call.breakers.on_event(at(ms), &coded());
    }
    for (rtt_ms, reports) in [(100, (3, 5)), (500, (5, 5)), (2_000, (15, 10))] {
        call.breakers.rtt = Some(TimeDelta::from_millis(rtt_ms));
        assert_eq!(call.reports(), reports, "{rtt_ms} ms");
    }
    call.breakers.rtt = None;
    call.breakers.on_event(at(533), &coded());
    assert_eq!(call.reports(), (5, 5));
}

/// [rfc8083] §4.3: 26/256 lost at 100 ms allow ten times 369 kbit/s; 385 packets are 3,696 kbit/s, above, and 384 are 3,686,
/// below. Three intervals divide by ten, three more end it.
#[test]
fn ten_times_the_rate_of_tcp_is_divided_by_ten_and_then_ended() {
    let mut call = Call::new();
    for n in 0..20 {
        assert!(call.second(384, 100, 26, n));
    }
    assert_eq!(call.breakers.decision().target_bitrate, DataRate::from_mbps(2), "below ten times nothing happens");
    let mut call = Call::new();
    for n in 0..3 {
        assert!(call.second(385, 100, 26, n));
    }
    assert_eq!(call.breakers.decision().target_bitrate, DataRate::from_mbps(2));
    assert!(call.second(385, 100, 26, 3));
    let reduced = call.breakers.decision();
    assert_eq!((reduced.target_bitrate.as_bps(), reduced.pacing.rate.as_bps()), (369_600, 924_000));
    for n in 4..6 {
        assert!(call.second(385, 100, 26, n));
    }
    assert!(!call.second(385, 100, 26, 6));
    assert_eq!(call.trip(), Some((Breaker::Congestion, 7_000)));
}

/// [rfc8083] §4.3: the rate returns gradually, from 384 kbit/s by a factor of ten a minute. In the first minute it
/// stays below the 3.84 Mbit/s at which the breaker tripped, and it makes no step to the controller's 2 Mbit/s.
#[test]
fn a_reduction_that_helps_is_lifted_gradually() {
    let mut call = Call::new();
    for n in 0..4 {
        assert!(call.second(400, 100, 50, n), "the first report has no predecessor");
    }
    let mut rates = Vec::new();
    for n in 4..60 {
        rates.push(call.breakers.decision().target_bitrate.as_bps());
        assert!(call.second(40, 100, 0, n));
    }
    assert_eq!(rates[..4], [384_000; 4], "three intervals pass before it begins");
    assert!(rates.windows(2).all(|pair| pair[0] <= pair[1] && pair[1] as f64 <= 1.04 * pair[0] as f64), "{rates:?}");
    // 60 s · lg(2 / 0.384) = 43.0 s after the congestion was found gone.
    assert_eq!((rates[3 + 42] < 2_000_000, rates[3 + 44]), (true, 2_000_000));
    assert_eq!(call.breakers.reduction, None);
}

/// [rfc8083] §4.3: a packet every four seconds says nothing about congestion.
#[test]
fn a_sender_of_less_than_a_packet_an_interval_is_not_judged() {
    let mut call = Call::new();
    for n in 0..40 {
        assert!(call.interval(1_000, u64::from(n % 4 == 0), 1, 128, n));
        assert_eq!(call.breakers.reduction, None);
    }
}

/// [rfc8083] §4.4: half of the packets lost, or a round trip above 2 s, for 30 s.
#[test]
fn media_that_are_of_no_use_for_half_a_minute_end() {
    for (rtt_ms, fraction_lost) in [(100, 129), (2_500, 0)] {
        let mut call = Call::new();
        // Few packets: TCP would have no less.
        while call.second(4, rtt_ms, fraction_lost, call.now_ms as u32) {}
        assert_eq!(call.trip(), Some((Breaker::MediaUsability, 31_000)), "from the first report on");
    }
    let mut call = Call::new();
    for n in 0..100 {
        assert!(call.second(4, 100, if n % 25 == 0 { 0 } else { 129 }, n), "one usable second in 25");
    }
}

/// [rfc8083] §8: the audio has a separate breaker, which holds for the whole transport flow.
#[test]
fn audio_that_does_not_arrive_ends_the_call() {
    let mut call = Call::new();
    for n in 1..=6 {
        call.send(at(1_000 * n - 700), 50, PacketKind::Audio);
        assert!(call.second(20, 100, 0, n as u32));
        call.report(AUDIO, 0, 7);
    }
    assert_eq!(call.trip(), Some((Breaker::MediaTimeout, 6_000)));
    assert!(call.breakers.decision().sending.cease);
}

/// [rfc8083] §4.3: where reports come every 250 ms, that is Tdr: ten round trips of 100 ms are then four intervals, and a
/// media timeout is five of them.
#[test]
fn the_receiver_interval_is_that_of_its_reports() {
    let mut call = Call::new();
    for n in 0..60 {
        assert!(call.interval(250, 20, 100, 0, n));
    }
    assert_eq!(call.reports(), (4, 5));
    assert!((0..4).all(|_| call.interval(250, 20, 100, 0, 59)));
    assert!(!call.interval(250, 20, 100, 0, 59));
}

/// [rfc8083] §4.2: a report without progress may only lengthen the timeout; one of progress sets it anew.
#[test]
fn a_media_timeout_is_reconsidered() {
    let mut call = Call::new();
    assert!(call.second(20, 100, 0, 500));
    assert!((0..3).all(|_| call.second(20, 100, 0, 500)));
    // Tr grows to 1.29 s: ceil(6.5) = 7 reports in all, and stays 7 although it falls again.
    assert!(call.second(20, 6_050, 0, 500));
    assert!(call.second(20, 100, 0, 500), "the fifth");
    assert!(call.second(20, 100, 0, 500));
    assert!(!call.second(20, 100, 0, 500));
}

/// [rfc8083] §4.5: the stop lasts as long as the breaker took, five intervals, and then the call begins as a new one.
#[test]
fn a_restart_waits_as_long_as_the_breaker_took() {
    let mut call = Call::that(Response::Restart);
    assert!(call.second(20, 100, 0, 500));
    while call.second(20, 100, 0, 500) {}
    assert_eq!((call.trip(), call.breakers.next_deadline()), (Some((Breaker::MediaTimeout, 6_000)), Some(at(11_000))));
    call.breakers.on_event(at(11_000), &Event::Deadline);
    assert_eq!((call.trip(), call.breakers.decision().sending.cease), (None, false));
    call.now_ms = 11_000;
    for _ in 0..5 {
        assert!(call.second(20, 100, 0, 500), "counted anew");
    }
    assert!(!call.second(20, 100, 0, 500));
}

/// What would have tripped is reported, once, and nothing is done about it.
#[test]
fn a_breaker_that_only_reports_changes_nothing() {
    let mut call = Call::that(Response::Report);
    let inner = call.breakers.inner.decision();
    for n in 0..60 {
        assert!(call.second(400, 100, 50, n.min(40)));
        assert_eq!(call.breakers.decision(), inner);
    }
    assert_eq!(call.trip(), Some((Breaker::Congestion, 4_000)));
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

#[test]
fn a_trip_is_gauged_by_number_and_time() {
    let mut call = Call::new();
    while call.second(20, 100, 0, 7) {}
    let mut gauges = Vec::new();
    call.breakers.observe(&mut |name, value| gauges.push((name, value)));
    assert_eq!(gauges, [("circuit_breaker", 2.0), ("circuit_breaker_s", 6.0)]);
}

/// A train equals its packets, for the breakers as for the controller inside.
#[test]
fn a_burst_counts_as_its_packets_do() {
    let first = SentPacket {
        transport_seq: 7,
        ssrc: 1,
        size: DataSize::from_bytes(1_200),
        kind: PacketKind::Video,
        probe_cluster: None,
        in_flight: DataSize::from_bytes(9_000),
        place: None,
    };
    let burst = Burst { first, packets: 5, smaller: 2 };
    let (mut together, mut apart) = (Call::new(), Call::new());
    together.breakers.on_event(at(10), &Event::PacketsSent(burst));
    for packet in burst.iter() {
        apart.breakers.on_event(at(10), &Event::PacketsSent(Burst::single(packet)));
    }
    let counted = |call: &Call| (call.breakers.video.counted(), call.breakers.unanswered_since);
    assert_eq!(counted(&together), ((5_998, 5), Some(at(10))));
    assert_eq!(counted(&together), counted(&apart));
}
