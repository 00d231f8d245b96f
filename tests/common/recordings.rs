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
    eprintln!("skipped: no real recordings at {}", corpus.display());
    None
}
