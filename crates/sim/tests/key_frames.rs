//! Key frame requests in whole calls of a measured clip.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use legato_sim::{CallParts, Scenario, run_call};
use legato_trace::{LogLevel, Recorder};
use std::path::Path;

/// 600 kbit/s over a link of 250: packets are lost all the time until a circuit breaker reduces the rate, and their
/// repair takes seconds. If one is requested while another is arriving, or every 200 ms after a wait, each key frame
/// causes another: 84 requests and 1.2 frames per second, or 15. Chromium, which waits 3 s for repair each time, asks
/// once to four times in such calls.
#[test]
fn no_key_frame_is_asked_for_while_one_is_coming() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let text = "duration_s = 30.0\ncontroller = { name = \"fixed\", config = { target_bitrate_bps = 600000 } }\n\
                sender = { circuit_breakers = \"restart\" }\n\
                [video]\nclip = \"profiles/foreman.safetensors\"\nadapt_resolution = false\n\
                [forward]\npropagation_ms = 25.0\nqueue = { limit_ms = 500.0 }\n\
                capacity = { constant_bps = 250000 }";
    let scenario = Scenario::parse(text, "test.toml").unwrap();
    let parts = CallParts::load(&scenario, &root).unwrap();
    let summary = run_call(&scenario, &parts, 1, LogLevel::Summary, &mut Recorder::default()).unwrap();
    assert!((1..=6).contains(&summary.plis), "{}", summary.plis);
    assert!(summary.rendered_fps > 8.0, "{}", summary.rendered_fps);
}
