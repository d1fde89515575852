//! An encoder that is given its bitrate at intervals, whatever the controller decides in between.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use legato_sim::{CallParts, Scenario, run_call};
use legato_trace::{LogLevel, Recorder};
use std::path::Path;

/// How often the encoder's bitrate changes in 20 s of a call whose target climbs.
fn changes(interval_ms: u32) -> usize {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let text = format!(
        "duration_s = 20.0\nsender = {{ encoder_interval_ms = {interval_ms} }}\n\
         [video]\nclip = \"profiles/qcif/qcif-foreman.safetensors\"\nencoder = \"x264\"\n\
         [forward]\npropagation_ms = 25.0\ncapacity = {{ constant_bps = 1000000 }}"
    );
    let scenario = Scenario::parse(&text, "test.toml").unwrap();
    let parts = CallParts::load(&scenario, &root).unwrap();
    let mut recorder = Recorder::default();
    run_call(&scenario, &parts, 1, LogLevel::Series, &mut recorder).unwrap();
    let rates: Vec<_> = recorder.series().iter().map(|bin| bin.sample.encoder_bitrate).collect();
    rates.windows(2).filter(|pair| pair[0] != pair[1]).count()
}

#[test]
fn an_encoder_keeps_its_bitrate_for_the_interval() {
    let (each_frame, each_second) = (changes(0), changes(1_000));
    assert!((8..=20).contains(&each_second), "{each_second}");
    assert!(each_frame > 2 * each_second, "{each_frame}");
}

#[test]
fn an_interval_beyond_a_minute_is_refused() {
    let refused = Scenario::parse("sender = { encoder_interval_ms = 60001 }", "test.toml").unwrap_err();
    assert!(refused.to_string().contains("sender.encoder_interval_ms"), "{refused}");
}
