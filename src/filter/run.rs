//! The options of a run, and its effect: the numbers of stacks that came, were kept and were dropped.

use super::pattern::Pattern;
use crate::error::Result;
use crate::folded::{Columns, NotUnderstood, Weights};
use crate::profile::Facts;

/// The options of a run besides its operations.
///
/// ```
/// use fg_tools::filter::{Pattern, PatternOptions, RunOptions};
///
/// let idle = Pattern::new(&["idle$"], PatternOptions::default())?;
/// let options = RunOptions::default().without(idle).weigh(true).header(false);
/// # let _ = options;
/// # Ok::<(), fg_tools::Error>(())
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct RunOptions {
    /// Stacks have to match this before the operations come.
    pub pattern: Option<Pattern>,
    /// Keep the stacks that the pattern does *not* match.
    pub invert: bool,
    /// Add up the weights of all that is kept and dropped; otherwise they stay zero.
    pub weigh: bool,
    /// Stop at the first stack that is kept, where lines are copied.
    pub first_only: bool,
    /// Write the header.
    pub header: bool,
}

impl Default for RunOptions {
    fn default() -> Self {
        RunOptions { pattern: None, invert: false, weigh: false, first_only: false, header: true }
    }
}

impl RunOptions {
    /// Keeps the stacks that a pattern matches, before the operations come.
    pub fn matching(self, pattern: Pattern) -> Self {
        RunOptions { pattern: Some(pattern), invert: false, ..self }
    }

    /// Keeps the stacks that a pattern does not match, before the operations come.
    pub fn without(self, pattern: Pattern) -> Self {
        RunOptions { pattern: Some(pattern), invert: true, ..self }
    }

    /// Adds up the weights of all that is kept and dropped.
    pub fn weigh(self, weigh: bool) -> Self {
        RunOptions { weigh, ..self }
    }

    /// Stops at the first stack that is kept, where lines are copied.
    pub fn first_only(self, first_only: bool) -> Self {
        RunOptions { first_only, ..self }
    }

    /// Writes the header, which is the default.
    pub fn header(self, header: bool) -> Self {
        RunOptions { header, ..self }
    }
}

/// A number of stacks and their weight.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StackCount {
    /// The number of stacks; of folded text that is copied, the number of lines.
    pub stacks: u64,
    /// Their weight, if it was asked for.
    pub weights: Weights,
}

impl StackCount {
    /// Both together.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Overflow`].
    pub fn checked_add(self, other: StackCount) -> Result<StackCount> {
        Ok(StackCount {
            stacks: self.stacks + other.stacks,
            weights: self.weights.checked_add(other.weights)?,
        })
    }

    #[inline]
    pub(super) fn note(&mut self, weights: Weights) -> Result<()> {
        self.stacks += 1;
        self.weights = self.weights.checked_add(weights)?;
        Ok(())
    }
}

/// The effect of one operation.
#[derive(Clone, Debug)]
pub struct StepReport {
    /// The operation as it was given, `--hide malloc`.
    pub label: String,
    /// The stacks that came to it.
    pub came: StackCount,
    /// The stacks that it left.
    pub left: StackCount,
    /// True if it changes weights, so that those that came and those that it left do not compare.
    pub reweighs: bool,
    /// The unit of the weights that came to it.
    pub unit_came: Option<String>,
    /// The unit of the weights that it left.
    pub unit_left: Option<String>,
    /// A message for the user, such as that its expression matched nothing.
    pub remark: Option<String>,
}

/// The effect of a run.
#[derive(Clone, Debug, Default)]
pub struct Filtered {
    /// The stacks that were read.
    pub came: StackCount,
    /// The stacks that were written.
    pub kept: StackCount,
    /// The stacks that were left out.
    pub dropped: StackCount,
    /// One or two weights with each stack.
    pub columns: Columns,
    /// The facts of the result.
    pub facts: Facts,
    /// The unit of the weights that were read.
    pub unit_came: Option<String>,
    /// Lines left out because they are no folded stacks.
    pub not_understood: NotUnderstood,
    /// The effect of each operation, in their order.
    pub steps: Vec<StepReport>,
}
