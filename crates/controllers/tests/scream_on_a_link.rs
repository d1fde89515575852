//! `scream` and `scream-v2` in a closed loop over one bottleneck, their windows obeyed: they use the capacity
//! with the queue they aim for, follow the steps of RFC 8867 section 5.1, and stop without feedback.

use crate::test_link::{Link, Observer, run};
use legato_control::{Context, Decision, Event, Fate, NoAssets, RateController, RateLimits};
use legato_controllers::entry;
use legato_units::{DataRate, TimeDelta, Timestamp};

/// The decisions, and the arrivals with their delays.
#[derive(Default)]
struct Log {
    targets: Vec<(Timestamp, u64)>,
    /// Departure, delay beyond the propagation in ms (`None`: lost), bytes.
    packets: Vec<(Timestamp, Option<f64>, u64)>,
    propagation_ms: f64,
}

impl Observer for Log {
    fn on_event(&mut self, _now: Timestamp, event: &Event) {
        let Event::TransportFeedback(feedback) = event else { return };
        for packet in feedback.reports.iter() {
            let delay_ms = match packet.fate {
                Fate::Arrived(Some(arrival)) => {
                    let delay_ns = arrival.as_nanos() - 1_000_000_000_000 - packet.departure.as_nanos();
                    Some(delay_ns as f64 / 1e6 - self.propagation_ms)
                }
                _ => None,
            };
            self.packets.push((packet.departure, delay_ms, packet.size.as_bytes()));
        }
    }
    fn on_decision(&mut self, now: Timestamp, decision: &Decision, _controller: &mut dyn RateController) {
        self.targets.push((now, decision.target_bitrate.as_bps()));
    }
}

impl Log {
    fn packets(&self, from_s: f64, to_s: f64) -> impl Iterator<Item = &(Timestamp, Option<f64>, u64)> {
        self.packets.iter().filter(move |(at, ..)| (from_s..to_s).contains(&at.as_secs_f64()))
    }

    /// Received in kbit/s.
    fn received_kbps(&self, from_s: f64, to_s: f64) -> f64 {
        let bytes: u64 =
            self.packets(from_s, to_s).filter(|(_, delay, _)| delay.is_some()).map(|packet| packet.2).sum();
        bytes as f64 * 8.0 / (to_s - from_s) / 1e3
    }

    /// 95th percentile of queue and transmission.
    fn delay_p95_ms(&self, from_s: f64, to_s: f64) -> f64 {
        let mut delays: Vec<f64> = self.packets(from_s, to_s).filter_map(|packet| packet.1).collect();
        delays.sort_by(f64::total_cmp);
        delays[delays.len() * 95 / 100]
    }

    fn loss_ratio(&self, from_s: f64, to_s: f64) -> f64 {
        let (lost, all) = self
            .packets(from_s, to_s)
            .fold((0, 0), |(lost, all), packet| (lost + i32::from(packet.1.is_none()), all + 1));
        f64::from(lost) / f64::from(all)
    }

    fn target_at(&self, s: f64) -> u64 {
        self.targets.iter().rev().find(|(at, _)| at.as_secs_f64() <= s).expect("within the call").1
    }
}

fn call(name: &str, config: &str, link: &Link, seconds: i64) -> Log {
    let [min, start, max] = [150, 300, 3_000].map(DataRate::from_kbps);
    let context =
        Context { limits: RateLimits { min, start, max }, start: Timestamp::ZERO, seed: 1, assets: &NoAssets };
    let config = config.parse().expect("TOML");
    let mut controller = entry(name).expect("registered").build(&config, context).expect("valid");
    let mut log = Log { propagation_ms: link.propagation.as_millis_f64(), ..Log::default() };
    run(link, controller.as_mut(), TimeDelta::from_secs(seconds), &mut log);
    log
}

fn link(steps: &[(i64, u64)], propagation_ms: i64) -> Link {
    Link {
        capacity: steps.iter().map(|&(s, kbps)| (Timestamp::from_secs(s), DataRate::from_kbps(kbps))).collect(),
        propagation: TimeDelta::from_millis(propagation_ms),
        queue: TimeDelta::from_millis(300),
        windowed: true,
        ..Link::default()
    }
}

