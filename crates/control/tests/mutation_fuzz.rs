//! Holds the check of `fuzz/checks/policy.rs` against mutations of the corpus: a few thousand at every
//! test run, a minute of them with `make fuzz`.

#[path = "../../../fuzz/checks/policy.rs"]
mod checks;
#[path = "../../../fuzz/mutation.rs"]
mod mutation;

use mutation::{Target, run, without_numbers};

/// Which key is refused and why. What stood there, and names that nothing has, are as various as inputs are.
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
