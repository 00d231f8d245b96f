//! A program that drew with inferno draws with this crate: one line is another.
//!
//! ```sh
//! cargo run --example instead_of_inferno < out.folded > flames.svg
//! ```

use std::io::{self, Read, Write};

// Before: use inferno::flamegraph::{self, Options, color::Palette};
use fg_tools::flamegraph::{self, Options, color::Palette};

/// Draws lines of folded text.
pub fn draw(folded: &str, picture: impl Write) -> io::Result<()> {
    let mut options = Options::default();
    options.title = "requests".to_owned();
    options.subtitle = Some("before the fix".to_owned());
    options.colors = "rust".parse().unwrap_or(Palette::default());
    options.count_name = "µs".to_owned();
    options.min_width = 0.1;
    flamegraph::from_lines(&mut options, folded.lines(), picture)
}

#[allow(dead_code)] // The tests call `draw`.
fn main() -> io::Result<()> {
    let mut folded = String::new();
    io::stdin().read_to_string(&mut folded)?;
    draw(&folded, io::stdout().lock())
}
