//! Recorded event files of a few controllers replay to the byte: neither the format nor their decisions have changed.
//! crates/sim/tests/event_files.rs records them, and replays every controller in calls of the moment.

use legato_control::event_file::{first_difference, replay};
use legato_control::{Assets, Entry};
use legato_controllers::entry;
use std::borrow::Cow;
use std::fs::{read, read_dir, read_to_string};
use std::path::{Path, PathBuf};

/// The policies of the repository.
struct Shipped;

impl Assets for Shipped {
    fn file(&self, name: &str) -> Option<Cow<'_, [u8]>> {
        read(here("../../policies").join(name)).ok().map(Cow::Owned)
    }

    fn controller(&self, name: &str) -> Option<&'static Entry> {
        entry(name)
    }
}

fn here(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

#[test]
fn recorded_events_give_the_recorded_decisions() {
    let mut files: Vec<_> =
        read_dir(here("tests/events")).expect("a folder").map(|file| file.expect("readable").path()).collect();
    files.sort();
    assert!(files.len() >= 7, "{files:?}");
    for file in files {
        let recorded = read_to_string(&file).expect("text");
        let again = replay(&recorded, &Shipped).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
        assert_eq!(first_difference(&recorded, &again), None, "{}", file.display());
        assert!(recorded == again, "{}: line ends differ", file.display());
    }
}
