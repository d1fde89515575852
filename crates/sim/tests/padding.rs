//! Padding that the scenario asks for, whatever the controller does.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use legato_sim::{CallParts, Scenario, run_call};
use legato_trace::{LogLevel, Recorder};
use std::path::Path;

/// A clip too small for its target: what the encoder leaves of it is filled up.
#[test]
fn padding_fills_up_to_the_target_of_a_controller_that_does_not_pad() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let received_bps = |pads: bool| {
        let text = format!(
            "duration_s = 10.0\ncontroller = {{ name = \"fixed\", config = {{ target_bitrate_bps = 2000000 }} }}\n\
             sender = {{ pad_to_target = {pads} }}\n[video]\nclip = \"profiles/qcif/qcif-foreman.safetensors\"\nencoder = \"x264\"\n\
             [forward]\npropagation_ms = 25.0\ncapacity = {{ constant_bps = 5000000 }}"
        );
        let scenario = Scenario::parse(&text, "test.toml").unwrap();
        let parts = CallParts::load(&scenario, &root).unwrap();
        run_call(&scenario, &parts, 1, LogLevel::Summary, &mut Recorder::default()).unwrap().receiver_rate_bps
    };
    let (padded, alone) = (received_bps(true), received_bps(false));
    assert!((0.95..1.02).contains(&(padded / 2e6)), "{padded}");
    assert!(alone < 0.8 * padded, "{alone}");
}
