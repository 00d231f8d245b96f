//! `fg-diff`: before and after, with numbers one can act on.

mod args;

use std::io::{self, IsTerminal, Write};
use std::path::PathBuf;

use anyhow::{Context, bail};
use clap::Parser;

pub use args::{FormArgs, GateArgs, Gates, NameArgs, ScaleArgs, SortKey, TestArgs};

use super::output::{Output, OutputArgs};
use super::{Exit, GenerateArgs, Tool, say, say_not_understood};
use crate::diff::form::{Form, Look};
use crate::diff::{
    CallGraph, Change, Gate, Group, Names, Normalize, Pair, Plan, Report, Scale, Settings, Side, Sort,
    Survey, Tally, Tripped, decimals_for, parse_file,
};
use crate::error::Error;
use crate::filter::{Pattern, PatternOptions};
use crate::folded::Weights;
use crate::input::Source;
use crate::weight::Weight;

/// Above this ratio of the totals a comparison of weights needs a word.
const UNLIKE: f64 = 1.2;

/// Compare profiles before and after a change
///
/// Writes each stack with its weights before and after, for fg-render to draw; or a table of what
/// changed in each function, with a test of whether that is more than noise; or trips a gate.
#[derive(Parser, Debug)]
#[command(
    name = "fg-diff",
    version,
    term_width = 79,
    override_usage = "fg-diff [OPTIONS] BEFORE AFTER\n       fg-diff [OPTIONS] --before FILE... --after FILE...",
    after_help = "\
Examples:
  fg-diff before.folded after.folded | fg-render > diff.svg
  fg-diff --table before.folded after.folded
  fg-diff --markdown --before b1.folded b2.folded --after a1.folded a2.folded
  fg-diff --gate 'total>5% self>2pp' before.folded after.folded || echo slower

Exit status: 0, 1 when a gate tripped, 2 for trouble."
)]
pub struct Diff {
    /// Two files, before and after; `-` is standard input, for one of them
    #[arg(value_name = "FILE", num_args = 0..=2, conflicts_with_all = ["before", "after"])]
    pub files: Vec<PathBuf>,
    /// Recordings of before, one file for each run
    #[arg(long, value_name = "FILE", num_args = 1.., requires = "after")]
    pub before: Vec<PathBuf>,
    /// Recordings of after, one file for each run
    #[arg(long, value_name = "FILE", num_args = 1.., requires = "before")]
    pub after: Vec<PathBuf>,
    /// Where to write.
    #[command(flatten)]
    pub output: OutputArgs,
    /// About the program itself.
    #[command(flatten)]
    pub generate: GenerateArgs,
    /// What to write.
    #[command(flatten)]
    pub form: FormArgs,
    /// How the sides are made comparable.
    #[command(flatten)]
    pub scale: ScaleArgs,
    /// Which names are the same.
    #[command(flatten)]
    pub names: NameArgs,
    /// What counts as a change.
    #[command(flatten)]
    pub test: TestArgs,
    /// What a build must not do.
    #[command(flatten)]
    pub gate: GateArgs,
    /// Fail if a line is not understood
    #[arg(long)]
    pub strict: bool,
    /// Say nothing but errors
    #[arg(short, long)]
    pub quiet: bool,
}

impl Tool for Diff {
    const NAME: &'static str = "fg-diff";

    fn run(self) -> anyhow::Result<Exit> {
        let (before, after) = self.sources()?;
        let gates = self.gates()?;
        let reference = self.scale.normalize_by.as_ref();
        let reference = reference.map(|r| Pattern::new(&[r], PatternOptions::default())).transpose()?;
        if self.write_planned(&before, &after)? {
            return Ok(Exit::Yes);
        }
        let form = self.form.form();
        let is_report = form.is_some() || !gates.is_empty();
        let mut pair = Pair::open(&before, &after, reference.as_ref(), is_report)?;
        self.judge_lines(&pair)?;
        let references = self.references(&pair, reference.is_some())?;
        let mut names = Names::new(self.names.strip().as_deref())?;
        let mut renamed = Vec::new();
        if self.names.fuzzy {
            renamed = match_names(&mut pair, &mut names)?;
            names.rename(&renamed);
        }
        if !is_report {
            self.write_joined(pair, names, references)?;
            return Ok(Exit::Yes);
        }
        let (tally, surveys) = tally(&mut pair, &mut names, self.form.group())?;
        let mut report = Report::new(&tally, (&surveys.0, &surveys.1), references, self.settings())?;
        report.renamed = renamed;
        self.write_report(&report, form, &gates)
    }
}

