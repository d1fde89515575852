//! Run folders: the same bytes for any number of threads, and after a stop in the middle.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use legato_sim::{Plan, SimError, Sweep};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

const SCENARIO: &str = r#"
name = "small"
duration_s = 4.0
[controller]
name = "gcc"
[forward]
loss_ratio = 0.01
capacity = { steps = [[0.0, 1500000], [2.0, 600000]] }
jitter = { std_ms = 3.0 }
"#;

fn plan(log: &str) -> Plan {
    let json = serde_json::json!({
        "scenario": SCENARIO,
        "controllers": ["gcc", {"name": "fixed", "config": {"target_bitrate_bps": 900_000}}],
        "seeds": [1, 2, 3],
        "log": log,
        "calls_per_part": 2,
    });
    Plan::parse(&json.to_string()).unwrap()
}

fn folder(name: &str) -> PathBuf {
    let path = std::env::temp_dir().join(format!("legato-run-folder-{}-{name}", std::process::id()));
    let _ = std::fs::remove_dir_all(&path);
    path
}

fn sweep(plan: &Plan, folder: &Path, threads: usize) -> Result<bool, SimError> {
    let mut sweep = Sweep::new(plan, folder, threads)?;
    sweep.start();
    sweep.join()
}

/// Every file below, by relative path.
fn contents(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut found = BTreeMap::new();
    let mut left = vec![folder.to_owned()];
    while let Some(place) = left.pop() {
        for entry in std::fs::read_dir(&place).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                left.push(path);
            } else {
                let name = path.strip_prefix(folder).unwrap().to_string_lossy().into_owned();
                found.insert(name, std::fs::read(&path).unwrap());
            }
        }
    }
    found
}

#[test]
fn one_thread_and_three_write_the_same_bytes() {
    let (one, three) = (folder("one"), folder("three"));
    assert!(sweep(&plan("packets"), &one, 1).unwrap());
    assert!(sweep(&plan("packets"), &three, 3).unwrap());
    let (first, second) = (contents(&one), contents(&three));
    assert!(first.keys().any(|name| name == "packets/00002.parquet"), "{:?}", first.keys());
    assert_eq!(first.keys().collect::<Vec<_>>(), second.keys().collect::<Vec<_>>());
    for (name, bytes) in &first {
        assert!(*bytes == second[name], "{name} differs");
    }
    std::fs::remove_dir_all(&one).unwrap();
    std::fs::remove_dir_all(&three).unwrap();
}

#[test]
fn a_sweep_goes_on_where_a_part_is_missing_and_ends_with_the_same_bytes() {
    let path = folder("resumed");
    assert!(sweep(&plan("series"), &path, 2).unwrap());
    let whole = contents(&path);
    for table in ["summary", "series"] {
        std::fs::remove_file(path.join(table).join("00001.parquet")).unwrap();
    }
    assert!(sweep(&plan("series"), &path, 2).unwrap());
    assert!(contents(&path) == whole);
    std::fs::remove_dir_all(&path).unwrap();
}

#[test]
fn a_folder_that_holds_something_else_is_left_alone() {
    let path = folder("other");
    std::fs::create_dir_all(&path).unwrap();
    std::fs::write(path.join("thesis.tex"), "do not lose me").unwrap();
    let error = sweep(&plan("summary"), &path, 1).unwrap_err().to_string();
    assert!(error.contains("is not empty and holds no run"), "{error}");
    assert_eq!(contents(&path).len(), 1);
    std::fs::remove_file(path.join("thesis.tex")).unwrap();
    assert!(sweep(&plan("summary"), &path, 1).unwrap());
    let error = sweep(&plan("series"), &path, 1).unwrap_err().to_string();
    assert!(error.contains("holds another run"), "{error}");
    std::fs::remove_dir_all(&path).unwrap();
}

#[test]
fn what_cannot_run_is_refused_before_anything_is_written() {
    let refused = |change: &dyn Fn(&mut Plan)| {
        let mut plan = plan("summary");
        change(&mut plan);
        let path = folder("refused");
        let error = sweep(&plan, &path, 1).unwrap_err().to_string();
        assert!(!path.exists(), "{error}");
        error
    };
    let error = refused(&|plan| plan.scenario.push_str("\n[video]\nencoder = 3\n"));
    assert!(error.contains("encoder"), "{error}");
    let error = refused(&|plan| plan.controllers = vec![legato_sim::NamedController::Name("gc".to_owned())]);
    assert!(error.contains("\"gc\" is not one of"), "{error}");
    let error = refused(&|plan| plan.traces = vec![legato_sim::NamedTrace::Path("/no/such.trace".to_owned())]);
    assert!(error.contains("/no/such.trace"), "{error}");
    let error = refused(&|plan| plan.clips = vec!["/no/such.safetensors".to_owned()]);
    assert!(error.contains("/no/such.safetensors"), "{error}");
    let error = refused(&|plan| plan.seeds.clear());
    assert!(error.contains("seeds"), "{error}");
}

