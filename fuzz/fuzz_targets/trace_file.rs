//! Holds `checks::trace_file` against what libFuzzer comes up with.
#![no_main]

#[path = "../checks/trace_file.rs"]
mod checks;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| checks::trace_file(bytes));
