//! The settings of a run of the renderer, whatever the format.

use std::path::PathBuf;

use super::RenderOptions;
use super::compare::Comparison;
use super::rewrite::StackRewrite;
use crate::error::Result;
use crate::folded::{Columns, Order, WalkSummary, Weights};
use crate::profile::Facts;
use crate::tally::{GROUPS, RowKind};
use crate::weight::Weight;

/// Settings of every output: which stacks are read, and what each format writes of them. A format
/// ignores the settings that mean nothing to it.
///
/// ```
/// use fg_tools::render::Settings;
///
/// let settings = Settings::default().title("after the fix").width(900).inverted(true);
/// assert_eq!(settings.picture.title.as_deref(), Some("after the fix"));
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Settings {
    /// The order in which stacks are read.
    pub order: Order,
    /// Changes to each stack before it is laid out.
    pub rewrite: StackRewrite,
    /// A line that is not understood is an error.
    pub strict: bool,
    /// Outputs leave out the host, folders, arguments and comments of the recording.
    pub private: bool,
    /// The name of the file that was read: the title of a page where the recording states no command.
    pub input_name: Option<String>,
    /// Text has a header with the facts.
    pub header: bool,
    /// The look of a picture.
    pub picture: RenderOptions,
    /// The part of differential input that is shown.
    pub comparison: Comparison,
    /// The weight of a picture's whole width, if more than all stacks weigh.
    pub total: Option<Weight>,
    /// Every weight is shown multiplied by this.
    pub factor: Weight,
    /// The unit of weights; `None` is the one that the input states.
    pub unit: Option<String>,
    /// The rows of a table and their order.
    pub table: Table,
    /// The part of a tree that is shown.
    pub tree: Tree,
    /// The terminal.
    pub terminal: Terminal,
    /// The functions to look around, as a regular expression.
    pub peek: Option<String>,
    /// The functions whose source lines are listed, as a regular expression.
    pub list: Option<String>,
    /// Outputs show source code that is found below these folders; without any they read no files.
    pub source_folders: Vec<PathBuf>,
    /// A list looks in the current folder, too, and so does a page of a recording that was made on this machine.
    pub source_here: bool,
    /// The program that a profile for compilers is of; `None` is the one with most samples.
    pub binary: Option<PathBuf>,
    /// Another build of it: a message says how much of the profile fits that build.
    pub stale_against: Option<PathBuf>,
    /// The root of the system that the recording was made on, instead of `/`.
    pub symfs: Option<PathBuf>,
    /// Each thread is a profile of its own.
    pub per_thread: bool,
    /// The number of threads that read folded text in order; 0 means one for each processor. The
    /// output is the same.
    pub threads: usize,
    /// Outputs with a time axis say when single samples were taken, where that is known.
    pub times: bool,
    /// New names get colours that are handed back, to be kept for the next picture.
    pub keep_colours: bool,
}

impl Default for Settings {
    fn default() -> Self {
        Settings {
            order: Order::Frame,
            rewrite: StackRewrite::default(),
            strict: false,
            private: false,
            input_name: None,
            header: true,
            picture: RenderOptions::default(),
            comparison: Comparison::default(),
            total: None,
            factor: Weight::ONE,
            unit: None,
            table: Table::default(),
            tree: Tree::default(),
            terminal: Terminal::default(),
            peek: None,
            list: None,
            source_folders: Vec::new(),
            source_here: false,
            binary: None,
            stale_against: None,
            symfs: None,
            per_thread: false,
            threads: 0,
            times: true,
            keep_colours: false,
        }
    }
}

/// The rows of a table and their order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Table {
    /// The things that have rows.
    pub by: RowKind,
    /// The label whose values have rows, instead of `by`; stacks begin with it.
    pub label: Option<String>,
    /// The order of the rows; `None` is the self weight, of differential input its change.
    pub sort: Option<Sort>,
    /// The most rows; `None` is the default of the format.
    pub limit: Option<usize>,
}

impl Table {
    /// The word for the thing that has a row: `function`, or the label.
    pub(super) fn row_name(&self) -> &str {
        let group = || GROUPS.iter().find(|(_, group)| *group == self.by).map_or("", |(name, _)| *name);
        self.label.as_deref().unwrap_or_else(group)
    }

    /// The word for several of them.
    pub(super) fn rows_name(&self) -> String {
        match &self.label {
            Some(label) => format!("values of {label}"),
            None => format!("{}s", self.row_name()),
        }
    }
}

/// The order of a table's rows, the largest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sort {
    /// The self weight.
    Own,
    /// The total weight.
    Total,
    /// The name, in the order of its bytes.
    Name,
    /// The change of the self weight, up or down; then that of the total weight.
    Change,
}

