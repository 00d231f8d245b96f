//! The end of a recording: it is read into a profile, which is written or compared, and the program ends.

use std::os::unix::process::ExitStatusExt;
#[cfg(target_os = "linux")]
use std::path::PathBuf;
use std::process::ExitStatus;

use super::args::RecordArgs;
use super::ended::failure;
#[cfg(target_os = "linux")]
use super::results::{Destination, format_of};
use super::results::{End, OnFailure, Use};
use super::{Record, ending};
#[cfg(target_os = "linux")]
use crate::cli::render::write_files;
use crate::cli::{Exit, Tool, say};
use crate::collapse::Report;
#[cfg(target_os = "linux")]
use crate::error::Error;
use crate::input::Source;
use crate::profile::{Facts, Profile};
#[cfg(target_os = "linux")]
use crate::reading::Opened;
use crate::reading::ReadOptions;
use crate::record::facts;
use crate::record::program::Started;
use crate::record::request::Request;
use crate::record::sys::signals::Stop;

impl RecordArgs {
    /// The options for reading a recording of the built-in sampler.
    #[cfg(target_os = "linux")]
    pub(super) fn reading(&self, profile: Use) -> ReadOptions {
        self.results.reading(self.sampling.options(), profile).format("perf-data")
    }

    /// Reads a recording, and completes its facts by what the recorder knows.
    pub(super) fn read(
        &self,
        recording: Source,
        options: ReadOptions,
        known: Facts,
    ) -> anyhow::Result<Profile> {
        let counts_samples = options.format.as_deref() == Some("perf-data");
        let (profile, report) = crate::reading::read(&[recording], &options)?;
        Ok(self.complete(profile, &report, known, counts_samples))
    }

    /// Says what there is to say of a recording that was read, and completes its facts.
    pub(super) fn complete(
        &self,
        mut profile: Profile,
        report: &Report,
        known: Facts,
        counts_samples: bool,
    ) -> Profile {
        let sampling = &self.sampling;
        if !sampling.quiet {
            report.notes.iter().for_each(|note| say(Record::NAME, note));
        }
        if sampling.verbose {
            report.details.iter().for_each(|detail| say(Record::NAME, detail));
        }
        let facts = profile.facts_mut();
        facts::complete(facts, known);
        report.notes.iter().for_each(|note| facts.warn(note));
        if counts_samples && facts.samples.is_none() {
            let kept = report.values.values().filter(|total| total.kept);
            facts.samples = Some(kept.map(|total| total.samples).sum());
        }
        let is_estimate = sampling.alloc.alloc.is_some() && sampling.interval != Some(1);
        if let Some(samples) = facts.samples.filter(|samples| is_estimate && *samples > 0) {
            facts.comment(ending::estimate(samples));
        }
        profile
    }

    /// Writes a profile as it was asked for, or returns it if it is to be compared.
    pub(super) fn write(
        &self,
        profile: Profile,
        wanted: Use,
        on_failure: OnFailure,
    ) -> anyhow::Result<Option<Profile>> {
        if wanted == Use::Compare {
            return Ok(Some(profile));
        }
        let is_last = self.runs.runs.is_none() && self.runs.against.against.is_none();
        let end = if is_last && !self.sampling.quiet { End::Summary } else { End::Silent };
        self.results.write(profile, on_failure, end, &mut |message| {
            if !self.sampling.quiet {
                say(Record::NAME, message);
            }
        })?;
        Ok(None)
    }
}

/// The end of a recording.
pub(super) struct Recorded {
    /// The exit status of the whole.
    pub exit: Exit,
    /// The profile, if it is to be compared.
    pub profile: Option<Profile>,
}

impl From<Exit> for Recorded {
    fn from(exit: Exit) -> Recorded {
        Recorded { exit, profile: None }
    }
}

/// Waits for the program that was recorded. An error is said before: the program may run for long.
pub(super) fn conclude(
    how: &RecordArgs,
    request: &Request,
    written: anyhow::Result<Option<Profile>>,
    target: Option<Started>,
    stop: &Stop,
) -> anyhow::Result<Recorded> {
    if let (Some(Started::Ended(ended)), Some(invocation), None) =
        (&target, request.target.invocation(), stop.requested())
        && !how.sampling.quiet
        && let Some(said) = failure(&invocation.program, ended.status)
    {
        say(Record::NAME, said);
    }
    if let (Err(error), Some(Started::Running(..))) = (&written, &target) {
        say(Record::NAME, format_args!("{error:#}"));
        target.map(|target| target.wait(stop)).transpose()?;
        return Ok(Exit::Status(2).into());
    }
    let ended = target.map(|target| target.wait(stop)).transpose()?;
    let profile = written?;
    Ok(Recorded { exit: ended.map_or(Exit::Yes, |ended| exit_of(ended.status)), profile })
}

/// A program's exit status as a shell shows it.
fn exit_of(status: ExitStatus) -> Exit {
    let code = status.code().or_else(|| status.signal().map(|signal| 128 + signal));
    Exit::Status(code.and_then(|code| u8::try_from(code).ok()).unwrap_or(u8::MAX))
}

/// Writes a profile into files, each in the format of its ending.
///
/// # Errors
/// Those of the outputs.
#[cfg(target_os = "linux")]
pub(super) fn write_to(how: &RecordArgs, profile: Profile, paths: &[PathBuf]) -> anyhow::Result<()> {
    let mut settings = how.results.picture.settings(&mut |_| Ok(()))?;
    settings.header = !how.results.no_header;
    let input = Opened::Profile(Box::new(profile), Box::default());
    let destinations: Vec<Destination<'_>> =
        paths.iter().map(|path| Ok((Some(&**path), format_of(path)?))).collect::<Result<_, Error>>()?;
    write_files(&input, &destinations, &settings)?;
    Ok(())
}
