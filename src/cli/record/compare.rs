//! `fg-record --against`: records two programs in turns, compares them, judges, and reports.
//!
//! The runs alternate as before, after, after, before, before, … so that whatever else the machine does,
//! and however it drifts, falls on both sides alike.

use std::cell::RefCell;
use std::ffi::OsString;
use std::io::{self, IsTerminal, Write};
use std::path::{Path, PathBuf};

use clap::Args;

use super::args::Running;
use super::runs::rewind_input;
use super::{Record, RecordArgs};
use crate::cli::diff::{GateArgs, TestArgs, say_verdict};
use crate::cli::output::Output;
use crate::cli::{Exit, Tool, say, terminal};
use crate::diff::{Diff, FormatOptions, NoteKind, Report, ReportFormat, ReportOptions};
use crate::error::Error;
use crate::filter::Op;
use crate::profile::Profile;
use crate::record::request::Invocation;
use crate::record::sys::signals::Stop;

/// The number of runs a side by default.
const RUNS: u32 = 5;
/// The longest name that the kernel keeps of a program.
const LONGEST_COMM: usize = 15;

/// The comparison with another program.
#[derive(Args, Debug, Default)]
pub struct AgainstArgs {
    /// Record the program CMD as well, in turns with COMMAND, and compare them: CMD is before, COMMAND
    /// after. Without arguments of its own it gets those of COMMAND. Writes a table of the changes; -o
    /// diff.svg draws them. Exit status: 0, 1 when a gate tripped, 2 on trouble
    #[arg(long, value_name = "CMD")]
    pub against: Option<String>,

    /// Keep the recordings of --against in the folder DIR: before-1.folded, after-1.folded and so on
    #[arg(long, value_name = "DIR")]
    pub keep: Option<PathBuf>,

    /// Write the comparison to FILE for a pull request, as fg-diff --markdown does; - is standard output
    #[arg(long, value_name = "FILE")]
    pub markdown: Option<PathBuf>,

    /// Write all rows of the comparison to FILE for programs, as fg-diff --json does
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,

    /// Let the Markdown point to a picture: a link, or the name of an attachment
    #[arg(long, value_name = "URL", requires = "markdown")]
    pub picture: Option<String>,

    /// Compare names without parts that differ between builds, as fg-diff --strip does: hash, line
    #[arg(long, value_name = "PART,...")]
    pub strip: Option<String>,

    /// The limits of a significant change.
    #[command(flatten)]
    pub test: TestArgs,

    /// Conditions on changes.
    #[command(flatten)]
    pub gate: GateArgs,
}

/// Before or after.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Turn {
    Before,
    After,
}

impl Turn {
    fn name(self) -> &'static str {
        match self {
            Turn::Before => "before",
            Turn::After => "after",
        }
    }
}

/// The turns of a number of runs a side: before, after, after, before, and again.
fn turns(runs: u32) -> impl Iterator<Item = (Turn, u32)> {
    let pair = |run| match run % 2 {
        1 => [(Turn::Before, run), (Turn::After, run)],
        _ => [(Turn::After, run), (Turn::Before, run)],
    };
    (1..=runs).flat_map(pair)
}

impl AgainstArgs {
    /// Refuses options that say how to compare where nothing is compared.
    pub(super) fn check(&self) -> anyhow::Result<()> {
        let GateArgs { gate, gate_file, any, allow_blind } = &self.gate;
        let TestArgs { alpha, min_effect, min_samples, period } = &self.test;
        let given = [
            ("--keep", self.keep.is_some()),
            ("--markdown", self.markdown.is_some()),
            ("--json", self.json.is_some()),
            ("--strip", self.strip.is_some()),
            ("--gate", !gate.is_empty()),
            ("--gate-file", !gate_file.is_empty()),
            ("--any", *any),
            ("--allow-blind", *allow_blind),
            ("--alpha", alpha.is_some()),
            ("--min-effect", min_effect.is_some()),
            ("--min-samples", min_samples.is_some()),
            ("--period", period.is_some()),
        ];
        match given.iter().find(|(_, is_given)| *is_given && self.against.is_none()) {
            Some((option, _)) => anyhow::bail!("{option} needs --against CMD, the program to compare with"),
            None => Ok(()),
        }
    }

    fn options(&self) -> ReportOptions {
        let mut options = self.test.apply(ReportOptions::default());
        options.strip = self.strip.clone();
        options.any_change = self.gate.any;
        options.allow_blind = self.gate.allow_blind;
        options
    }

