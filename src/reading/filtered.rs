//! Filters whatever was opened: folded text as it streams by, or a profile.

use std::io::Write;

use super::Opened;
use crate::error::Result;
use crate::filter::{Filtered, Pipeline, RunOptions};

impl Pipeline {
    /// Applies the pattern first if there is one, then the operations, and writes the result as
    /// folded text.
    ///
    /// Folded text streams: lines that are only selected are copied as they stand, in their order,
    /// with all comments but counts that may not hold any more. Blank lines are left out.
    ///
    /// # Errors
    /// Those of reading and writing; [`crate::ErrorKind::Overflow`] where weights are added up; and
    /// [`crate::ErrorKind::Setting`] for weights whose unit an operation has to know.
    pub fn run(&mut self, input: &Opened, options: &RunOptions, out: &mut dyn Write) -> Result<Filtered> {
        match input {
            Opened::Folded(sources) => self.run_folded(sources, options, out),
            Opened::Profile(profile, report) => {
                let filtered = self.run_profile(profile, options, out)?;
                Ok(Filtered { not_understood: report.not_understood.clone(), ..filtered })
            }
        }
    }
}
