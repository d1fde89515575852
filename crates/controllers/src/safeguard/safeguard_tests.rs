//! Tests of [`Safeguard`]: which controller decides when, the counters, the refusals.

use super::*;
use crate::NoFiles;
use legato_control::{Fate, PacketKind, PacketReport, RateLimits};
use legato_units::{DataRate, DataSize, PeerTimestamp};

const LIMITS: RateLimits =
    RateLimits { min: DataRate::from_kbps(50), start: DataRate::from_kbps(300), max: DataRate::from_mbps(4) };

fn build(table: toml::Table) -> Result<Safeguard, BuildError> {
    let context = Context { limits: LIMITS, start: Timestamp::ZERO, seed: 0, assets: &NoFiles };
    let config = table.try_into().map_err(|error: toml::de::Error| refused(error.message().to_owned()))?;
    Safeguard::new(config, context)
}

/// 2 Mbit/s inside, 200 kbit/s to fall back to.
fn two_fixed() -> toml::Table {
    toml::toml! {
        inner = "fixed"
        inner_config.target_bitrate_bps = 2_000_000
        fallback = "fixed"
        fallback_config.target_bitrate_bps = 200_000
        window_s = 1.0
    }
}

/// A feedback every 50 ms, of one packet each that took `delay_ms`; returns the targets in kbit/s.
fn play(safeguard: &mut Safeguard, from: i64, delays_ms: &[i64]) -> Vec<u64> {
    let mut targets = Vec::new();
    for (n, delay_ms) in (from..).zip(delays_ms) {
        let departure = Timestamp::from_millis(50 * n);
        let report = PacketReport {
            transport_seq: n as u64,
            ssrc: 1,
            size: DataSize::from_bytes(1_000),
            departure,
            fate: Fate::Arrived(Some(PeerTimestamp::from_nanos(departure.as_nanos() + delay_ms * 1_000_000))),
            ce: false,
            kind: PacketKind::Video,
            probe_cluster: None,
            place: None,
        };
        let feedback =
            TransportFeedback { reports: vec![report].into(), in_flight: DataSize::ZERO, ..Default::default() };
        safeguard.on_event(departure, &Event::TransportFeedback(feedback));
        targets.push(safeguard.decision().target_bitrate.as_bps() / 1_000);
    }
    targets
}

fn gauge(safeguard: &Safeguard, wanted: &str) -> f64 {
    let mut found = f64::NAN;
    safeguard.clone().observe(&mut |name, value| {
        if name == wanted {
            found = value
        }
    });
    found
}

/// Calm delays vary by 1 ms, so the threshold is the floor of 5 ms: 20 ms more is a jump, and the jump back is one too.
/// In between nothing jitters, but the queue persists.
#[test]
fn the_fallback_decides_from_a_jump_of_delay_until_the_queue_has_drained() {
    let mut safeguard = build(two_fixed()).unwrap();
    let calm: Vec<i64> = (0..20).map(|n| 30 + n % 2).collect();
    assert_eq!(play(&mut safeguard, 0, &calm), [2_000; 20]);
    assert_eq!(play(&mut safeguard, 20, &[51, 71, 71, 71, 30, 30]), [200, 200, 200, 200, 200, 2_000]);
    assert_eq!(gauge(&safeguard, "safeguard_switches"), 1.0);
    assert!((gauge(&safeguard, "safeguard_fallback_s") - 0.25).abs() < 1e-9);
}

#[test]
fn judged_by_jitter_alone_a_queue_that_stands_is_calm() {
    let mut table = two_fixed();
    table.insert("until_drained".to_owned(), false.into());
    let mut safeguard = build(table).unwrap();
    play(&mut safeguard, 0, &[30; 20]);
    assert_eq!(play(&mut safeguard, 20, &[51, 71, 71, 71, 30, 30]), [200, 200, 2_000, 2_000, 200, 2_000]);
    assert_eq!(gauge(&safeguard, "safeguard_switches"), 2.0);
    // 100 ms and 50 ms.
    assert!((gauge(&safeguard, "safeguard_fallback_s") - 0.15).abs() < 1e-9);
}

/// A new route of 60 ms: after the window of 1 s it is the path's own delay.
#[test]
fn a_delay_that_stays_becomes_the_paths_own() {
    let mut safeguard = build(two_fixed()).unwrap();
    play(&mut safeguard, 0, &[30; 20]);
    let targets = play(&mut safeguard, 20, &[60; 30]);
    assert_eq!(targets.iter().position(|&kbps| kbps == 2_000), Some(20));
    assert_eq!(targets[20..], [2_000; 10]);
}

#[test]
fn a_path_that_always_jitters_raises_its_threshold() {
    let mut safeguard = build(two_fixed()).unwrap();
    let rough: Vec<i64> = (0..40).map(|n| [30, 50, 35, 60][n % 4]).collect();
    play(&mut safeguard, 0, &rough);
    assert!(gauge(&safeguard, "safeguard_threshold_ms") > 20.0);
    assert_eq!(play(&mut safeguard, 40, &[30, 50]), [2_000, 2_000]);
}

#[test]
fn a_hold_keeps_the_fallback() {
    let mut table = two_fixed();
    table.insert("hold_ms".to_owned(), 150.into());
    table.insert("until_drained".to_owned(), false.into());
    let mut safeguard = build(table).unwrap();
    play(&mut safeguard, 0, &[30; 20]);
    assert_eq!(play(&mut safeguard, 20, &[60, 60, 60, 60, 60]), [200, 200, 200, 2_000, 2_000]);
}

#[test]
fn refusals_name_the_value() {
    let refusal = |table: toml::Table| build(table).err().expect("refused").to_string();
    assert_eq!(refusal(toml::toml! { inner = "magic" }), "controller safeguard: inner = \"magic\": no such controller");
    assert_eq!(
        refusal(toml::toml! { fallback = "nada"
        fallback_config.priority = 0.0 }),
        "controller nada: priority = 0: not from 0.001 to 1000"
    );
}

#[test]
fn a_clone_keeps_what_both_have_learned() {
    let mut safeguard = build(toml::Table::new()).unwrap();
    play(&mut safeguard, 0, &[30; 40]);
    let mut clone = safeguard.clone();
    assert_eq!(play(&mut safeguard, 40, &[70, 90, 30, 30]), play(&mut clone, 40, &[70, 90, 30, 30]));
}
