//! One line on a terminal that says how far long work has come, and goes away at its end.
//!
//! Nothing is shown into a pipe or a file, nor of work that takes no time.

use std::fmt::Display;
use std::io::{IsTerminal, Write};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Work that takes less is over before anybody asks.
const PATIENCE: Duration = Duration::from_millis(700);
/// Nobody reads faster.
const BETWEEN: Duration = Duration::from_millis(100);

static LINE: Mutex<Option<Line>> = Mutex::new(None);

/// The line as it is.
struct Line {
    next: Instant,
    is_shown: bool,
}

/// Whether somebody sees it.
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
    // Back to the line's begin, and away with what is left of a longer text.
    let _ = write!(std::io::stderr(), "\r{text}\x1b[K");
}

/// Takes the line away.
pub fn end() {
    let line = LINE.lock().unwrap_or_else(PoisonError::into_inner).take();
    if line.is_some_and(|line| line.is_shown) {
        let _ = write!(std::io::stderr(), "\r\x1b[K");
    }
}
