//! The cost of one decision of a learned controller: the network alone, one observation at a time, on one
//! thread, all of it in the cache. Prints microseconds as JSON: the median (p50) and the 99th percentile
//! (p99).
//!
//! ```text
//! cargo run --release -p legato-control --example decision_speed
//! ```
//!
//! The networks are `dense`, NVC-CC's size (30-32-16-1); `gru64`, R3Net's (4-64-GRU 64-64-1); `hrcc`, 32 filters over
//! ten rows of six numbers, 64 and 1. And `concerto`: four convolutions of 64 filters over 15x4, one of 128 over all of
//! them, 256 and 26: 2.3 million weights.

#![expect(clippy::disallowed_methods, reason = "a benchmark reads the clock")]

use legato_control::policy::{Manifest, NetworkPolicy, Policy};
use std::fmt::Write;
use std::hint::black_box;
use std::time::Instant;

const DENSE: &str = r#"
layers = [
  { name = "a", kind = "dense", from = ["observation"], inputs = 30, outputs = 32, activation = "tanh" },
  { name = "b", kind = "dense", from = ["a"], inputs = 32, outputs = 16, activation = "tanh" },
  { name = "c", kind = "dense", from = ["b"], inputs = 16, outputs = 1, activation = "tanh" },
]
"#;

const GRU_64: &str = r#"
layers = [
  { name = "a", kind = "dense", from = ["observation"], inputs = 4, outputs = 64, activation = "leaky_relu" },
  { name = "b", kind = "gru", from = ["a"], inputs = 64, outputs = 64 },
  { name = "c", kind = "dense", from = ["b"], inputs = 64, outputs = 64, activation = "leaky_relu" },
  { name = "d", kind = "dense", from = ["c"], inputs = 64, outputs = 1, activation = "sigmoid" },
]
"#;

const HRCC: &str = r#"
layers = [
  { name = "a", kind = "conv1d", from = ["observation"], channels = 6, length = 10, filters = 32, kernel = 4, activation = "leaky_relu" },
  { name = "b", kind = "dense", from = ["a"], inputs = 224, outputs = 64, activation = "leaky_relu" },
  { name = "c", kind = "dense", from = ["b"], inputs = 64, outputs = 1, activation = "sigmoid" },
]
"#;

/// Its convolutions keep the picture's size; the paper's sizes give as many weights as its text says.
fn concerto() -> String {
    let mut layers = String::from("layers = [\n");
    for (i, name) in ["loss", "delay", "sent", "received"].iter().enumerate() {
        let (start, end) = (i * 60, i * 60 + 60);
        writeln!(
            layers,
            "{{ name = '{name}', kind = 'conv2d', from = ['observation[{start}:{end}]'], channels = 1, height = 15, \
             width = 4, filters = 64, kernel = [3, 3], padding = [1, 1], activation = 'leaky_relu' }},"
        )
        .expect("a String takes all");
    }
    layers.push_str(
        "{ name = 'fusion', kind = 'conv2d', from = ['loss', 'delay', 'sent', 'received'], channels = 256, height = 15, \
         width = 4, filters = 128, kernel = [3, 3], padding = [1, 1], activation = 'leaky_relu' },
         { name = 'all', kind = 'dense', from = ['fusion'], inputs = 7680, outputs = 256, activation = 'leaky_relu' },
         { name = 'rates', kind = 'dense', from = ['all'], inputs = 256, outputs = 26, activation = 'softmax' },\n]",
    );
    layers
}

fn policy(features: usize, decide: &str, layers: &str) -> NetworkPolicy {
    let features: Vec<String> = (0..features).map(|i| format!("f{i}")).collect();
    let toml = format!(
        "format = 1\ncontroller = 'example'\nobservation = {{ features = {features:?}, history = 1 }}\n\
         action = {{ map = 'example', decide = '{decide}' }}\n[network]\nweights = 'weights.safetensors'\n{layers}"
    );
    let manifest = Manifest::parse(&toml, "example").expect("a valid manifest");
    NetworkPolicy::new(manifest.load(&weights(&manifest)).expect("valid weights"))
}

/// Small weights that are not multiples of each other.
fn weights(manifest: &Manifest) -> Vec<u8> {
    let (mut header, mut at, mut values) = (String::from("{"), 0, Vec::new());
    for (name, shape) in manifest.tensors() {
        let count: usize = shape.iter().product();
        let scale = 1.0 / (*shape.get(1).unwrap_or(&64) as f32).sqrt();
        values.extend((0..count).flat_map(|i| (((i * 7_919 % 1_009) as f32 / 504.5 - 1.0) * scale).to_le_bytes()));
        let end = at + 4 * count;
        write!(header, "\"{name}\":{{\"dtype\":\"F32\",\"shape\":{shape:?},\"data_offsets\":[{at},{end}]}},")
            .expect("a String takes all");
        at = end;
    }
    let header = format!("{}}}", header.trim_end_matches(','));
    [&(header.len() as u64).to_le_bytes()[..], header.as_bytes(), &values].concat()
}

/// p50 and p99 in microseconds of one decision, from `samples` of `each` consecutive decisions.
fn decision_us(mut policy: NetworkPolicy, samples: usize, each: u32) -> (f64, f64) {
    let inputs = policy.model().manifest().inputs();
    let mut observation: Vec<f32> = (0..inputs).map(|i| (i % 17) as f32 / 17.0).collect();
    let mut times = Vec::with_capacity(samples);
    for sample in 0..samples + samples / 10 {
        observation[0] = (sample % 100) as f32 / 100.0;
        let start = Instant::now();
        for _ in 0..each {
            black_box(policy.act(black_box(&observation)));
        }
        times.push(start.elapsed().as_secs_f64() * 1e6 / f64::from(each));
    }
    // The first tenth is warm-up.
    let mut times = times.split_off(samples / 10);
    times.sort_by(f64::total_cmp);
    (times[samples / 2], times[samples * 99 / 100])
}

fn main() {
    let nets = [
        ("dense", policy(30, "value", DENSE), 20_000, 10),
        ("gru64", policy(4, "value", GRU_64), 20_000, 4),
        ("hrcc", policy(60, "value", HRCC), 20_000, 4),
        ("concerto", policy(240, "argmax", &concerto()), 500, 1),
    ];
    let figures = nets.map(|(name, policy, samples, each)| {
        let (p50, p99) = decision_us(policy, samples, each);
        format!("  \"{name}\": {{ \"p50_us\": {p50:.3}, \"p99_us\": {p99:.3} }}")
    });
    println!("{{\n{}\n}}", figures.join(",\n"));
}
