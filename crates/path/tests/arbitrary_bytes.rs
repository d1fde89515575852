//! Runs the check of `fuzz/checks/trace_file.rs` on random bytes and text, on mutations of the
//! corpus, and on the corpus itself.

use legato_path::trace_file::parse;
use proptest::prelude::*;
use std::path::Path;
use std::sync::OnceLock;

#[path = "../../../fuzz/checks/trace_file.rs"]
pub(crate) mod checks;

/// The inputs, each with its name; except bombs, which would be inflated nine times per case.
fn corpus() -> &'static [(String, Vec<u8>)] {
    static CORPUS: OnceLock<Vec<(String, Vec<u8>)>> = OnceLock::new();
    CORPUS.get_or_init(|| {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus/trace_file");
        let entries = std::fs::read_dir(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
        let mut inputs: Vec<_> = entries
            .map(|entry| entry.expect("the folder can be listed").path())
            .map(|path| (path.file_name().expect("a file").to_string_lossy().into_owned(), path))
            .map(|(name, path)| (name, std::fs::read(path).expect("the input can be read")))
            .collect();
        inputs.sort();
        assert!(inputs.len() > 30);
        inputs
    })
}

#[test]
fn every_input_of_the_corpus_passes_and_is_a_trace_only_where_its_name_says_good() {
    for (name, bytes) in corpus() {
        checks::trace_file(bytes);
        assert_eq!(parse(bytes, name, None).is_ok(), name.contains("good"), "{name}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(1_000) })]

    #[test]
    fn random_bytes_pass(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        checks::trace_file(&bytes);
    }

    #[test]
    fn random_text_of_the_right_letters_passes(text in "[0-9eE+.,;\t\n #_naif:{}\\[\\]\"-]{0,300}") {
        checks::trace_file(text.as_bytes());
    }

    #[test]
    fn mutated_inputs_of_the_corpus_pass(
        pick in any::<prop::sample::Index>(),
        edits in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6),
        length in any::<prop::sample::Index>(),
    ) {
        let (name, bytes) = pick.get(corpus());
        let mut bytes = bytes.clone();
        if !bytes.is_empty() && !name.contains("bomb") {
            for (at, byte) in edits {
                let at = at.index(bytes.len());
                bytes[at] = byte;
            }
            checks::trace_file(&bytes);
            checks::trace_file(&bytes[..length.index(bytes.len())]);
        }
    }
}
