//! The escaping of what comes from outside: the names and the unit of a report, for each kind of output.

use super::report::Report;
use crate::printable::printable;

/// Writes names and units as an output has to.
#[derive(Clone, Copy, Debug)]
pub(super) struct Escape {
    /// Writes a name.
    pub(super) name: fn(&[u8]) -> String,
    /// Writes a unit, behind a number.
    pub(super) unit: fn(&str) -> String,
}

impl Escape {
    /// For a terminal, and for plain text.
    pub(super) const TEXT: Escape = Escape { name: printable, unit: |unit| printable(unit.as_bytes()) };

    /// The unit of a report, if it has one.
    pub(super) fn unit_of(&self, report: &Report) -> Option<String> {
        report.unit().map(self.unit)
    }
}
