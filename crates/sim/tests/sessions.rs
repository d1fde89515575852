//! Several flows on shared links, over whole sessions.

use legato_sim::{CallParts, Scenario, SessionParts, run_call, run_session};
use legato_trace::{LogLevel, Recorder, Summary, TrafficFigures};
use std::path::Path;

fn parts(scenario: &Scenario) -> (CallParts, SessionParts) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    let calls = CallParts::load(scenario, folder).expect("the capacities are plain, the profile shipped");
    (calls, SessionParts::load(scenario, folder).expect("links are plain"))
}

fn session(text: &str) -> (Vec<Summary>, Vec<TrafficFigures>, Vec<Recorder>) {
    let scenario = Scenario::parse(text, "session.toml").unwrap_or_else(|error| panic!("{error}"));
    let (calls, shared) = parts(&scenario);
    let mut recorders = Vec::new();
    let (summaries, traffic) =
        run_session(&scenario, &calls, &shared, 1, LogLevel::Packets, &mut recorders).expect("it runs");
    (summaries, traffic, recorders)
}

/// The engine for one call and the engine for many must be the same simulator: packets, frames and figures of a single
/// call do not depend on which ran it. This holds for queues that know a packet's exit when it enters and for queues
/// that do not.
#[test]
fn a_call_alone_in_a_session_is_the_call_of_the_engine_for_one() {
    let networks = [
        "[forward]\nloss_ratio = 0.01\nqueue = { limit_ms = 200.0 }\ncapacity = { steps = [[0.0, 1500000], [8.0, 600000]] }\n\
         [forward.jitter]\nstd_ms = 3.0\n[forward.reorder]\n",
        "[forward]\nqueue = { kind = \"codel\" }\ncapacity = { constant_bps = 900000 }\n[reverse]\nloss_ratio = 0.02\n",
        "[forward]\ncapacity = { generator = \"nvc-cc\" }\n[audio]\n",
        "[forward]\nqueue = { mark_above_ms = 10.0 }\ncapacity = { constant_bps = 900000 }\n[sender]\necn = \"ect1\"\n\
         [receiver]\nfeedback = \"ccfb\"\n",
    ];
    for network in networks {
        let text = format!(
            "duration_s = 20.0\n[video]\nclip = \"../../profiles/foreman.safetensors\"\ndecoder = \"sliced\"\n{network}"
        );
        let alone = Scenario::parse(&text, "alone.toml").unwrap();
        let (calls, shared) = parts(&alone);
        let (mut one, mut many) = (Recorder::default(), Vec::new());
        let expected = run_call(&alone, &calls, 7, LogLevel::Packets, &mut one).unwrap();
        let among = Scenario { calls: Some(vec![legato_sim::CallSpec::default()]), ..alone };
        let (summaries, _) = run_session(&among, &calls, &shared, 7, LogLevel::Packets, &mut many).unwrap();
        assert_eq!(summaries[0], expected, "{network}");
        assert_eq!(many[0].packets(), one.packets(), "{network}");
        assert_eq!(network.contains("ect1"), expected.ce_ratio > Some(0.0), "{network}");
        assert_eq!(many[0].frames(), one.frames(), "{network}");
        assert_eq!(many[0].series(), one.series(), "{network}");
    }
}

const TWO_MBPS: &str = "duration_s = 60.0\nsender = { circuit_breakers = false }\n[forward]\npropagation_ms = 50.0\ncapacity = { constant_bps = 2000000 }\n[reverse]\npropagation_ms = 50.0\n";

#[test]
fn two_constant_calls_share_what_there_is_and_queue_behind_one_another() {
    let fixed = "controller = { name = \"fixed\", config = { target_bitrate_bps = 1500000 } }";
    let (summaries, _, _) =
        session(&format!("{fixed}\n{TWO_MBPS}[[calls]]\n[[calls]]\nstart_s = 20.0\nstop_s = 40.0\n"));
    let both: f64 = summaries[0].receiver_rate_bps * 60.0 + summaries[1].receiver_rate_bps * 20.0;
    // 1.5 Mbit/s alone for 40 s, 2.0 together for 20 s: an upper bound that the link keeps.
    assert!(both <= 1.02 * (1.5e6 * 40.0 + 2e6 * 20.0), "{both}");
    assert!(both >= 0.85 * (1.5e6 * 40.0 + 2e6 * 20.0), "{both}");
    assert!(summaries[1].queue_delay_p95_ms.unwrap() > 150.0, "a full queue of 300 ms");
    assert_eq!(summaries[1].duration_s, 20.0);
}

