//! The number of threads.

use std::num::NonZero;

/// The number of threads that was asked for; 0 is as many as there are processors.
pub(crate) fn count(asked: usize) -> usize {
    match asked {
        0 => std::thread::available_parallelism().map_or(1, NonZero::get),
        asked => asked,
    }
}
