//! `fg-record`: records a program, processes or the whole machine, and writes folded text, a
//! picture, or the recording itself.

#[cfg(target_os = "linux")]
mod advice;
pub mod against;
pub mod alloc;
pub mod args;
#[cfg(target_os = "linux")]
mod builtin;
#[cfg(target_os = "linux")]
pub mod bundle;
pub mod cargo;
pub mod check;
mod compare;
pub mod demo;
mod ended;
mod ending;
pub mod events;
mod finish;
pub mod foreign;
#[cfg(all(feature = "tui", target_os = "linux"))]
mod live;
pub mod parts;
mod processes;
#[cfg(target_os = "linux")]
mod record_parts;
mod record_runs;
mod record_with;
pub mod runtimes;
// The sampler that fills the file is part of Linux only.
#[cfg_attr(not(target_os = "linux"), allow(dead_code))]
mod recording;
pub mod results;
pub mod runs;
#[cfg(target_os = "linux")]
mod sampling;
pub mod serve;
#[cfg(all(feature = "parquet", target_os = "linux"))]
mod store;
#[cfg(target_os = "linux")]
mod sudo;
mod values;
pub mod with;

use std::ffi::OsString;

use clap::{ArgGroup, Parser, Subcommand};

use super::{Exit, GenerateArgs, Tool};
use crate::error::Error;
use crate::record::request::Invocation;
#[cfg(not(target_os = "linux"))]
use crate::record::request::Request;
use crate::record::sys::signals::Stop;
pub use args::{RecordArgs, SamplingArgs};
use finish::Recorded;
use processes::Running;
pub use results::ResultArgs;
use results::Use;

/// The subcommands of this build.
#[cfg(target_os = "linux")]
macro_rules! tasks {
    () => {
        "bundle|cargo|check|demo"
    };
}
#[cfg(not(target_os = "linux"))]
macro_rules! tasks {
    () => {
        "cargo|check|demo"
    };
}

const USAGE: &str = concat!(
    "fg-record [OPTIONS] COMMAND [ARGUMENT]...
       fg-record [OPTIONS] <--pid PID|NAME | --tid TID | --all>
       fg-record <",
    tasks!(),
    "> [OPTIONS]"
);

/// The example of an option that not every build has.
#[cfg(feature = "tui")]
macro_rules! live_example {
    () => {
        "  # the profile as it grows, in the terminal; q ends the recording\n  fg-record --live -p server -o server.svg\n"
    };
}
#[cfg(not(feature = "tui"))]
macro_rules! live_example {
    () => {
        ""
    };
}

const EXAMPLES: &str = concat!(
    "\
Examples:
  # a page in the browser, a picture, or several files of one recording
  fg-record --open ./app --its-args
  fg-record -o out.svg ./app --its-args
  fg-record -o out.html -o out.pb.gz -o out.folded ./app
  # a process that runs already, by name or number; the whole machine
  fg-record -p server -d 10 -o out.svg
  fg-record -p 1234 -d 10 | fg-filter --hide '^tokio::' | fg-render > out.svg
  fg-record -a -d 5 > machine.folded
  # where threads wait, instead of where they compute; or both
  fg-record --off-cpu -p 1234 -d 10 -o waits.svg
  fg-record --wall -p 1234 -d 10 -o wall.html
",
    live_example!(),
    "  # where a program allocates, and what it still holds at its end
  fg-record --alloc -o allocated.svg ./app
  fg-record --alloc=live -o held.svg ./app
  # page faults beside time; each call of a function; one processor
  fg-record -e cpu-clock -e page-faults -o out.html ./app
  fg-record -e uprobe:./app:parse -o parse.svg ./app
  fg-record -a -C 3 -d 5 > processor.folded
  # a file a minute; the last half minute when something went wrong
  fg-record -p server --every 60s -o 'dir/%Y%m%dT%H%M%S.folded'
  fg-record -p server --last 30s -o 'stall-%H%M%S.svg'; kill -USR2 RECORDER
  fg-record -p server --last 30s --when 'cpu>80%' -o 'busy-%Y%m%dT%H%M%S.svg'
  # the recording itself, for perf
  fg-record --raw -o perf.data ./app && perf report
  # the recording with all that names its code, to be read on another machine
  fg-record --bundle -o app.tar.gz ./app && fg-render app.tar.gz > out.svg
  fg-record bundle perf.data -o app.tar.gz
  # a cargo project; a comparison of two builds with a gate
  fg-record cargo --bin server -o out.svg -- --port 8080
  fg-record --runs 5 --against ./app-before --gate 'slower>10%' ./app

Arguments: options before COMMAND are fg-record's, all behind it are COMMAND's. A
program that is called like a subcommand is run by -- check or ./check.

Pictures: what -o draws takes the options of fg-render for pictures too, --title or
--colors; fg-render --help explains them.

Signals: one Ctrl-C, SIGTERM or SIGHUP ends the recording and writes the profile; a
second Ctrl-C or SIGTERM stops at once, without a profile. A profile that nobody
reads any more is saved as fg-record-PID.folded. Stacks are folded while they come;
only with --raw is there a file, which can be read when the recorder was killed.

Exit status: that of COMMAND, or 128 plus the number of the signal that killed it; 2
if nothing was recorded, or the profile could not be written where it was wanted."
);

