use super::*;
use crate::scream::feedback::tests::{feedback, report};
use legato_control::{NoAssets, PacketKind, PacketReport, SentPacket};
use legato_units::Burst;

fn ms(ms: i64) -> Timestamp {
    Timestamp::from_millis(ms)
}

const LIMITS: RateLimits =
    RateLimits { min: DataRate::from_kbps(50), start: DataRate::from_kbps(1_000), max: DataRate::from_mbps(6) };

fn scream(profile: Profile) -> ScreamV2 {
    let context = Context { limits: LIMITS, start: ms(0), seed: 1, assets: &NoAssets };
    ScreamV2::new(profile.config(), context).expect("the defaults are valid")
}

fn feed(scream: &mut ScreamV2, at_ms: i64, reports: &[PacketReport]) {
    reports.iter().for_each(|report| scream.reader.sent(report.transport_seq, report.size.as_bytes()));
    scream.on_event(ms(at_ms), &Event::TransportFeedback(feedback(reports)));
}

fn packets(from: u64, departure_ms: i64, delay_ms: i64) -> Vec<PacketReport> {
    (from..from + 10).map(|seq| report(seq, departure_ms, Some(delay_ms))).collect()
}

const ALL: [Profile; 4] = [Profile::CompetingFlows, Profile::Draft, Profile::Ericsson, Profile::Libwebrtc];

/// The start rate holds over the first feedback except for the cost of a small window (§4.4: up to a
/// tenth here) and what the feedback adds.
#[test]
fn the_first_feedback_keeps_the_start_rate() {
    for profile in ALL {
        let mut scream = scream(profile);
        feed(&mut scream, 100, &packets(0, 0, 50));
        let kbps = scream.decision().target_bitrate.as_kbps_f64();
        assert!((900.0..1_150.0).contains(&kbps), "{profile:?}: {kbps}");
    }
}

#[test]
fn a_queue_lowers_the_target_within_a_second() {
    for profile in ALL {
        let mut scream = scream(profile);
        let mut seq = 0;
        for step in 0..40_i64 {
            let queue_ms = if step < 20 { 0 } else { 100 };
            feed(&mut scream, 100 + step * 50 + queue_ms, &packets(seq, step * 50, 50 + queue_ms));
            seq += 10;
        }
        let kbps = scream.decision().target_bitrate.as_kbps_f64();
        assert!(kbps < 700.0, "{profile:?}: {kbps}");
    }
}

#[test]
fn three_seconds_without_feedback_leave_an_eighth() {
    for profile in ALL {
        let mut scream = scream(profile);
        feed(&mut scream, 100, &packets(0, 0, 50));
        let before = scream.decision().target_bitrate;
        let packet = SentPacket {
            transport_seq: 10,
            ssrc: 1,
            size: DataSize::from_bytes(1_000),
            kind: PacketKind::Video,
            probe_cluster: None,
            in_flight: DataSize::from_bytes(1_000),
            place: None,
        };
        scream.on_event(ms(100), &Event::PacketsSent(Burst::single(packet)));
        while let Some(due) = scream.next_deadline().filter(|due| *due <= ms(3_100)) {
            scream.on_event(due, &Event::Deadline);
        }
        assert!(scream.decision().target_bitrate <= before.scale(0.126), "{profile:?}");
    }
}

#[test]
fn libwebrtc_obeys_the_receivers_cap_and_pads_while_calm() {
    let mut scream = scream(Profile::Libwebrtc);
    feed(&mut scream, 100, &packets(0, 0, 50));
    assert_eq!(scream.decision().pacing.padding_rate, scream.decision().target_bitrate);
    scream.on_event(ms(110), &Event::RemoteEstimate(DataRate::from_kbps(200)));
    assert_eq!(scream.decision().target_bitrate, DataRate::from_kbps(200));
}
