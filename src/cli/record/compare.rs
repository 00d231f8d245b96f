//! `fg-record --against`: records two programs in turns, compares them, judges, and reports.
//!
//! The runs alternate as before, after, after, before, before, … so that whatever else the machine does,
//! and however it drifts, falls on both sides alike.

use std::io::{self, IsTerminal, Write};
use std::path::{Path, PathBuf};

use super::processes::Running;
use super::results::{OnFailure, Use};
use super::runs::rewind_input;
use super::{Record, RecordArgs};
use crate::cli::diff::say_verdict;
use crate::cli::output::Output;
use crate::cli::{Exit, Tool, say, terminal};
use crate::diff::{Diff, FormatOptions, NoteKind, Report, ReportFormat};
use crate::error::Error;
use crate::filter::Op;
use crate::profile::Profile;
use crate::record::request::Invocation;
use crate::record::sys::signals::Stop;

/// The number of runs a side by default.
const RUNS: u32 = 5;
/// The longest name that the kernel keeps of a program.
const LONGEST_COMM: usize = 15;

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

impl RecordArgs {
    /// Records both programs in turns, compares, writes what was asked for, and judges.
    pub(super) fn compare(self, after: Option<Invocation>) -> anyhow::Result<Exit> {
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
            self.write(diff.profile()?, Use::Write, OnFailure::Save)?;
        }
        let is_shown = self.write_reports(&report, FormatOptions::default().verdict(verdict.clone()))?;
        Ok(say_verdict(Record::NAME, &verdict, is_shown))
    }

    /// Records one run.
    fn record_one(&self, invocation: &Invocation, stop: &Stop) -> anyhow::Result<Profile> {
        rewind_input();
        let recorded = self.record_until(Some(invocation.clone()), Running::default(), Use::Compare, stop)?;
        if stop.requested().is_some() {
            anyhow::bail!("interrupted, so nothing is compared");
        }
        match recorded.exit {
            Exit::Yes | Exit::Status(0) => {}
            Exit::Status(status) if !self.foreign.ignore_status => anyhow::bail!(
                "it exited with {status}, so nothing is compared; --ignore-status compares all the same"
            ),
            _ => {}
        }
        recorded.profile.ok_or_else(|| anyhow::anyhow!("it left no profile"))
    }

    /// Writes the reports; returns true if the verdict of gates was shown to the user.
    fn write_reports(&self, report: &Report, mut options: FormatOptions) -> anyhow::Result<bool> {
        let against = &self.runs.against;
        let pictures = self.results.svg.iter().chain(&self.results.html).chain(&self.results.output);
        let first = pictures.into_iter().find(|path| *path != Path::new("-"));
        let name = |path: &PathBuf| path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        options.picture = against.picture.clone().or_else(|| first.map(name));
        let mut uses_stdout = self.results.output.iter().any(|path| path == Path::new("-"));
        for (path, format) in against.reports() {
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
