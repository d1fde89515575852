//! Finds libvpx by pkg-config and compiles the few C functions that access it. If it is missing, nothing is
//! linked, `cfg(libvpx)` stays off, and the crate reports that when an encoder is requested.
//!
//! The static library is preferred if present, as on Debian: a module built with it runs on machines without libvpx.

use std::path::{Path, PathBuf};

/// The oldest version with the interface that the C functions use.
const LEAST_VERSION: &str = "1.8";
const SHIM: &str = "src/shim.c";

fn main() {
    println!("cargo::rustc-check-cfg=cfg(libvpx)");
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed={SHIM}");
    watch_where_it_would_be();
    let found = pkg_config::Config::new().atleast_version(LEAST_VERSION).cargo_metadata(false).probe("vpx");
    let Ok(library) = found else { return };
    let mut build = cc::Build::new();
    build.file(SHIM).includes(&library.include_paths).warnings(true);
    if let Err(error) = build.try_compile("legato_vpx_shim") {
        println!("cargo::warning=libvpx {} is here but cannot be used: {error}", library.version);
        return;
    }
    println!("cargo::rustc-cfg=libvpx");
    if let Some(folder) = static_library(&build, &library.link_paths) {
        println!("cargo::rustc-link-search=native={}", folder.display());
        println!("cargo::rustc-link-lib=static=vpx");
        // Its own dependencies; the C library has its threads.
        println!("cargo::rustc-link-lib=m");
        return;
    }
    for folder in &library.link_paths {
        println!("cargo::rustc-link-search=native={}", folder.display());
    }
    println!("cargo::rustc-link-lib=vpx");
}

/// The folder of `libvpx.a`: from pkg-config, or the compiler's own search path.
fn static_library(build: &cc::Build, named: &[PathBuf]) -> Option<PathBuf> {
    const FILE: &str = "libvpx.a";
    if let Some(folder) = named.iter().find(|folder| folder.join(FILE).exists()) {
        return Some(folder.clone());
    }
    let asked = build.get_compiler().to_command().arg(format!("-print-file-name={FILE}")).output().ok()?;
    let found = PathBuf::from(String::from_utf8(asked.stdout).ok()?.trim());
    if found.is_absolute() && found.exists() { found.parent().map(Path::to_path_buf) } else { None }
}

/// libvpx may be installed or removed between builds, and with it its pkg-config file.
fn watch_where_it_would_be() {
    // The crate `pkg-config` declares the environment variables itself.
    let folders = pkg_config::get_variable("pkg-config", "pc_path").unwrap_or_default();
    for folder in folders.split(':').filter(|folder| Path::new(folder).is_dir()) {
        println!("cargo::rerun-if-changed={folder}");
    }
}