impl Diff {
    fn sources(&self) -> anyhow::Result<(Vec<Source>, Vec<Source>)> {
        let list = |paths: &[PathBuf]| paths.iter().map(Source::new).collect::<Vec<_>>();
        let (before, after) = match &self.files[..] {
            [before, after] => (vec![Source::new(before)], vec![Source::new(after)]),
            [] if !self.before.is_empty() => (list(&self.before), list(&self.after)),
            _ => bail!(
                "nothing to compare: give BEFORE and AFTER, or --before FILE... --after FILE... (see --help)"
            ),
        };
        if before.iter().chain(&after).filter(|source| source.is_stdin()).count() > 1 {
            bail!("standard input can be one of the files only, not more");
        }
        Ok((before, after))
    }

    fn gates(&self) -> anyhow::Result<Vec<Gate>> {
        let mut all: Vec<Gate> = self.gate.gate.iter().flat_map(|Gates(gates)| gates.clone()).collect();
        for path in &self.gate.gate_file {
            let source = Source::new(path);
            let bytes = source.open()?.read_all()?;
            let text = String::from_utf8(bytes).ok();
            let text = text.with_context(|| format!("{}: gates have to be UTF-8", source.name()))?;
            let gates = parse_file(&text, &source.name())?;
            if gates.is_empty() {
                bail!("{}: there is no gate in it, expected lines such as total>5%", source.name());
            }
            all.extend(gates);
        }
        Ok(all)
    }

    /// Complains of lines that were left out; a file with no other lines is no profile.
    fn judge_lines(&self, pair: &Pair<'_>) -> anyhow::Result<()> {
        for survey in [Side::Before, Side::After].into_iter().flat_map(|side| pair.surveys(side)) {
            if self.strict || survey.lines == 0 {
                survey.not_understood.refuse()?;
            }
            if !self.quiet {
                say_not_understood(Self::NAME, &survey.not_understood);
            }
        }
        Ok(())
    }

    /// The weights that are to be equal, and a word if the sides are unlike and nobody asked.
    fn references(&self, pair: &Pair<'_>, by_frame: bool) -> anyhow::Result<(Weight, Weight)> {
        let (before, after) = (pair.total(Side::Before)?, pair.total(Side::After)?);
        if by_frame {
            let sum = |side| {
                pair.surveys(side).try_fold(Weight::ZERO, |sum, survey| sum.checked_add(survey.reference))
            };
            let (b, a) = (sum(Side::Before)?, sum(Side::After)?);
            for (weight, side) in [(b, "before"), (a, "after")] {
                if weight <= Weight::ZERO {
                    bail!("--normalize-by: no weight {side} in frames that match");
                }
            }
            return Ok((b, a));
        }
        let is_report =
            self.form.form().is_some() || !self.gate.gate.is_empty() || !self.gate.gate_file.is_empty();
        let runs = |side| if is_report { pair.surveys(side).count() as f64 } else { 1.0 };
        let (b, a) = (before.to_f64() / runs(Side::Before), after.to_f64() / runs(Side::After));
        let are_runs = is_report && runs(Side::Before).max(runs(Side::After)) > 1.0;
        self.warn_of_unlike(b, a, if are_runs { " a run" } else { "" });
        Ok((before, after))
    }

