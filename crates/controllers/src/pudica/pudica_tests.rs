//! Equations by hand, and a call over a private link.

use super::*;
use crate::frame_reports::report;
use legato_control::{EncodedFrameInfo, NoAssets, TransportFeedback};

const LIMITS: RateLimits =
    RateLimits { min: DataRate::from_kbps(50), start: DataRate::from_mbps(1), max: DataRate::from_mbps(50) };

fn pudica() -> Pudica {
    let context = Context { limits: LIMITS, start: Timestamp::ZERO, seed: 0, assets: &NoAssets };
    Pudica::new(Config::default(), context).unwrap()
}

const MS: fn(i64) -> TimeDelta = TimeDelta::from_millis;

/// A frame of `packets` that left at once; its last packet arrives `busy_ms` after the first could have.
fn frame(pudica: &mut Pudica, number: u32, departure_ms: i64, packets: u16, busy_ms: i64) {
    let now = Timestamp::from_millis(departure_ms + 30 + busy_ms);
    let reports: Vec<_> = (0..packets)
        .map(|index| {
            let arrival = 20 + busy_ms * i64::from(index) / i64::from(packets - 1);
            report((number, index, packets), MS(departure_ms), Some(MS(departure_ms + arrival)))
        })
        .collect();
    let in_flight = pudica.in_flight;
    let feedback = TransportFeedback { reports: reports.into(), in_flight, ..Default::default() };
    pudica.on_event(now, &Event::TransportFeedback(feedback));
}

/// [wang2024] eq. (7), (8), worked by hand: busy 10 of 40 ms is 0.25: xi = 0.3 (0.925 - 0.25) / 0.25 = 0.81.
#[test]
fn a_bottleneck_that_is_seldom_busy_lets_the_bitrate_multiply() {
    let mut pudica = pudica();
    pudica.frame_interval = FrameInterval::of_secs(0.04);
    frame(&mut pudica, 0, 0, 2, 10);
    assert!((pudica.bitrate_bps - 1.81e6).abs() < 1.0, "{}", pudica.bitrate_bps);
    // A frame that left before the change is no reason for another.
    frame(&mut pudica, 1, 35, 2, 10);
    assert!((pudica.bitrate_bps - 1.81e6).abs() < 1.0);
}

/// [wang2024] eq. (9) and [wang2024] eq. (10), worked by hand: (50 + 2 x 100 / ln 20) 0.025 - 0.05 x 20 = 0.25 + 1.66904 = 1.919 Mbit/s,
/// bounded by a twentieth of 20; at 45 Mbit/s 1.25 + 5 / 3.80666 - 2.25 = 0.31349.
#[test]
fn adding_and_multiplying_at_once() {
    let mut pudica = pudica();
    pudica.frames = 100;
    pudica.bitrate_bps = 20e6;
    assert!((pudica.step_bps() - 1e6).abs() < 1.0, "{}", pudica.step_bps());
    pudica.bitrate_bps = 45e6;
    assert!((pudica.step_bps() - 313_488.0).abs() < 10.0, "{}", pudica.step_bps());
    pudica.frames = 0;
    assert!((pudica.step_bps() + 1e6).abs() < 1.0, "{}", pudica.step_bps());
}

/// [wang2024] eq. (2), worked by hand: busy half of the time, rho = 2.5: a frame of 10,000 bytes leaves in 16 of 40 ms;
/// busy all of it, 1.25: in 32.
#[test]
fn frames_are_sent_a_little_faster_than_the_bottleneck_is_busy() {
    let mut pudica = pudica();
    pudica.frame_interval = FrameInterval::of_secs(0.04);
    for (ratio, mbps) in [(0.5, 5.0), (1.0, 2.5), (7.0, 2.5)] {
        pudica.ratio = ratio;
        pudica.pace(Timestamp::ZERO, DataSize::from_bytes(10_000), DataRate::from_mbps(2));
        assert!((pudica.pacing_rate.as_bps_f64() / mbps - 1e6).abs() < 1.0);
    }
}

