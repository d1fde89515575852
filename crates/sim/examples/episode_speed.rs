//! Steps many steered calls on one thread and prints the steps per second: NVC-CC's networks and stand-in
//! codec, actions that keep the rate near the capacity.
//!
//! ```text
//! cargo run --release -p legato-sim --example episode_speed -- PROFILE [CALLS] [STEPS]
//! ```

#![expect(clippy::disallowed_methods, reason = "a benchmark reads the clock")]

use legato_sim::Plan;
use legato_sim::episode::{Batch, COLUMNS};
use std::time::Instant;

const SCENARIO: &str = r#"
duration_s = 30.0
controller = { name = "nvc-cc", config = { policy = "hand" } }
video = { encoder = "grace_standin", decoder = "loss_tolerant", standin_height = 720 }
receiver = { min_feedback_interval_ms = 50.0, max_feedback_interval_ms = 50.0 }
forward = { capacity = { generator = "nvc-cc" } }
"#;

fn main() {
    let mut arguments = std::env::args().skip(1);
    let clip = arguments.next().expect("the path of a clip's profile");
    let mut number = |default| arguments.next().map_or(default, |text| text.parse().expect("a number"));
    let (calls, steps): (usize, usize) = (number(256), number(400));
    let plan = Plan::parse(r#"{"scenario": "", "seeds": [1]}"#).expect("a plan");
    let plan = Plan { scenario: SCENARIO.to_owned(), clips: vec![clip], ..plan }.load().expect("a scenario");
    let mut batch = Batch::new(plan, calls, 1, 1).expect("a batch");
    let width = batch.layout().len();
    let (mut seen, mut last) = (vec![0.0; calls * width], vec![0.0; calls * width]);
    let (mut rows, mut truncated) = (vec![0.0; calls * COLUMNS.len()], vec![false; calls]);
    let place = |name| COLUMNS.iter().position(|&column| column == name).expect("a column");
    let (target, capacity) = (place("target_bitrate_bps"), place("true_capacity_bps"));
    let mut answers = vec![0.0; calls];
    let begun = Instant::now();
    for _ in 0..steps {
        batch.step(&answers, &mut seen, &mut last, &mut rows, &mut truncated).expect("a step");
        for (answer, row) in answers.iter_mut().zip(rows.chunks_exact(COLUMNS.len())) {
            *answer = (0.9 * row[capacity] / row[target] - 1.0).clamp(-0.1, 0.1);
        }
    }
    println!("{:.0} steps/s", (calls * steps) as f64 / begun.elapsed().as_secs_f64());
}
