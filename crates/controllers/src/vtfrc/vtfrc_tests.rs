//! The controller as a whole: what a frame's complexity does to the rates.

use super::*;
use legato_control::{
    Construct, Context, Decision, Event, Fate, NoAssets, PacketKind, PacketReport, RateController, RateLimits,
    SourceFrameInfo, TransportFeedback,
};
use legato_units::{DataSize, PeerTimestamp, TimeDelta, Timestamp};

const LIMITS: RateLimits =
    RateLimits { min: DataRate::from_kbps(30), start: DataRate::from_kbps(300), max: DataRate::from_mbps(20) };

fn build() -> Vtfrc {
    with(Config::default())
}

fn with(config: Config) -> Vtfrc {
    let context = Context { limits: LIMITS, start: Timestamp::ZERO, seed: 0, assets: &NoAssets };
    Vtfrc::new(config, context).unwrap()
}

/// Feedback every 100 ms on ten packets; in round trips whose number is in `lossy` one is missing.
fn after_rounds(vtfrc: &mut Vtfrc, rounds: i64, lossy: impl Fn(i64) -> bool) -> Timestamp {
    let rtt = TimeDelta::from_millis(100);
    let mut now = Timestamp::ZERO;
    for round in 1..=rounds {
        now = Timestamp::ZERO + rtt * round;
        let report = |place: i64| {
            let departure = now - rtt - TimeDelta::from_millis(9 - place);
            PacketReport {
                transport_seq: (10 * round + place) as u64,
                ssrc: 1,
                size: DataSize::from_bytes(1_000),
                departure,
                fate: match lossy(round) && place == 3 {
                    true => Fate::Missing,
                    false => Fate::Arrived(Some(PeerTimestamp::from_nanos(departure.as_nanos()))),
                },
                ce: false,
                kind: PacketKind::Video,
                probe_cluster: None,
                place: None,
            }
        };
        let feedback = TransportFeedback {
            reports: (0..10).map(report).collect(),
            in_flight: DataSize::ZERO,
            ..Default::default()
        };
        vtfrc.on_event(now, &Event::TransportFeedback(feedback));
    }
    now
}

fn capture(vtfrc: &mut Vtfrc, now: Timestamp, complexities: &[f32]) -> Decision {
    for &complexity in complexities {
        vtfrc.on_event(now, &Event::FrameCaptured(SourceFrameInfo { frame: 0, complexity: Some(complexity) }));
    }
    vtfrc.decision()
}

/// Loss every 50 packets for long, then every 100 twice: what TCP would send now exceeds the mean.
fn with_a_gap() -> (Vtfrc, Timestamp) {
    let mut vtfrc = build();
    let now = after_rounds(&mut vtfrc, 121, |round| if round <= 100 { round % 5 == 0 } else { round % 10 == 0 });
    (vtfrc, now)
}

/// [vtfrc] eq. (7), eq. (8) and eq. (9): growing differences 10, 11, 12.1 let the next be 13.31 over a mean of 11.55,
/// C = 0.1524; the encoder gets R_trans + C R_gap, and as much is sent.
#[test]
fn a_more_complex_frame_gets_more_than_tfrcs_rate() {
    let (mut vtfrc, now) = with_a_gap();
    let (trans, instant) = (trans_bps(&vtfrc.sender), vtfrc.flavour.instant_bps(&vtfrc.sender).unwrap());
    assert!(instant > 1.1 * trans, "{instant} over {trans}");
    assert_eq!(capture(&mut vtfrc, now, &[10.0]).target_bitrate.as_bps(), trans as u64);
    let decision = capture(&mut vtfrc, now, &[11.0, 12.1, 13.31]);
    let c = 13.31 / 11.55 - 1.0;
    assert!((vtfrc.flavour.last_complexity - c).abs() < 1e-6, "{}", vtfrc.flavour.last_complexity);
    let expected = trans + c * (instant - trans);
    assert!((decision.target_bitrate.as_bps_f64() - expected).abs() < 2.0);
    assert_eq!(decision.pacing.rate, decision.target_bitrate);
}

