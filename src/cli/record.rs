//! `fg-record`: a program, processes or the machine become folded stacks, or a picture.

mod browser;
pub mod cargo;
pub mod check;
mod sudo;
pub mod with;

use std::ffi::OsString;
use std::fs::File;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::ExitStatus;
use std::time::Duration;

use clap::{ArgGroup, Args, Parser, Subcommand};

use super::output::Output;
use super::render::Render;
use super::{Exit, GenerateArgs, Tool, progress, say};
use crate::collapse::{self, Options, Report, registry};
use crate::error::Error;
use crate::folded::StackTable;
use crate::input::Source;
use crate::record::refusal::Refusal;
use crate::record::request::{CallGraph, Invocation, Rate, Request, Target};
use crate::record::sampler::plan::Note;
use crate::record::sampler::{self, Outcome};
use crate::record::sys::limits;
use crate::record::sys::nameless::give_name;
use crate::record::sys::signals::Stop;

const USAGE: &str = "\
fg-record [OPTIONS] -- <COMMAND>...
       fg-record [OPTIONS] <--pid <PID>|--all>
       fg-record <cargo|check> [OPTIONS]";

const EXAMPLES: &str = "\
Examples:
  fg-record -- ./app --its-args | fg-render > out.svg
  fg-record --svg out.svg -- ./app
  fg-record -p 1234 -d 10 | fg-filter --hide '^tokio::' | fg-render > out.svg
  fg-record -a -d 5 > machine.folded
  fg-record --off-cpu -p 1234 -d 10 --svg waits.svg
  fg-record --raw -o perf.data -- ./app && perf report
  fg-record cargo --bin server --svg out.svg -- --port 8080
  fg-record --open -- ./app

One Ctrl-C ends the recording and still writes the profile, a second one ends all at once.
Exit status: that of COMMAND, 128 and the signal if one killed it; 2 if nothing was recorded.";

/// Record where a program spends its time
///
/// Samples the stacks of a program, of running processes, or of all that runs, and writes folded
/// stacks. Nothing needs to be installed: the kernel's perf events are used directly, processor
/// cycles or else the clock, with the kernel's frames where the rights allow. Stacks are copied
/// and unwound by the programs' own tables, so no frame pointers are needed.
#[derive(Parser, Debug)]
#[command(name = "fg-record", version, override_usage = USAGE, after_help = EXAMPLES)]
#[command(
    subcommand_negates_reqs = true,
    args_conflicts_with_subcommands = true,
    disable_help_subcommand = true
)]
#[command(group = ArgGroup::new("target").required(true).multiple(true).args(["command", "pid", "all", "serve", "generate"]))]
pub struct Record {
    /// Something else to do.
    #[command(subcommand)]
    pub task: Option<Task>,

    /// The program to run and what it is given
    #[arg(value_name = "COMMAND", last = true, conflicts_with = "pid")]
    pub command: Vec<OsString>,

    /// Record running processes with all their threads: numbers, separated by commas
    #[arg(short, long, value_name = "PID", value_delimiter = ',', conflicts_with = "all")]
    pub pid: Vec<u32>,

    /// Record for the process that waits at the other end of our standard output, as --root has it.
    #[arg(long, value_name = "PID", hide = true)]
    pub serve: Option<u32>,

    /// How, and what becomes of it.
    #[command(flatten)]
    pub how: RecordArgs,

    /// Generate.
    #[command(flatten)]
    pub generate: GenerateArgs,
}

/// What `fg-record` can do besides.
#[derive(Subcommand, Debug)]
pub enum Task {
    /// Build a program with cargo and record it
    Cargo(Box<cargo::Cargo>),
    /// Say what works here, what does not, and what mends it
    Check(check::Check),
}

/// How to record, and what becomes of the recording.
#[derive(Args, Debug)]
pub struct RecordArgs {
    /// Record all that runs; while COMMAND does, if there is one
    #[arg(short, long)]
    pub all: bool,