/// [wang2024] §4.3 and eq. (11), worked by hand: a frame that takes more than its 40 ms lowers the next by 15 %. At the
/// third, 2,000 bytes a frame have come in 40 ms each: 400 kbit/s, and 850 kbit/s less nothing queued. The first frame
/// within its time restores the received rate.
#[test]
fn one_late_frame_lowers_the_next_and_three_drain_the_queue() {
    let mut pudica = pudica();
    pudica.frame_interval = FrameInterval::of_secs(0.04);
    pudica.bitrate_bps = 2e6;
    pudica.adjusted = Timestamp::from_secs(9);
    frame(&mut pudica, 0, 0, 2, 0);
    frame(&mut pudica, 1, 40, 2, 60);
    assert_eq!(pudica.target(), DataRate::from_kbps(1_700));
    pudica.pace(Timestamp::from_millis(130), DataSize::from_bytes(2_000), DataRate::from_mbps(1));
    assert_eq!(pudica.target(), DataRate::from_mbps(2));
    frame(&mut pudica, 2, 80, 2, 60);
    frame(&mut pudica, 3, 120, 2, 60);
    // Its second packet, then 4,000 bytes, from 60 to 200 ms.
    let received_bps = 5_000.0 * 8.0 / 0.14;
    assert!((pudica.bitrate_bps - 0.85 * received_bps).abs() < 1.0, "{}", pudica.bitrate_bps);
    assert!(pudica.draining);
    frame(&mut pudica, 4, 200, 2, 10);
    assert!((pudica.bitrate_bps - 7_000.0 * 8.0 / 0.17).abs() < 1.0, "{}", pudica.bitrate_bps);
    assert!(!pudica.draining);
}

/// [wang2024] eq. (11), worked by hand: the same with 20,000 bytes queued: 8 x 20,000 / 0.2 s = 800 kbit/s less, which
/// leaves nothing but the minimum.
#[test]
fn what_is_queued_is_drained_within_200_ms() {
    let mut pudica = pudica();
    pudica.frame_interval = FrameInterval::of_secs(0.04);
    pudica.bitrate_bps = 2e6;
    pudica.min_round_trip_s = 0.0;
    for number in 1..4 {
        pudica.in_flight = DataSize::from_bytes(20_000);
        frame(&mut pudica, number, 40 * i64::from(number), 2, if number == 0 { 0 } else { 60 });
    }
    assert!((pudica.bitrate_bps - 50e3).abs() < 1.0, "{}", pudica.bitrate_bps);
}

/// Frames of the target, 30 per second, over a private link; returns the mean target of the last third.
fn call(pudica: &mut Pudica, frames: u32, capacity_bps: f64) -> f64 {
    let mut free_ns = 0.0;
    let mut targets = Vec::new();
    for number in 0..frames {
        let begin_ns = f64::from(number) * 1e9 / 30.0;
        let size = (pudica.target().as_bps_f64() / 8.0 / 30.0) as u64;
        let info = EncodedFrameInfo {
            frame: u64::from(number),
            size: DataSize::from_bytes(size),
            keyframe: false,
            height: 720,
            qp: 30.0,
            psnr_db: None,
            encoder_bitrate: pudica.target(),
        };
        pudica.on_event(Timestamp::from_nanos(begin_ns as i64), &Event::FrameEncoded(info));
        let gap_ns = 8e12 / pudica.decision().pacing.rate.as_bps_f64();
        let packets = size.div_ceil(1_000) as u16;
        let reports: Vec<_> = (0..packets)
            .map(|index| {
                let departure_ns = begin_ns + gap_ns * f64::from(index);
                free_ns = f64::max(free_ns, departure_ns) + 8e12 / capacity_bps;
                let arrival = TimeDelta::from_nanos(free_ns as i64 + 20_000_000);
                report((number, index, packets), TimeDelta::from_nanos(departure_ns as i64), Some(arrival))
            })
            .collect();
        let feedback = TransportFeedback { reports: reports.into(), ..Default::default() };
        pudica.on_event(Timestamp::from_nanos((begin_ns + 33e6) as i64), &Event::TransportFeedback(feedback));
        targets.push(pudica.target().as_bps_f64());
    }
    let last = &targets[targets.len() * 2 / 3..];
    last.iter().sum::<f64>() / last.len() as f64
}

#[test]
fn alone_it_fills_most_of_the_capacity() {
    for capacity in [3e6, 20e6] {
        let share = call(&mut pudica(), 900, capacity) / capacity;
        assert!((0.75..=1.0).contains(&share), "{share} of {capacity}");
    }
}
