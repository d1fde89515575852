//! What a controller does with a frame and its feedback allocates nothing once it is warm.

mod counting;
mod frames;

use frames::{build, events, replay};
use legato_control::Side;
use legato_controllers::REGISTRY;

/// Frames until windows of half a minute are full.
const WARM: u64 = 1_500;
/// They need to know a link, and this test has no link.
const KNOW_THE_LINK: [&str; 2] = ["clairvoyant", "oracle"];

#[test]
fn frames_and_their_feedback_allocate_nothing() {
    let all = events(2 * WARM);
    let half = all.len() / 2;
    let senders = REGISTRY.iter().filter(|entry| entry.side == Side::Sender && !KNOW_THE_LINK.contains(&entry.name));
    let mut found = Vec::new();
    for entry in senders {
        let mut controller = build(entry);
        replay(controller.as_mut(), &all[..half]);
        let before = counting::allocations();
        replay(controller.as_mut(), &all[half..]);
        found.push((entry.name, counting::allocations() - before));
    }
    assert!(found.iter().any(|&(name, _)| name == "legato"));
    assert!(found.iter().all(|&(_, count)| count == 0), "allocations in {WARM} frames: {found:?}");
}

#[test]
fn the_counter_counts() {
    let before = counting::allocations();
    let mut kept = Vec::with_capacity(1);
    kept.extend([1, 2, 3]);
    assert_eq!(counting::allocations() - before, 2, "{kept:?}");
}
