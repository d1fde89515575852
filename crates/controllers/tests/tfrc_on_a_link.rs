//! `tfrc` in a closed loop: under random loss it sends at the throughput equation's rate for the
//! loss event rate and the round trip it sees, and it copes with a bottleneck.

use crate::test_link::{Link, Observer, run};
use legato_control::estimate::tcp_equation::TcpEquation;
use legato_control::{Context, Decision, Event, NoAssets, RateController, RateLimits};
use legato_controllers::entry;
use legato_units::{DataRate, TimeDelta, Timestamp};

/// Sent and observed values from `from` on.
struct Seen {
    from: Timestamp,
    bits: f64,
    packets: f64,
    first_events: f64,
    events: f64,
    rtt_ms: Vec<f64>,
    targets: Vec<(Timestamp, u64)>,
}

impl Observer for Seen {
    fn on_event(&mut self, now: Timestamp, event: &Event) {
        if let (Event::PacketsSent(burst), true) = (event, now >= self.from) {
            self.bits += burst.bytes() as f64 * 8.0;
            self.packets += f64::from(burst.packets);
        }
    }

    fn on_decision(&mut self, now: Timestamp, decision: &Decision, controller: &mut dyn RateController) {
        self.targets.push((now, decision.target_bitrate.as_bps()));
        controller.observe(&mut |name, value| match name {
            "loss_events" => {
                self.events = value;
                if now <= self.from {
                    self.first_events = value;
                }
            }
            "rtt_ms" if now >= self.from => self.rtt_ms.push(value),
            _ => {}
        });
    }
}

impl Seen {
    fn mean_kbps(&self, from_s: i64, to_s: i64) -> u64 {
        let within = |at: Timestamp| at >= Timestamp::from_secs(from_s) && at < Timestamp::from_secs(to_s);
        let values: Vec<_> = self.targets.iter().filter(|(at, _)| within(*at)).map(|(_, bps)| bps).collect();
        values.iter().copied().sum::<u64>() / values.len() as u64 / 1_000
    }
}

fn call(link: &Link, from_s: i64, seconds: i64) -> Seen {
    let limits =
        RateLimits { min: DataRate::from_kbps(10), start: DataRate::from_kbps(300), max: DataRate::from_mbps(50) };
    let context = Context { limits, start: Timestamp::ZERO, seed: 1, assets: &NoAssets };
    let mut tfrc =
        entry("tfrc").expect("registered").build(&toml::Table::new(), context).expect("the defaults are valid");
    let mut seen = Seen {
        from: Timestamp::from_secs(from_s),
        bits: 0.0,
        packets: 0.0,
        first_events: 0.0,
        events: 0.0,
        rtt_ms: Vec::new(),
        targets: Vec::new(),
    };
    run(link, tfrc.as_mut(), TimeDelta::from_secs(seconds), &mut seen);
    seen
}

/// [rfc5348] §3.1 and §5.4 together: events over packets is the loss event rate, the mean of round trips is R.
#[test]
fn under_random_loss_the_rate_is_the_equations() {
    for loss_ratio in [0.005, 0.01, 0.02, 0.05] {
        let link = Link {
            capacity: vec![(Timestamp::ZERO, DataRate::from_mbps(100))],
            loss: vec![(Timestamp::ZERO, loss_ratio)],
            ..Link::default()
        };
        let (from_s, seconds) = (30, 1_030);
        let seen = call(&link, from_s, seconds);
        let rate_bps = seen.bits / (seconds - from_s) as f64;
        let p = (seen.events - seen.first_events) / seen.packets;
        let rtt_s = seen.rtt_ms.iter().sum::<f64>() / seen.rtt_ms.len() as f64 / 1e3;
        let equation_bps = TcpEquation::new(1_200.0, rtt_s, 1.0).bytes_per_s(p) * 8.0;
        let error = rate_bps / equation_bps - 1.0;
        println!(
            "loss {loss_ratio}: p {p:.5}, R {:.1} ms, rate {:.1} kbit/s, equation {:.1} kbit/s: {:+.1} %",
            rtt_s * 1e3,
            rate_bps / 1e3,
            equation_bps / 1e3,
            error * 1e2
        );
        assert!(error.abs() < 0.05, "loss {loss_ratio}: {error:+.3}");
    }
}

#[test]
fn it_fills_a_bottleneck_without_starving_itself() {
    let link = Link { capacity: vec![(Timestamp::ZERO, DataRate::from_mbps(1))], ..Link::default() };
    let kbps = call(&link, 20, 80).mean_kbps(20, 80);
    assert!((700..=1_100).contains(&kbps), "{kbps} kbit/s");
}

#[test]
fn without_feedback_the_target_falls_and_comes_back() {
    let gap = (Timestamp::from_secs(20), Timestamp::from_secs(40));
    let link = Link { loss: vec![(Timestamp::ZERO, 0.01)], feedback_gap: gap, ..Link::default() };
    let seen = call(&link, 10, 80);
    let before = seen.mean_kbps(15, 20);
    assert!(seen.mean_kbps(23, 24) <= before / 2);
    assert!(seen.mean_kbps(38, 40) <= 20);
    assert!(seen.mean_kbps(60, 80) >= before / 2);
}
