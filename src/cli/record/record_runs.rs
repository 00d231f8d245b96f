//! `fg-record --runs N`: several recordings of one program, a file each.

use super::RecordArgs;
use super::processes::Running;
use super::results::Use;
use super::runs::{numbered, rewind_input};
use crate::cli::Exit;
use crate::error::Error;
use crate::record::request::Invocation;
use crate::record::sys::signals::Stop;

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
            exit = worse(
                exit,
                self.record_until(Some(invocation.clone()), Running::default(), Use::Write, &stop)?.exit,
            );
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
