//! Tests that cannot run on this machine say so.

use std::fmt::Display;
use std::io::Write;

/// Says that the running test, or a part of it, is skipped, and why.
///
/// The line is seen although the test passes: the test harness keeps what `eprintln!` writes to
/// itself. `scripts/check` counts these lines.
pub fn skip(why: impl Display) {
    let thread = std::thread::current();
    let test = thread.name().unwrap_or("a test");
    let why = why.to_string();
    let line = format!("skipped: {test}: {}\n", why.split_whitespace().collect::<Vec<_>>().join(" "));
    // One write, so that the lines of several tests do not mix.
    let _ = std::io::stderr().write_all(line.as_bytes());
}
