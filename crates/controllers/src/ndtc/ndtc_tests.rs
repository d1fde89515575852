//! Sections by hand, and a call over a private link.

use super::*;
use crate::frame_reports::report;
use legato_control::{EncodedFrameInfo, NoAssets, PacketReport, TransportFeedback};
use legato_units::TimeDelta;

const LIMITS: RateLimits =
    RateLimits { min: DataRate::from_kbps(50), start: DataRate::from_mbps(1), max: DataRate::from_mbps(12) };

fn ndtc() -> Ndtc {
    let context = Context { limits: LIMITS, start: Timestamp::ZERO, seed: 7, assets: &NoAssets };
    Ndtc::new(Config::default(), context).unwrap()
}

fn trip(packets: u16) -> FrameTrip {
    let mut trips = FrameTrips::default();
    let ended = (0..packets).filter_map(|index| {
        let at = TimeDelta::from_millis(i64::from(index));
        trips.on_report(&report((0, index, packets), at, Some(at * 2 + TimeDelta::from_millis(20))))
    });
    ended.last().unwrap()
}

/// [draft-ageneau-ccwg-ndtc] §5.2, worked by hand: ten packets of 1,000 bytes count 9,000, one counts nothing, and two
/// count 1,000, which is just enough.
#[test]
fn a_frames_length_leaves_out_half_of_its_first_and_last_packet() {
    let whole = FrameTrip { packets: 10, arrived: 10, bytes: 10_000, ..trip(2) };
    assert_eq!(ndtc().length(&whole), Some(9_000.0));
    assert_eq!(ndtc().length(&trip(2)), Some(1_000.0));
    assert_eq!(ndtc().length(&trip(1)), None);
    assert_eq!(ndtc().length(&FrameTrip { lost: 1, arrived: 9, ..whole }), None);
}

/// [draft-ageneau-ccwg-ndtc] §4.4, worked by hand: TRECV is 20 ms. A frame of two packets sent in 1 ms and received in
/// 2 ms shows 1,000 bytes / 2 ms = 500,000 bytes/s, so the target is 10,000 bytes: 2.4 Mbit/s at 30 frames per second.
/// By §4.5 nothing caps it: CTARGET is CMAX = 20,000, and CSLOPE = (1 - 0.5) / (1 - 0.5) = 1.
#[test]
fn the_target_is_what_the_capacity_carries_in_six_tenths_of_a_frame() {
    let mut ndtc = ndtc();
    ndtc.on_trip(Timestamp::from_millis(50), &trip(2));
    assert!((ndtc.target_bytes - 10_000.0).abs() < 1e-6, "{}", ndtc.target_bytes);
    assert!((ndtc.target().as_bps_f64() - 2.4e6).abs() < 1.0);
    assert_eq!(ndtc.slope, 0.0, "one frame has no slope");
    ndtc.estimated_slope = 1.0;
    ndtc.apply_cap();
    assert!((ndtc.slope - 1.0).abs() < 1e-9);
}

/// [draft-ageneau-ccwg-ndtc] §4.5, worked by hand: a cap of 15,000 under a CMAX of 20,000 gives CSLOPE = (1 - 0.5 x 20
/// / 15) / 0.5 = 2/3. A cap of 5,000 gives CSLOPE = 0 and TARGET 5,000, by §4.6 no less than 2,000.
#[test]
fn the_cap_flattens_the_slope_before_it_lowers_the_target() {
    let mut ndtc = ndtc();
    (ndtc.estimated, ndtc.estimated_slope) = (10_000.0, 1.0);
    for (cap, target, slope) in [(15_000.0, 10_000.0, 2.0 / 3.0), (5_000.0, 5_000.0, 0.0), (1_000.0, 2_000.0, 0.0)] {
        ndtc.aimd = Aimd::new(cap);
        ndtc.apply_cap();
        assert!((ndtc.target_bytes - target).abs() < 1e-9 && (ndtc.slope - slope).abs() < 1e-9);
    }
}

