//! Records with the built-in sampler.

use std::fs::File;
use std::path::{Path, PathBuf};

use super::args::{RecordArgs, SamplingArgs};
use super::results::exit_of;
use super::{Exit, Record, advice, sudo};
use crate::cli::{Tool, progress, say};
use crate::error::Error;
use crate::input::Source;
use crate::profile::Facts;
use crate::record::facts::facts;
use crate::record::refusal::Refusal;
use crate::record::request::{Rate, Request, Target};
use crate::record::sampler::plan::Note;
use crate::record::sampler::{self, Outcome};
use crate::record::sys::limits;
use crate::record::sys::nameless::give_name;
use crate::record::sys::signals::Stop;

impl RecordArgs {
    /// Records a program, processes or the whole machine.
    pub(super) fn record_builtin(&self, request: &Request, stop: &Stop) -> anyhow::Result<Exit> {
        let recording = Recording::new(self.raw_file()?)?;
        if self.sampling.root && limits::effective_user() != 0 {
            return sudo::record(self, request, recording, stop);
        }
        let outcome = self.sampling.sample(request, recording.file()?, stop, &mut |_| {})?;
        let notes = self.sampling.describe(&outcome);
        match recording {
            Recording::Kept(file, path) => keep(file, &path)?,
            Recording::Passing(file) if outcome.samples > 0 => {
                let known = known(request, &outcome, &notes);
                self.write(self.read(recording_source(file), self.reading(), known)?)?;
            }
            Recording::Passing(_) => {}
        }
        self.sampling.expect_samples(&outcome, &request.target)?;
        let ended = outcome.target.map(|target| target.wait(stop)).transpose()?;
        Ok(ended.map_or(Exit::Yes, |ended| exit_of(ended.status)))
    }
}

/// A recording of the sampler, to be read.
pub(super) fn recording_source(file: File) -> Source {
    Source::file("the recording", file)
}

/// The facts that the sampler knows.
pub(super) fn known(request: &Request, outcome: &Outcome, notes: &[String]) -> Facts {
    let cpu_time = outcome.target.as_ref().and_then(|target| target.cpu_time());
    let mut facts = facts(&request.target, outcome.start, outcome.elapsed, cpu_time);
    facts.event = Some(outcome.plan.event.name.clone());
    facts.rate = match outcome.plan.rate {
        Rate::PerSecond(rate) => Some(rate),
        Rate::EveryEvents(_) => None,
    };
    notes.iter().for_each(|note| facts.warn(note));
    facts
}

impl SamplingArgs {
    /// Records into a file, and reports progress to a user on a terminal and to `also`.
    pub(super) fn sample(
        &self,
        request: &Request,
        file: File,
        stop: &Stop,
        also: &mut dyn FnMut(sampler::Progress),
    ) -> Result<Outcome, Refusal> {
        let live = progress::is_wanted() && !self.quiet;
        let mut tell = |at: sampler::Progress| {
            also(at);
            if live {
                let lost = if at.lost > 0 { format!(", {} lost", at.lost) } else { String::new() };
                progress::show(format_args!("{} s, {} samples{lost}", at.elapsed.as_secs(), at.samples));
            }
        };
        let outcome = sampler::record(request, file, stop, &mut tell);
        progress::end();
        outcome
    }

    /// Reports how the recording went, and returns the warnings that its profile has to carry.
    pub(super) fn describe(&self, outcome: &Outcome) -> Vec<String> {
        let is_warning = |note: &&Note| !matches!(note, Note::Clock | Note::Nothing);
        let mut warnings: Vec<String> =
            outcome.notes.iter().filter(is_warning).map(Note::to_string).collect();
        if outcome.lost > 0 {
            let all = outcome.samples + outcome.lost;
            let advice = advice::on_losses(&outcome.plan);
            warnings.push(format!("{} of {all} samples were lost: {advice}", outcome.lost));
        }
        if !self.quiet {
            warnings.iter().for_each(|warning| say(Record::NAME, warning));
        }
        if self.verbose {
            if outcome.notes.contains(&Note::Clock) {
                say(Record::NAME, Note::Clock);
            }
            let (event, seconds) = (&outcome.plan.event.name, outcome.elapsed.as_secs_f64());
            let kernel = if outcome.plan.kernel { "" } else { ", without the kernel" };
            say(
                Record::NAME,
                format_args!("{} samples of {event} in {seconds:.1} s{kernel}", outcome.samples),
            );
        }
        warnings
    }

    /// Refuses a recording without samples.
    pub(super) fn expect_samples(&self, outcome: &Outcome, target: &Target) -> anyhow::Result<()> {
        if outcome.samples > 0 {
            return Ok(());
        }
        let seconds = outcome.elapsed.as_secs_f64();
        if self.off_cpu {
            anyhow::bail!(advice::without_waits(target, outcome.elapsed));
        }
        if let Some(program) = target.invocation().filter(|it| it.becomes_another_user()) {
            anyhow::bail!(
                "no samples: {} acts as another user (set-uid), and the kernel lets nobody look at such \
                 programs; use `sudo fg-record` on what it starts, or -a",
                program.program.to_string_lossy()
            );
        }
        anyhow::bail!(
            "no samples in {seconds:.1} s at {} a second: the target did not compute, or is another \
             process than the one meant; record it for longer, at a higher -F, or where it waits, by \
             --off-cpu",
            self.freq.unwrap_or(Rate::USUAL)
        );
    }
}

/// The file of the kernel's records: without a name, so that it is gone with this process however
/// that ends.
pub(super) enum Recording {
    /// A file that gets this name when it is complete.
    Kept(File, PathBuf),
    /// A file that is read, and gone afterwards.
    Passing(File),
}

impl Recording {
    fn new(raw: Option<&Path>) -> anyhow::Result<Recording> {
        let cannot = |e| Error::io("make a file for the recording", e);
        let Some(path) = raw else {
            return Ok(tempfile::tempfile().map(Recording::Passing).map_err(cannot)?);
        };
        // A link is followed: what it names is replaced, and not the link.
        let path = path.canonicalize().unwrap_or_else(|_| path.to_owned());
        let file = tempfile::tempfile_in(folder_of(&path)).map_err(cannot)?;
        // Recordings hold pieces of memory: as perf does, for the owner's eyes only.
        let private = std::os::unix::fs::PermissionsExt::from_mode(0o600);
        file.set_permissions(private).map_err(cannot)?;
        Ok(Recording::Kept(file, path))
    }

    /// Another handle to the file.
    pub(super) fn file(&self) -> Result<File, Error> {
        let (Recording::Kept(file, _) | Recording::Passing(file)) = self;
        file.try_clone().map_err(|e| Error::io("open the recording", e))
    }
}

/// Puts a recording where it is wanted.
pub(super) fn keep(mut recording: File, path: &Path) -> anyhow::Result<()> {
    use std::io::Seek;
    let mut new = tempfile::Builder::new();
    let new = new.prefix(".fg-record-");
    let named = new.make_in(folder_of(path), |name| give_name(&recording, name));
    // Some file systems have no files without names, and do not give the name back.
    let named = named.map(|named| named.into_temp_path()).or_else(|_| {
        let mut copy = new.tempfile_in(folder_of(path))?;
        recording.rewind()?;
        std::io::copy(&mut recording, copy.as_file_mut())?;
        Ok(copy.into_temp_path())
    });
    let kept = named.and_then(|named| Ok(named.persist(path)?));
    Ok(kept.map_err(|e| Error::io("write", e))?)
}

/// The folder that a file is in.
fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}
