//! Both sides, read once and ready to be written or reported.

use super::fuzzy::CallGraph;
use super::join::{Pair, Rename};
use super::net::Calls;
use super::normalize::{Normalize, Ratio, Scale, decimals_for};
use super::notes::{self, Note};
use super::options::ReportOptions;
use super::recording::{Part, Recording};
use super::renamer::Renamer;
use super::report::Report;
use super::roots::{self, Roots};
use super::run_weights::RunWeights;
use super::side::Side;
use super::survey::Survey;
use crate::error::{Error, ErrorKind, Position, Result};
use crate::filter::{Pattern, PatternOptions};
use crate::folded::{StackTable, Weights};
use crate::profile::{Facts, Profile, Samples};
use crate::significance::blocks::PER_BLOCK;
use crate::tally::RowKind;
use crate::weight::Weight;

/// Both sides, read once, with all that is known before a line is written.
pub(crate) struct Prepared<'s> {
    pair: Pair<'s>,
    renamer: Renamer,
    renamed: Vec<(Vec<u8>, Vec<u8>)>,
    /// The program at the root of the stacks, if it has another name on each side.
    program: Option<(Vec<u8>, Vec<u8>)>,
    /// The weights that are made equal when sides are normalized.
    references: (Weight, Weight),
    facts: Facts,
    /// A recording says when its samples were taken.
    has_times: bool,
}

