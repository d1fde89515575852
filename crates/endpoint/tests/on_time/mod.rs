//! Tests of real calls hold only on a machine that gives them its processors when they need them.

use legato_endpoint::{Clock, Lateness, LatenessFigures};
use legato_units::TimeDelta;
use std::io::{Write, stderr};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

const TRIES: usize = 3;
const TICK: Duration = Duration::from_millis(1);

/// Runs a test. Where it fails while the machine is late it says nothing about the code: it is tried again, and after
/// three times skipped with one line. A failure while the machine keeps its times is one.
pub fn on_time(test: impl Fn()) {
    let mut late = LatenessFigures::default();
    for _ in 0..TRIES {
        let stopwatch = Stopwatch::start();
        let outcome = catch_unwind(AssertUnwindSafe(&test));
        late = stopwatch.stop();
        match outcome {
            Ok(()) => return,
            Err(panic) if late.valid() => resume_unwind(panic),
            Err(_) => {}
        }
    }
    // Not by eprintln!, which the test runner keeps to itself when a test passes.
    let name = thread::current().name().unwrap_or("a test").to_owned();
    let _ = writeln!(stderr(), "skipped: {name}: the machine was up to {} ms late, {TRIES} times", late.max_ms);
}

/// Sleeps a millisecond at a time and records how much later than that it wakes up.
struct Stopwatch {
    over: Arc<AtomicBool>,
    thread: JoinHandle<Lateness>,
}

impl Stopwatch {
    fn start() -> Self {
        let over = Arc::new(AtomicBool::new(false));
        let seen = Arc::clone(&over);
        let thread = thread::spawn(move || {
            let (clock, mut lateness) = (Clock::starting_now(), Lateness::default());
            while !seen.load(Ordering::Relaxed) {
                let begun = clock.now();
                thread::sleep(TICK);
                lateness.push(clock.now() - begun - TimeDelta::from_micros(TICK.as_micros() as i64));
            }
            lateness
        });
        Self { over, thread }
    }

    fn stop(self) -> LatenessFigures {
        self.over.store(true, Ordering::Relaxed);
        self.thread.join().unwrap().figures()
    }
}