    /// The program before.
    fn invocation(&self, after: &Invocation) -> anyhow::Result<Invocation> {
        let text = self.against.as_deref().unwrap_or_default();
        let words = shlex::split(text);
        let Some((program, arguments)) = words.as_deref().and_then(<[String]>::split_first) else {
            anyhow::bail!("--against: {text:?} is no command, or has a quote that is not closed");
        };
        let arguments = match arguments {
            [] => after.arguments.clone(),
            given => given.iter().map(OsString::from).collect(),
        };
        Ok(Invocation { program: program.into(), arguments, ..after.clone() })
    }
}

impl RecordArgs {
    /// Records both programs in turns, compares, writes what was asked for, and judges.
    pub(super) fn compare(mut self, after: Option<Invocation>) -> anyhow::Result<Exit> {
        let Some(after) = after else {
            anyhow::bail!("--against needs a program to compare with: fg-record --against ./old -- ./new");
        };
        let before = self.runs.against.invocation(&after)?;
        let gates = self.runs.against.gate.gates()?;
        let sampling = &self.sampling;
        if sampling.raw || sampling.with.print_command {
            anyhow::bail!(
                "--against compares profiles: leave out --raw and --print-command, --keep keeps them"
            );
        }
        if let Some(folder) = &self.runs.against.keep {
            std::fs::create_dir_all(folder).map_err(|e| {
                Error::io("make", e).or_at(|| crate::error::Position::file(folder.to_string_lossy()))
            })?;
        }
        if self.results.is_shown_here() {
            anyhow::bail!(
                "--tui shows one profile: fg-render --tui shows the differential one of -o diff.folded"
            );
        }
        let runs = self.runs.runs.unwrap_or(RUNS);
        self.results.check(false)?;
        self.results.collected = Some(RefCell::default());
        let stop = Stop::install().map_err(|e| Error::io("watch for signals", e))?;
        let (mut befores, mut afters) = (Vec::new(), Vec::new());
        for (turn, run) in turns(runs) {
            let (invocation, profiles) = match turn {
                Turn::Before => (&before, &mut befores),
                Turn::After => (&after, &mut afters),
            };
            let profile = self.record_one(invocation, &stop).map_err(|e| {
                e.context(format!("run {run} {} ({})", turn.name(), invocation.program.to_string_lossy()))
            })?;
            if let Some(folder) = &self.runs.against.keep {
                keep(&profile, &folder.join(format!("{}-{run}.folded", turn.name())))?;
            }
            profiles.push(profile);
        }
        self.results.collected = None;
        let renamed = same_root(&befores, &before.program, &after.program)?;
        let befores = renamed.unwrap_or(befores);
        let sides = [&befores, &afters].map(|profiles| profiles.iter().collect::<Vec<_>>());
        let diff = Diff::of_runs(&sides[0], &sides[1]);
        let mut report = diff.report_with(&self.runs.against.options())?;
        // Two programs were asked for.
        report.notes.retain(|note| note.kind != NoteKind::Program);
        if !self.sampling.quiet {
            report.notes.iter().for_each(|note| say(Record::NAME, &note.text));
        }
        let verdict = report.judge(&gates)?;
        if self.results.names_files() {
            self.write(diff.profile()?)?;
        }
        let is_shown = self.write_reports(&report, FormatOptions::default().verdict(verdict.clone()))?;
        Ok(say_verdict(Record::NAME, &verdict, is_shown))
    }

    /// Records one run.
    fn record_one(&self, invocation: &Invocation, stop: &Stop) -> anyhow::Result<Profile> {
        rewind_input();
        let exit = self.record_until(Some(invocation.clone()), Running::default(), stop)?;
        if stop.requested().is_some() {
            anyhow::bail!("interrupted, so nothing is compared");
        }
        match exit {
            Exit::Yes | Exit::Status(0) => {}
            Exit::Status(status) if !self.foreign.ignore_status => anyhow::bail!(
                "it exited with {status}, so nothing is compared; --ignore-status compares all the same"
            ),
            _ => {}
        }
        let collected = self.results.collected.as_ref().and_then(|all| all.borrow_mut().pop());
        collected.ok_or_else(|| anyhow::anyhow!("it left no profile"))
    }

