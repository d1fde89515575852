//! Holds the check of `fuzz/checks/policy.rs` against mutations of the corpus: a few thousand at every
//! test run, a minute of them with `make fuzz`.

#[path = "../../../fuzz/checks/policy.rs"]
mod checks;
#[path = "../../../fuzz/mutation.rs"]
mod mutation;

use mutation::{Target, run, without_numbers};

#[test]
fn policy() {
    let outline = |bytes: &[u8]| match checks::load(bytes) {
        Ok(policy) => {
            let shapes = policy.model().manifest().tensors();
            shapes.iter().map(|(_, shape)| shape.len().to_string()).collect()
        }
        Err(error) => without_numbers(&error.to_string()),
    };
    run(&Target { name: "policy", check: checks::policy, outline });
}
