//! The event file of every controller, from two calls, replays to the same file, byte for byte.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use legato_control::Side;
use legato_control::event_file::first_difference;
use legato_controllers::REGISTRY;
use legato_sim::{CallParts, ControllerSpec, Policies, Scenario, record_events, replay_events};
use std::path::PathBuf;

/// A capacity in steps with an outage, random loss, jitter, and packets marked by a queue that manages its length.
const STEPS: &str = "duration_s = 12.0\nsender.circuit_breakers = \"off\"\nsender.ecn = \"ect1\"\n\
    forward.capacity.steps = [[0.0, 1_500_000], [4.0, 400_000], [7.0, 0], [8.0, 2_500_000]]\n\
    forward.loss_ratio = 0.02\nforward.queue = { kind = \"codel\", ecn = true }\nforward.jitter = { std_ms = 5.0 }\n";
/// A slow link with a deep queue, whose way back is slow and loses feedback; the sender pauses.
const DEEP: &str = "duration_s = 12.0\nforward.capacity.constant_bps = 600_000\nforward.queue.limit_ms = 800.0\n\
    reverse.capacity.constant_bps = 60_000\nreverse.loss_ratio = 0.1\n[[pauses]]\nstart_s = 5.0\nend_s = 6.5\n";

fn policies() -> Policies {
    Policies::of([PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../policies")])
}

/// The event files of a call: the sender's, and the receiver's if it has a controller.
fn both_ends(scenario: &str, name: &str) -> Vec<String> {
    let mut scenario = Scenario::parse(scenario, "test.toml").unwrap();
    scenario.controller = ControllerSpec { name: name.to_owned(), config: toml::Table::new() };
    let parts = CallParts { policies: policies(), ..CallParts::load(&scenario, "".as_ref()).unwrap() };
    let logs = record_events(&scenario, &parts, 1).unwrap();
    [logs.sender.text(), logs.receiver.text()].into_iter().filter(|file| !file.is_empty()).collect()
}

/// The event file of a controller from a call.
fn recorded(scenario: &str, name: &str) -> String {
    both_ends(scenario, name).pop().unwrap()
}

/// Lines of a kind.
fn count(file: &str, kind: &str) -> usize {
    file.lines().filter(|line| line.starts_with(&format!("{{\"{kind}\":"))).count()
}

#[test]
fn the_events_of_every_controller_in_two_calls_replay_to_the_same_decisions() {
    let mut kinds = std::collections::BTreeSet::new();
    for entry in REGISTRY {
        let mut decisions = 0;
        for (call, scenario) in [("steps", STEPS), ("deep", DEEP)] {
            let files = both_ends(scenario, entry.name);
            assert_eq!(files.len(), if entry.side == Side::Sender { 1 } else { 2 }, "{}", entry.name);
            for file in files {
                assert!(count(&file, "event") > 300, "{} over {call}: {} events", entry.name, count(&file, "event"));
                decisions += count(&file, "decision");
                let again = replay_events(&file, &policies()).unwrap();
                assert_eq!(first_difference(&file, &again), None, "{} over {call}", entry.name);
                let events = file.lines().filter(|line| line.starts_with("{\"event"));
                kinds.extend(events.filter_map(|line| line.split('"').nth(3)).map(str::to_owned));
            }
        }
        let least = if ["fixed", "opennetlab", "remote"].contains(&entry.name) { 2 } else { 6 };
        assert!(decisions >= least, "{} decides {decisions} times", entry.name);
    }
    // What calls never say: the application changes no limits, no route changes.
    let all = "deadline frame_captured frame_encoded frame_report pacer_queue packet_received packets_sent \
               receiver_report remote_estimate_bps round_trip_time_ns rtcp_arrived transport_feedback";
    assert_eq!(kinds.iter().map(String::as_str).collect::<Vec<_>>(), all.split_whitespace().collect::<Vec<_>>());
}

#[test]
fn what_is_not_as_recorded_shows_in_the_first_line_that_differs() {
    let file = recorded(STEPS, "gcc");
    // Half of the feedback is left out.
    let feedback = file.lines().filter(|line| line.contains("\"transport_feedback\""));
    let left_out: Vec<_> = feedback.step_by(2).collect();
    let changed: String =
        file.lines().filter(|line| !left_out.contains(line)).map(|line| format!("{line}\n")).collect();
    let again = replay_events(&changed, &policies()).unwrap();
    let (line, before, now) = first_difference(&changed, &again).expect("gcc decides by feedback");
    assert!(line > 2 && before != now, "{line}: {before} and {now}");
    // The ceiling gets another future than the recorded one.
    let ceiling = recorded(STEPS, "clairvoyant");
    let asked = ceiling.lines().find(|line| line.starts_with("{\"future\":{\"passes\"")).unwrap();
    let changed = ceiling.replacen(asked, "{\"future\":{\"passes\":[0,1,5]}}", 1);
    assert!(first_difference(&changed, &replay_events(&changed, &policies()).unwrap()).is_some());
}

/// The files that crates/controllers/tests/events.rs replays. They change only with the contract or with a decision:
/// `cargo test -p legato-sim --test all -- --ignored the_recorded_files`, in a commit that says why.
#[test]
#[ignore = "writes the recorded files anew"]
fn the_recorded_files() {
    let scenario = "duration_s = 2.0\nlimits.max_bps = 400_000\nforward.loss_ratio = 0.03\n\
        forward.capacity.steps = [[0.0, 450_000], [1.0, 200_000]]\n";
    for name in ["clairvoyant", "gcc", "nvc-cc", "oracle", "salsify", "scream-v2", "ukf"] {
        let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../controllers/tests/events");
        std::fs::write(folder.join(format!("{name}.jsonl")), recorded(scenario, name)).unwrap();
    }
}

#[test]
fn a_file_that_is_none_is_refused_by_its_line() {
    let refused = |file: &str| replay_events(file, &policies()).unwrap_err().to_string();
    let file = recorded("duration_s = 1.0", "gcc");
    let header = file.lines().next().unwrap();
    for (faulty, message) in [
        ("", "line 1: is no header"),
        ("{\"probe\":null}\n", "line 1: is no header"),
        (&header.replace("\"version\":1", "\"version\":2"), "line 1: version = 2: this program replays version 1"),
        (&header.replace("gcc", "bbr"), "line 1: controller = \"bbr\": no such controller"),
        (&format!("{header}\n{{\"event\":[0,\"reboot\"]}}"), "line 2: unknown variant `reboot`"),
        (&header.replace("{}", "{\"alr\":1}"), "controller gcc: alr"),
    ] {
        assert!(refused(faulty).starts_with(message), "{}", refused(faulty));
    }
}
