//! A policy allocates when it is created and never again.

#![expect(unsafe_code, reason = "an allocator that counts is unsafe to implement")]

use legato_control::policy::{Manifest, NetworkPolicy, Policy};
use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicU64, Ordering};

/// Counts the requests to the system's allocator.
struct Counting;

static ALLOCATIONS: AtomicU64 = AtomicU64::new(0);

// SAFETY: every call is forwarded to the system's allocator unchanged.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.fetch_add(1, Ordering::Relaxed);
        // SAFETY: as the caller promises.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: as the caller promises.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// The corpus of `make fuzz` has a policy for each kind of layer: manifest, a zero byte, weights.
#[test]
fn a_decision_allocates_nothing() {
    for name in ["conv", "dense", "gru"] {
        let path = format!("{}/../../fuzz/corpus/policy/{name}", env!("CARGO_MANIFEST_DIR"));
        let bytes = std::fs::read(&path).unwrap_or_else(|error| panic!("{path}: {error}"));
        let end = bytes.iter().position(|&byte| byte == 0).expect("a zero byte");
        let manifest = Manifest::parse(std::str::from_utf8(&bytes[..end]).expect("text"), name).expect("a manifest");
        let mut policy = NetworkPolicy::new(manifest.load(&bytes[end + 1..]).expect("weights"));
        let observation = vec![0.25; manifest.inputs()];
        let before = ALLOCATIONS.load(Ordering::Relaxed);
        let sum: f32 = (0..100).map(|_| policy.act(&observation)).sum();
        policy.reset();
        assert_eq!(ALLOCATIONS.load(Ordering::Relaxed), before, "{name}");
        assert!(sum.is_finite());
    }
}
