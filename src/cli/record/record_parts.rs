//! Results before a recording ends: `--every` writes a file for each part of it, `--last` the end of it
//! when somebody asks.
//!
//! Stacks are folded while they come, and at the end of a part there is a profile of it. `--every` writes
//! that, `--last` keeps as many as it needs and adds them up.

use std::collections::{HashSet, VecDeque};
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use super::finish::{Recorded, conclude, write_to};
use super::results::Use;
use super::runs::numbered;
use super::runtimes::remove_map;
#[cfg(feature = "parquet")]
use super::store::PartStore;
use super::{Record, RecordArgs};
use crate::cli::{Tool, say};
use crate::collapse::Report;
use crate::collapse::formats::perf_data::Part;
use crate::error::{Error, Position};
use crate::profile::{Facts, Profile, ProfileBuilder, Wants};
use crate::reading;
use crate::record::facts::{complete, facts};
use crate::record::request::{Control, Request};
use crate::record::sampler::stream;
use crate::record::sys::calendar;
use crate::record::sys::signals::Stop;
use crate::threads;

impl RecordArgs {
    /// Records, and writes files meanwhile.
    pub(super) fn record_parts(&self, request: &Request, stop: &Stop) -> anyhow::Result<Recorded> {
        let outputs = &self.results.output;
        if self.parts.every.is_some()
            && let Some(path) = outputs.iter().find(|path| !calendar::has_date(path))
        {
            anyhow::bail!(
                "--every writes many files, and -o {} is one name; put the time in it: -o '%Y%m%dT%H%M%S.folded'",
                path.display()
            );
        }
        if self.parts.last.is_some() && request.pauses.control == Some(Control::Signals) {
            anyhow::bail!("--last is written on SIGUSR2; pause it by --control fifo:PATH");
        }
        let (writer, records) = stream::channel();
        let reading = self.reading(Use::Write);
        let wants = Wants { places: reading.places, contexts: reading.samples };
        let mut parts = Parts::new(self, request, wants)?;
        let (sampling, live) = (&self.sampling, self.sampling.shows_progress(request.target.runs_program()));
        let (outcome, folded) = std::thread::scope(|scope| {
            let sampler =
                threads::start(scope, move || sampling.sample(request, writer, stop, live, &mut |_| {}))?;
            let folded = reading::read_parts(&records, &reading, &mut |profile, report, part| {
                parts.take(profile, report, part)
            });
            Ok::<_, crate::Error>((sampler.join().expect("no thread panics"), folded))
        })?;
        let outcome = outcome?;
        self.sampling.describe(&outcome);
        let sampled = self.sampling.expect_samples(&outcome, &request.target);
        let written = sampled.and_then(|()| Ok(folded?)).and_then(|()| parts.failed.map_or(Ok(()), Err));
        remove_map(request, &outcome);
        conclude(self, request, written.map(|()| None), outcome.target, stop)
    }
}

/// The parts of a recording, and what was written of them.
struct Parts<'a> {
    how: &'a RecordArgs,
    request: &'a Request,
    wants: Wants,
    /// The parts that are kept, with their lengths.
    kept: VecDeque<(Profile, Duration)>,
    /// The files of each part, the oldest first.
    files: VecDeque<Vec<PathBuf>>,
    /// The names by the time of the part before, and the number of parts that had it.
    dated: (Vec<PathBuf>, u32),
    /// The end of the part before.
    until: Option<SystemTime>,
    said: HashSet<String>,
    /// The first error: the recording goes on.
    failed: Option<anyhow::Error>,
    /// The store that the files are added to.
    #[cfg(feature = "parquet")]
    store: Option<PartStore>,
}