impl<'s> Prepared<'s> {
    /// Reads all recordings once. For a report, it has to be possible to compare the sides.
    ///
    /// # Errors
    /// Those of reading; [`ErrorKind::Setting`] for different units, for differential profiles, and
    /// for options with a mistake.
    pub(crate) fn new(
        before: &'s [Recording],
        after: &'s [Recording],
        options: &ReportOptions,
        is_report: bool,
    ) -> Result<Prepared<'s>> {
        let pattern = |regex: &String| Pattern::new(&[regex], PatternOptions::default());
        let reference = options.normalize_by.as_ref().map(pattern).transpose()?;
        let mut renamer = Renamer::new(options.strip.as_deref())?;
        let pair = Pair::open(before, after, reference.as_ref(), true)?;
        if let Some(note) =
            pair.unit_note.as_ref().filter(|_| is_report && options.normalize == Normalize::No)
        {
            let what = format!("{note}, so they cannot be compared; -n compares shares");
            return Err(Error::setting(what));
        }
        for (side, recordings) in [(Side::Before, before), (Side::After, after)] {
            expect_stacks(side, recordings, pair.surveys(side), is_report)?;
        }
        let facts = scaled_facts(pair.facts(), options.normalize);
        let references = match reference {
            Some(_) => references(&pair)?,
            None => (pair.total(Side::Before)?, pair.total(Side::After)?),
        };
        let program = program(&pair);
        program.iter().for_each(|names| renamer.rename_program(names.clone()));
        let has_times = before.iter().chain(after).any(Recording::has_times);
        Ok(Prepared { pair, renamer, renamed: Vec::new(), program, references, facts, has_times })
    }

    /// The surveys of a side's files.
    pub(crate) fn surveys(&self, side: Side) -> impl Iterator<Item = &Survey> {
        self.pair.surveys(side)
    }

    /// The weight of a side.
    ///
    /// # Errors
    /// [`ErrorKind::Overflow`].
    pub(crate) fn total(&self, side: Side) -> Result<Weight> {
        self.pair.total(side)
    }

    /// Remarks on what the files say of themselves.
    pub(crate) fn notes(&self, options: &ReportOptions) -> Vec<Note> {
        let facts = |side| self.surveys(side).map(|survey| &survey.facts).collect::<Vec<_>>();
        let mut notes = notes::of_facts(&facts(Side::Before), &facts(Side::After), options);
        notes::add_program(&mut notes, self.program.as_ref());
        notes
    }

    /// A remark on the units of the files.
    pub(crate) fn unit_note(&self) -> Option<&str> {
        self.pair.unit_note.as_deref()
    }

    /// The facts of both sides.
    pub(crate) fn facts(&self) -> &Facts {
        &self.facts
    }

    /// Finds functions with a new name, if that is asked for.
    fn match_renamed(&mut self, options: &ReportOptions) -> Result<()> {
        if !options.match_renamed || !self.renamed.is_empty() {
            return Ok(());
        }
        let mut graph = CallGraph::default();
        let mut stack = Vec::new();
        let renamer = &mut self.renamer;
        self.pair.read(&mut |_, side, part| {
            let Part::Line(line, weight) = part else { return Ok(()) };
            stack.clear();
            renamer.apply(side, line, &mut stack);
            graph.add(side, &stack, weight.to_f64());
            Ok(())
        })?;
        self.renamed = graph.renamed();
        self.renamer.rename(&self.renamed);
        Ok(())
    }

    /// The report.
    ///
    /// # Errors
    /// Those of reading, and [`ErrorKind::Overflow`].
    pub(crate) fn report(&mut self, options: &ReportOptions) -> Result<Report> {
        self.match_renamed(options)?;
        let Prepared { pair, renamer, renamed, program, references, facts, .. } = self;
        let surveys = |side| pair.surveys(side).cloned().collect::<Vec<_>>();
        let (before, after) = (surveys(Side::Before), surveys(Side::After));
        let mut weights = RunWeights::new(options.by, before.len() + after.len());
        let mut run = usize::MAX;
        let per_block = if before.len() + after.len() > 2 { 1 } else { PER_BLOCK };
        let mut blocks = 0;
        let mut stack = Vec::new();
        let mut cut = Vec::new();
        let is_needed = renamer.is_needed();
        let mut named = Vec::new();
        let mut plain = move |side: Side, line: &[u8], stack: &mut Vec<u8>| {
            stack.clear();
            let line = options.plain(line, &mut cut, &mut named);
            if is_needed { renamer.apply(side, line, stack) } else { stack.extend_from_slice(line) }
        };
        pair.read(&mut |file, side, part| {
            if run != file {
                run = file;
                blocks = 0;
                weights.begin(file)?;
            }
            let Part::Line(line, weight) = part else {
                blocks += 1;
                return if blocks % per_block == 0 { weights.end_block() } else { Ok(()) };
            };
            plain(side, line, &mut stack);
            weights.add(&stack, weight)
        })?;
        weights.finish()?;
        let mut calls = |names: &[Vec<u8>]| {
            let mut calls = Calls::of(names, before.len() + after.len());
            // Only functions have calls.
            if options.by == RowKind::Function {
                pair.read(&mut |file, side, part| {
                    let Part::Line(line, weight) = part else { return Ok(()) };
                    plain(side, line, &mut stack);
                    calls.add(file, &stack, weight)
                })?;
            }
            Ok(calls)
        };
        let mut report = Report::new(&weights, (&before, &after), *references, options, &mut calls)?;
        notes::add_program(&mut report.notes, program.as_ref());
        Ok(Report { renamed: renamed.clone(), facts: facts.clone(), ..report })
    }

    /// States the verdicts among the facts where two columns do not tell them: of several runs, of recordings that say
    /// when samples were taken, and with options of its own. Nothing is stated of sides that cannot be compared.
    ///
    /// # Errors
    /// Those of [`Prepared::report`].
    pub(crate) fn judge(&mut self, options: &ReportOptions) -> Result<()> {
        let surveys = || [Side::Before, Side::After].into_iter().flat_map(|side| self.pair.surveys(side));
        let is_told = surveys().count() == 2 && !self.has_times && options.judge_as_usual();
        let is_comparable = self.pair.unit_note.is_none() || options.normalize != Normalize::No;
        if !is_told && is_comparable && surveys().all(|survey| survey.total > Weight::ZERO) {
            self.facts.findings = Some(Box::new(self.report(options)?.findings()));
        }
        Ok(())
    }

    /// The differential profile: every stack with its weights before and after, scaled as asked for.
    ///
    /// # Errors
    /// Those of [`Prepared::join`].
    #[cfg_attr(not(feature = "cli"), allow(dead_code))]
    pub(crate) fn profile(self, options: &ReportOptions) -> Result<Profile> {
        let facts = self.facts.clone();
        let mut stacks = StackTable::default();
        stacks.make_differential();
        self.join(options, &mut |stack, weights| stacks.add_stack(stack, weights))?;
        Profile::new(facts, stacks, Samples::default())
    }

    /// Hands every stack of either side to `each`, in frame order, with its weights before and
    /// after, scaled as asked for.
    ///
    /// # Errors
    /// Those of reading and of `each`.
    pub(crate) fn join(
        mut self,
        options: &ReportOptions,
        each: &mut dyn FnMut(&[u8], Weights) -> Result<()>,
    ) -> Result<()> {
        self.match_renamed(options)?;
        let totals = (self.pair.total(Side::Before)?, self.pair.total(Side::After)?);
        let ratios = options.normalize.ratios(self.references.0, self.references.1);
        let mut scales = scales(ratios, totals)?;
        let mut renamer = self.renamer;
        let is_needed = renamer.is_needed();
        let mut apply = |side: Side, stack: &[u8], out: &mut Vec<u8>| renamer.apply(side, stack, out);
        let rename: Option<&mut Rename<'_>> = if is_needed { Some(&mut apply) } else { None };
        self.pair.join(rename, &mut |stack, weights| {
            let (before, after) = (scales.0.next(weights.before)?, scales.1.next(weights.value)?);
            each(stack, Weights { before, value: after })
        })
    }
}

/// The names of the program before and after, if they differ.
fn program(pair: &Pair<'_>) -> Option<(Vec<u8>, Vec<u8>)> {
    let of_side = |side| {
        let mut roots = Roots::default();
        pair.surveys(side).for_each(|survey| roots.add(&survey.roots));
        (roots, pair.surveys(side).map(|survey| &survey.facts).collect::<Vec<_>>())
    };
    let (before, after) = (of_side(Side::Before), of_side(Side::After));
    roots::program((&before.0, &before.1), (&after.0, &after.1))
}

