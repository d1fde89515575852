//! Every recorded trace of the repository is readable and matches the measurements in its manifest.

use legato_path::trace_file::{Challenge, Format, Profile, read, read_all, read_base_rtts};
use legato_units::TimeDelta;

fn library() -> String {
    format!("{}/../../data/traces", env!("CARGO_MANIFEST_DIR"))
}

/// `key=number` from a manifest's comments.
fn measured(remarks: &str, key: &str) -> Option<f64> {
    let value = remarks.split_whitespace().find_map(|word| word.strip_prefix(key)?.strip_prefix('='))?;
    value.parse().ok()
}

#[test]
fn every_trace_has_the_duration_and_the_mean_of_its_manifest() {
    let manifest = std::fs::read_to_string(library() + "/MANIFEST.tsv").expect("a manifest");
    let (mut traces, mut compared) = (0, 0);
    for row in manifest.lines().skip(1) {
        let columns: Vec<&str> = row.split('\t').collect();
        let (path, remarks) = (columns[0], columns[12]);
        if path.contains("README") || path.contains("errant") {
            continue;
        }
        let found = read_all(&format!("{}/{path}", library()), None).unwrap_or_else(|error| panic!("{error}"));
        traces += found.len();
        for trace in &found {
            assert!(path.contains(&trace.family), "{path} is of {}", trace.family);
        }
        let [trace] = &found[..] else { continue };
        // ucc-5g's log skips up to a tenth of its seconds and repeats some; the manifest counts rows.
        let counts_rows = trace.format == Format::Ucc5g;
        let duration = trace.duration().as_secs_f64();
        // The manifest's mean is over rows, whatever their length.
        let mean_bps = match &trace.profile {
            Profile::Opportunities(_) => trace.mean_rate().as_bps_f64(),
            Profile::Rates(table) => {
                table.steps().map(|(_, rate)| rate.as_bps_f64()).sum::<f64>() / table.steps().len() as f64
            }
        };
        let mean = mean_bps / 1e6;
        if let Some(expected) = measured(remarks, "dur_s") {
            let slack = if counts_rows { expected / 8.0 } else { 6.0 };
            assert!((duration - expected).abs() < slack, "{path}: {duration} s, not {expected}");
        }
        if let Some(expected) = measured(remarks, "mean").or_else(|| measured(remarks, "mean_mbps")) {
            compared += 1;
            assert!(
                (mean / expected - 1.0).abs() < if counts_rows { 0.2 } else { 0.02 },
                "{path}: {mean} Mbit/s, not {expected}"
            );
        }
    }
    println!("{traces} traces, {compared} means compared");
    assert!(traces > 500, "{traces}");
}

#[test]
fn parts_are_addressed_by_name_and_the_longest_upward_one_is_the_default() {
    let file = library() + "/copyleft/starlink-mobile/throughput.csv";
    let traces = read_all(&file, None).expect("traces");
    assert_eq!(traces.len(), 36);
    let longest = read(&file, None).expect("a trace");
    assert!(longest.part.as_deref().is_some_and(|part| part.starts_with("up.")));
    assert!(longest.duration() > TimeDelta::from_secs(600), "{}", longest.duration());
    let third = read(&(file.clone() + "#down.3"), Some(Format::Starlink)).expect("a trace");
    assert_eq!(third.name, "throughput.csv#down.3");
    let error = read(&(file + "#up.99"), None).expect_err("refused").to_string();
    assert!(error.ends_with("part = \"up.99\" is not in this file"), "{error}");
}

#[test]
fn base_rtts_are_those_of_the_speed_tests() {
    let mut rtts = read_base_rtts(&(library() + "/copyleft/errant-rtt/speed_test_sample.csv")).expect("a list");
    rtts.sort();
    assert_eq!(rtts.len(), 1_000);
    // The data's own README: 25-495 ms, median 84.
    assert_eq!(rtts[0].as_millis(), 25);
    assert_eq!(rtts[999].as_millis(), 495);
    assert!((83..=85).contains(&rtts[500].as_millis()), "{}", rtts[500]);
}

#[test]
fn most_cellular_traces_challenge_a_call_and_fast_ones_do_when_scaled() {
    let att = read(&(library() + "/copyleft/mahimahi/ATT-LTE-driving.up.gz"), None).expect("a trace");
    assert!(!att.windows(&Challenge::default()).is_empty());
    let taxi = read(&(library() + "/nyc-lte/trace-1552767958-taxi1.gz"), None).expect("a trace");
    let (plain, scaled) = (Challenge::default(), Challenge { scale: 0.125, ..Challenge::default() });
    assert!(taxi.windows(&scaled).len() > taxi.windows(&plain).len());
}

#[test]
fn hairpins_logs_have_a_floor_and_ibox_profiles_a_path() {
    let cell = read(&(library() + "/copyleft/hairpin/cell-trace1.log.gz"), None).expect("a trace");
    let (floor, share) = cell.minimum().expect("rates");
    assert_eq!(floor.as_bps(), 2_500_000);
    assert!((0.77..0.79).contains(&share), "{share}");
    assert!(cell.series.rtt.iter().all(|sample| sample.value < TimeDelta::from_millis(80)));
    let mut paths = 0;
    for entry in std::fs::read_dir(library() + "/ibox").expect("a folder") {
        let place = entry.expect("an entry").path();
        if place.extension().is_none_or(|extension| extension != "json") {
            continue;
        }
        let trace = read(&place.to_string_lossy(), None).expect("a profile");
        assert_eq!((trace.format, trace.duration()), (Format::Ibox, TimeDelta::from_secs(30)));
        assert!(trace.path.is_some_and(|path| path.cross_traffic.len() == 30 && path.queue.as_bytes() >= 2_352));
        paths += 1;
    }
    assert_eq!(paths, 217);
}
