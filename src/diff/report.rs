//! The changes of all functions, their size and their significance: the numbers behind every table
//! and gate.

use super::change::{Change, Presence, Row};
use super::detectable::Detectable;
use super::escape::Escape;
use super::judge::{Judge, Judged};
use super::net::Calls;
use super::notes::{self, Note};
use super::numbers::p_short;
use super::options::{ReportOptions, Sort};
use super::run_spread::RunSpread;
use super::run_weights::RunWeights;
use super::sampling::Sampling;
use super::survey::Survey;
use crate::error::{Error, Result};
use crate::facts::Findings;
use crate::profile::{Facts, units};
use crate::significance::Permutation;
use crate::weight::Weight;

/// Sets [`Row::net`] of the functions whose own weight grew.
fn add_net(
    rows: &mut [Row],
    judge: &Judge<'_>,
    weights: &RunWeights,
    before: usize,
    whole: Weight,
    calls: &mut dyn FnMut(&[Vec<u8>]) -> Result<Calls>,
) -> Result<()> {
    let grew = |row: &Row| {
        let is_larger = row.own.difference().is_ok_and(|size| size > Weight::ZERO);
        row.own.stands_out() && is_larger && row.presence() == Presence::Both
    };
    let names: Vec<Vec<u8>> = rows.iter().filter(|row| grew(row)).map(|row| row.name.clone()).collect();
    if names.is_empty() {
        return Ok(());
    }
    let calls = calls(&names)?;
    // Rows are still in the order of the weights.
    for (row, of_row) in rows.iter_mut().zip(weights.rows()) {
        let own: Vec<Weight> = of_row.cells.iter().map(|cell| cell.own).collect();
        if let Some(net) = calls.net(&row.name, &own, before)? {
            row.net = Some(judge.net(&row.own, &net, of_row.spread, whole)?);
        }
    }
    Ok(())
}

/// All changes between two profiles.
///
/// ```
/// use fg_tools::Profile;
/// use fg_tools::diff::{Diff, ReportFormat};
///
/// let before = Profile::from_lines(["main;parse 401", "main;write 390"])?;
/// let after = Profile::from_lines(["main;parse 2700", "main;write 391"])?;
/// let report = Diff::new(&before, &after).report()?;
/// assert!(report.headline().starts_with("slower: parse +2,299 (+573%)"));
/// let mut table = Vec::new();
/// report.write(ReportFormat::Markdown, &mut table)?;
/// assert!(table.starts_with("**slower: `parse` +2,299 (+573%)".as_bytes()));
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
    /// The spread between runs that is assumed of a side of one run.
    pub run_spread: RunSpread,
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
    /// The report of weights whose first `before.len()` runs are before. `calls` reads the calls of some functions.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Overflow`].
    pub(crate) fn new(
        weights: &RunWeights,
        surveys: (&[Survey], &[Survey]),
        references: (Weight, Weight),
        options: &ReportOptions,
        calls: &mut dyn FnMut(&[Vec<u8>]) -> Result<Calls>,
    ) -> Result<Report> {
        let mut judge = Judge::new(weights, surveys, references, options)?;
        let profile = judge.whole()?;
        let Judged { mut rows, tests, permutation } = judge.rows(weights.rows(), profile.before)?;
        add_net(&mut rows, &judge, weights, surveys.0.len(), profile.before, calls)?;
        let mut report = Report {
            rows,
            profile,
            sampling: judge.sampling,
            run_spread: judge.prior,
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
        report.notes.extend(notes::of_permutation(report.permutation, &report.rows, options));
        report.sort()?;
        Ok(report)
    }

    /// The unit as an output has to write it, if there is one.
    pub(super) fn unit_as(&self, escape: &Escape) -> Option<String> {
        self.unit().map(escape.unit)
    }

    /// The unit of the weights, if both sides know it.
    pub fn unit(&self) -> Option<&str> {
        self.facts.unit.as_deref()
    }

    /// A weight for people: scaled, with its unit as `escape` writes it.
    pub(super) fn amount(&self, weight: Weight, escape: &Escape) -> String {
        units::amount(weight, self.unit_as(escape).as_deref())
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
            Some(note) => Err(Error::setting(format!("no gate can judge this: {}", note.text))),
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
            keyed.push(((!row.is_significant(), !row.is_suspected()), sizes, row));
        }
        keyed.sort_by(|a, b| {
            let by_size = || b.1.0.cmp(&a.1.0).then(b.1.1.cmp(&a.1.1));
            let sure = if sort == Sort::Name { std::cmp::Ordering::Equal } else { a.0.cmp(&b.0) };
            sure.then_with(by_size).then_with(|| a.2.name.cmp(&b.2.name))
        });
        self.rows = keyed.into_iter().map(|(_, _, row)| row).collect();
        Ok(())
    }

    /// The verdicts, as facts of the profile of two columns that is drawn.
    pub fn findings(&self) -> Findings {
        let mut findings = Findings::default();
        findings.set_verdict(&self.headline());
        let p_of = |change: &Change| change.p.filter(|_| change.stands_out()).map(p_short);
        for row in self.standing_out() {
            findings.add(&row.name, p_of(&row.own), p_of(&row.total));
        }
        findings
    }

    /// The rows with a significant change.
    pub fn significant(&self) -> impl Iterator<Item = &Row> {
        self.rows.iter().filter(|row| row.is_significant())
    }

    /// The rows that are named and have a colour: see [`Row::stands_out`].
    pub(super) fn standing_out(&self) -> impl Iterator<Item = &Row> {
        self.rows.iter().filter(|row| row.stands_out())
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
