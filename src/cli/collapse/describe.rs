//! Messages about what was read.

use super::Collapse;
use crate::cli::{Tool, say, say_not_understood};
use crate::collapse::{Report, Value, ValueTotal};
use crate::error::{excerpt, some_of};

impl Collapse {
    /// Says what was not understood and what was left out; with `--verbose` more.
    pub(super) fn describe(&self, report: &Report) {
        say_not_understood(Self::NAME, &report.not_understood);
        for note in &report.notes {
            say(Self::NAME, note);
        }
        let of_kind = |kept: bool| {
            let named = report.values.iter().filter(move |(value, total)| {
                // A recording that does not name its values has one without a name.
                total.kept == kept && !value.name.is_empty() && total.samples > 0
            });
            some_of(&named.map(|(value, total)| describe(value, total)).collect::<Vec<_>>())
        };
        let (kept, left_out) = (of_kind(true), of_kind(false));
        if !left_out.is_empty() && self.options.value.is_empty() {
            say(Self::NAME, format_args!("left out {left_out}; --value NAME keeps it, --value all each"));
        }
        if self.verbose && !kept.is_empty() {
            say(Self::NAME, format_args!("kept {kept}"));
        }
        if self.verbose {
            for detail in &report.details {
                say(Self::NAME, detail);
            }
        }
    }
}

/// `"page-faults" (80 samples, 389149 page-faults)`.
fn describe(value: &Value, total: &ValueTotal) -> String {
    let name = excerpt(&value.name);
    let samples = total.samples;
    match &value.unit {
        Some(unit) => format!("{name} ({samples} samples, {} {unit})", total.weight),
        None => format!("{name} ({samples} samples, weight {})", total.weight),
    }
}