impl<'a> Parts<'a> {
    fn new(how: &'a RecordArgs, request: &'a Request, wants: Wants) -> Result<Parts<'a>, Error> {
        let (kept, files, said) = (VecDeque::new(), VecDeque::new(), HashSet::new());
        Ok(Parts {
            how,
            request,
            wants,
            kept,
            files,
            dated: (Vec::new(), 0),
            until: None,
            said,
            failed: None,
            #[cfg(feature = "parquet")]
            store: how.parts.store.as_deref().map(PartStore::open).transpose()?,
        })
    }

    /// Takes a part; without its time it is the last one.
    fn take(&mut self, mut profile: Profile, report: Report, part: Option<Part>) -> Result<(), Error> {
        let own = (profile.facts().start, profile.facts().duration);
        let (start, duration) = match part {
            Some(part) => (part.start, part.duration),
            None => (self.until.or(own.0).unwrap_or_else(SystemTime::now), own.1.unwrap_or_default()),
        };
        self.until = Some(start + duration);
        self.say(&report);
        complete(profile.facts_mut(), facts(self.request, start, duration, None));
        report.notes.iter().for_each(|note| profile.facts_mut().warn(note));
        if self.how.parts.every.is_some() {
            if !profile.is_empty() {
                let names = self.names(start);
                self.write(profile, names);
            }
            return Ok(());
        }
        self.kept.push_back((profile, duration));
        self.trim();
        if part.is_none_or(|part| part.is_asked) {
            let now = self.until.unwrap_or(start);
            let profile = self.sum()?;
            if profile.is_empty() {
                self.note("there were no samples in the last of the recording: nothing is written");
            } else {
                let names = self.names(now);
                self.write(profile, names);
            }
        }
        Ok(())
    }

    /// Says what there is to say of a part, once.
    fn say(&mut self, report: &Report) {
        let sampling = &self.how.sampling;
        let notes = report.notes.iter().filter(|_| !sampling.quiet);
        let details = report.details.iter().filter(|_| sampling.verbose);
        for note in notes.chain(details) {
            // The notes of a day differ in their numbers.
            let kind: String = note.chars().filter(|c| !c.is_ascii_digit()).collect();
            if sampling.verbose || self.said.insert(kind) {
                say(Record::NAME, note);
            }
        }
    }

    fn note(&self, note: &str) {
        if !self.how.sampling.quiet {
            say(Record::NAME, note);
        }
    }

    /// Drops parts without which there is still enough.
    fn trim(&mut self) {
        let last = self.how.parts.last.unwrap_or_default();
        let lengths: Vec<Duration> = self.kept.iter().map(|(_, duration)| *duration).collect();
        self.kept.drain(..superfluous(&lengths, last));
    }

    /// The kept parts as one profile.
    fn sum(&self) -> Result<Profile, Error> {
        let mut builder = ProfileBuilder::new(self.wants);
        self.kept.iter().try_for_each(|(profile, _)| builder.add_profile(profile))?;
        let all: Vec<Facts> = self.kept.iter().map(|(profile, _)| profile.facts().clone()).collect();
        builder.facts = Facts::merged(&all);
        builder.finish()
    }

    /// The names of the files of a part that begins, or ends, at this time.
    fn names(&mut self, time: SystemTime) -> Vec<PathBuf> {
        let name = |path: &PathBuf| {
            let dated = calendar::has_date(path).then(|| calendar::name_at(path, time)).flatten();
            dated.unwrap_or_else(|| path.clone())
        };
        let dated: Vec<PathBuf> = self.how.results.output.iter().map(name).collect();
        let (before, number) = &mut self.dated;
        // Parts of less than a second have the same time. The last of a recording replaces the one before.
        *number = if *before == dated && self.how.parts.every.is_some() { *number + 1 } else { 1 };
        before.clone_from(&dated);
        match *number {
            1 => dated,
            number => dated.iter().map(|path| numbered(path, number)).collect(),
        }
    }

    fn write(&mut self, profile: Profile, names: Vec<PathBuf>) {
        let written = names.iter().try_for_each(|name| make_folder_of(name));
        let written = written.map_err(anyhow::Error::from);
        let written = written.and_then(|()| write_to(self.how, profile, &names));
        #[cfg(feature = "parquet")]
        let written = written.and_then(|()| self.store.as_mut().map_or(Ok(()), PartStore::take_parts));
        match written {
            Ok(()) if self.how.sampling.verbose => {
                let written: Vec<_> = names.iter().map(|path| path.to_string_lossy()).collect();
                say(Record::NAME, format_args!("written: {}", written.join(", ")));
            }
            Ok(()) => {}
            Err(error) => {
                if self.failed.is_none() {
                    say(Record::NAME, format_args!("{error:#}; the recording goes on"));
                }
                self.failed.get_or_insert(error);
            }
        }
        // A name that has come again is that of a new file.
        self.files.iter_mut().for_each(|older| older.retain(|path| !names.contains(path)));
        self.files.push_back(names);
        self.forget();
    }

    /// Removes the files of the oldest parts.
    fn forget(&mut self) {
        while self.files.len() > self.how.parts.keep_files as usize {
            let oldest = self.files.pop_front().unwrap_or_default();
            // Somebody may have moved it.
            oldest.iter().for_each(|path| drop(fs::remove_file(path)));
        }
    }
}

fn make_folder_of(path: &Path) -> Result<(), Error> {
    match path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
        Some(folder) => fs::create_dir_all(folder)
            .map_err(|e| Error::io("make the folder", e).or_at(|| Position::file(folder.to_string_lossy()))),
        None => Ok(()),
    }
}

/// The number of parts, of the oldest, without which the others are still as long as is wanted.
fn superfluous(lengths: &[Duration], wanted: Duration) -> usize {
    let mut rest: Duration = lengths.iter().sum();
    let is_superfluous = |length: &&Duration| {
        rest = rest.saturating_sub(**length);
        rest >= wanted
    };
    lengths.iter().take_while(is_superfluous).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_many_parts_are_kept_as_are_needed() {
        let lengths: Vec<Duration> = [30, 10, 20, 10, 10].map(Duration::from_secs).into();
        for (wanted, expected) in [(100, 0), (51, 0), (50, 1), (40, 2), (21, 2), (20, 3), (10, 4), (0, 5)] {
            assert_eq!(superfluous(&lengths, Duration::from_secs(wanted)), expected, "{wanted}");
        }
        assert_eq!(superfluous(&[], Duration::from_secs(1)), 0);
    }
}
