//! A program that collapsed and drew with inferno does so with this crate: what cargo-flamegraph does.
//!
//! ```sh
//! perf script | cargo run --example inferno_replaced > flames.svg
//! ```

use std::io::{self, BufRead, Write};

// Before: use inferno::collapse::{Collapse, perf::{Folder, Options as CollapseOptions}};
use fg_tools::folder::{Folder, Options as CollapseOptions};
// Before: use inferno::flamegraph::{Options, from_reader};
use fg_tools::flamegraph::{Options, from_reader};

/// Draws what `perf script` prints.
pub fn draw(perf: impl BufRead, picture: impl Write) -> io::Result<()> {
    let mut options = CollapseOptions::default();
    options.skip_after = vec!["main".into()];
    let mut collapsed = Vec::new();
    Folder::from(options).collapse(perf, &mut collapsed)?;
    from_reader(&mut Options::default(), &collapsed[..], picture)
}

#[allow(dead_code)] // The tests call `draw`.
fn main() -> io::Result<()> {
    draw(io::stdin().lock(), io::stdout().lock())
}
