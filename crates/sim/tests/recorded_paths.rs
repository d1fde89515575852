//! Traces that record more than a capacity: propagation and loss over time (Hairpin), a fitted path with its queue and
//! cross traffic (iBox).

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use legato_sim::episode::Episode;
use legato_sim::{
    CallParts, CallSpec, Plan, Policies, Scenario, SessionParts, SimError, Sweep, run_call, run_planned, run_session,
};
use legato_trace::{LogLevel, PacketRow, Recorder};
use std::path::{Path, PathBuf};

const TRACES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../data/traces");

fn hairpin(more: &str) -> String {
    format!(
        "duration_s = 30.0\n[forward]\npropagation_ms = 60.0\nloss_ratio = 0.3\n[forward.capacity]\nscale = 0.5\n\
         start_s = 20.0\ntrace = \"{TRACES}/copyleft/hairpin/eth-trace3.log.gz\"\n{more}"
    )
}

/// A path of 6,792 kbit/s, 24 ms, and 11,961 bytes of buffer, with cross traffic of a third of its rate.
fn ibox(more: &str) -> String {
    format!(
        "duration_s = 20.0\n[forward]\npropagation_ms = 60.0\nqueue = {{ limit_packets = 1, kind = \"codel\" }}\n\
         [forward.capacity]\ntrace = \"{TRACES}/ibox/brazil-cellular-001.json\"\n{more}"
    )
}

fn plan(scenario: &str) -> Plan {
    Plan::parse(&serde_json::json!({ "scenario": scenario, "seeds": [3] }).to_string()).unwrap()
}

fn run(scenario: &str) -> (legato_sim::Outcome, Recorder) {
    let mut recorders = Vec::new();
    let outcome = run_planned(&plan(scenario).load().unwrap(), 0, LogLevel::Packets, &mut recorders).unwrap();
    (outcome, recorders.swap_remove(0))
}

/// One-way delay of each packet that arrived, in ms, with the second in which it left.
fn delays_ms(packets: &[PacketRow]) -> Vec<(f64, f64)> {
    let arrived = packets.iter().filter_map(|packet| Some((packet.sent, packet.arrived?)));
    arrived.map(|(left, came)| (left.as_secs_f64(), (came - left).as_millis_f64())).collect()
}

#[test]
fn a_recorded_round_trip_and_loss_replace_the_scenarios() {
    let (outcome, recorder) = run(&hairpin(""));
    let delays = delays_ms(recorder.packets());
    let shortest = delays.iter().map(|&(_, ms)| ms).fold(f64::INFINITY, f64::min);
    // The log's round trips are 2.5 to 73 ms, half of it one way; the scenario has 60 ms one way and 30 % loss.
    assert!((1.25..6.0).contains(&shortest), "{shortest} ms");
    let lost = outcome.calls[0].1.loss_ratio.unwrap();
    assert!(lost < 0.1, "{lost}");
    let (labels, _) = &outcome.calls[0];
    assert_eq!((&*labels.trace, labels.trace_family.as_deref()), ("eth-trace3.log x0.5 @20s", Some("hairpin")));
    let alone = run(&hairpin("plays = \"capacity\"\n"));
    let shortest = delays_ms(alone.1.packets()).iter().map(|&(_, ms)| ms).fold(f64::INFINITY, f64::min);
    assert!(shortest >= 60.0, "{shortest} ms");
    let lost = alone.0.calls[0].1.loss_ratio.unwrap();
    assert!((0.2..0.4).contains(&lost), "{lost}");
    assert_eq!(&*alone.0.calls[0].0.trace, "eth-trace3.log x0.5 @20s capacity alone");
}

#[test]
fn a_recorded_delay_reorders_nothing_unless_the_scenario_does() {
    let overtaken = |packets: &[PacketRow]| {
        let mut arrivals: Vec<_> = packets.iter().filter_map(|packet| Some((packet.sent, packet.arrived?))).collect();
        // In the order of departure, which packets of one burst share.
        arrivals.sort_by_key(|&(left, _)| left);
        arrivals.windows(2).filter(|pair| pair[0].0 < pair[1].0 && pair[0].1 > pair[1].1).count()
    };
    assert_eq!(overtaken(run(&hairpin("")).1.packets()), 0);
    let reordered = run(&hairpin("[forward.reorder]\npacket_ratio = 0.05\nextra_ms = 30.0\n"));
    assert!(overtaken(reordered.1.packets()) > 10);
}

