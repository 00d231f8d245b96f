//! The real recordings beside the project.

use std::path::{Path, PathBuf};

/// Their folder, below `../shared` or the folder named by `FG_SHARED`. If it does not exist, prints a
/// message, and the test does nothing.
pub fn corpus() -> Option<PathBuf> {
    let shared = std::env::var_os("FG_SHARED")
        .map_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared"), PathBuf::from);
    let corpus = shared.join("corpus");
    if corpus.join("MANIFEST.md").exists() {
        return Some(corpus);
    }
    // Seen although the test passes.
    let test = std::thread::current().name().unwrap_or("a test").to_owned();
    let line = format!("skipped: {test}: no real recordings at {}\n", corpus.display());
    let _ = std::io::Write::write_all(&mut std::io::stderr(), line.as_bytes());
    None
}
