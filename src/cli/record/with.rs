//! `fg-record --with`: another profiler records, with the same options and the same manners.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::Write;
use std::path::Path;

use clap::Args;
use clap::builder::PossibleValuesParser;

use super::{Record, RecordArgs, exit_of};
use crate::cli::{Exit, Tool, progress, say};
use crate::error::{Error, ErrorKind};
use crate::record::backend::run::{self, Failure, Outcome};
use crate::record::backend::{self, Backend, Chosen, Refusal, Roots, Wishes};
use crate::record::request::Request;
use crate::record::sys::signals::Stop;

/// Who records.
#[derive(Args, Debug)]
pub struct WithArgs {
    /// Who records: the built-in sampler, or another profiler that is installed. auto is py-spy or
    /// austin for CPython, if there is one, else builtin
    #[arg(long, value_name = "NAME", default_value = "auto", value_parser = PossibleValuesParser::new(backend::choose::names()))]
    pub with: String,

    /// Print the command that would record, and exit
    #[arg(long)]
    pub print_command: bool,

    /// Give more arguments to the program named by --with; quoted as for a shell, repeatable
    #[arg(long, value_name = "ARGS", allow_hyphen_values = true)]
    pub backend_args: Vec<String>,
}

impl WithArgs {
    /// The words of all `--backend-args`.
    fn arguments(&self) -> anyhow::Result<Vec<OsString>> {
        let mut words = Vec::new();
        for text in &self.backend_args {
            match shlex::split(text) {
                Some(more) => words.extend(more.into_iter().map(OsString::from)),
                None => anyhow::bail!("--backend-args: {text:?} has a quote that is not closed"),
            }
        }
        Ok(words)
    }
}

impl RecordArgs {
    /// Records with another program, if one is to be used, or prints its command line.
    pub(super) fn record_with(&self, request: &Request, stop: &Stop) -> anyhow::Result<Option<Exit>> {
        let wishes = Wishes {
            request: request.clone(),
            rate: self.freq,
            call_graph: self.call_graph,
            roots: match (self.per_thread, self.per_process) {
                (true, _) => Roots::Threads,
                (_, true) => Roots::Processes,
                _ => Roots::AsTheyAre,
            },
            raw: self.raw,
            root: self.root,
            arguments: self.with.arguments()?,
        };
        let choice = backend::choose(&self.with.with, &wishes)?;
        if let Some(why) = choice.why.filter(|_| self.verbose || (choice.is_news && !self.quiet)) {
            say(Record::NAME, why);
        }
        let line = match (&choice.chosen, self.with.print_command) {
            (Chosen::Other(backend, program), false) => {
                return self.record_by(*backend, program, &wishes, stop).map(Some);
            }
            (Chosen::Builtin, false) => return Ok(None),
            (Chosen::Other(backend, program), true) => run::print(*backend, program, &wishes)?,
            (Chosen::Builtin, true) => match request.target.invocation() {
                Some(invocation) => run::shell(invocation.words())?,
                None => anyhow::bail!("the built-in sampler records without any other program"),
            },
        };
        let mut out = std::io::stdout();
        out.write_all(&line).and_then(|()| out.write_all(b"\n")).map_err(Error::from)?;
        Ok(Some(Exit::Yes))
    }

    fn record_by(
        &self,
        backend: &dyn Backend,
        program: &std::ffi::OsStr,
        wishes: &Wishes,
        stop: &Stop,
    ) -> anyhow::Result<Exit> {
        let name = backend.about().name;
        let wanted = self.output.as_deref().filter(|_| self.raw);
        let folder = scratch(wanted).map_err(|e| Error::io("make a folder for the recording", e))?;
        let live = progress::is_wanted() && !self.quiet;
        let mut tell = |elapsed: std::time::Duration| {
            if live {
                progress::show(format_args!("{} s, recording with {name}", elapsed.as_secs()));
            }
        };
        let outcome = run::run(backend, program, wishes, folder.path(), stop, &mut tell);
        progress::end();
        let outcome = match outcome {
            Ok(outcome) => outcome,
            Err(Failure::Refused(refusal)) => return Err(refusal.into()),
            Err(Failure::Killed(signal)) => {
                return Ok(Exit::Status(u8::try_from(128 + signal).unwrap_or(u8::MAX)));
            }
        };
        if !self.quiet {
            outcome.notes.iter().for_each(|note| say(Record::NAME, note));
        }
        if self.verbose {
            let seconds = outcome.elapsed.as_secs_f64();
            say(Record::NAME, format_args!("recorded with {} in {seconds:.1} s", program.display()));
        }
        match wanted {
            Some(path) => {
                fs::rename(&outcome.recording, path).map_err(|e| Error::io("write", e))?;
                drop(folder);
            }
            None => {
                let recording =
                    File::open(&outcome.recording).map_err(|e| Error::io("open the recording", e))?;
                // Gone with this process, however that ends.
                drop(folder);
                self.fold_by(backend, &recording, &outcome)?;
            }
        }
        let status = outcome.target.map(|target| target.wait(stop)).transpose()?;
        Ok(status.map_or(Exit::Yes, exit_of))
    }

    fn fold_by(&self, backend: &dyn Backend, recording: &File, outcome: &Outcome) -> anyhow::Result<()> {
        let mut options = self.options();
        if outcome.shows_threads {
            options.threads_as_frames = Some(self.per_thread || self.per_process);
        }
        let is_empty = |e: &anyhow::Error| {
            e.downcast_ref::<Error>().is_some_and(|e| matches!(e.kind(), ErrorKind::Empty { .. }))
        };
        let table = self.fold_as(recording, outcome.format, &options).map_err(|e| match is_empty(&e) {
            true => Refusal::new(format!(
                "{} took no samples in {:.1} s: the target did not compute, or is another process than the \
                 one meant; record it for longer, or at a higher -F",
                backend.about().name,
                outcome.elapsed.as_secs_f64()
            ))
            .into(),
            false => e,
        })?;
        self.write(&table)
    }
}

/// A folder for a backend's files: beside the recording, if it is wanted, to move it there.
fn scratch(wanted: Option<&Path>) -> std::io::Result<tempfile::TempDir> {
    match wanted {
        None => tempfile::Builder::new().prefix("fg-record-").tempdir(),
        Some(path) => {
            let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
            tempfile::Builder::new().prefix(".fg-record-").tempdir_in(folder.unwrap_or(Path::new(".")))
        }
    }
}