/// Record where a program spends its time
///
/// Samples the stacks of a program, of running processes, or of the whole machine, and writes
/// folded stacks, a flame graph, or a file for another viewer. The built-in sampler needs nothing
/// installed: it uses the kernel's perf events, processor cycles or else a clock, with the
/// kernel's frames where that is allowed. It copies stacks and unwinds them by the programs' own
/// tables, so programs need no frame pointers.
#[derive(Parser, Debug)]
#[command(name = "fg-record", version, override_usage = USAGE, after_help = EXAMPLES)]
#[command(
    subcommand_negates_reqs = true,
    args_conflicts_with_subcommands = true,
    disable_help_subcommand = true,
    arg_required_else_help = true
)]
#[command(mut_arg("colors", |colors| colors.short_alias(None)))]
#[command(group = ArgGroup::new("target").required(true).multiple(true).args(["command", "pid", "tid", "all", "generate"]))]
pub struct Record {
    /// The subcommand.
    #[command(subcommand)]
    pub task: Option<Task>,

    /// The program to run, and its arguments
    #[arg(
        value_name = "COMMAND", trailing_var_arg = true, conflicts_with = "pid",
        value_hint = clap::ValueHint::CommandWithArguments
    )]
    pub command: Vec<OsString>,

    /// Record running processes: numbers or names, separated by commas or blanks. A name that several
    /// processes have lists them
    #[arg(short, long, value_name = "PID|NAME", value_delimiter = ',', conflicts_with = "all")]
    pub pid: Vec<String>,

    /// Record running threads by their numbers, and none that they start
    #[arg(long, value_name = "TID", value_delimiter = ',', conflicts_with_all = ["all", "pid", "command"], help_heading = "Sampling")]
    pub tid: Vec<u32>,

    /// The other side of --root.
    #[command(flatten)]
    pub serve: serve::ServeArgs,

    /// Generate.
    #[command(flatten)]
    pub generate: GenerateArgs,

    /// Options for sampling and results; last, as their headings hold for all that follows.
    #[command(flatten)]
    pub how: RecordArgs,
}

/// The subcommands of `fg-record`.
#[derive(Subcommand, Debug)]
pub enum Task {
    /// Pack a recording with the files that name its code
    ///
    /// Takes the programs, libraries, debug information, kernel symbols and maps of generated code that name the
    /// stacks of perf.data, as --bundle does while it records: run it before they change. Says which files are
    /// missing, or are of another build. Every program reads the archive, on another machine too.
    #[cfg(target_os = "linux")]
    Bundle(bundle::Bundle),
    /// Build a program with cargo and record it
    ///
    /// Optimised, unless --profile says otherwise: by the release profile, and the bench
    /// profile for benchmarks. Says which setting shows inlined functions where there is no debug
    /// info.
    Cargo(Box<cargo::Cargo>),
    /// Check whether recording works here, and how to fix it
    ///
    /// Tries everything that a recording may need, and shows what works.
    Check(check::Check),
    /// Show a slow program, its page, and what its fix changed
    ///
    /// Nothing is recorded: two recordings that ship with fg-record are written into the user's folder for what may
    /// be deleted, with a page of the slow program, which is opened, and one of what its fix changed.
    Demo(demo::Demo),
}

impl Tool for Record {
    const NAME: &'static str = "fg-record";

    fn run(self) -> anyhow::Result<Exit> {
        match self.task {
            #[cfg(target_os = "linux")]
            Some(Task::Bundle(bundle)) => bundle.run(),
            Some(Task::Cargo(cargo)) => cargo.run(),
            Some(Task::Check(check)) => check.run(),
            Some(Task::Demo(demo)) => demo.run(),
            None => {
                refuse_late_task(&self.command, &std::env::args_os().collect::<Vec<_>>())?;
                let which = Running { pids: processes::find(&self.pid)?, tids: self.tid };
                let invocation = self.command.split_first().map(|(program, arguments)| Invocation {
                    program: program.clone(),
                    arguments: arguments.to_vec(),
                    ..Invocation::default()
                });
                #[cfg(target_os = "linux")]
                if let Some(waiting) = self.serve.waiting {
                    return self.how.serve(waiting, which);
                }
                #[cfg(all(target_os = "linux", feature = "parquet"))]
                let how = self.how.through_parts();
                #[cfg(not(all(target_os = "linux", feature = "parquet")))]
                let how = self.how;
                how.record_runs(invocation, which)
            }
        }
    }
}

