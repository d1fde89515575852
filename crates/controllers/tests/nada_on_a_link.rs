//! `nada` in a closed loop over one bottleneck: it uses the capacity with the queue its law
//! requires, and follows the steps of RFC 8867 section 5.1.

use crate::test_link::{Link, Observer, run};
use legato_control::{Context, Decision, Event, Fate, NoAssets, RateController, RateLimits};
use legato_controllers::entry;
use legato_units::{DataRate, TimeDelta, Timestamp};

/// The decisions, and how long packets waited at the bottleneck.
#[derive(Default)]
struct Log {
    targets: Vec<(Timestamp, u64)>,
    /// Arrival minus departure, in the peer's clock.
    delays_ms: Vec<(Timestamp, f64)>,
    received_bytes: Vec<(Timestamp, u64)>,
    signal_ms: Vec<(Timestamp, f64)>,
}

impl Observer for Log {
    fn on_event(&mut self, _now: Timestamp, event: &Event) {
        let Event::TransportFeedback(feedback) = event else { return };
        for packet in feedback.reports.iter() {
            if let Fate::Arrived(Some(arrival)) = packet.fate {
                let delay_ns = arrival.as_nanos() - 1_000_000_000_000 - packet.departure.as_nanos();
                self.delays_ms.push((packet.departure, delay_ns as f64 / 1e6));
                self.received_bytes.push((packet.departure, packet.size.as_bytes()));
            }
        }
    }
    fn on_decision(&mut self, now: Timestamp, decision: &Decision, controller: &mut dyn RateController) {
        self.targets.push((now, decision.target_bitrate.as_bps()));
        controller.observe(&mut |name, value| {
            if name == "signal_ms" {
                self.signal_ms.push((now, value));
            }
        });
    }
}

fn within(at: Timestamp, from_s: i64, to_s: i64) -> bool {
    at >= Timestamp::from_secs(from_s) && at < Timestamp::from_secs(to_s)
}

impl Log {
    fn target_kbps(&self, from_s: i64, to_s: i64) -> f64 {
        let values = self.targets.iter().filter(|(at, _)| within(*at, from_s, to_s)).map(|(_, bps)| *bps as f64);
        mean(values) / 1e3
    }

    fn signal_ms(&self, from_s: i64, to_s: i64) -> f64 {
        mean(self.signal_ms.iter().filter(|(at, _)| within(*at, from_s, to_s)).map(|(_, ms)| *ms))
    }

    fn received_kbps(&self, from_s: i64, to_s: i64) -> f64 {
        let bytes: u64 =
            self.received_bytes.iter().filter(|(at, _)| within(*at, from_s, to_s)).map(|(_, bytes)| bytes).sum();
        bytes as f64 * 8.0 / (to_s - from_s) as f64 / 1e3
    }

    /// Beyond propagation.
    fn p95_queue_ms(&self, from_s: i64, to_s: i64, propagation_ms: f64) -> f64 {
        let mut delays: Vec<_> =
            self.delays_ms.iter().filter(|(at, _)| within(*at, from_s, to_s)).map(|(_, ms)| *ms).collect();
        delays.sort_by(f64::total_cmp);
        delays[delays.len() * 95 / 100] - propagation_ms
    }
}

fn mean(values: impl Iterator<Item = f64>) -> f64 {
    let (sum, count) = values.fold((0.0, 0.0), |(sum, count), value| (sum + value, count + 1.0));
    sum / count
}

/// Video of RFC 8867 section 4.3: 150 kbit/s to 1.5 Mbit/s.
fn call(link: &Link, max_kbps: u64, seconds: i64) -> Log {
    let limits = RateLimits {
        min: DataRate::from_kbps(150),
        start: DataRate::from_kbps(150),
        max: DataRate::from_kbps(max_kbps),
    };
    let context = Context { limits, start: Timestamp::ZERO, seed: 1, assets: &NoAssets };
    let mut nada = entry("nada").expect("registered").build(&toml::Table::new(), context).expect("valid");
    let mut log = Log::default();
    run(link, nada.as_mut(), TimeDelta::from_secs(seconds), &mut log);
    log
}

