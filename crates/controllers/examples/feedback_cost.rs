//! What a controller costs: nanoseconds and requests for memory of a frame of 16 packets and its feedback, as JSON.
//!
//! ```text
//! cargo run --release -p legato-controllers --example feedback_cost            # every controller at the sender
//! cargo run --release -p legato-controllers --example feedback_cost legato 10  # 10 times its 900 frames, for callgrind
//! ```
//!
//! `feedback_ns` is the feedback alone with the decision that is read after it; `frame_ns` is all that a controller is
//! given of a frame: captured, encoded, 16 packets sent, feedback, its own deadlines. Both are the best of many rounds
//! over the same half minute, minus what `fixed` costs, which does nothing. Learned controllers decide on a constant
//! action: what their networks cost is in `decision_speed`. Times are of one thread with all in the cache.

#![expect(clippy::disallowed_methods, reason = "a benchmark reads the clock")]

#[path = "../tests/counting/mod.rs"]
mod counting;
#[path = "../tests/frames/mod.rs"]
mod frames;

use frames::{build, events, replay};
use legato_control::{Entry, Event, Side};
use legato_controllers::{REGISTRY, entry};
use legato_units::Timestamp;
use std::time::{Duration, Instant};

const FRAMES: u64 = 900;
const ROUNDS: u32 = 200;
const KNOW_THE_LINK: [&str; 2] = ["clairvoyant", "oracle"];

/// Nanoseconds per frame of all events, and of feedback alone; the best of [`ROUNDS`].
fn best_ns(entry: &Entry, all: &[(Timestamp, Event)]) -> (f64, f64) {
    let (mut frame, mut feedback) = (Duration::MAX, Duration::MAX);
    for _ in 0..ROUNDS {
        let mut controller = build(entry);
        let begin = Instant::now();
        replay(controller.as_mut(), all);
        frame = frame.min(begin.elapsed());
        let mut controller = build(entry);
        let mut spent = Duration::ZERO;
        for event in all {
            let one = std::slice::from_ref(event);
            if matches!(event.1, Event::TransportFeedback(_)) {
                let begin = Instant::now();
                replay(controller.as_mut(), one);
                spent += begin.elapsed();
            } else {
                replay(controller.as_mut(), one);
            }
        }
        feedback = feedback.min(spent);
    }
    (frame.as_secs_f64() * 1e9 / FRAMES as f64, feedback.as_secs_f64() * 1e9 / FRAMES as f64)
}

/// Requests for memory per frame, of the second half.
fn allocations(entry: &Entry, all: &[(Timestamp, Event)]) -> f64 {
    let (warm, rest) = all.split_at(all.len() / 2);
    let mut controller = build(entry);
    replay(controller.as_mut(), warm);
    let before = counting::allocations();
    replay(controller.as_mut(), rest);
    (counting::allocations() - before) as f64 / (FRAMES / 2) as f64
}

fn main() {
    let all = events(FRAMES);
    let mut arguments = std::env::args().skip(1);
    if let Some(name) = arguments.next() {
        let times: u32 = arguments.next().map_or(1, |times| times.parse().expect("how many times is a number"));
        let entry = entry(&name).expect("a controller's name");
        (0..times).for_each(|_| replay(build(entry).as_mut(), &all));
        return;
    }
    let idle = best_ns(entry("fixed").expect("registered"), &all);
    let senders = REGISTRY.iter().filter(|entry| entry.side == Side::Sender && !KNOW_THE_LINK.contains(&entry.name));
    let rows: Vec<String> = senders
        .map(|entry| {
            let (frame, feedback) = best_ns(entry, &all);
            format!(
                "  {{ \"controller\": \"{}\", \"learned\": {}, \"feedback_ns\": {:.0}, \"frame_ns\": {:.0}, \
                 \"allocations\": {:.3} }}",
                entry.name,
                entry.learned,
                feedback - idle.1,
                frame - idle.0,
                allocations(entry, &all)
            )
        })
        .collect();
    println!("[\n{}\n]", rows.join(",\n"));
}