#[test]
fn where_files_are_is_not_kept_and_changes_no_byte() {
    let made = |home: &str| {
        let files = folder(&format!("files-{home}"));
        std::fs::create_dir_all(&files).unwrap();
        std::fs::write(files.join("dips.csv"), "time_s,rate_bps\n0,900000\n2,400000\n4,900000\n").unwrap();
        let policies = concat!(env!("CARGO_MANIFEST_DIR"), "/../../policies");
        let at = |name: &str| files.join(name).to_str().unwrap().to_owned();
        let json = serde_json::json!({
            "scenario": SCENARIO, "scenario_path": "mine.toml", "seeds": [1], "traces": ["dips.csv"],
            "controllers": [{"name": "nvc-cc", "config": {"policy": "best"}}], "policies": ["policies"],
            "options": ["duration_s=4.0"], "files": [{"name": "dips.csv", "sha256": "00"}],
            "places": {
                "mine.toml": at("mine.toml"), "dips.csv": at("dips.csv"), "policies": policies,
                "best": format!("{policies}/nvc-cc"),
            },
        });
        let path = folder(home);
        assert!(sweep(&Plan::parse(&json.to_string()).unwrap(), &path, 1).unwrap());
        let written = contents(&path);
        std::fs::remove_dir_all(&files).unwrap();
        std::fs::remove_dir_all(&path).unwrap();
        written
    };
    let (here, there) = (made("here"), made("there"));
    assert_eq!(here, there);
    let kept = here.iter().find(|(name, _)| name.ends_with("plan.json")).unwrap().1;
    let kept = String::from_utf8_lossy(kept);
    assert!(kept.contains(r#""options": ["#) && kept.contains(r#""sha256": "00""#), "{kept}");
    assert!(!kept.contains("places"), "{kept}");
}

#[test]
fn logged_frame_sizes_are_a_source_of_their_own() {
    let logs = concat!(env!("CARGO_MANIFEST_DIR"), "/../../data/frame-sizes");
    let scenario = format!(
        "duration_s = 20.0\ncontroller = {{ name = \"fixed\", config = {{ target_bitrate_bps = 800000 }} }}\n[video]\ndecoder = \"sliced\"\n\
         frame_sizes = [{{ file = \"{logs}/chat_720p_400.txt\", bitrate_bps = 400000 }}, \
         {{ file = \"{logs}/chat_720p_1000.txt\", bitrate_bps = 1000000 }}]\n"
    );
    let json = serde_json::json!({ "scenario": scenario, "seeds": [1] });
    let path = folder("frame-sizes");
    let plan = Plan::parse(&json.to_string()).unwrap();
    assert!(sweep(&plan, &path, 1).unwrap());
    let loaded = plan.load().unwrap();
    let outcome = legato_sim::run_planned(&loaded, 0, legato_trace::LogLevel::Summary, &mut Vec::new()).unwrap();
    let (labels, summary) = &outcome.calls[0];
    assert_eq!(&*labels.encoder, "frame_sizes");
    assert_eq!(&*labels.decoder, "strict", "without pixels only whole frames decode, and tables say so");
    // Every size between two rungs is a mean of both; headers come on top.
    assert!((650e3..=900e3).contains(&summary.sending_rate_bps), "{}", summary.sending_rate_bps);
    std::fs::remove_dir_all(&path).unwrap();
}

#[test]
fn every_shipped_scenario_runs() {
    let folder_of_scenarios = concat!(env!("CARGO_MANIFEST_DIR"), "/../../scenarios");
    let mut files: Vec<_> =
        std::fs::read_dir(folder_of_scenarios).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    assert!(files.len() >= 5);
    for file in files.iter().filter(|file| file.extension().is_some_and(|end| end == "toml")) {
        let text = std::fs::read_to_string(file).unwrap();
        let json = serde_json::json!({ "scenario": text, "scenario_path": file.to_str().unwrap(), "seeds": [1] });
        let loaded = Plan::parse(&json.to_string()).unwrap().load().unwrap_or_else(|error| panic!("{error}"));
        let outcome = legato_sim::run_planned(&loaded, 0, legato_trace::LogLevel::Summary, &mut Vec::new()).unwrap();
        let (_, summary) = &outcome.calls[0];
        let shown = summary.frames_rendered as f64 / summary.frames_captured as f64;
        assert!(shown > 0.5, "{}: {shown} of the frames shown", file.display());
    }
}

#[test]
fn the_inner_state_of_controller_and_encoder_is_recorded() {
    let profile = concat!(env!("CARGO_MANIFEST_DIR"), "/../../profiles/foreman.safetensors");
    let learned = serde_json::json!({ "name": "concerto", "config": { "policy": "hand" } });
    for (controller, names) in [("gcc".into(), ["trend", "openh264_qp"]), (learned, ["action", "encoder_height"])] {
        let json = serde_json::json!({
            "scenario": SCENARIO, "controllers": [controller], "clips": [profile], "seeds": [1]
        });
        let loaded = Plan::parse(&json.to_string()).unwrap().load().unwrap();
        let mut recorders = Vec::new();
        legato_sim::run_planned(&loaded, 0, legato_trace::LogLevel::Series, &mut recorders).unwrap();
        for name in names {
            let rows = recorders[0].gauges().iter().filter(|row| row.name == name).count();
            assert!((30..=40).contains(&rows), "{name}: {rows} in 4 s, one every 100 ms");
        }
    }
}

#[test]
fn of_two_that_begin_in_one_folder_at_once_the_loser_is_told_why() {
    let plan = plan("summary");
    for round in 0..60 {
        let folder = folder(&format!("twice-{round}"));
        let barrier = std::sync::Barrier::new(2);
        let begin = || {
            barrier.wait();
            Sweep::new(&plan, &folder, 1).map(drop)
        };
        let results = std::thread::scope(|scope| {
            let other = scope.spawn(begin);
            [begin(), other.join().unwrap()]
        });
        assert!(results.iter().any(Result::is_ok), "{results:?}");
        for refused in results.into_iter().filter_map(Result::err) {
            assert!(refused.to_string().ends_with("another run began there just now"), "{refused}");
        }
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