fn steps(steps: &[(i64, u64)]) -> Vec<(Timestamp, DataRate)> {
    steps.iter().map(|&(s, kbps)| (Timestamp::from_secs(s), DataRate::from_kbps(kbps))).collect()
}

const RFC8867_QUEUE: TimeDelta = TimeDelta::from_millis(300);

#[track_caller]
fn assert_within(value: f64, low: f64, high: f64) {
    assert!(value >= low && value <= high, "{value} is not within {low}..={high}");
}

/// [rfc8698] §4.3: in the steady state r x = PRIO XREF RMAX: 15 Mbit/s ms with the RFC's limits.
#[test]
fn rate_times_signal_settles_at_the_reference() {
    for capacity_kbps in [500, 800, 1_000, 1_200] {
        let link = Link { capacity: steps(&[(0, capacity_kbps)]), queue: RFC8867_QUEUE, ..Link::default() };
        let log = call(&link, 1_500, 120);
        let product = log.target_kbps(60, 120) * log.signal_ms(60, 120) / 1e3;
        println!(
            "{capacity_kbps}: {:.0} kbit/s x {:.1} ms = {product:.2}",
            log.target_kbps(60, 120),
            log.signal_ms(60, 120)
        );
        assert_within(product, 14.0, 16.0);
        assert_within(log.received_kbps(60, 120), 0.95 * capacity_kbps as f64, 1.01 * capacity_kbps as f64);
    }
}

/// RFC 8867 section 5.1: 1.0, 2.5, 0.6 and 1.0 Mbit/s from 0, 40, 60 and 80 s.
#[test]
fn the_capacity_is_followed_through_the_steps_of_variable_capacity() {
    for propagation_ms in [50, 100] {
        let link = Link {
            capacity: steps(&[(0, 1_000), (40, 2_500), (60, 600), (80, 1_000)]),
            propagation: TimeDelta::from_millis(propagation_ms),
            queue: RFC8867_QUEUE,
            ..Link::default()
        };
        let log = call(&link, 1_500, 100);
        let propagation_ms = propagation_ms as f64;
        for (from_s, to_s, kbps) in [(0, 40, 1_000.0), (40, 60, 1_500.0), (60, 80, 600.0), (80, 100, 1_000.0)] {
            let utilisation = log.received_kbps(to_s - 10, to_s) / kbps;
            let queue_ms = log.p95_queue_ms(if from_s == 60 { 63 } else { from_s }, to_s, propagation_ms);
            println!(
                "{propagation_ms} ms, {from_s}-{to_s} s: utilisation {utilisation:.2}, p95 queue {queue_ms:.0} ms"
            );
            assert_within(utilisation, 0.75, 1.02);
            assert_within(queue_ms, 0.0, 150.0);
        }
    }
}

#[test]
fn a_lasting_loss_of_one_percent_leaves_most_of_the_rate() {
    let link = Link { loss: vec![(Timestamp::ZERO, 0.01)], queue: RFC8867_QUEUE, ..Link::default() };
    let log = call(&link, 1_500, 120);
    println!("{:.0} kbit/s", log.received_kbps(60, 120));
    assert_within(log.received_kbps(60, 120), 500.0, 1_000.0);
}

#[test]
fn without_feedback_the_target_falls_to_the_floor_and_comes_back() {
    let link = Link { feedback_gap: (Timestamp::from_secs(20), Timestamp::from_secs(40)), ..Link::default() };
    let log = call(&link, 1_500, 80);
    assert_within(log.target_kbps(15, 20), 800.0, 1_100.0);
    assert_within(log.target_kbps(35, 40), 150.0, 150.0);
    assert_within(log.target_kbps(70, 80), 800.0, 1_100.0);
}