/// Refuses a side without stacks, and for a report one with a recording that weighs nothing: nothing can
/// be said of a change since.
fn expect_stacks<'s>(
    side: Side,
    recordings: &[Recording],
    surveys: impl Iterator<Item = &'s Survey>,
    is_report: bool,
) -> Result<()> {
    let empty = |what: &str| {
        let what = format!("the profile {} {what}, so there is nothing to compare", side.name());
        crate::Error::from(ErrorKind::Empty { what })
    };
    if recordings.is_empty() {
        return Err(empty("is missing"));
    }
    for (recording, survey) in recordings.iter().zip(surveys) {
        let what = match survey.lines {
            0 => "has no stacks",
            _ if is_report && survey.total.is_zero() => "weighs nothing",
            _ => continue,
        };
        // Text without a single stack is said to be that.
        survey.not_understood.refuse()?;
        let at = || recording.name().map_or_else(Position::default, Position::file);
        return Err(empty(what).or_at(at));
    }
    Ok(())
}

fn scales(ratios: (Ratio, Ratio), totals: (Weight, Weight)) -> Result<(Scale, Scale)> {
    let scaled = ratios.0.apply(totals.0, 3)?.max(ratios.1.apply(totals.1, 3)?);
    let decimals = decimals_for(scaled).max(totals.0.decimals()).max(totals.1.decimals());
    Ok((Scale::new(ratios.0, decimals), Scale::new(ratios.1, decimals)))
}

/// The weights of the frames that are to weigh the same.
fn references(pair: &Pair<'_>) -> Result<(Weight, Weight)> {
    let of_side = |side: Side| -> Result<Weight> {
        let weight =
            pair.surveys(side).try_fold(Weight::ZERO, |sum, survey| sum.checked_add(survey.reference))?;
        if weight <= Weight::ZERO {
            let what = format!("--normalize-by: no weight {} in frames that match", side.name());
            return Err(Error::setting(what));
        }
        Ok(weight)
    };
    Ok((of_side(Side::Before)?, of_side(Side::After)?))
}

/// The facts of both sides, without the period of weights that are scaled: no sample weighs that.
fn scaled_facts(mut facts: Facts, normalize: Normalize) -> Facts {
    if normalize == Normalize::No {
        return facts;
    }
    facts.period = None;
    if let Some(sides) = &mut facts.sides {
        if normalize != Normalize::AfterToBefore {
            sides.before.period = None;
        }
        if normalize != Normalize::BeforeToAfter {
            sides.after.period = None;
        }
    }
    facts
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Profile;
    use crate::diff::Diff;
    use crate::input::Source;
    use crate::profile::{Context, ProfileBuilder, Wants};

    #[test]
    fn blocks_are_longer_where_nothing_else_tells_the_spread() {
        let run = |seed: u64| -> Profile {
            let mut builder = ProfileBuilder::new(Wants::ALL);
            for time in 0..800 {
                // Phases of ten samples: more spread than independent samples have.
                let phase = (time / 10 + seed * 1000).wrapping_mul(0x9e37_79b9_7f4a_7c15);
                let name = if phase >> 63 == 0 { "a" } else { "b" };
                let context = Context { time: Some(time), ..Context::UNKNOWN };
                builder.add_at(["main", name], Weight::ONE, &context).unwrap();
            }
            builder.finish().unwrap()
        };
        let options = ReportOptions::default().one_run(true).period(Weight::ONE);
        let report = Diff::new(&run(0), &run(1)).report_with(&options).unwrap();
        let row = report.rows.iter().find(|row| row.name == b"a").unwrap();
        let freedom = row.total.share.unwrap().freedom;
        // Forty blocks of a recording are twenty pairs.
        assert!((19.0..=38.0).contains(&freedom), "{freedom}");
    }

    #[test]
    fn a_side_without_a_unit_is_refused_unless_shares_are_compared() {
        let said = |before: &'static str, after: &'static str, normalize: Normalize| {
            let side = |text: &'static str| [Recording::Folded(Source::bytes(text))];
            let (before, after) = (side(before), side(after));
            let options = ReportOptions::default().normalize(normalize);
            let prepared = Prepared::new(&before, &after, &options, true);
            prepared
                .map(|prepared| prepared.unit_note().map(str::to_owned))
                .map_err(|error| error.to_string())
        };
        let (known, unknown) = ("# unit: us\na 5000\n", "a 5\n");
        assert_eq!(said(known, "# unit: us\na 5\n", Normalize::No), Ok(None));
        let refused = said(known, unknown, Normalize::No).expect_err("5,000 us are no 5");
        assert!(refused.contains("some profiles are in us, others do not say their unit"), "{refused}");
        assert!(said(known, unknown, Normalize::BeforeToAfter).unwrap().is_some());
    }
}
