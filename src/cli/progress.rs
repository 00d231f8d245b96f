//! One line on a terminal that says how far long work has come, and goes away at its end.
//!
//! Nothing is shown into a pipe or a file, and nothing for short work.

use std::fmt::Display;
use std::io::{IsTerminal, Write};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Shorter work shows nothing.
const PATIENCE: Duration = Duration::from_millis(700);
/// The least time between two texts.
const BETWEEN: Duration = Duration::from_millis(100);

static LINE: Mutex<Option<Line>> = Mutex::new(None);

/// The line as it is.
struct Line {
    next: Instant,
    is_shown: bool,
}

/// Returns true if standard error is a terminal.
pub fn is_wanted() -> bool {
    std::io::stderr().is_terminal()
}

/// Shows a text in the place of the one before, unless that was just now.
pub fn show(text: impl Display) {
    let mut line = LINE.lock().unwrap_or_else(PoisonError::into_inner);
    let now = Instant::now();
    let line = line.get_or_insert(Line { next: now + PATIENCE, is_shown: false });
    if now < line.next {
        return;
    }
    *line = Line { next: now + BETWEEN, is_shown: true };
    // Begin the line again, and clear the rest of a longer text.
    let _ = write!(std::io::stderr(), "\r{text}\x1b[K");
}

/// Clears the line.
pub fn end() {
    let line = LINE.lock().unwrap_or_else(PoisonError::into_inner).take();
    if line.is_some_and(|line| line.is_shown) {
        let _ = write!(std::io::stderr(), "\r\x1b[K");
    }
}