    /// A word if the totals, `each` of a run or of all, are unlike and nobody asked.
    fn warn_of_unlike(&self, before: f64, after: f64, each: &str) {
        let asked = self.scale.absolute || self.scale.normalize() != Normalize::No;
        let (b, a) = (before, after);
        if !asked && !self.quiet && b > 0.0 && a > 0.0 && (a / b).max(b / a) > UNLIKE {
            say(
                Self::NAME,
                format_args!(
                    "the totals differ{each}, {b} before and {a} after; -n compares shares, --absolute says this is meant"
                ),
            );
        }
    }

    fn settings(&self) -> Settings {
        let defaults = Settings::default();
        Settings {
            normalize: self.scale.normalize(),
            alpha: self.test.alpha.unwrap_or(defaults.alpha),
            min_effect: self.test.min_effect.unwrap_or(defaults.min_effect),
            min_samples: self.test.min_samples.unwrap_or(defaults.min_samples),
            period: self.test.period,
            sort: match self.form.sort {
                Some(SortKey::Total) => Sort::Total,
                Some(SortKey::Name) => Sort::Name,
                Some(SortKey::Own) => Sort::Own,
                None => defaults.sort,
            },
        }
    }

    /// Joins two plain files by a plan, where nothing is asked for but that; says whether it is
    /// done.
    fn write_planned(&self, before: &[Source], after: &[Source]) -> anyhow::Result<bool> {
        let is_report =
            self.form.form().is_some() || !self.gate.gate.is_empty() || !self.gate.gate_file.is_empty();
        let is_plain =
            self.scale.normalize() == Normalize::No && self.names.strip().is_none() && !self.names.fuzzy;
        let ([before], [after]) = (before, after) else { return Ok(false) };
        if is_report || !is_plain || !before.is_rereadable() || !after.is_rereadable() {
            return Ok(false);
        }
        let Some(plan) = Plan::make(before, after)? else { return Ok(false) };
        self.warn_of_unlike(plan.before.to_f64(), plan.after.to_f64(), "");
        let mut output = self.output.open()?;
        plan.carry_out(before, after, &mut output)?;
        output.finish()?;
        Ok(true)
    }

    fn write_joined(
        &self,
        pair: Pair<'_>,
        mut names: Names,
        references: (Weight, Weight),
    ) -> anyhow::Result<()> {
        let totals = (pair.total(Side::Before)?, pair.total(Side::After)?);
        let ratios = self.scale.normalize().ratios(references.0, references.1);
        let scaled = ratios.0.apply(totals.0, 3)?.max(ratios.1.apply(totals.1, 3)?);
        let decimals = decimals_for(scaled).max(totals.0.decimals()).max(totals.1.decimals());
        let mut scales = (Scale::new(ratios.0, decimals), Scale::new(ratios.1, decimals));
        let output = self.output.open()?;
        let mut out = io::BufWriter::with_capacity(64 * 1024, output);
        let mut line = Vec::new();
        let is_needed = names.is_needed();
        let mut apply = |side: Side, stack: &[u8], out: &mut Vec<u8>| names.apply(side, stack, out);
        pair.join(is_needed.then_some(&mut apply as _), &mut |stack, weights| {
            let (before, after) = (scales.0.next(weights.before)?, scales.1.next(weights.value)?);
            write_line(&mut out, &mut line, stack, Weights { before, value: after })
        })?;
        finish(out)
    }

    fn write_report(&self, report: &Report, form: Option<&Form>, gates: &[Gate]) -> anyhow::Result<Exit> {
        let output = self.output.open()?;
        let mut out = io::BufWriter::new(output);
        let terminal = self.output.output.is_none() && io::stdout().is_terminal();
        let colour = terminal && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
        let limit = self.form.limit.map(|limit| if limit == 0 { usize::MAX } else { limit });
        if let Some(form) = form {
            (form.write)(report, &Look { limit, colour }, &mut out)?;
        }
        let mut verdicts = Vec::new();
        for gate in gates {
            if let Some(why) = gate.is_blind(report, self.gate.any) {
                bail!("gate {gate}: {why}");
            }
            let tripped = gate.tripped_by(report, self.gate.any)?;
            if let Some(worst) = tripped.first() {
                verdicts.push(describe(gate, worst, tripped.len() - 1));
            }
        }
        // The verdict is the result when nothing else is; beside a report it must not spoil it.
        for verdict in &verdicts {
            match form {
                None => writeln!(out, "{verdict}").map_err(Error::from)?,
                Some(_) => say(Self::NAME, verdict),
            }
        }
        finish(out)?;
        Ok(if verdicts.is_empty() { Exit::Yes } else { Exit::No })
    }
}