#[test]
fn both_ways_take_half_of_the_recorded_round_trip() {
    let text = "duration_s = 10.0\ncontroller = { name = \"fixed\", config = { target_bitrate_bps = 300_000 } }\n";
    let folder = std::env::temp_dir().join(format!("legato-recorded-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let csv = folder.join("path.csv");
    std::fs::write(&csv, "time_s,rate_mbps,rtt_ms,loss_ratio\n0,8,40,0\n5,8,90,0\n10,8,90,0\n").unwrap();
    let (outcome, recorder) = run(&format!("{text}[forward.capacity]\ntrace = {csv:?}\n"));
    std::fs::remove_dir_all(&folder).unwrap();
    let mean = |from: f64, to: f64| {
        let within: Vec<_> =
            delays_ms(recorder.packets()).into_iter().filter(|(left, _)| (from..to).contains(left)).collect();
        within.iter().map(|&(_, ms)| ms).sum::<f64>() / within.len() as f64
    };
    // Half the round trip, and up to 4 ms in the queue: bursts of 300 kbit/s at 8 Mbit/s.
    let (first, second) = (mean(1.0, 5.0), mean(5.0, 9.9));
    assert!((20.0..24.0).contains(&first) && (45.0..49.0).contains(&second), "{first}, {second}");
    assert_eq!(outcome.calls[0].1.loss_ratio, Some(0.0));
}

/// Also where they are sent as one call among several, and from one folder to the next.
#[test]
fn the_same_seed_loses_and_delays_the_same_packets() {
    let text = hairpin("");
    let scenario = Scenario::parse(&text, "a.toml").unwrap();
    let parts = CallParts::load(&scenario, Path::new("")).unwrap();
    let (mut one, mut many) = (Recorder::default(), Vec::new());
    let expected = run_call(&scenario, &parts, 7, LogLevel::Packets, &mut one).unwrap();
    let again = run_call(&scenario, &parts, 7, LogLevel::Packets, &mut Recorder::default()).unwrap();
    assert_eq!(again, expected);
    let among = Scenario { calls: Some(vec![CallSpec::default()]), ..scenario };
    let (summaries, _) =
        run_session(&among, &parts, &SessionParts::default(), 7, LogLevel::Packets, &mut many).unwrap();
    assert_eq!((&summaries[0], many[0].packets()), (&expected, one.packets()));
}

/// iBox's note 1: the cross traffic is a UDP sender with these rates; here as a scenario writes it.
#[test]
fn an_ibox_path_is_the_link_beside_a_udp_flow_that_a_scenario_would_name() {
    let profile = std::fs::read_to_string(format!("{TRACES}/ibox/brazil-cellular-001.json")).unwrap();
    let profile: serde_json::Value = serde_json::from_str(&profile).unwrap();
    let kbps = profile["cross_traffic_kbps"].as_array().unwrap().iter().map(|kbps| kbps.as_u64().unwrap());
    let steps: Vec<_> = kbps.enumerate().map(|(second, kbps)| format!("[{second}.0, {}]", kbps * 1_000)).collect();
    let written = format!(
        "duration_s = 20.0\n[forward]\npropagation_ms = 24.0\nqueue = {{ limit_bytes = 11961 }}\n\
         capacity = {{ constant_bps = 6792000 }}\n[[udp]]\nname = \"cross traffic\"\nconfig = {{ steps = [{}] }}\n",
        steps.join(", ")
    );
    let ((played, packets), (expected, expected_packets)) = (run(&ibox("")), run(&written));
    assert_eq!(packets.packets(), expected_packets.packets());
    assert_eq!(played.calls[0].1, expected.calls[0].1);
    assert_eq!(played.traffic.len(), 1);
    assert_eq!(played.traffic[0].name, "cross traffic");
    let counts = |outcome: &legato_sim::Outcome| (outcome.traffic[0].packets_sent, outcome.traffic[0].packets_lost);
    assert_eq!(counts(&played), counts(&expected));
    assert!(counts(&played).0 > 3_000);
    assert_eq!(played.calls[0].0.trace_family.as_deref(), Some("ibox"));
    // Alone on the link the call would have had more.
    let (alone, _) = run(&ibox("plays = \"capacity\"\n"));
    assert!(alone.traffic.is_empty());
}

#[test]
fn an_environment_and_a_folder_take_recorded_paths() {
    let learned = "controller = { name = \"nvc-cc\" }\n";
    let policies = || Policies::of([PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../policies"))]);
    let begin = |text: &str| {
        let scenario = Scenario::parse(&(learned.to_owned() + text), "a.toml").unwrap();
        let parts = CallParts { policies: policies(), ..CallParts::load(&scenario, Path::new("")).unwrap() };
        Episode::alone(&scenario, parts, 1, None).map(drop)
    };
    begin(&hairpin("")).unwrap();
    begin(&ibox("plays = \"capacity\"\n")).unwrap();
    let error = begin(&ibox("")).unwrap_err().to_string();
    assert!(error.starts_with("forward.capacity: the trace has cross traffic"), "{error}");

    let folder = std::env::temp_dir().join(format!("legato-recorded-folder-{}", std::process::id()));
    let mut sweep = Sweep::new(&plan(&ibox("")), &folder, 1).unwrap();
    sweep.start();
    assert!(sweep.join().unwrap());
    assert!(folder.join("traffic/00000.parquet").exists());
    std::fs::remove_dir_all(&folder).unwrap();
}

/// With any capacity, and in either direction; they override those of the capacity's trace.
#[test]
fn conditions_come_from_a_trace_of_their_own() {
    let of = |way: &str, start_s: f64| {
        format!("[{way}.conditions]\ntrace = \"{TRACES}/copyleft/hairpin/wifi-trace9.log.gz\"\nstart_s = {start_s:?}\n")
    };
    let constant = "duration_s = 20.0\n[forward]\npropagation_ms = 200.0\n[forward.capacity]\nconstant_bps = 4000000\n";
    let (_, recorder) = run(&(constant.to_owned() + &of("forward", 30.0)));
    let delays = delays_ms(recorder.packets());
    let shortest = delays.iter().map(|&(_, ms)| ms).fold(f64::INFINITY, f64::min);
    assert!((4.5..40.0).contains(&shortest), "{shortest} ms");
    // The same trace gives all three, or its capacity and the rest apart.
    let capacity = |more: &str| {
        format!(
            "duration_s = 20.0\n[forward.capacity]\ntrace = \"{TRACES}/copyleft/hairpin/wifi-trace9.log.gz\"\n\
             scale = 0.5\nstart_s = 30.0\n{more}"
        )
    };
    let whole = run(&capacity(""));
    let apart = run(&capacity(&format!("plays = \"capacity\"\n{}{}", of("forward", 30.0), of("reverse", 30.0))));
    assert_eq!(whole.1.packets(), apart.1.packets());
    let other = run(&capacity(&of("forward", 90.0)));
    assert_ne!(whole.1.packets(), other.1.packets());
}

/// In every place where a scenario names a trace; the plan that is written has the names alone.
#[test]
fn names_of_traces_stand_for_the_paths_that_a_plan_has() {
    let scenario = "[forward]\ncapacity = { trace = \"one/1\" }\nconditions = { trace = \"two/2\" }\n\
                    [reverse]\ncapacity = { trace = \"one/1\" }\nconditions = { trace = \"two/2\" }\n";
    let paths = serde_json::json!({
        "one/1": format!("{TRACES}/copyleft/wifi-zhuge/rest-wifi_13.pitree-trace"),
        "two/2": format!("{TRACES}/copyleft/hairpin/wifi-trace13.log.gz"),
    });
    let json = serde_json::json!({ "scenario": scenario, "seeds": [1], "scenario_traces": paths }).to_string();
    let named = Plan::parse(&json).unwrap();
    assert_eq!(&*named.load().unwrap().traces[0].as_ref().unwrap().label, "rest-wifi_13.pitree-trace");
    assert!(!serde_json::to_string(&named).unwrap().contains(TRACES));
    assert!(plan(scenario).load().is_err());
}

#[test]
fn conditions_are_refused_by_key_and_file() {
    let refused = |text: &str| match plan(text).load() {
        Err(error) => error.to_string(),
        Ok(_) => panic!("{text} loads"),
    };
    let of = |file: &str, more: &str| format!("[reverse.conditions]\ntrace = \"{TRACES}/{file}\"\n{more}");
    let plain = refused(&of("copyleft/wifi-zhuge/rest-wifi_13.pitree-trace", ""));
    assert!(plain.ends_with("rest-wifi_13.pitree-trace records neither delay nor loss"), "{plain}");
    let hairpin = "copyleft/hairpin/wifi-trace13.log.gz";
    let outside = refused(&of(hairpin, "start_s = 30.0\n"));
    assert!(outside.starts_with("reverse.conditions.trace = ") && outside.contains(hairpin), "{outside}");
    assert!(refused(&of("no-such-file", "")).starts_with("reverse.conditions.trace = "));
    assert_eq!(
        refused(&of(hairpin, "start_s = -1.0\n")),
        "scenario: reverse.conditions.start_s: -1 is not within 0 to 86400"
    );
    // Without a plan nothing loads them, and nothing else is played in their place.
    let scenario = Scenario::parse(&of(hairpin, ""), "a.toml").unwrap();
    let parts = CallParts::load(&scenario, Path::new("")).unwrap();
    let error = run_call(&scenario, &parts, 1, LogLevel::Summary, &mut Recorder::default()).unwrap_err();
    assert_eq!(error.to_string(), "reverse.conditions were not loaded: only a plan loads them");
}

#[test]
fn how_much_is_played_is_refused_by_key_where_it_is_wrong() {
    let refused = |text: &str| Scenario::parse(text, "a.toml").unwrap_err().to_string();
    assert_eq!(
        refused("[forward.capacity]\nconstant_bps = 5\nplays = \"path\""),
        "a.toml: forward.capacity.plays: only a trace has it"
    );
    let plan = Plan::parse(
        &serde_json::json!({ "scenario": "", "seeds": [1], "traces": [{ "path": "x", "plays": "all" }] }).to_string(),
    );
    assert!(matches!(plan, Err(SimError::Plan(_))));
}
