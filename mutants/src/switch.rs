//! The switch between the mutants of one build: the environment variable FG_MUTANT names the one that lives.
//!
//! With FG_MUTANT_REACHED none does, and the number of each mutant that is reached is appended to that file.

use std::io::Write;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering::Relaxed};

const UNREAD: u32 = u32::MAX;
const LISTED: u32 = u32::MAX - 1;

static CHOSEN: AtomicU32 = AtomicU32::new(UNREAD);
static REACHED: [AtomicBool; 1 << 16] = [const { AtomicBool::new(false) }; 1 << 16];

/// Tells whether the mutant of this number lives.
pub fn is(number: u32) -> bool {
    let chosen = CHOSEN.load(Relaxed);
    if chosen < LISTED { chosen == number } else { read_or_list(chosen, number) }
}

#[cold]
fn read_or_list(chosen: u32, number: u32) -> bool {
    if chosen == UNREAD {
        let listed = std::env::var_os("FG_MUTANT_REACHED").is_some();
        let named = || std::env::var("FG_MUTANT").ok().and_then(|text| text.parse().ok()).unwrap_or(0);
        CHOSEN.store(if listed { LISTED } else { named() }, Relaxed);
        return is(number);
    }
    if !REACHED[number as usize].swap(true, Relaxed)
        && let Some(path) = std::env::var_os("FG_MUTANT_REACHED")
        && let Ok(mut file) = std::fs::OpenOptions::new().append(true).create(true).open(path)
    {
        let _ = file.write_all(format!("{number}\n").as_bytes());
    }
    false
}
