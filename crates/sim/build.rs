//! Puts the commit that is built into the program, for the manifest of run folders: results repeat
//! within a commit. Reads git's files itself; where there are none (a source archive) it says so.

use std::fs;
use std::path::{Path, PathBuf};

fn main() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let commit = git_folder(&root).and_then(|folder| commit_of(&folder)).unwrap_or_else(|| "unknown".to_owned());
    println!("cargo:rustc-env=LEGATO_COMMIT={commit}");
    println!("cargo:rerun-if-changed=build.rs");
}

/// `.git`, or where a linked work tree points to.
fn git_folder(root: &Path) -> Option<PathBuf> {
    let place = root.join(".git");
    if place.is_dir() {
        return Some(place);
    }
    let text = fs::read_to_string(place).ok()?;
    Some(root.join(text.strip_prefix("gitdir:")?.trim()))
}

fn commit_of(folder: &Path) -> Option<String> {
    let head = folder.join("HEAD");
    println!("cargo:rerun-if-changed={}", head.display());
    let text = fs::read_to_string(&head).ok()?;
    let Some(name) = text.strip_prefix("ref:").map(str::trim) else { return short(&text) };
    // Branches of a linked work tree lie in the folder they share.
    let shared = fs::read_to_string(folder.join("commondir")).ok();
    let shared = shared.map_or_else(|| folder.to_owned(), |path| folder.join(path.trim()));
    let loose = shared.join(name);
    println!("cargo:rerun-if-changed={}", loose.display());
    if let Ok(text) = fs::read_to_string(&loose) {
        return short(&text);
    }
    let packed = fs::read_to_string(shared.join("packed-refs")).ok()?;
    packed.lines().find_map(|line| line.strip_suffix(name).and_then(short))
}

fn short(hash: &str) -> Option<String> {
    let hash = hash.trim();
    let is_hash = hash.len() >= 40 && hash.bytes().all(|byte| byte.is_ascii_hexdigit());
    is_hash.then(|| hash[..12].to_owned())
}
