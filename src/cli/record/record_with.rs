//! Records with another profiler, by the options of the built-in sampler.

use std::fs::{self, File};
use std::path::Path;

use super::finish::{Recorded, conclude};
use super::recording::keep_after;
use super::results::{OnFailure, Use};
use super::{Record, RecordArgs, SamplingArgs};
use crate::cli::output::destination::folder_of;
use crate::cli::{Exit, Tool, progress, say};
use crate::error::{Error, ErrorKind, Position};
use crate::input::Source;
use crate::profile::Profile;
use crate::record::backend::run::{self, Failure, Outcome};
use crate::record::backend::{self, Backend, Chosen, Refusal, Roots, Wishes};
use crate::record::facts::{PRODUCER, facts};
use crate::record::request::{CallGraph, Request};
use crate::record::sys::leftovers::Leftover;
use crate::record::sys::signals::Stop;

impl RecordArgs {
    /// Records with another program, if one is to be used, or prints its command line.
    pub(super) fn record_with(
        &self,
        request: &Request,
        profile: Use,
        stop: &Stop,
    ) -> anyhow::Result<Option<Recorded>> {
        let with = &self.sampling.with;
        let mut wishes = Wishes {
            request: Request {
                call_graph: self.sampling.call_graph.unwrap_or(CallGraph::Dwarf(CallGraph::DUMP)),
                ..request.clone()
            },
            rate: self.sampling.freq,
            call_graph: self.sampling.call_graph,
            roots: match (self.sampling.per_thread, self.sampling.per_process) {
                (true, _) => Roots::Threads,
                (_, true) => Roots::Processes,
                _ => Roots::AsTheyAre,
            },
            raw: self.sampling.raw,
            root: self.sampling.root,
            arguments: with.arguments()?,
        };
        let choice = backend::choose(&with.with, &wishes)?;
        if let Some(why) =
            choice.why.filter(|_| self.sampling.verbose || (choice.is_news && !self.sampling.quiet))
        {
            say(Record::NAME, why);
        }
        let line = match (&choice.chosen, with.print_command) {
            (Chosen::Other(backend, program), false) => {
                // Profilers of Python know the names of its functions.
                if !backend::is_for_python(*backend) {
                    self.sampling.runtimes.ask(&mut wishes.request, self.sampling.quiet);
                }
                return self.record_by(*backend, program, &wishes, profile, stop).map(Some);
            }
            (Chosen::Builtin, false) => return Ok(None),
            (Chosen::Other(backend, program), true) => run::print(*backend, program, &wishes)?,
            (Chosen::Builtin, true) => match request.target.invocation() {
                Some(invocation) => run::shell(invocation.words())?,
                None => anyhow::bail!("the built-in sampler records without any other program"),
            },
        };
        crate::cli::print(&[&line[..], b"\n"].concat())?;
        Ok(Some(Exit::Yes.into()))
    }

    fn record_by(
        &self,
        backend: &dyn Backend,
        program: &std::ffi::OsStr,
        wishes: &Wishes,
        profile: Use,
        stop: &Stop,
    ) -> anyhow::Result<Recorded> {
        let name = backend.about().name;
        let SamplingArgs { quiet, verbose, .. } = self.sampling;
        let wanted = self.raw_file()?;
        let folder = scratch(wanted).map_err(|e| Error::io("make a folder for the recording", e))?;
        if verbose {
            say(Record::NAME, format_args!("recording into {}", folder.path().display()));
        }
        let live = self.sampling.shows_progress(wishes.request.target.runs_program());
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
                return Ok(Exit::Status(u8::try_from(128 + signal).unwrap_or(u8::MAX)).into());
            }
        };
        if !quiet {
            outcome.notes.iter().for_each(|note| say(Record::NAME, note));
        }
        if verbose {
            let seconds = outcome.elapsed.as_secs_f64();
            say(Record::NAME, format_args!("recorded with {} in {seconds:.1} s", program.display()));
        }
        let written = match wanted {
            Some(path) => fs::rename(&outcome.recording, path)
                .map(|()| None)
                .map_err(|e| Error::io("write", e).or_at(|| Position::file(path.to_string_lossy())).into()),
            None => self.fold_by(backend, wishes, profile, &outcome),
        };
        let written = written.map_err(|error| match error.is::<Refusal>() {
            // There is nothing in it.
            true => error,
            false => keep_after(error, folder, &outcome.recording),
        });
        conclude(self, &wishes.request, written, outcome.target, stop)
    }

    fn fold_by(
        &self,
        backend: &dyn Backend,
        wishes: &Wishes,
        wanted: Use,
        outcome: &Outcome,
    ) -> anyhow::Result<Option<Profile>> {
        let recording = File::open(&outcome.recording).map_err(|e| Error::io("open the recording", e))?;
        let name = backend.about().name;
        let mut options = self.sampling.options();
        if outcome.shows_threads {
            options.threads_as_frames = Some(self.sampling.per_thread || self.sampling.per_process);
        }
        let mut reading = self.results.reading(options, wanted);
        reading.format = outcome.format.map(str::to_owned);
        let mut known = facts(&wishes.request, outcome.start, outcome.elapsed, None);
        known.producer = Some(format!("{PRODUCER} with {name}"));
        known.rate = wishes.request.events.is_empty().then(|| wishes.rate.unwrap_or(backend.about().rate));
        outcome.warnings.iter().for_each(|warning| known.warn(warning));
        let is_empty = |e: &anyhow::Error| {
            e.downcast_ref::<Error>().is_some_and(|e| matches!(e.kind(), ErrorKind::Empty { .. }))
        };
        let source = Source::file("the recording", recording);
        let profile = self.read(source, reading, known).map_err(|e| match is_empty(&e) {
            true => Refusal::new(format!(
                "{name} took no samples in {:.1} s: the target did not compute, or is another process than the \
                 one meant; record it for longer, or at a higher -F",
                outcome.elapsed.as_secs_f64()
            ))
            .into(),
            false => e,
        })?;
        self.write(profile, wanted, OnFailure::Save)
    }
}

/// A folder for a backend's files: beside the recording, if it is wanted, to move it there.
fn scratch(wanted: Option<&Path>) -> std::io::Result<Leftover> {
    let folder = match wanted {
        None => tempfile::Builder::new().prefix("fg-record-").tempdir(),
        Some(path) => tempfile::Builder::new().prefix(".fg-record-").tempdir_in(folder_of(path)),
    };
    Ok(Leftover::new(folder?.keep()))
}