#[test]
fn a_simpler_frame_gets_less() {
    let (mut vtfrc, now) = with_a_gap();
    let trans = trans_bps(&vtfrc.sender);
    let decision = capture(&mut vtfrc, now, &[20.0, 14.0, 11.0, 9.5, 8.75]);
    assert!(decision.target_bitrate.as_bps_f64() < trans);
}

/// [vtfrc] eq. (9): R_instant caps the sending rate however complex the frame.
#[test]
fn no_frame_gets_more_than_the_instantaneous_rate() {
    let (mut vtfrc, now) = with_a_gap();
    let decision = capture(&mut vtfrc, now, &[1.0, 5.0, 25.0, 125.0]);
    assert!(vtfrc.flavour.last_complexity > 1.0);
    assert_eq!(decision.pacing.rate.as_bps(), vtfrc.flavour.instant_bps(&vtfrc.sender).unwrap().round() as u64);
    // More loss than the mean includes: R_instant is below R_trans, and so is the sending rate.
    let mut lossy = build();
    let now = after_rounds(&mut lossy, 107, |round| round % 10 == 0 || round == 103 || round == 106);
    assert!(lossy.flavour.instant_bps(&lossy.sender).unwrap() < trans_bps(&lossy.sender));
    let decision = capture(&mut lossy, now, &[4.0; 5]);
    assert_eq!(decision.pacing.rate.as_bps(), lossy.flavour.instant_bps(&lossy.sender).unwrap().round() as u64);
}

/// [vtfrc] eq. (8) apart from [vtfrc] eq. (9): with R_instant the lower, as printed the encoder still gets R_target =
/// R_trans + C R_gap, and the sending rate is R_instant; as shipped it gets the sending rate.
#[test]
fn as_printed_the_encoder_gets_more_than_is_sent() {
    let lossy = |config| {
        let mut vtfrc = with(config);
        let now = after_rounds(&mut vtfrc, 107, |round| round % 10 == 0 || round == 103 || round == 106);
        let decision = capture(&mut vtfrc, now, &[4.0; 5]);
        (trans_bps(&vtfrc.sender), vtfrc.flavour.instant_bps(&vtfrc.sender).unwrap(), decision)
    };
    let (trans, instant, shipped) = lossy(Config::default());
    assert!(instant < 0.95 * trans, "{instant} below {trans}");
    assert_eq!(shipped.target_bitrate, shipped.pacing.rate);
    let (_, _, printed) = lossy(Config { cap_target: false, ..Config::default() });
    assert!((printed.target_bitrate.as_bps_f64() - trans).abs() < 2.0, "like its past: C = 0");
    assert_eq!(printed.pacing.rate, shipped.pacing.rate);
    assert_eq!(printed.pacing.rate.as_bps(), instant.round() as u64);
}

#[test]
fn before_loss_or_without_a_difference_it_is_tfrc() {
    let mut vtfrc = build();
    let now = after_rounds(&mut vtfrc, 10, |_| false);
    let decision = capture(&mut vtfrc, now, &[1.0, 5.0, 25.0]);
    assert_eq!(decision.target_bitrate.as_bps(), trans_bps(&vtfrc.sender) as u64);
    let (mut gap, now) = with_a_gap();
    gap.on_event(now, &Event::FrameCaptured(SourceFrameInfo { frame: 0, complexity: None }));
    assert_eq!(gap.decision().target_bitrate.as_bps(), trans_bps(&gap.sender) as u64);
}

#[test]
fn frames_captured_in_silence_do_not_raise_a_rate_that_is_being_halved() {
    let (mut vtfrc, now) = with_a_gap();
    let mut last = capture(&mut vtfrc, now, &[10.0, 11.0, 12.1, 13.31]).target_bitrate;
    let before = last;
    let mut complexity = 13.31;
    while vtfrc.next_deadline().unwrap() < now + TimeDelta::from_secs(3) {
        let due = vtfrc.next_deadline().unwrap();
        vtfrc.on_event(due, &Event::Deadline);
        complexity *= 1.1;
        let target = capture(&mut vtfrc, due, &[complexity]).target_bitrate;
        assert!(target <= last, "{target} after {last}");
        last = target;
    }
    assert!(last.as_bps() <= before.as_bps() / 2, "{last} of {before}");
}
