//! Folded text is filtered while it streams by, in constant memory:
//!
//! ```sh
//! perf script | fg-collapse | cargo run --example streaming_filter -- parse > parse.folded
//! ```

use std::io::{self, Write};

use fg_tools::filter::{Op, Pipeline, RunOptions};
use fg_tools::reading::open;
use fg_tools::{ReadOptions, Result, Source};

/// Writes the stacks in which a function is that matches, and returns how many of them there are.
pub fn filter(source: Source, function: &str, out: &mut dyn Write) -> Result<u64> {
    let input = open(&[source], &ReadOptions::default())?;
    let mut pipeline = Pipeline::new(&[Op::focus(function)?])?;
    let filtered = pipeline.run(&input, &RunOptions::default(), out)?;
    Ok(filtered.kept.stacks)
}

#[allow(dead_code)] // The tests call `filter`.
fn main() -> Result<()> {
    let function = std::env::args().nth(1).unwrap_or_default();
    let kept = filter(Source::stdin(), &function, &mut io::stdout().lock())?;
    eprintln!("{kept} stacks");
    Ok(())
}