/// Refuses a subcommand behind options, which would be recorded as a program: `fg-record -o out.svg
/// cargo`. Behind `--` it is a program.
fn refuse_late_task(command: &[OsString], arguments: &[OsString]) -> anyhow::Result<()> {
    use clap::CommandFactory;

    let Some(name) = command.first() else { return Ok(()) };
    let at = arguments.len().saturating_sub(command.len() + 1);
    let is_program = arguments.get(at).is_some_and(|word| word == "--");
    if !is_program && Record::command().get_subcommands().any(|task| name == task.get_name()) {
        let name = name.to_string_lossy();
        anyhow::bail!(
            "{name} is a subcommand and goes before its options: fg-record {name} …; a program of this name is \
             recorded by fg-record … -- {name}"
        );
    }
    Ok(())
}

impl RecordArgs {
    /// Records a program, processes, or the whole machine.
    fn record(&self, invocation: Option<Invocation>, which: Running) -> anyhow::Result<Exit> {
        let stop = Stop::install().map_err(|e| Error::io("watch for signals", e))?;
        self.record_until(invocation, which, Use::Write, &stop).map(|recorded| recorded.exit)
    }

    /// Records until the target ends, or somebody asks to stop.
    fn record_until(
        &self,
        invocation: Option<Invocation>,
        which: Running,
        profile: Use,
        stop: &Stop,
    ) -> anyhow::Result<Recorded> {
        if self.sampling.tree && which.pids.is_empty() {
            anyhow::bail!(
                "--tree is for running processes, named by -p; those that COMMAND starts are recorded anyway"
            );
        }
        let mut request = self.request(invocation, which, profile);
        // Removed at the end of this function.
        let library = self.prepare_allocations(&mut request)?;
        if self.raw_file()?.is_none() && self.sampling.bundle.is_none() {
            self.results.check(self.parts.are_dated())?;
        }
        let others = if library.is_some() || self.sampling.bundle.is_some() {
            None
        } else {
            self.record_with(&request, profile, stop)?
        };
        match others {
            Some(recorded) => Ok(recorded),
            None => {
                self.sampling.runtimes.ask(&mut request, self.sampling.quiet);
                self.record_builtin(&request, profile, stop)
            }
        }
    }
}

/// Recording on systems without the built-in sampler.
#[cfg(not(target_os = "linux"))]
impl RecordArgs {
    fn record_builtin(&self, _: &Request, _: Use, _: &Stop) -> anyhow::Result<Recorded> {
        anyhow::bail!("the built-in sampler needs Linux; --with names another profiler")
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    fn command_of(line: &str) -> Vec<String> {
        let record =
            Record::try_parse_from(line.split_whitespace()).unwrap_or_else(|e| panic!("{line}: {e}"));
        record.command.iter().map(|word| word.to_string_lossy().into_owned()).collect()
    }

    #[test]
    fn options_are_declared_well() {
        Record::command().debug_assert();
    }

    /// Issue 17, line 7: `fg-record ./app` was refused.
    #[test]
    fn all_behind_the_command_is_the_command_s() {
        for (line, expected) in [
            ("fg-record ./app --its-args -o x", "./app --its-args -o x"),
            ("fg-record -o out.svg ./app -h", "./app -h"),
            ("fg-record --open -- ./app -- x", "./app -- x"),
            ("fg-record ./app -- x", "./app -- x"),
            ("fg-record --random ./app", "./app"),
            ("fg-record -- check", "check"),
            ("fg-record ./check -x", "./check -x"),
            ("fg-record -p 1,server", ""),
        ] {
            assert_eq!(command_of(line).join(" "), expected, "{line}");
        }
        let check = Record::try_parse_from(["fg-record", "check"]).expect("a subcommand");
        assert!(matches!(check.task, Some(Task::Check(_))));
        // A wrong option is no command.
        assert!(Record::try_parse_from(["fg-record", "--opn", "./app"]).is_err());
    }

    #[test]
    fn a_subcommand_behind_options_is_no_program() {
        let words = |line: &str| line.split(' ').map(OsString::from).collect::<Vec<_>>();
        let refused = |command: &str, line: &str| refuse_late_task(&words(command), &words(line)).is_err();
        assert!(refused("cargo build", "fg-record -o x cargo build"));
        assert!(!refused("cargo build", "fg-record -o x -- cargo build"));
        assert!(!refused("./check", "fg-record -o x ./check"));
    }
}
