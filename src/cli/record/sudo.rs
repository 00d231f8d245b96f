//! The two sides of `--root`: the user's process, and the one that records as root.

use std::ffi::OsString;
use std::io::{self, Seek, SeekFrom, Write};
use std::time::{Duration, SystemTime};

use clap::{ArgMatches, Args, Command, CommandFactory, parser::ValueSource};

use super::finish::{Recorded, conclude};
use super::processes::Running;
use super::recording::Recording;
use super::results::{OnFailure, Use};
use super::sampling::known;
use super::{Exit, Record, RecordArgs, SamplingArgs};
use crate::error::Error;
use crate::limits::Limits;
use crate::profile::Profile;
use crate::reading::ReadOptions;
use crate::record::facts::facts;
use crate::record::request::{Request, Target};
use crate::record::root::{self, Server};
use crate::record::sampler::Outcome;
use crate::record::sys::signals::Stop;

/// Lets another process record, and writes its answer.
pub(super) fn record(
    how: &RecordArgs,
    request: &Request,
    profile: Use,
    mut recording: Recording,
    stop: &Stop,
) -> anyhow::Result<Recorded> {
    let matches = Record::command().get_matches();
    let (option, numbers) = match &request.target {
        Target::Processes(pids) => ("pid", &pids[..]),
        Target::Threads(tids) => ("tid", &tids[..]),
        _ => ("pid", &[][..]),
    };
    let answer = root::record(request, &words(&matches, option, numbers), &mut recording.file()?, stop)?;
    if !answer.is_complete {
        // The other process has said why.
        answer.target.map(|target| target.wait(stop)).transpose()?;
        return Ok(Exit::Status(2).into());
    }
    let written = match recording.is_wanted() {
        true => recording.appear().map(|()| None).map_err(anyhow::Error::from),
        false => write(how, request, profile, &answer, &recording),
    };
    let written = written.map_err(|error| recording.keep_after(error));
    conclude(how, request, written, answer.target, stop)
}

/// Writes the profile that the other process has folded.
fn write(
    how: &RecordArgs,
    request: &Request,
    profile: Use,
    answer: &root::Answer,
    recording: &Recording,
) -> anyhow::Result<Option<Profile>> {
    let cpu_time = answer.target.as_ref().and_then(|target| target.cpu_time());
    let mut known = facts(request, SystemTime::now(), Duration::ZERO, cpu_time);
    // The other process knows these.
    known.start = None;
    known.duration = None;
    let reading = ReadOptions::default().limits(Limits::NONE).format("folded");
    how.write(how.read(recording.source()?, reading, known)?, profile, OnFailure::Save)
}

/// The options for the other process: those of this command line that say how to record, and the
/// numbers of the processes or threads.
fn words(matches: &ArgMatches, option: &str, numbers: &[u32]) -> Vec<OsString> {
    let matches = matches.subcommand().map_or(matches, |(_, matches)| matches);
    let every = SamplingArgs::augment_args(Command::new("fg-record"));
    let every = every.get_arguments().map(|arg| (arg.get_id().as_str(), arg.get_long()));
    let mut words: Vec<(usize, OsString)> = Vec::new();
    for (id, long) in every {
        let is_given = matches.value_source(id) == Some(ValueSource::CommandLine);
        let (true, Some(long)) = (is_given && id != "root", long) else { continue };
        let values: Vec<_> = matches.get_raw(id).into_iter().flatten().collect();
        let mut places = matches.indices_of(id).into_iter().flatten();
        let is_flag = matches.try_get_one::<bool>(id).is_ok();
        if is_flag {
            words.push((places.next().unwrap_or(0), format!("--{long}").into()));
        }
        for value in values.into_iter().filter(|_| !is_flag) {
            let mut word = OsString::from(format!("--{long}="));
            word.push(value);
            words.push((places.next().unwrap_or(0), word));
        }
    }
    // A filter belongs to the event before it.
    words.sort_by_key(|(place, _)| *place);
    let mut words: Vec<OsString> = words.into_iter().map(|(_, word)| word).collect();
    words.extend(numbers.iter().map(|number| OsString::from(format!("--{option}={number}"))));
    if words.iter().any(|word| word == "--raw") {
        // It needs one, and means our standard output here.
        words.push("--output=-".into());
    }
    words
}

impl RecordArgs {
    /// Records for another process, which waits for the profile at our standard output.
    pub(super) fn serve(&self, waiting: u32, which: Running) -> anyhow::Result<Exit> {
        let stop = Stop::install().map_err(|e| Error::io("watch for signals", e))?;
        let mut request = self.request(None, which, Use::Write);
        if waiting > 0 && !self.sampling.all {
            request.target = Target::Waiting(waiting);
        }
        let recording = Recording::new(None)?;
        self.sampling.say_where(&recording);
        let mut server = Server::listen();
        let live = self.sampling.shows_progress(waiting > 0);
        let mut begun = |_| server.is_recording();
        let outcome = self.sampling.sample(
            &request,
            self.sampling.destination(recording.file()?),
            &stop,
            live,
            &mut begun,
        )?;
        server.is_recorded();
        let notes = self.sampling.describe(&outcome);
        self.sampling.expect_samples(&outcome, &request.target)?;
        let answered = self.answer(&request, &outcome, &notes, &recording);
        answered.map_err(|error| recording.keep_after(error))?;
        Ok(Exit::Yes)
    }

    /// Gives the other process the recording or its profile.
    fn answer(
        &self,
        request: &Request,
        outcome: &Outcome,
        notes: &[String],
        recording: &Recording,
    ) -> anyhow::Result<()> {
        if !self.sampling.raw {
            let known = known(request, outcome, notes);
            let profile = self.read(recording.source()?, self.reading(Use::Write), known)?;
            self.write(profile, Use::Write, OnFailure::Report)?;
            return Ok(());
        }
        let (mut file, mut out) = (recording.file()?, io::stdout().lock());
        let copied = file.seek(SeekFrom::Start(0)).and_then(|_| io::copy(&mut file, &mut out));
        Ok(copied.and_then(|_| out.flush()).map_err(|e| Error::io("write the recording", e))?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words_of(line: &str) -> String {
        let matches = Record::command().try_get_matches_from(line.split_whitespace()).expect(line);
        let pids: &[u32] = if line.contains(" -p 1,2 -p 3") { &[1, 2, 3] } else { &[] };
        let words = words(&matches, "pid", pids);
        words.iter().map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn sampling_options_are_passed_on() {
        for (line, expected) in [
            ("fg-record --root -- ./app -F 5", ""),
            ("fg-record --root -F99 -vo x --svg=y --html z --open -- ./app", "--freq=99 --verbose"),
            ("fg-record --root -p 1,2 -p 3 -d 0.5", "--duration=0.5 --pid=1 --pid=2 --pid=3"),
            ("fg-record --root -a -q --call-graph fp", "--all --quiet --call-graph=fp"),
            (
                "fg-record --root -e a:b --filter c -e d -C 0,1 ./x",
                "--event=a:b --filter=c --event=d --cpu=0,1",
            ),
            ("fg-record --root --raw -o x -- ./app", "--raw --output=-"),
            ("fg-record cargo --root --bin a -p b -f c -F 7 -- -d 9", "--freq=7"),
        ] {
            assert_eq!(words_of(line), expected, "{line}");
        }
    }
}
