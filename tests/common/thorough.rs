//! Tests that try more at night than while somebody waits.

use std::sync::OnceLock;

/// Returns `all` if `FG_THOROUGH` is set in the environment, as it is each night, and `some` if not.
pub fn thorough<T>(all: T, some: T) -> T {
    static THOROUGH: OnceLock<bool> = OnceLock::new();
    if *THOROUGH.get_or_init(|| std::env::var_os("FG_THOROUGH").is_some()) { all } else { some }
}
