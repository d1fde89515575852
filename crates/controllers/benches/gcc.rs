//! The cost of `gcc`: half a minute of a 2.5 Mbit/s call is recorded once, then its events are replayed
//! without the call around them. `cargo bench -p legato-controllers` prints nanoseconds per event of each
//! kind and microseconds per simulated second.

#![expect(clippy::disallowed_methods, reason = "a benchmark reads the clock")]

#[path = "../tests/test_link/mod.rs"]
mod test_link;

use legato_control::{Context, Decision, Event, NoAssets, RateController, RateLimits};
use legato_controllers::entry;
use legato_units::{DataRate, TimeDelta, Timestamp};
use std::hint::black_box;
use std::time::{Duration, Instant};
use test_link::{Link, Observer, run};

const SECONDS: i64 = 30;
const ROUNDS: u32 = 1_000;

/// Records the events of a call.
#[derive(Default)]
struct Log(Vec<(Timestamp, Event)>);

impl Observer for Log {
    fn on_event(&mut self, now: Timestamp, event: &Event) {
        self.0.push((now, event.clone()));
    }
    fn on_decision(&mut self, _now: Timestamp, _decision: &Decision, _controller: &mut dyn RateController) {}
}

fn controller(name: &str) -> Box<dyn RateController> {
    let limits =
        RateLimits { min: DataRate::from_kbps(30), start: DataRate::from_kbps(300), max: DataRate::from_mbps(6) };
    let context = Context { limits, start: Timestamp::ZERO, seed: 1, assets: &NoAssets };
    entry(name).expect("registered").build(&toml::Table::new(), context).expect("the defaults are valid")
}

/// Replay the log, reading after each event what a driver reads. The cost of the replay itself is
/// measured with a controller that does nothing.
fn cost(log: &[(Timestamp, Event)], keep: impl Fn(&Event) -> bool) -> f64 {
    let log: Vec<_> = log.iter().filter(|(_, event)| keep(event)).cloned().collect();
    replay("gcc", &log) - replay("fixed", &log)
}

/// Seconds, the best of many.
fn replay(name: &str, log: &[(Timestamp, Event)]) -> f64 {
    let mut best = Duration::MAX;
    let rounds = std::env::var("ROUNDS").map_or(ROUNDS, |rounds| rounds.parse().expect("ROUNDS is a number"));
    for _ in 0..rounds {
        let mut controller = controller(name);
        let begin = Instant::now();
        for (now, event) in log {
            controller.on_event(*now, event);
            black_box(controller.decision());
            black_box(controller.next_deadline());
            while black_box(controller.poll_probe()).is_some() {}
        }
        best = best.min(begin.elapsed());
    }
    best.as_secs_f64()
}

fn main() {
    for (name, loss) in [("calm", 0.0), ("one percent of loss", 0.01)] {
        let link = Link {
            capacity: vec![(Timestamp::ZERO, DataRate::from_kbps(2_700))],
            jitter: TimeDelta::from_millis(2),
            loss: vec![(Timestamp::ZERO, loss)],
            ..Link::default()
        };
        let mut log = Log::default();
        run(&link, controller("gcc").as_mut(), TimeDelta::from_secs(SECONDS), &mut log);
        let count = |keep: fn(&Event) -> bool| log.0.iter().filter(|(_, event)| keep(event)).count();
        let is_sent: fn(&Event) -> bool = |event| matches!(event, Event::PacketsSent(_));
        let is_feedback: fn(&Event) -> bool = |event| matches!(event, Event::TransportFeedback(_));
        let (sent, feedback) = (count(is_sent), count(is_feedback));
        let (all, sends) = (cost(&log.0, |_| true), cost(&log.0, is_sent));
        println!(
            "{name}: {:.1} packets/s, {:.1} feedbacks/s, {} other events",
            sent as f64 / SECONDS as f64,
            feedback as f64 / SECONDS as f64,
            log.0.len() - sent - feedback,
        );
        println!("  all         {:8.3} us per simulated second", all * 1e6 / SECONDS as f64);
        println!("  packet sent {:8.2} ns", sends * 1e9 / sent as f64);
        println!("  feedback    {:8.2} ns", (all - sends) * 1e9 / feedback as f64);
    }
}
