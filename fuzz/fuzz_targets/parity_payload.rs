//! Holds `checks::parity_payload` against what libFuzzer comes up with.
#![no_main]

#[path = "../checks/wire.rs"]
#[allow(dead_code, reason = "each target uses one check")]
mod checks;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| checks::parity_payload(bytes));
