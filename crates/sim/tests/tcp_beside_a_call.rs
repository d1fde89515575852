//! Calls against TCP: RFC 8867 sections 5.6 and 5.7, and the shares of each flow.

use legato_sim::{CallParts, Scenario, SessionParts, run_session};
use legato_trace::{LogLevel, TrafficFigures};
use std::path::Path;

/// Receiver rates by second, of each call and of each TCP flow, in bit/s.
struct Rates {
    calls: Vec<Vec<f64>>,
    tcp: Vec<Vec<f64>>,
}

fn run(text: &str, seed: u64) -> Rates {
    let scenario = Scenario::parse(text, "tcp.toml").unwrap_or_else(|error| panic!("{error}"));
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    let calls = CallParts::load(&scenario, folder).expect("everything is plain");
    let shared = SessionParts::load(&scenario, folder).expect("links are plain");
    let mut recorders = Vec::new();
    let (_, traffic) =
        run_session(&scenario, &calls, &shared, seed, LogLevel::Series, &mut recorders).expect("it runs");
    let seconds = |rates: Vec<f64>| rates.chunks(10).map(|second| second.iter().sum::<f64>() / 10.0).collect();
    Rates {
        calls: recorders
            .iter()
            .map(|call| seconds(call.series().iter().map(|row| f64::from(row.receiver_rate_bps())).collect()))
            .collect(),
        tcp: traffic
            .iter()
            .map(|flow: &TrafficFigures| seconds(flow.bins().map(|bin| f64::from(bin.receiver_rate_bps)).collect()))
            .collect(),
    }
}
fn mean(seconds: &[f64]) -> f64 {
    seconds.iter().sum::<f64>() / seconds.len() as f64
}

/// One call from 5 s on against one TCP flow until `tcp_stop_s`, 50 ms each way and 2 Mbit/s behind a drop-tail queue.
fn beside_long_tcp(controller: &str, algorithm: &str, queue_ms: u32, tcp_stop_s: u32) -> String {
    format!(
        "duration_s = 120.0\nlimits = {{ min_bps = 150000, start_bps = 150000, max_bps = 1500000 }}\n\
        controller = {{ name = \"{controller}\" }}\n[audio]\n\
        [forward]\npropagation_ms = 50.0\nqueue = {{ limit_ms = {queue_ms}, reference_bps = 2000000 }}\n\
        capacity = {{ constant_bps = 2000000 }}\n[reverse]\npropagation_ms = 50.0\n\
        [[calls]]\nstart_s = 5.0\n\
        [[tcp]]\nstop_s = {tcp_stop_s}.0\nconfig = {{ congestion_control = \"{algorithm}\" }}\n"
    )
}

/// RFC 8867 section 5.6. A delay-based controller yields to flows that fill the queue: it must not starve.
#[test]
fn gcc_yields_to_a_long_tcp_flow_and_does_not_starve() {
    for algorithm in ["bbr", "bic", "cubic", "reno"] {
        let rates = run(&beside_long_tcp("gcc", algorithm, 300, 120), 1);
        let (call, tcp) = (&rates.calls[0][10..114], &rates.tcp[0][15..119]);
        let starved = call.iter().filter(|&&bps| bps < 150_000.0).count();
        assert!(starved * 20 <= call.len(), "{algorithm}: below the minimum rate in {starved} of {} s", call.len());
        assert!(mean(tcp) > 0.2 * 2e6, "{algorithm}: {}", mean(tcp));
        let both = mean(call) + mean(tcp);
        assert!((0.95 * 2e6..=1.01 * 2e6).contains(&both), "{algorithm}: {both}");
    }
}

#[test]
fn a_call_takes_back_what_a_tcp_flow_leaves() {
    let rates = run(&beside_long_tcp("gcc", "reno", 300, 60), 1);
    // The call's first second is the sixth.
    let (beside, after) = (mean(&rates.calls[0][25..54]), mean(&rates.calls[0][85..114]));
    assert!(beside < 0.5e6 && after > 0.8 * 1.5e6, "{beside} beside TCP, {after} from 30 s after its end");
}

/// RFC 8867 section 5.7: two calls against ten short flows, two of which begin with a fetch.
#[test]
fn calls_live_beside_ten_short_tcp_flows() {
    let flows: String = (0..10)
        .map(|n| format!("[[tcp]]\nconfig = {{ workload = {{ on_off = {{ starts_on = {} }} }} }}\n", n < 2))
        .collect();
    let head = beside_long_tcp("gcc", "reno", 300, 120);
    let head = head.split("[[calls]]").next().expect("there is one").replace("120.0", "300.0");
    let rates = run(&format!("{head}[[calls]]\nstart_s = 5.0\n[[calls]]\nstart_s = 5.0\n{flows}"), 1);
    for call in &rates.calls {
        let starved = call.iter().filter(|&&bps| bps < 150_000.0).count();
        assert!(
            starved * 20 <= call.len() && mean(call) > 250e3,
            "{starved} s below the minimum, {} bit/s",
            mean(call)
        );
    }
    let load: f64 = rates.tcp.iter().map(|flow| mean(flow)).sum();
    // Ten times 40 kB every 10 s and the fetch's own, with headers.
    assert!((250e3..=370e3).contains(&load), "{load}");
}
