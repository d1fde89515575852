//! Runs the check of `fuzz/checks/policy.rs` on mutations of the corpus: a few thousand in every test
//! run, a minute with `make fuzz`.

#[path = "../../../fuzz/checks/policy.rs"]
mod checks;
#[path = "../../../fuzz/mutation.rs"]
mod mutation;

use mutation::{Target, run, without_numbers};

/// The refused key and the reason, without the value and unknown names, which vary with the inputs.
fn reason(line: &str) -> String {
    let key = line.split_once(" = ").map_or("", |(key, _)| key);
    let why = line.rsplit(": ").next().unwrap_or_default();
    without_numbers(&format!("{key} {}", why.split(|letter| "(,;`".contains(letter)).next().unwrap_or_default()))
}

#[test]
fn policy() {
    let outline = |bytes: &[u8]| match checks::load(bytes) {
        Ok(policy) => {
            let shapes = policy.model().manifest().tensors();
            shapes.iter().map(|(_, shape)| shape.len().to_string()).collect()
        }
        Err(error) => reason(&error.to_string()),
    };
    run(&Target { name: "policy", check: checks::policy, outline });
}