/// [draft-ageneau-ccwg-ndtc] §4.7, worked by hand: at slope 1, frames as large as the target are sent in 5 to 15 ms, at
/// slope 0 in 20 ms. Half a frame takes half of that; ten frames' worth no more than 33 ms.
#[test]
fn frames_are_spread_over_dithered_times() {
    let mut ndtc = ndtc();
    let send_ms = |ndtc: &mut Ndtc, slope: f64, bytes: u64| {
        (ndtc.slope, ndtc.target_bytes) = (slope, 10_000.0);
        ndtc.pace(DataSize::from_bytes(bytes));
        8e3 * bytes as f64 / ndtc.pacing_rate.as_bps_f64()
    };
    let drawn: Vec<f64> = (0..1_000).map(|_| send_ms(&mut ndtc, 1.0, 10_000)).collect();
    let (min, max) = drawn.iter().fold((f64::MAX, 0.0_f64), |(low, high), ms| (low.min(*ms), high.max(*ms)));
    assert!((5.0..5.1).contains(&min) && (14.9..15.0).contains(&max), "{min} to {max}");
    let mean = drawn.iter().sum::<f64>() / 1e3;
    assert!((9.8..10.2).contains(&mean), "{mean}");
    assert!((send_ms(&mut ndtc, 0.0, 10_000) - 20.0).abs() < 1e-3);
    assert!((send_ms(&mut ndtc, 0.0, 5_000) - 10.0).abs() < 1e-3);
    assert!((send_ms(&mut ndtc, 0.0, 100_000) - 33.333).abs() < 1e-2);
}

/// Frames of the target, 30 per second, sent as paced over a private link; returns the target at the end.
fn call(ndtc: &mut Ndtc, frames: u32, capacity_bps: f64) -> f64 {
    let mut free_ns = 0.0;
    for frame in 0..frames {
        let begin_ns = f64::from(frame) * 1e9 / 30.0;
        let size = (ndtc.target().as_bps_f64() / 8.0 / 30.0) as u64;
        let info = EncodedFrameInfo {
            frame: u64::from(frame),
            size: DataSize::from_bytes(size),
            keyframe: false,
            height: 720,
            qp: 30.0,
            psnr_db: None,
            encoder_bitrate: ndtc.target(),
        };
        ndtc.on_event(Timestamp::from_nanos(begin_ns as i64), &Event::FrameEncoded(info));
        let gap_ns = 8e12 / ndtc.decision().pacing.rate.as_bps_f64();
        let packets = size.div_ceil(1_000) as u16;
        let reports: Vec<PacketReport> = (0..packets)
            .map(|index| {
                let departure_ns = begin_ns + gap_ns * f64::from(index);
                free_ns = f64::max(free_ns, departure_ns) + 8e12 / capacity_bps;
                let arrival = TimeDelta::from_nanos(free_ns as i64 + 20_000_000);
                report((frame, index, packets), TimeDelta::from_nanos(departure_ns as i64), Some(arrival))
            })
            .collect();
        let now = Timestamp::from_nanos((free_ns as i64 + 30_000_000).max(begin_ns as i64));
        let feedback = TransportFeedback { reports: reports.into(), ..Default::default() };
        ndtc.on_event(now.min(Timestamp::from_nanos((begin_ns + 33e6) as i64)), &Event::TransportFeedback(feedback));
    }
    ndtc.target().as_bps_f64()
}

#[test]
fn alone_it_settles_at_six_tenths_of_the_capacity() {
    for capacity in [3e6, 8e6] {
        let mut ndtc = ndtc();
        let share = call(&mut ndtc, 600, capacity) / capacity;
        assert!((0.5..=0.65).contains(&share), "{share} of {capacity}");
    }
}

#[test]
fn the_same_seed_dithers_the_same() {
    let (mut one, mut other) = (ndtc(), ndtc());
    assert_eq!(call(&mut one, 50, 5e6).to_bits(), call(&mut other, 50, 5e6).to_bits());
    assert_eq!(one.decision(), other.decision());
}
