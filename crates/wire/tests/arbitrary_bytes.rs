//! Runs the checks of `fuzz/checks/wire.rs` on random bytes, on mutations of the corpus, and on the
//! corpus itself; and asserts that parsing and reading allocate nothing.

#![expect(unsafe_code, reason = "an allocator that counts is unsafe to implement")]

use legato_wire::{ccfb, h264, ip, remb, rtcp, rtp, twcc};
use proptest::prelude::*;
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::path::Path;

#[path = "../../../fuzz/checks/wire.rs"]
mod checks;

/// The inputs of every target, each with its name.
fn corpus() -> Vec<(String, Vec<u8>)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus");
    let mut inputs = Vec::new();
    for (target, _) in checks::TARGETS {
        let folder = root.join(target);
        let entries = std::fs::read_dir(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
        for entry in entries {
            let path = entry.expect("the folder can be listed").path();
            inputs.push((path.display().to_string(), std::fs::read(&path).expect("the input can be read")));
        }
    }
    inputs.sort();
    assert!(inputs.len() >= checks::TARGETS.len());
    inputs
}

fn check_all(bytes: &[u8]) {
    checks::TARGETS.iter().for_each(|(_, check)| check(bytes));
}

#[test]
fn every_input_of_the_corpus_passes_every_check() {
    for (name, bytes) in corpus() {
        println!("{name}");
        check_all(&bytes);
    }
}

/// Bytes whose first four make them an RTCP packet of a kind we read, so that random ones get past
/// the header.
fn rtcp_like() -> impl Strategy<Value = Vec<u8>> {
    let kind = prop::sample::select(vec![
        (200u8, 1u8),
        (201, 1),
        (203, 1),
        (205, 1),
        (205, twcc::FORMAT),
        (205, ccfb::FORMAT),
        (206, 1),
        (206, 4),
        (206, remb::FORMAT),
    ]);
    (kind, any::<bool>(), prop::collection::vec(any::<u8>(), 0..200)).prop_map(|((packet_type, format), pad, body)| {
        let words = body.len() / 4;
        let mut bytes = vec![0x80 | (u8::from(pad) << 5) | format, packet_type, (words >> 8) as u8, words as u8];
        bytes.extend_from_slice(&body[..4 * words]);
        bytes
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn random_bytes_pass_every_check(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        check_all(&bytes);
    }

    #[test]
    fn random_bodies_after_a_valid_header_pass_every_check(bytes in rtcp_like()) {
        check_all(&bytes);
        allocates_nothing(&bytes);
    }

    #[test]
    fn mutated_inputs_of_the_corpus_pass_every_check(
        pick: prop::sample::Index, edits in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6),
    ) {
        let inputs = corpus();
        let (_, mut bytes) = pick.get(&inputs).clone();
        if !bytes.is_empty() {
            for (at, byte) in edits {
                let at = at.index(bytes.len());
                bytes[at] = byte;
            }
        }
        check_all(&bytes);
        allocates_nothing(&bytes);
    }
}

/// Parses and reads `bytes` as every format, and counts the allocations.
fn allocates_nothing(bytes: &[u8]) {
    let before = ALLOCATIONS.get();
    let mut read = 0;
    if let Ok(packets) = rtcp::Compound::parse(bytes) {
        for message in packets.filter_map(|packet| packet.and_then(|packet| packet.message()).ok()) {
            read += match message {
                rtcp::Message::Ccfb(feedback) => feedback.blocks().map(|block| block.metrics().count()).sum(),
                rtcp::Message::Nack(nack) => nack.seqs().count(),
                rtcp::Message::Remb(remb) => remb.ssrcs().count(),
                rtcp::Message::Twcc(feedback) => feedback.statuses().count(),
                _ => 1,
            };
        }
    }
    if let Ok(feedback) = twcc::Feedback::parse_interop(bytes) {
        read += feedback.statuses().count();
    }
    if let Ok(payload) = h264::Payload::parse(bytes) {
        read += usize::from(payload.begins(h264::IDR_SLICE));
    }
    read += usize::from(ip::Packet::parse(bytes).is_ok());
    read += usize::from(rtp::Packet::parse(bytes, &rtp::ExtensionIds::default()).is_ok());
    std::hint::black_box(read);
    assert_eq!(ALLOCATIONS.get(), before, "parsing allocated");
}

/// Counts the allocations of each thread.
struct Counting;

thread_local! {
    static ALLOCATIONS: Cell<u64> = const { Cell::new(0) };
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

// SAFETY: forwards every call to the system's allocator unchanged.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // A thread that is ending has no counter any more.
        let _ = ALLOCATIONS.try_with(|count| count.set(count.get() + 1));
        // SAFETY: the caller's promises are the system allocator's.
        unsafe { System.alloc(layout) }
    }
    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: as above.
        unsafe { System.dealloc(pointer, layout) }
    }
}
