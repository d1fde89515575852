//! Runs the check of `fuzz/checks/trace_file.rs` on mutations of the corpus: a few thousand in every
//! test run, a minute with `make fuzz`.

use crate::arbitrary_bytes::checks;
use legato_path::trace_file::parse;

#[path = "../../../fuzz/mutation.rs"]
mod mutation;

use mutation::{Target, run, without_numbers};

#[test]
fn trace_file() {
    let outline = |bytes: &[u8]| match parse(bytes, "x", None) {
        Ok(traces) => format!("{} {}", traces.len(), traces[0].family.as_str()),
        Err(error) => without_numbers(&error.to_string()),
    };
    run(&Target { name: "trace_file", check: checks::trace_file, outline });
}
