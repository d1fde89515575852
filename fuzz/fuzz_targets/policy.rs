//! Holds `checks::policy` against what libFuzzer comes up with.
#![no_main]

#[path = "../checks/policy.rs"]
mod checks;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| checks::policy(bytes));
