//! The changes of all functions, their size and their significance: the numbers behind every table
//! and gate.

use super::detectable::Detectable;
use super::escape::Escape;
use super::format::{FormatOptions, ReportFormat};
use super::gate::Gate;
use super::judge::{Judge, Judged};
use super::notes::{self, Note};
use super::options::{ReportOptions, Sort};
use super::run_weights::RunWeights;
use super::survey::Survey;
use super::verdict::Verdict;
use crate::error::{ErrorKind, Result};
use crate::profile::{Facts, units};
use crate::significance::{Permutation, Test};
use crate::weight::Weight;
use std::io::Write;

/// A weight before and after.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Change {
    /// Before, normalised; the mean of several runs.
    pub before: Weight,
    /// After, likewise.
    pub after: Weight,
    /// Its share of the profile before, 0 to 1.
    pub share_before: f64,
    /// Its share of the profile after.
    pub share_after: f64,
    /// The test of it; `None` if there are too few samples to test.
    pub test: Option<Test>,
    /// True if it is significant: more than noise, and large enough.
    pub significant: bool,
    /// The smallest change that would have been found; `None` if it was not tested.
    pub detectable: Option<Detectable>,
}

impl Change {
    /// After less before.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Overflow`].
    pub fn difference(&self) -> Result<Weight> {
        self.after.checked_sub(self.before)
    }

    /// The change in percent; `None` for what was not there before.
    pub fn percent(&self) -> Option<f64> {
        let (before, after) = (self.before.to_f64(), self.after.to_f64());
        (before != 0.0).then(|| 100.0 * (after - before) / before)
    }

    /// The change of the share, in percentage points.
    pub fn points(&self) -> f64 {
        100.0 * (self.share_after - self.share_before)
    }
}

/// The change of a function, or of whatever the report has rows for.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Row {
    /// Its name.
    pub name: Vec<u8>,
    /// The weight of stacks that end in it.
    pub own: Change,
    /// The weight of stacks through it.
    pub total: Change,
}

/// The sides on which a function is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Presence {
    /// On both sides.
    Both,
    /// Not before.
    New,
    /// Not after.
    Gone,
}

impl Row {
    /// Returns true if its self or its total weight changed significantly.
    pub fn is_significant(&self) -> bool {
        self.own.significant || self.total.significant
    }

    /// The sides on which it is.
    pub fn presence(&self) -> Presence {
        match (self.total.before.is_zero(), self.total.after.is_zero()) {
            (true, false) => Presence::New,
            (false, true) => Presence::Gone,
            _ => Presence::Both,
        }
    }

    /// The significant change of the two; that in self weight if both are, or none.
    pub fn leading(&self) -> &Change {
        if self.own.significant || !self.total.significant { &self.own } else { &self.total }
    }
}

/// The samples of a side.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Sampling {
    /// The number of recordings.
    pub runs: usize,
    /// The weight of all of them, as recorded.
    pub total: Weight,
    /// The number of samples they hold together.
    pub samples: f64,
    /// The weight of a sample.
    pub period: Weight,
    /// True if that was given or counted; otherwise it is a careful guess.
    pub period_known: bool,
    /// The number of independent samples that would tell as much: fewer than `samples` if the program
    /// has phases. Equal to `samples` if independence was assumed.
    pub worth: f64,
    /// The source of the spread that changes are compared with.
    pub spread: Spread,
}

/// The source of the spread that changes are compared with: how much a recording of the same program
/// may differ from another.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Spread {
    /// One recording a side without times: samples were assumed to be independent.
    #[default]
    Assumed,
    /// One recording a side: the spread between blocks of time within each.
    Blocks,
    /// Several recordings a side: the spread between them.
    Runs,
}

/// All changes between two profiles.
///
/// ```
/// use fg_tools::Profile;
/// use fg_tools::diff::{Diff, ReportFormat};
///
/// let before = Profile::from_lines(["main;parse 401", "main;write 390"])?;
/// let after = Profile::from_lines(["main;parse 700", "main;write 391"])?;
/// let report = Diff::new(&before, &after).report()?;
/// assert!(report.headline().starts_with("1 grew, 0 shrank; most: parse, self 401 → 700, +75%, p < 0.001"));
/// let mut table = Vec::new();
/// report.write(ReportFormat::Markdown, &mut table)?;
/// assert!(table.starts_with(b"**1 grew, 0 shrank; most: `parse`"));
/// # Ok::<(), fg_tools::Error>(())
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Report {
    /// The changes of the functions, or whatever the rows are of, largest first.
    pub rows: Vec<Row>,
    /// The change of the whole.
    pub profile: Change,
    /// The samples before and after.
    pub sampling: (Sampling, Sampling),
    /// The number of tests the p-values are adjusted for.
    pub tests: usize,
    /// The check by permutation of the runs, from five a side.
    pub permutation: Option<Permutation>,
    /// The options of the report.
    pub options: ReportOptions,
    /// The facts of both sides.
    pub facts: Facts,
    /// Names that were matched as one function: before, after.
    pub renamed: Vec<(Vec<u8>, Vec<u8>)>,
    /// Remarks on what makes the sides unlike, and on names that differ by a line number only.
    pub notes: Vec<Note>,
}

