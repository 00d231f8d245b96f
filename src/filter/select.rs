//! Copies the lines whose stack a pattern matches, or does not match.

use std::io::Write;

use super::pattern::Pattern;
use super::scan::{Flow, StackLine, Visitor, scan};
use crate::error::Result;
use crate::folded::{Columns, NotUnderstood, Weights};
use crate::input::Source;

/// What to do with the stacks a pattern matches.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Selection {
    /// Keep those that are *not* matched.
    pub invert: bool,
    /// Add up the weights of what is kept and dropped; otherwise they stay zero.
    pub weigh: bool,
    /// Stop at the first stack that is kept.
    pub first_only: bool,
}

/// A number of stacks and their weight.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// How many lines.
    pub stacks: u64,
    /// Their weight, if it was asked for.
    pub weights: Weights,
}

impl Tally {
    /// Both together.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Overflow`].
    pub fn checked_add(self, other: Tally) -> Result<Tally> {
        Ok(Tally { stacks: self.stacks + other.stacks, weights: self.weights.checked_add(other.weights)? })
    }

    #[inline]
    pub(super) fn note(&mut self, weights: Weights) -> Result<()> {
        self.stacks += 1;
        self.weights = self.weights.checked_add(weights)?;
        Ok(())
    }
}

/// What a selection came across.
#[derive(Clone, Debug, Default)]
pub struct Selected {
    /// What was written.
    pub kept: Tally,
    /// What was not.
    pub dropped: Tally,
    /// One or two weights on each line.
    pub columns: Columns,
    /// Lines left out because they are no folded stacks.
    pub not_understood: NotUnderstood,
}

/// Reads folded files one after the other and writes the lines whose stack is wanted, unchanged
/// and in their order, and all comments. Blank lines are left out. Memory is one block.
///
/// # Errors
/// Those of reading and writing; [`crate::ErrorKind::Overflow`] if weights are added up; and
/// [`crate::ErrorKind::Malformed`] for a line with one weight after lines that all had two.
///
/// ```
/// use fg_tools::filter::{Pattern, PatternOptions, Selection, select};
/// use fg_tools::input::Source;
///
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("out.folded");
/// std::fs::write(&path, "main;idle 90\nmain;work 42\n")?;
/// let idle = Pattern::new(&["idle$"], PatternOptions::default())?;
/// let mut busy = Vec::new();
/// let not = Selection { invert: true, ..Selection::default() };
/// let selected = select(&[Source::new(&path)], &idle, not, &mut busy)?;
/// assert_eq!((busy.as_slice(), selected.kept.stacks), (&b"main;work 42\n"[..], 1));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn select(
    sources: &[Source],
    pattern: &Pattern,
    selection: Selection,
    out: &mut dyn Write,
) -> Result<Selected> {
    let mut selector = Selector { selection, kept: Tally::default(), dropped: Tally::default() };
    let scanned = scan(sources, Some(pattern), out, &mut selector)?;
    let Selector { kept, dropped, .. } = selector;
    Ok(Selected { kept, dropped, columns: scanned.columns, not_understood: scanned.not_understood })
}

struct Selector {
    selection: Selection,
    kept: Tally,
    dropped: Tally,
}

impl Visitor for Selector {
    #[inline]
    fn stack(&mut self, line: StackLine<'_>) -> Result<Flow> {
        let keep = line.matched != self.selection.invert;
        let weights = if self.selection.weigh { line.weights() } else { Weights::default() };
        let tally = if keep { &mut self.kept } else { &mut self.dropped };
        tally.note(weights)?;
        Ok(match keep {
            true if self.selection.first_only => Flow::Stop,
            true => Flow::Keep,
            false => Flow::Drop,
        })
    }
}
