//! The two sides of a comparison.

/// Before or after.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Side {
    /// The profile to compare with.
    Before,
    /// The profile that is compared.
    After,
}

impl Side {
    /// Its name in messages.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Side::Before => "before",
            Side::After => "after",
        }
    }
}
