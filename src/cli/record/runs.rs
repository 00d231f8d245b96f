//! `fg-record --runs N`: several recordings of one program, a file each.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use clap::Args;

use super::RecordArgs;
use super::args::Running;
use super::compare::AgainstArgs;
use crate::cli::Exit;
use crate::error::Error;
use crate::record::request::Invocation;
use crate::record::sys::signals::Stop;
use crate::render::FORMATS;

/// Several runs, alone or in turns with those of another program.
#[derive(Args, Debug, Default)]
#[command(next_help_heading = "Runs")]
pub struct RunsArgs {
    /// Record N runs of COMMAND, a file each: -o app.folded writes app-1.folded, app-2.folded and
    /// so on, as `fg-diff --before app-*.folded` takes them. With --against N runs a side [default:
    /// 5]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub runs: Option<u32>,

    /// The comparison with another program.
    #[command(flatten)]
    pub against: AgainstArgs,
}

impl RecordArgs {
    /// Records as often as it was asked for, and compares if it was.
    pub(super) fn record_runs(
        mut self,
        invocation: Option<Invocation>,
        which: Running,
    ) -> anyhow::Result<Exit> {
        self.runs.against.check()?;
        if self.runs.against.against.is_some() {
            return self.compare(invocation);
        }
        let Some(runs) = self.runs.runs else { return self.record(invocation, which) };
        let Some(invocation) = invocation else {
            anyhow::bail!(
                "--runs starts a program several times: name it, as in fg-record --runs 5 -- ./app"
            );
        };
        let results = &self.results;
        let named =
            [results.output.clone(), results.svg.iter().chain(&results.html).cloned().collect()].concat();
        if self.results.use_stdout() || self.results.open || named.is_empty() {
            anyhow::bail!(
                "--runs writes a file for each run: name it by -o app.folded, for app-1.folded and so on"
            );
        }
        let (output, svg, html) =
            (self.results.output.clone(), self.results.svg.clone(), self.results.html.clone());
        let stop = Stop::install().map_err(|e| Error::io("watch for signals", e))?;
        let mut exit = Exit::Yes;
        for run in 1..=runs {
            rewind_input();
            self.results.output = output.iter().map(|path| numbered(path, run)).collect();
            self.results.svg = svg.as_deref().map(|path| numbered(path, run));
            self.results.html = html.as_deref().map(|path| numbered(path, run));
            exit = worse(exit, self.record_until(Some(invocation.clone()), Running::default(), &stop)?);
            if stop.requested().is_some() {
                break;
            }
        }
        Ok(exit)
    }
}

/// The first exit status that is not success.
fn worse(first: Exit, second: Exit) -> Exit {
    match first {
        Exit::Yes | Exit::Status(0) => second,
        _ => first,
    }
}

/// The name of the file of a run: `app-2.folded`, `app-2.pb.gz`, `app-2`.
pub(super) fn numbered(path: &Path, run: u32) -> PathBuf {
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let endings = FORMATS.iter().flat_map(|format| format.endings).map(|ending| format!(".{ending}"));
    let longest = endings.filter(|ending| name.to_ascii_lowercase().ends_with(ending)).map(|e| e.len()).max();
    let ending = longest.or_else(|| path.extension().map(|ending| ending.len() + 1)).unwrap_or(0);
    let (stem, ending) = name.split_at(name.len() - ending);
    path.with_file_name(OsString::from(format!("{stem}-{run}{ending}")))
}

/// Lets a program read its standard input from the beginning, if that is a file: the run before has
/// read it.
pub(super) fn rewind_input() {
    use std::io::Seek;
    use std::os::fd::AsFd;
    if let Ok(copy) = std::io::stdin().as_fd().try_clone_to_owned() {
        let mut file = std::fs::File::from(copy);
        // A terminal or a pipe has no beginning.
        let _ = file.metadata().is_ok_and(|kind| kind.is_file()).then(|| file.rewind());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_are_numbered_before_the_ending() {
        for (path, expected) in [
            ("app.folded", "app-2.folded"),
            ("/tmp/a.b/app.pb.gz", "/tmp/a.b/app-2.pb.gz"),
            ("app", "app-2"),
            ("my.app.svg", "my.app-2.svg"),
            ("perf.data", "perf-2.data"),
        ] {
            assert_eq!(numbered(Path::new(path), 2), Path::new(expected));
        }
    }
}
