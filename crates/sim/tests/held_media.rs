//! Media held back by a full congestion window: the sender skips pictures before they wait forever, whatever time the
//! pacing rate promises they need to leave.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use legato_sim::{CallParts, Scenario, run_call};
use legato_trace::{LogLevel, Recorder};

/// SCReAM that skips no pictures itself, and asks for at least 150 kbit/s where 60 are available.
#[test]
fn what_the_window_holds_is_bounded_in_time() {
    let text = "duration_s = 60.0\nlimits = { min_bps = 150000, start_bps = 300000, max_bps = 1000000 }\n\
                controller = { name = \"scream\", config = { max_rtp_qdelay_ms = 60000 } }\n\
                [forward]\ncapacity = { steps = [[0.0, 1000000], [10.0, 60000]] }\n";
    let scenario = Scenario::parse(text, "held.toml").unwrap();
    let parts = CallParts::load(&scenario, "".as_ref()).unwrap();
    let mut recorder = Recorder::default();
    run_call(&scenario, &parts, 1, LogLevel::Series, &mut recorder).unwrap();
    let waiting = |gauge: &&legato_trace::GaugeRow| gauge.name == "media_queue_bytes" && gauge.at.as_secs_f64() > 40.0;
    let most = recorder.gauges().iter().filter(waiting).map(|gauge| gauge.value).fold(0.0, f64::max);
    // Two seconds of 150 kbit/s are 37,500 bytes; the encoder overshoots, and the last picture is whole.
    assert!(most > 5_000.0 && most < 60_000.0, "{most} bytes");
}