    /// Record for so many seconds; COMMAND is then ended by SIGTERM
    #[arg(short, long, value_name = "SECONDS", value_parser = seconds)]
    pub duration: Option<Duration>,

    /// Samples a second of processor time [default: 997, or 100 with py-spy]
    #[arg(short = 'F', long, value_name = "HZ", value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    pub freq: Option<u64>,

    /// Sample when EVENT occurs, as perf names it: page-faults, cycles:u, sched:sched_switch.
    /// Default: cycles, or cpu-clock where none are counted
    #[arg(short, long, value_name = "EVENT")]
    pub event: Option<String>,

    /// Record where threads wait, and for how long, not where they compute
    #[arg(long, conflicts_with_all = ["event", "freq"])]
    pub off_cpu: bool,

    /// How stacks are found: by frame pointers (fp), from a copy of the stack (dwarf, or
    /// dwarf,BYTES), or none [default: dwarf]
    #[arg(long, value_name = "HOW", value_parser = CallGraph::parse)]
    pub call_graph: Option<CallGraph>,

    /// Who records.
    #[command(flatten)]
    pub with: with::WithArgs,

    /// Leave out the processes that the recorded ones start
    #[arg(long)]
    pub no_children: bool,

    /// Write to FILE; COMMAND then keeps its standard output, which else goes to standard error
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,

    /// Write the recording itself: perf.data, which perf reads too, or what the program named by
    /// --with writes
    #[arg(long, requires = "output", conflicts_with_all = ["svg", "html"])]
    pub raw: bool,

    /// Draw a flame graph into FILE
    #[arg(long, value_name = "FILE")]
    pub svg: Option<PathBuf>,

    /// Write a page to explore the profile in into FILE
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,

    /// Open the picture or page in the browser; without --svg or --html a page is made of it,
    /// fg-record.html
    #[arg(long, conflicts_with = "raw")]
    pub open: bool,

    /// Record with root's rights, by sudo; COMMAND itself stays yours, and so do the files
    #[arg(long)]
    pub root: bool,

    /// A root frame for each process: `comm-PID`
    #[arg(long)]
    pub per_process: bool,

    /// A root frame for each thread: `comm-PID/TID`
    #[arg(long)]
    pub per_thread: bool,

    /// Leave inlined functions out
    #[arg(long)]
    pub no_inline: bool,

    /// Say more: what was sampled, how often, for how long
    #[arg(short, long, conflicts_with = "quiet")]
    pub verbose: bool,

    /// Say nothing but errors
    #[arg(short, long)]
    pub quiet: bool,
}

impl Tool for Record {
    const NAME: &'static str = "fg-record";

    fn run(self) -> anyhow::Result<Exit> {
        match self.task {
            Some(Task::Cargo(cargo)) => cargo.run(),
            Some(Task::Check(check)) => check.run(),
            None => {
                let invocation = self.command.split_first().map(|(program, arguments)| Invocation {
                    program: program.clone(),
                    arguments: arguments.to_vec(),
                    ..Invocation::default()
                });
                match self.serve {
                    Some(waiting) => self.how.serve(waiting, self.pid),
                    None => self.how.record(invocation, self.pid),
                }
            }
        }
    }
}

impl RecordArgs {
    /// Records a program, or processes, or all that runs.
    fn record(&self, invocation: Option<Invocation>, pids: Vec<u32>) -> anyhow::Result<Exit> {
        let stop = Stop::install().map_err(|e| Error::io("watch for signals", e))?;
        let request = self.request(invocation, pids);
        self.try_files()?;
        let raw = self.raw_file()?;
        if let Some(exit) = self.record_with(&request, &stop)? {
            return Ok(exit);
        }
        let recording = Recording::new(raw)?;
        if self.root && limits::effective_user() != 0 {
            return sudo::record(self, &request, recording, &stop);
        }
        let outcome = self.sample(&request, recording.file()?, &stop, &mut |_| {})?;
        self.describe(&outcome);
        match recording {
            Recording::Kept(file, path) => keep(file, &path)?,
            Recording::Passing(file) if outcome.samples > 0 => {
                self.write(&self.fold(&file)?)?;
            }
            Recording::Passing(_) => {}
        }
        self.expect_samples(&outcome, request.target.invocation())?;
        let status = outcome.target.map(|target| target.wait(&stop)).transpose()?;
        Ok(status.map_or(Exit::Yes, exit_of))
    }