/// Writes `stack before after`; `line` is scratch.
#[inline]
fn write_line(out: &mut impl Write, line: &mut Vec<u8>, stack: &[u8], weights: Weights) -> crate::Result<()> {
    line.clear();
    line.extend_from_slice(stack);
    for weight in [weights.before, weights.value] {
        line.push(b' ');
        weight.write_to(line);
    }
    line.push(b'\n');
    Ok(out.write_all(line)?)
}

fn finish(out: io::BufWriter<Output>) -> anyhow::Result<()> {
    let output = out.into_inner().map_err(|error| Error::from(error.into_error()))?;
    Ok(output.finish()?)
}

fn match_names(pair: &mut Pair<'_>, names: &mut Names) -> anyhow::Result<Vec<(Vec<u8>, Vec<u8>)>> {
    let mut graph = CallGraph::default();
    let mut stack = Vec::new();
    pair.read(&mut |_, side, line, weight| {
        stack.clear();
        names.apply(side, line, &mut stack);
        graph.add(side, &stack, weight.to_f64());
        Ok(())
    })?;
    Ok(graph.renamed())
}

/// The surveys of before and of after.
type SideSurveys = (Vec<Survey>, Vec<Survey>);

fn tally(pair: &mut Pair<'_>, names: &mut Names, group: Group) -> anyhow::Result<(Tally, SideSurveys)> {
    let surveys = |side| pair.surveys(side).cloned().collect::<Vec<_>>();
    let surveys = (surveys(Side::Before), surveys(Side::After));
    let mut tally = Tally::new(group, surveys.0.len() + surveys.1.len());
    let mut run = usize::MAX;
    let mut renamed = Vec::new();
    let is_needed = names.is_needed();
    pair.read(&mut |file, side, stack, weight| {
        if run != file {
            run = file;
            tally.begin(file)?;
        }
        if !is_needed {
            return tally.add(stack, weight);
        }
        renamed.clear();
        names.apply(side, stack, &mut renamed);
        tally.add(&renamed, weight)
    })?;
    tally.finish()?;
    Ok((tally, surveys))
}

/// `gate total>5%: parse 40 to 44 (+10.0%, +0.41 pp), and 3 more`.
fn describe(gate: &Gate, worst: &Tripped<'_>, more: usize) -> String {
    let name = match worst.row {
        Some(row) => {
            let odd = |c: char| if c.is_control() { char::REPLACEMENT_CHARACTER } else { c };
            String::from_utf8_lossy(&row.name).chars().map(odd).collect()
        }
        None => "the whole profile".to_owned(),
    };
    let Change { before, after, .. } = worst.change;
    let percent =
        worst.change.percent().map_or_else(|| "new".to_owned(), |percent| format!("{percent:+.1}%"));
    let points = worst.row.map_or_else(String::new, |_| format!(", {:+.2} pp", worst.change.points()));
    let more = if more > 0 { format!(", and {more} more") } else { String::new() };
    format!("gate {gate}: {name}, {before} to {after} ({percent}{points}){more}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diff::form::FORMS;

    #[test]
    fn no_options_are_the_library_s_defaults() {
        let args = Diff::parse_from(["fg-diff", "a", "b"]);
        assert_eq!(args.settings(), Settings::default());
        assert_eq!(args.form.group(), Group::default());
    }

    #[test]
    fn options_are_declared_well() {
        <Diff as clap::CommandFactory>::command().debug_assert();
    }

    #[test]
    fn every_form_has_its_option() {
        for form in FORMS {
            let args = Diff::parse_from(["fg-diff", &format!("--{}", form.name), "a", "b"]);
            assert_eq!(args.form.form().map(|form| form.name), Some(form.name));
        }
    }
}