/// A profile, and the bands it keeps in the steps of RFC 8867 §5.1. A conformance verdict asks for 0.75 and
/// 150 ms everywhere; docs/papers/scream.md says why some profiles miss it.
struct Profile {
    name: &'static str,
    config: &'static str,
    /// Minimum share of the capacity used in the last ten seconds of a segment.
    used: f64,
    /// Maximum 95th percentile of queue and transmission in ms; in the segment after the drop.
    delay_ms: f64,
    delay_after_drop_ms: f64,
}

const PROFILES: [Profile; 5] = [
    Profile { name: "scream", config: "", used: 0.75, delay_ms: 320.0, delay_after_drop_ms: 320.0 },
    Profile {
        name: "scream",
        config: "competing_flows = false",
        used: 0.75,
        delay_ms: 170.0,
        delay_after_drop_ms: 320.0,
    },
    Profile {
        name: "scream-v2",
        config: "profile = \"v2-draft\"",
        used: 0.8,
        delay_ms: 150.0,
        delay_after_drop_ms: 150.0,
    },
    Profile {
        name: "scream-v2",
        config: "profile = \"v2-ericsson\"",
        used: 0.8,
        delay_ms: 150.0,
        delay_after_drop_ms: 150.0,
    },
    Profile {
        name: "scream-v2",
        config: "profile = \"v2-libwebrtc\"",
        used: 0.45,
        delay_ms: 80.0,
        delay_after_drop_ms: 80.0,
    },
];

/// [rfc8298] and [draft-johansson-ccwg-rfc8298bis-screamv2]: one flow fills a link of a megabit.
#[test]
fn a_fixed_capacity_is_filled() {
    for Profile { name, config, delay_ms, .. } in PROFILES {
        let log = call(name, config, &link(&[(0, 1_000)], 50), 60);
        let (kbps, p95_ms) = (log.received_kbps(40.0, 60.0), log.delay_p95_ms(40.0, 60.0));
        println!("{name} {config}: {kbps:.0} kbit/s, {p95_ms:.0} ms, loss {:.4}", log.loss_ratio(20.0, 60.0));
        assert!(kbps > 800.0, "{name} {config}: {kbps}");
        assert!(p95_ms < delay_ms, "{name} {config}: {p95_ms}");
        assert!(log.loss_ratio(20.0, 60.0) < 0.02, "{name} {config}");
    }
}

/// The steps of RFC 8867 §5.1 with both its delays.
#[test]
fn the_steps_of_rfc_8867_are_followed() {
    let steps = [(0, 1_000), (40, 2_500), (60, 600), (80, 1_000)];
    for Profile { name, config, used, delay_ms, delay_after_drop_ms } in PROFILES {
        for propagation_ms in [50, 100] {
            let log = call(name, config, &link(&steps, propagation_ms), 100);
            for (from, to, kbps) in [(0.0, 40.0, 1e3), (40.0, 60.0, 2.5e3), (60.0, 80.0, 600.0), (80.0, 100.0, 1e3)] {
                let case = format!("{name} {config}, {propagation_ms} ms, from {from} s");
                // Outside 3 s after a drop.
                let settled = if from == 60.0 { from + 3.0 } else { from };
                let used_ratio = log.received_kbps(to - 10.0, to) / kbps;
                let (p95_ms, loss_ratio) = (log.delay_p95_ms(settled, to), log.loss_ratio(settled, to));
                println!("{case}: {used_ratio:.2}, {p95_ms:.0} ms, {loss_ratio:.4}");
                assert!(used_ratio >= used, "{case}: {used_ratio}");
                assert!(p95_ms <= if from == 60.0 { delay_after_drop_ms } else { delay_ms }, "{case}: {p95_ms}");
                assert!(loss_ratio <= 0.02, "{case}: {loss_ratio}");
            }
        }
    }
}

/// Three seconds without feedback at least halve the target.
#[test]
fn silence_halves_the_target() {
    for Profile { name, config, .. } in PROFILES {
        let gap = (Timestamp::from_secs(20), Timestamp::from_millis(23_200));
        let log = call(name, config, &Link { feedback_gap: gap, ..link(&[(0, 1_000)], 50) }, 24);
        let (before, after) = (log.target_at(19.9), log.target_at(23.1));
        assert!(after * 2 <= before || after == 150_000, "{name} {config}: {before} then {after}");
    }
}