    /// The file of `--raw`.
    fn raw_file(&self) -> anyhow::Result<Option<&Path>> {
        let path = self.output.as_deref().filter(|_| self.raw);
        if path.is_some_and(|path| path == Path::new("-") || path.metadata().is_ok_and(|it| !it.is_file())) {
            anyhow::bail!("--raw needs a file: a recording is completed at its beginning; name one with -o");
        }
        Ok(path)
    }

    /// Sees to it that what will be written can be, before there is something to lose.
    fn try_files(&self) -> Result<(), Error> {
        let files = self.output.as_deref().filter(|path| !self.raw && *path != Path::new("-"));
        let mut files = files.into_iter().chain(self.svg.as_deref()).chain(self.html());
        // A device or a pipe may be opened once only.
        let is_plain = |path: &Path| path.metadata().map_or(true, |kind| kind.is_file() || kind.is_dir());
        files.try_for_each(|path| if is_plain(path) { Output::new(Some(path)).map(drop) } else { Ok(()) })
    }

    /// Records into a file, and tells how it goes: the user on a terminal, and `also`.
    fn sample(
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

    fn expect_samples(&self, outcome: &Outcome, program: Option<&Invocation>) -> anyhow::Result<()> {
        if outcome.samples > 0 {
            return Ok(());
        }
        let seconds = outcome.elapsed.as_secs_f64();
        if self.off_cpu {
            anyhow::bail!(
                "nobody left a processor in {seconds:.1} s: the target computed, or waited all the time; \
                 record it for longer, or without --off-cpu"
            );
        }
        if let Some(program) = program.filter(|it| it.becomes_another_user()) {
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

    fn request(&self, invocation: Option<Invocation>, pids: Vec<u32>) -> Request {
        let stdout_is_taken = self.writes_to_stdout();
        let invocation = invocation.map(|invocation| Invocation { stdout_is_taken, ..invocation });
        let target = match invocation {
            invocation if self.all => Target::Machine(invocation),
            Some(invocation) => Target::Command(invocation),
            None => Target::Processes(pids),
        };
        Request {
            target,
            rate: Rate::PerSecond(self.freq.unwrap_or(Rate::USUAL)),
            duration: self.duration,
            event: self.event.clone(),
            call_graph: self.call_graph.unwrap_or(CallGraph::Dwarf(CallGraph::DUMP)),
            children: !self.no_children,
            off_cpu: self.off_cpu,
        }
    }

    /// Whether folded text goes there.
    fn writes_to_stdout(&self) -> bool {
        match &self.output {
            Some(path) => path == Path::new("-"),
            None => self.svg.is_none() && self.html().is_none(),
        }
    }

    /// The page to write.
    fn html(&self) -> Option<&Path> {
        let unless_asked = Some(Path::new("fg-record.html")).filter(|_| self.open && self.svg.is_none());
        self.html.as_deref().or(unless_asked)
    }

    fn describe(&self, outcome: &Outcome) {
        if self.quiet {
            return;
        }
        for note in &outcome.notes {
            if *note != Note::Clock || self.verbose {
                say(Record::NAME, note);
            }
        }
        if outcome.lost > 0 {
            let all = outcome.samples + outcome.lost;
            say(
                Record::NAME,
                format_args!("{} of {all} samples were lost: lower -F, or use --call-graph fp", outcome.lost),
            );
        }
        if self.verbose {
            let (event, seconds) = (&outcome.plan.event.name, outcome.elapsed.as_secs_f64());
            let kernel = if outcome.plan.kernel { "" } else { ", without the kernel" };
            say(
                Record::NAME,
                format_args!("{} samples of {event} in {seconds:.1} s{kernel}", outcome.samples),
            );
        }
    }

    /// How to collapse.
    fn options(&self) -> Options {
        Options {
            pid: self.per_process,
            tid: self.per_thread,
            no_inline: self.no_inline,
            ..Options::default()
        }
    }

    /// Collapses a recording of the built-in sampler.
    fn fold(&self, recording: &File) -> anyhow::Result<StackTable> {
        self.fold_as(recording, Some("perf-data"), &self.options())
    }

    /// Collapses a recording.
    fn fold_as(
        &self,
        recording: &File,
        format: Option<&str>,
        options: &Options,
    ) -> anyhow::Result<StackTable> {
        use std::os::fd::AsRawFd;
        let recording = format!("/proc/self/fd/{}", recording.as_raw_fd());
        let mut table = StackTable::default();
        let format = format.map(registry::by_name).transpose()?;
        let report = collapse::collapse(&[Source::new(recording)], format, options, &mut table)?;
        self.describe_stacks(&report);
        Ok(table)
    }

    /// Writes what was asked for, and shows it.
    fn write(&self, table: &StackTable) -> anyhow::Result<()> {
        if self.writes_to_stdout() || self.output.is_some() {
            let mut output = Output::new(self.output.as_deref())?;
            table.write(&mut output)?;
            output.finish()?;
        }
        let pictures = [("svg", self.svg.as_deref()), ("html", self.html())];
        let pictures: Vec<(&str, &Path)> =
            pictures.iter().filter_map(|(format, path)| Some((*format, (*path)?))).collect();
        if pictures.is_empty() {
            return Ok(());
        }
        let mut folded = tempfile::NamedTempFile::new().map_err(|e| Error::io("make a file", e))?;
        table.write(&mut folded)?;
        for (format, path) in &pictures {
            let words: [OsString; 6] = [
                "fg-render".into(),
                "--format".into(),
                format.into(),
                "-o".into(),
                path.into(),
                folded.path().into(),
            ];
            Render::parse_from(words).run()?;
        }
        // Of the two, the page has more to see.
        if let (true, Some((_, path))) = (self.open, pictures.last()) {
            browser::open(path);
        }
        Ok(())
    }

    fn describe_stacks(&self, report: &Report) {
        if !self.quiet {
            report.notes.iter().for_each(|note| say(Record::NAME, note));
        }
        if self.verbose {
            report.details.iter().for_each(|detail| say(Record::NAME, detail));
        }
    }
}

/// Where the kernel's records go: into a file without a name, which is gone with this process
/// however that ends.
enum Recording {
    /// It is given this name when it is whole.
    Kept(File, PathBuf),
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

    fn file(&self) -> Result<File, Error> {
        let (Recording::Kept(file, _) | Recording::Passing(file)) = self;
        file.try_clone().map_err(|e| Error::io("open the recording", e))
    }
}

fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Puts a recording where it is wanted.
fn keep(mut recording: File, path: &Path) -> anyhow::Result<()> {
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

/// A program's exit status as a shell shows it.
fn exit_of(status: ExitStatus) -> Exit {
    let code = status.code().or_else(|| status.signal().map(|signal| 128 + signal));
    Exit::Status(code.and_then(|code| u8::try_from(code).ok()).unwrap_or(u8::MAX))
}

fn seconds(text: &str) -> Result<Duration, String> {
    let seconds = text.parse::<f64>().ok().filter(|seconds| *seconds > 0.0);
    let duration = seconds.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
    duration.ok_or_else(|| "expected a number of seconds above zero".to_owned())
}
