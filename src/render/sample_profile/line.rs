//! A line of a function, as sample profiles name it.

/// A line of a function, counted from the line on which it begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Line {
    pub offset: u32,
    pub discriminator: u32,
}