impl Report {
    /// The report of weights whose first `before.len()` runs are before.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Overflow`].
    pub(crate) fn new(
        weights: &RunWeights,
        surveys: (&[Survey], &[Survey]),
        references: (Weight, Weight),
        options: &ReportOptions,
    ) -> Result<Report> {
        let mut judge = Judge::new(weights, surveys, references, options)?;
        let profile = judge.whole()?;
        let Judged { rows, tests, permutation } = judge.rows(weights.rows(), profile.before)?;
        let mut report = Report {
            rows,
            profile,
            sampling: judge.sampling,
            tests,
            permutation,
            options: options.clone(),
            facts: Facts::default(),
            renamed: Vec::new(),
            notes: Vec::new(),
        };
        let [before, after] =
            [surveys.0, surveys.1].map(|runs| runs.iter().map(|run| &run.facts).collect::<Vec<_>>());
        report.notes = notes::of_facts(&before, &after, options);
        report.notes.extend(notes::of_names(&report.rows, options)?);
        report.notes.extend(notes::of_permutation(&report));
        report.sort()?;
        Ok(report)
    }

    /// The unit of the weights, if both sides know it.
    pub fn unit(&self) -> Option<&str> {
        self.facts.unit.as_deref()
    }

    /// A weight for people: scaled, with its unit as `escape` writes it.
    pub(super) fn amount(&self, weight: Weight, escape: &Escape) -> String {
        units::amount(weight, escape.unit_of(self).as_deref())
    }

    /// Writes the report in a format, with the format's own number of rows and no colours.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Overflow`], and what `out` says.
    pub fn write(&self, format: ReportFormat, out: &mut dyn Write) -> Result<()> {
        self.write_with(format, &FormatOptions::default(), out)
    }

    /// Writes the report in a format.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Overflow`], and what `out` says.
    pub fn write_with(
        &self,
        format: ReportFormat,
        options: &FormatOptions,
        out: &mut dyn Write,
    ) -> Result<()> {
        format.write(self, options, out)
    }

    /// Judges the report by gates, written as in [`Gate::parse_all`]: `total>5% self>2pp`.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Setting`] for a gate with a mistake, and for one that cannot trip.
    pub fn gate(&self, gates: &str) -> Result<Verdict> {
        self.judge(&Gate::parse_all(gates)?)
    }

    /// Judges the report by gates.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Setting`] for a gate that cannot trip.
    pub fn judge(&self, gates: &[Gate]) -> Result<Verdict> {
        Verdict::of(self, gates)
    }

    /// The smallest change that would have been found in any function that was tested, the noisiest
    /// one: a larger one would not have been missed, wherever it was. That of the whole is in
    /// [`Report::profile`]. `None` if no function was tested.
    pub fn detectable(&self) -> Option<Detectable> {
        let changes = self.rows.iter().flat_map(|row| [&row.own, &row.total]);
        let known = changes.filter_map(|change| change.detectable);
        known.max_by(|a, b| a.points.total_cmp(&b.points))
    }

    /// Refuses to judge sides that do not measure the same.
    pub(super) fn expect_comparable(&self) -> Result<()> {
        match self.notes.iter().find(|note| note.refused_by_gates) {
            Some(note) => {
                Err(ErrorKind::Setting { what: format!("no gate can judge this: {}", note.text) }.into())
            }
            None => Ok(()),
        }
    }

    fn sort(&mut self) -> Result<()> {
        let sort = self.options.sort;
        let size = |change: &Change| -> Result<Weight> {
            let difference = change.difference()?;
            Ok(if difference.is_negative() { difference.negated() } else { difference })
        };
        let mut keyed = Vec::with_capacity(self.rows.len());
        for row in std::mem::take(&mut self.rows) {
            let sizes = match sort {
                Sort::Own => (size(&row.own)?, size(&row.total)?),
                Sort::Total => (size(&row.total)?, size(&row.own)?),
                Sort::Name => (Weight::ZERO, Weight::ZERO),
            };
            keyed.push((!row.is_significant(), sizes, row));
        }
        keyed.sort_by(|a, b| {
            let by_size = || b.1.0.cmp(&a.1.0).then(b.1.1.cmp(&a.1.1));
            let sure = if sort == Sort::Name { std::cmp::Ordering::Equal } else { a.0.cmp(&b.0) };
            sure.then_with(by_size).then_with(|| a.2.name.cmp(&b.2.name))
        });
        self.rows = keyed.into_iter().map(|(_, _, row)| row).collect();
        Ok(())
    }

    /// The rows with a significant change.
    pub fn significant(&self) -> impl Iterator<Item = &Row> {
        self.rows.iter().filter(|row| row.is_significant())
    }

    /// Two lines that say what each side is: command, weight, samples, date. Empty if nothing is
    /// known of a side.
    pub fn sides(&self) -> Vec<(&'static str, String)> {
        let Some(sides) = &self.facts.sides else { return Vec::new() };
        let both = [("before", &sides.before, self.sampling.0), ("after", &sides.after, self.sampling.1)];
        let line = |(name, facts, sampling): (&'static str, &Facts, Sampling)| {
            let runs = (sampling.runs > 1).then(|| format!("{} runs", sampling.runs));
            let known = facts.title().into_iter().chain(facts.subtitle(sampling.total));
            let known: Vec<String> = known.collect();
            (!known.is_empty()).then(|| (name, known.into_iter().chain(runs).collect::<Vec<_>>().join(" · ")))
        };
        both.into_iter().filter_map(line).collect()
    }
}
