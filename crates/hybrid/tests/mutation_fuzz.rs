//! Runs the check of `fuzz/checks/hybrid.rs` on mutations of the corpus: some thousand in every test run, a minute with
//! `make fuzz`.

#[path = "../../../fuzz/checks/hybrid.rs"]
mod checks;
#[path = "../../../fuzz/mutation.rs"]
#[allow(dead_code, reason = "other targets use the rest")]
mod mutation;

use mutation::{Target, run};

#[test]
fn hybrid_decode() {
    run(&Target { name: "hybrid_decode", check: checks::hybrid_decode, outline: checks::outline });
}

/// The corpus is the third frame of the checks' stream, whole and in part: where that changes, write it again with
/// `LEGATO_FUZZ_CORPUS=1`.
#[test]
fn the_corpus_holds_frames_of_the_current_format() {
    let frame = checks::frames(0..3).pop().expect("three frames");
    let key = checks::frames(0..1).pop().expect("a frame");
    let joined = |packets: &[Vec<u8>]| -> Vec<u8> {
        packets.iter().flat_map(|packet| [&(packet.len() as u16).to_be_bytes()[..], packet].concat()).collect()
    };
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus/hybrid_decode");
    for (name, bytes) in [("frame", joined(&frame)), ("one_packet", joined(&frame[..1])), ("key_frame", joined(&key))] {
        let path = folder.join(name);
        if std::env::var_os("LEGATO_FUZZ_CORPUS").is_some() {
            std::fs::write(&path, &bytes).expect("the corpus can be written");
        }
        let stored = std::fs::read(&path).expect("an input of the corpus");
        assert_eq!(stored, bytes, "{name} is not what the encoder writes: the bitstream changed");
    }
}
