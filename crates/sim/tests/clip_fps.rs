//! A clip at another rate than its own: camera and encoder agree on it.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use legato_sim::{CallParts, Scenario, run_call};
use legato_trace::{LogLevel, Recorder};
use std::path::Path;

#[test]
fn a_clip_played_slower_has_fewer_frames_and_the_same_bitrate() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let played = |video: &str| {
        let text = format!(
            "duration_s = 10.0\ncontroller = {{ name = \"fixed\", config = {{ target_bitrate_bps = 100000 }} }}\n\
             [video]\nclip = \"profiles/qcif/qcif-foreman.safetensors\"\nencoder = \"x264\"\n{video}\n\
             [forward]\npropagation_ms = 25.0\ncapacity = {{ constant_bps = 5000000 }}"
        );
        let scenario = Scenario::parse(&text, "test.toml").unwrap();
        let parts = CallParts::load(&scenario, &root).unwrap();
        run_call(&scenario, &parts, 1, LogLevel::Summary, &mut Recorder::default()).unwrap()
    };
    let (own, slower) = (played(""), played("clip_fps = 10"));
    assert_eq!((own.frames_captured, slower.frames_captured), (200, 100));
    let ratio = slower.receiver_rate_bps / own.receiver_rate_bps;
    assert!((0.9..1.1).contains(&ratio), "{ratio}");
}
