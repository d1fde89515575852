//! The cost of one transport-wide feedback: 14 packets encoded, parsed and read, with reused
//! buffers. `cargo bench -p legato-wire`.

#![expect(clippy::disallowed_methods, reason = "a benchmark reads the clock")]

use legato_units::{TimeDelta, Timestamp};
use legato_wire::twcc::{Encoder, Feedback, Header, Status};
use std::hint::black_box;
use std::time::Instant;

fn main() {
    let clean: Vec<Option<Timestamp>> = (0..14).map(|i| Some(Timestamp::from_nanos(i * 3_571_000))).collect();
    let mut lossy = clean.clone();
    lossy[3] = None;
    let mut late = lossy.clone();
    late[9] = Some(Timestamp::from_millis(200));
    for (name, arrivals) in [("clean", clean), ("one lost", lossy), ("one lost, one late", late)] {
        let (encode_ns, read_ns) = cost(&arrivals);
        println!("{name}: encode {encode_ns:.1} ns, parse and read {read_ns:.1} ns per feedback of 14 packets");
    }
}

/// Mean nanoseconds of encoding, and of parsing and reading; the minimum of several rounds.
fn cost(arrivals: &[Option<Timestamp>]) -> (f64, f64) {
    const CALLS: u32 = 20_000;
    let header = Header { sender_ssrc: 1, media_ssrc: 2, base_seq: 65_530, feedback_count: 0 };
    let mut encoder = Encoder::default();
    let mut bytes = Vec::with_capacity(64);
    let (mut encode_ns, mut read_ns) = (f64::INFINITY, f64::INFINITY);
    for _ in 0..40 {
        let start = Instant::now();
        for _ in 0..CALLS {
            bytes.clear();
            encoder.encode(&mut bytes, black_box(&header), black_box(arrivals).iter().copied());
            black_box(&bytes);
        }
        encode_ns = encode_ns.min(start.elapsed().as_nanos() as f64 / f64::from(CALLS));
        let start = Instant::now();
        let mut sum = TimeDelta::ZERO;
        for _ in 0..CALLS {
            let feedback = Feedback::parse(black_box(&bytes)).expect("the encoder's bytes parse");
            for (seq, status) in feedback.statuses() {
                if let Status::Arrived(Some(offset)) = status {
                    sum += offset + TimeDelta::from_nanos(seq.into());
                }
            }
        }
        black_box(sum);
        read_ns = read_ns.min(start.elapsed().as_nanos() as f64 / f64::from(CALLS));
    }
    (encode_ns, read_ns)
}
