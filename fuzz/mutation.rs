//! A fuzzer for the stable compiler: mutates its corpus and keeps inputs that behave in a new way.
//!
//! libFuzzer is led by coverage, which needs a nightly compiler. Here an input's *outline* replaces it: which error, at
//! which field, or which shape of value the bytes gave. An input with a new outline joins the corpus. That finds the
//! corners of a parser with precise errors, as these are; it is blind to branches without a visible effect.
//!
//! `LEGATO_FUZZ_S=60` runs each target for that many seconds (`make fuzz`); without it a few thousand
//! inputs are tried, always the same ones. `LEGATO_FUZZ_SEED` begins elsewhere. `LEGATO_FUZZ_KEEP=1` writes
//! inputs with a new outline to the target's corpus. An input that fails is always written there.

use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};

/// The fuzz target.
pub struct Target {
    /// The name of its corpus folder.
    pub name: &'static str,
    /// Panics where something does not hold.
    pub check: fn(&[u8]),
    /// How the input behaves, in few words.
    pub outline: fn(&[u8]) -> String,
}

/// Inputs tried where no time is given.
const QUICK_INPUTS: u64 = 2_000;
/// No input becomes longer.
const MAX_BYTES: usize = 4_096;
/// Bytes and words that parsers tend to mind.
const BYTES: [u8; 12] = [0, 1, 2, 4, 0x0f, 0x20, 0x7f, 0x80, 0x8b, 0x8f, 0xcd, 0xff];
const WORDS: [u16; 12] = [0, 1, 2, 6, 7, 8, 0x1fff, 0x2001, 0x3fff, 0x7fff, 0x8000, 0xffff];

/// Fuzz one target.
pub fn run(target: &Target) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus").join(target.name);
    let mut inputs: Vec<Vec<u8>> = files(&folder).iter().map(|path| std::fs::read(path).expect("a file")).collect();
    let mut seen: BTreeSet<String> = inputs.iter().map(|input| (target.outline)(input)).collect();
    let (begun, mut tried) = (seen.len(), 0);
    let keeps = std::env::var_os("LEGATO_FUZZ_KEEP").is_some();
    let mut random = Random(number("LEGATO_FUZZ_SEED").unwrap_or(1) ^ hash(target.name.as_bytes()));
    let enough = until();
    while !enough(tried) {
        tried += 1;
        let mut bytes = random.pick(&inputs).clone();
        for _ in 0..=random.below(6) {
            mutate(&mut bytes, &inputs, &mut random);
        }
        bytes.truncate(MAX_BYTES);
        let outcome = catch_unwind(AssertUnwindSafe(|| {
            (target.check)(&bytes);
            (target.outline)(&bytes)
        }));
        let Ok(outline) = outcome else {
            let path = folder.join(format!("failed_{:016x}", hash(&bytes)));
            std::fs::write(&path, &bytes).expect("the corpus can be written");
            panic!("{} fails on input {tried}: {bytes:02x?}, kept as {}", target.name, path.display());
        };
        if seen.insert(outline) {
            if keeps {
                let path = folder.join(format!("found_{:016x}", hash(&bytes)));
                std::fs::write(path, &bytes).expect("the corpus can be written");
            }
            inputs.push(bytes);
        }
    }
    println!("{}: {tried} inputs, {} outlines, {} of them new", target.name, seen.len(), seen.len() - begun);
}

/// Whether so many inputs are enough.
#[expect(clippy::disallowed_methods, reason = "a minute of fuzzing is a minute by the clock")]
fn until() -> Box<dyn Fn(u64) -> bool> {
    let Some(seconds) = number("LEGATO_FUZZ_S") else { return Box::new(|tried| tried >= QUICK_INPUTS) };
    let start = std::time::Instant::now();
    Box::new(move |_| start.elapsed().as_secs() >= seconds)
}

fn number(variable: &str) -> Option<u64> {
    std::env::var(variable)
        .ok()
        .map(|text| text.parse().unwrap_or_else(|_| panic!("{variable} = {text}: not a number")))
}

/// The files of a folder, in the order of their names; those apart that are to take long.
fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let mut files: Vec<_> = entries.map(|entry| entry.expect("the folder can be listed").path()).collect();
    files.retain(|file| !file.to_string_lossy().contains("bomb"));
    files.sort();
    files
}

/// One change: a bit, a byte, a word, a piece, a length that agrees, another input.
fn mutate(bytes: &mut Vec<u8>, inputs: &[Vec<u8>], random: &mut Random) {
    let at = random.below(bytes.len() + 1);
    let len = random.below(9).min(bytes.len() - at);
    match random.below(10) {
        0 if at < bytes.len() => bytes[at] ^= 1 << random.below(8),
        1 if at < bytes.len() => bytes[at] = random.next() as u8,
        2 if at < bytes.len() => bytes[at] = *random.pick(&BYTES),
        3 if at + 2 <= bytes.len() => bytes[at..at + 2].copy_from_slice(&random.pick(&WORDS).to_be_bytes()),
        4 => drop(bytes.drain(at..at + len)),
        5 => {
            let piece: Vec<u8> = (0..=random.below(8)).map(|_| random.next() as u8).collect();
            bytes.splice(at..at, piece);
        }
        6 => {
            let piece = bytes[at..at + len].to_vec();
            (0..=random.below(4)).for_each(|_| drop(bytes.splice(at..at, piece.iter().copied())));
        }
        7 => {
            let other = random.pick(inputs);
            bytes.truncate(at);
            bytes.extend_from_slice(&other[random.below(other.len() + 1)..]);
        }
        8 if bytes.len() >= 4 => {
            bytes.truncate(bytes.len() / 4 * 4);
            let words = (bytes.len() / 4 - 1) as u16;
            bytes[2..4].copy_from_slice(&words.to_be_bytes());
        }
        _ => bytes.extend_from_slice(random.pick::<Vec<u8>>(inputs)),
    }
}

/// `text` without its numbers: the message, not the amounts.
#[allow(dead_code, reason = "not every target needs it")]
pub fn without_numbers(text: &str) -> String {
    text.chars().filter(|letter| !letter.is_ascii_digit()).collect()
}

/// FNV-1a.
fn hash(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, &byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

/// SplitMix64: the inputs need variety, not secrecy.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }
    /// Below `end`; 0 where that is 0.
    fn below(&mut self, end: usize) -> usize {
        (self.next() % end.max(1) as u64) as usize
    }
    fn pick<'a, T>(&mut self, from: &'a [T]) -> &'a T {
        &from[self.below(from.len())]
    }
}