    /// Writes the reports; returns true if the verdict of gates was shown to the user.
    fn write_reports(&self, report: &Report, mut options: FormatOptions) -> anyhow::Result<bool> {
        let against = &self.runs.against;
        let pictures = self.results.svg.iter().chain(&self.results.html).chain(&self.results.output);
        let first = pictures.into_iter().find(|path| *path != Path::new("-"));
        let name = |path: &PathBuf| path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        options.picture = against.picture.clone().or_else(|| first.map(name));
        let mut uses_stdout = self.results.output.iter().any(|path| path == Path::new("-"));
        let reports = [(&against.markdown, ReportFormat::Markdown), (&against.json, ReportFormat::Json)];
        for (path, format) in reports {
            let Some(path) = path else { continue };
            uses_stdout |= path == Path::new("-");
            write_report(report, Some(path), format, &options)?;
        }
        if uses_stdout {
            return Ok(false);
        }
        let is_terminal = io::stdout().is_terminal();
        if is_terminal {
            options.width = terminal::width();
            options.colour = terminal::wants_colour(true);
        }
        write_report(report, None, ReportFormat::Table, &options)?;
        Ok(is_terminal)
    }
}

fn write_report(
    report: &Report,
    path: Option<&Path>,
    format: ReportFormat,
    options: &FormatOptions,
) -> anyhow::Result<()> {
    let mut text = Vec::new();
    report.write_with(format, options, &mut text)?;
    let mut output = Output::new(path)?;
    output.write_all(&text).map_err(Error::from)?;
    Ok(output.finish()?)
}

fn keep(profile: &Profile, path: &Path) -> anyhow::Result<()> {
    let mut output = Output::new(Some(path))?;
    let mut out = io::BufWriter::new(&mut output);
    profile.write_folded(&mut out)?;
    out.flush().map_err(Error::from)?;
    drop(out);
    Ok(output.finish()?)
}

/// The profiles before with the name of the program after where they have that of their own: the root of
/// every stack, and what stands for code without symbols. `None` if the names are the same.
fn same_root(
    profiles: &[Profile],
    before: &std::ffi::OsStr,
    after: &std::ffi::OsStr,
) -> anyhow::Result<Option<Vec<Profile>>> {
    let comm = |program: &std::ffi::OsStr| {
        let name = Path::new(program).file_name().unwrap_or_default().to_string_lossy().into_owned();
        let cut = name
            .char_indices()
            .map(|(at, letter)| at + letter.len_utf8())
            .take_while(|end| *end <= LONGEST_COMM);
        name[..cut.last().unwrap_or(0)].to_owned()
    };
    let (before, after) = (comm(before), comm(after));
    if before == after || before.is_empty() || after.is_empty() {
        return Ok(None);
    }
    let (pattern, text) = (regex::escape(&before), after.replace('$', "$$"));
    let rule = format!("s\u{1}^(\\[?){pattern}(\\]?)$\u{1}${{1}}{text}${{2}}\u{1}");
    let rename = [Op::rename(&rule)?];
    Ok(Some(profiles.iter().map(|profile| profile.filter(&rename)).collect::<Result<_, _>>()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn turns_alternate_so_that_drift_falls_on_both_sides() {
        let names: Vec<String> = turns(3).map(|(turn, run)| format!("{}{run}", &turn.name()[..1])).collect();
        assert_eq!(names, ["b1", "a1", "a2", "b2", "b3", "a3"]);
    }

    #[test]
    fn a_program_without_arguments_gets_those_of_the_other() {
        let after =
            Invocation { program: "./app".into(), arguments: vec!["3".into()], ..Invocation::default() };
        let words = |text: &str| {
            let args = AgainstArgs { against: Some(text.into()), ..AgainstArgs::default() };
            args.invocation(&after)
                .map(|it| it.words().map(|word| word.to_string_lossy().into_owned()).collect::<Vec<_>>())
        };
        assert_eq!(words("./old").unwrap(), ["./old", "3"]);
        assert_eq!(words("'./the old' 4 '5 6'").unwrap(), ["./the old", "4", "5 6"]);
        assert!(words("").is_err() && words("'./old").is_err());
    }

    #[test]
    fn programs_of_two_names_have_one_root() {
        let before = vec![
            Profile::from_lines(["app-before;main;app-before-x 3", "app-before;[app-before] 1"]).unwrap(),
        ];
        let renamed = same_root(&before, "/x/app-before".as_ref(), "./app$1".as_ref()).unwrap().unwrap();
        let mut text = Vec::new();
        renamed[0].write_folded(&mut text).unwrap();
        assert_eq!(String::from_utf8(text).unwrap(), "app$1;[app$1] 1\napp$1;main;app-before-x 3\n");
        assert!(same_root(&before, "/a/app".as_ref(), "./app".as_ref()).unwrap().is_none());
    }
}