#[test]
fn tcp_alone_fills_the_link_and_udp_takes_its_rate_from_it() {
    let (none, traffic, _) = session(&format!(
        "calls = []\n{TWO_MBPS}[[tcp]]\n[[udp]]\nconfig = {{ steps = [[0.0, 0], [30.0, 1000000]] }}\n"
    ));
    assert!(none.is_empty());
    let [tcp, udp] = &traffic[..] else { panic!("two flows") };
    let rate = |flow: &TrafficFigures, from: usize, to: usize| {
        flow.bins().skip(from * 10).take((to - from) * 10).map(|bin| f64::from(bin.receiver_rate_bps)).sum::<f64>()
            / ((to - from) as f64 * 10.0)
    };
    assert!((1.9e6..=2.01e6).contains(&rate(tcp, 5, 30)), "{}", rate(tcp, 5, 30));
    assert!((0.9e6..=1.02e6).contains(&rate(udp, 35, 60)), "{}", rate(udp, 35, 60));
    assert!((0.85e6..=1.1e6).contains(&rate(tcp, 35, 60)), "{}", rate(tcp, 35, 60));
    assert_eq!((tcp.kind, udp.kind), ("tcp-reno", "udp"));
}

#[test]
fn a_flow_over_two_links_gets_the_lesser_and_each_link_serves_its_own() {
    let text = "duration_s = 30.0\ncontroller = { name = \"fixed\", config = { target_bitrate_bps = 400000 } }\n\
        [[links]]\nname = \"A-B\"\ncapacity = { constant_bps = 2000000 }\n\
        [[links]]\nname = \"C-D\"\ncapacity = { constant_bps = 300000 }\n\
        [[calls]]\nname = \"long\"\nroute = [\"A-B\", \"C-D\"]\n[[calls]]\nname = \"short\"\nroute = [\"A-B\"]\n";
    let (summaries, _, _) = session(text);
    let [long, short] = &summaries[..] else { panic!("two calls") };
    assert_eq!((long.capacity_mean_bps, short.capacity_mean_bps), (Some(300e3), Some(2e6)));
    assert!(long.receiver_rate_bps < 301e3 && long.loss_ratio.unwrap() > 0.1);
    assert!(short.receiver_rate_bps > 350e3 && short.loss_ratio == Some(0.0));
}

/// RFC 8867 section 5.3's set-up: media both ways, and the feedback of each with the other's media.
#[test]
fn media_in_reverse_shares_the_way_with_the_others_feedback() {
    let text = "duration_s = 30.0\n[forward]\ncapacity = { constant_bps = 2000000 }\n\
        [reverse]\ncapacity = { constant_bps = 500000 }\n[[calls]]\n[[calls]]\ndirection = \"reverse\"\n";
    let (summaries, _, _) = session(text);
    assert_eq!((summaries[0].capacity_mean_bps, summaries[1].capacity_mean_bps), (Some(2e6), Some(500e3)));
    assert!(summaries[0].receiver_rate_bps > 1e6);
    assert!(summaries[1].receiver_rate_bps < 500e3);
}

#[test]
fn a_session_comes_out_the_same_each_time_and_not_for_another_seed() {
    let text = format!("{TWO_MBPS}[[calls]]\n[[calls]]\nstart_s = 5.0\n[[tcp]]\nstart_s = 10.0\n");
    let scenario = Scenario::parse(&text, "session.toml").unwrap();
    let (calls, shared) = parts(&scenario);
    let run = |seed| run_session(&scenario, &calls, &shared, seed, LogLevel::Summary, &mut Vec::new()).unwrap();
    assert_eq!(run(1), run(1));
    assert_ne!(run(1), run(2));
}

#[test]
fn what_is_wrong_with_a_flow_is_named() {
    let refused = |text: &str| Scenario::parse(text, "a.toml").unwrap_err().to_string();
    assert_eq!(refused("[[calls]]\nroute = [\"X\"]"), "a.toml: calls[0].route: \"X\" is not one of ");
    assert!(refused("[[calls]]\nstart_s = 61.0").contains("calls[0].start_s: 61 is not within 0 to 60"));
    assert!(refused("[[calls]]\nstart_s = 5.0\nstop_s = 4.0").contains("calls[0].stop_s: 4 s is not 0.1 s after"));
    assert!(refused("[[tcp]]\ndirection = \"up\"").contains("tcp[0].direction: \"up\" is not one of forward, reverse"));
    assert!(refused("[[calls]]\npriority = 0.0").contains("calls[0].priority: 0 is not within"));
    assert!(refused("[[links]]\nname = \"A\"\n[links.capacity]\n").contains("exactly one of"));
    assert!(refused("[[tcp]]\nconfig = { delayed_ack_ms = 900 }").contains("tcp[0].config.delayed_ack_ms: 900"));
    assert!(refused("[[udp]]\n").contains("udp[0].config: exactly one of rate_bps and steps"));
}