/// Every order: what `--sort` calls it, and itself.
pub const SORTS: &[(&str, Sort)] =
    &[("self", Sort::Own), ("total", Sort::Total), ("name", Sort::Name), ("change", Sort::Change)];

/// The part of a tree that is shown.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Tree {
    /// The least share of the whole, in percent; `None` is the default of the format.
    pub min_percent: Option<f64>,
    /// The most frames from the root; `None` is all.
    pub depth: Option<usize>,
    /// The most tokens of a brief, of four bytes each; `None` is the default of the format.
    pub budget: Option<usize>,
}

impl Settings {
    /// The unit of weights, if it is known.
    pub fn unit<'a>(&'a self, summary: &'a WalkSummary) -> Option<&'a str> {
        self.unit.as_deref().or(summary.facts.unit.as_deref())
    }

    /// The title that is shown: the one that was asked for, the command that was recorded, or the
    /// kind of picture.
    pub fn title_of(&self, facts: &Facts) -> String {
        match &self.picture.title {
            Some(title) => title.clone(),
            None => facts.title().unwrap_or_else(|| self.picture.title().to_owned()),
        }
    }

    /// The title of a page: the one that was asked for, the command, or the name of the file.
    pub(crate) fn page_title(&self, facts: &Facts, columns: Columns) -> String {
        let general = if columns == Columns::Two { "Comparison" } else { "Profile" };
        let given = self.picture.title.clone().or_else(|| facts.title());
        given.or_else(|| self.input_name.clone()).unwrap_or_else(|| general.to_owned())
    }

    /// The line under the title: the one that was asked for, or what was measured, if that is known.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Overflow`].
    pub fn subtitle_of(&self, summary: &WalkSummary) -> Result<Option<String>> {
        if self.picture.subtitle.is_some() {
            return Ok(self.picture.subtitle.clone());
        }
        let (facts, total) = (&summary.facts, self.shown_both(summary.total)?);
        Ok(match summary.columns {
            Columns::One => facts.subtitle(total.value),
            Columns::Two => Some(facts.subtitle_of_sides(total)),
        })
    }

    /// The facts as the outputs state them: in the unit that was asked for, without counts of
    /// stacks that were left out, and without what is private.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Overflow`].
    pub fn facts(&self, facts: &Facts) -> Result<Facts> {
        let mut shown = if self.private { facts.private() } else { facts.clone() };
        if !self.rewrite.bases.is_empty() {
            shown = shown.without_counts();
        }
        shown.period = facts.period.map(|period| self.shown(period)).transpose()?;
        if let Some(unit) = &self.unit {
            if shown.unit.as_ref().is_some_and(|known| known != unit) {
                shown.period = None;
            }
            shown.unit = Some(unit.clone());
        }
        Ok(shown)
    }

    /// Returns true if the user has chosen the unit of weights, or a factor.
    pub(super) fn is_scaled(&self) -> bool {
        self.unit.is_some() || self.factor != Weight::ONE
    }

    /// Returns true if stacks, weights and unit are written as they are.
    pub(crate) fn shows_all(&self) -> bool {
        !self.rewrite.is_needed() && !self.is_scaled()
    }

    /// Returns true if [`Settings::facts`] changes any facts.
    pub(super) fn changes_facts(&self) -> bool {
        self.private || self.unit.is_some() || self.factor != Weight::ONE || !self.rewrite.bases.is_empty()
    }

    /// A weight as it is to be shown.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Overflow`].
    pub fn shown(&self, weight: Weight) -> Result<Weight> {
        if self.factor == Weight::ONE { Ok(weight) } else { weight.checked_mul(self.factor) }
    }

    /// Weights as they are to be shown.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Overflow`].
    pub fn shown_both(&self, weights: Weights) -> Result<Weights> {
        Ok(Weights { value: self.shown(weights.value)?, before: self.shown(weights.before)? })
    }
}

/// A terminal, or what text is written for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Terminal {
    /// The number of its columns.
    pub columns: usize,
    /// The most rows of a graph without a depth of its own, so that its root stays in sight; `None` draws all.
    pub rows: Option<usize>,
    /// Its colours.
    pub paint: Paint,
    /// Flames, not icicles.
    pub root_at_bottom: bool,
}

impl Default for Terminal {
    fn default() -> Self {
        Terminal { columns: 80, rows: None, paint: Paint::No, root_at_bottom: false }
    }
}

/// The colours a terminal has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Paint {
    /// No colours.
    #[default]
    No,
    /// A palette of 256 colours.
    Ansi256,
    /// All colours.
    True,
}
