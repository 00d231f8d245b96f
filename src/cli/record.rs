//! `fg-record`: records a program, processes or the whole machine, and writes folded text, a
//! picture, or the recording itself.

#[cfg(target_os = "linux")]
mod advice;
pub mod args;
#[cfg(target_os = "linux")]
mod builtin;
pub mod cargo;
pub mod check;
pub mod compare;
pub mod foreign;
mod recording;
pub mod results;
pub mod runs;
pub mod serve;
#[cfg(target_os = "linux")]
mod sudo;
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
pub use results::ResultArgs;

const USAGE: &str = "\
fg-record [OPTIONS] -- <COMMAND>...
       fg-record [OPTIONS] <--pid <PID>|--all>
       fg-record <cargo|check> [OPTIONS]";

const EXAMPLES: &str = "\
Examples:
  fg-record -o out.svg -- ./app --its-args
  fg-record -o out.html -o out.pb.gz -o out.folded -- ./app
  fg-record -p 1234 -d 10 | fg-filter --hide '^tokio::' | fg-render > out.svg
  fg-record -a -d 5 > machine.folded
  fg-record --off-cpu -p 1234 -d 10 -o waits.svg
  fg-record --raw -o perf.data -- ./app && perf report
  fg-record cargo --bin server -o out.svg -- --port 8080
  fg-record --open -- ./app
  fg-record --runs 5 --against ./app-before --gate 'slower>10%' --markdown report.md -- ./app

One Ctrl-C, SIGTERM or SIGHUP ends the recording and writes the profile; a second
Ctrl-C or SIGTERM stops at once, without a profile. A profile that nobody reads any
more is saved as fg-record-PID.folded. Stacks are folded while they come; only with
--raw is there a file, which can be read when the recorder was killed.
Exit status: that of COMMAND, or 128 plus the number of the signal that killed it; 2
if nothing was recorded, or the profile could not be written where it was wanted.";

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
    disable_help_subcommand = true
)]
#[command(mut_arg("colors", |colors| colors.short(None)))]
#[command(group = ArgGroup::new("target").required(true).multiple(true).args(["command", "pid", "all", "generate"]))]
pub struct Record {
    /// The subcommand.
    #[command(subcommand)]
    pub task: Option<Task>,

    /// The program to run, and its arguments
    #[arg(value_name = "COMMAND", last = true, conflicts_with = "pid")]
    pub command: Vec<OsString>,

    /// Record running processes with all their threads; process numbers, separated by commas
    #[arg(short, long, value_name = "PID", value_delimiter = ',', conflicts_with = "all")]
    pub pid: Vec<u32>,

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
    /// Build a program with cargo and record it
    Cargo(Box<cargo::Cargo>),
    /// Check whether recording works here, and how to fix it
    Check(check::Check),
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
                #[cfg(target_os = "linux")]
                if let Some(waiting) = self.serve.waiting {
                    return self.how.serve(waiting, self.pid);
                }
                self.how.record_runs(invocation, self.pid)
            }
        }
    }
}

impl RecordArgs {
    /// Records a program, processes, or the whole machine.
    fn record(&self, invocation: Option<Invocation>, pids: Vec<u32>) -> anyhow::Result<Exit> {
        let stop = Stop::install().map_err(|e| Error::io("watch for signals", e))?;
        self.record_until(invocation, pids, &stop)
    }

    /// Records until the target ends, or somebody asks to stop.
    fn record_until(
        &self,
        invocation: Option<Invocation>,
        pids: Vec<u32>,
        stop: &Stop,
    ) -> anyhow::Result<Exit> {
        if self.sampling.tree && pids.is_empty() {
            anyhow::bail!(
                "--tree is for running processes, named by -p; those that COMMAND starts are recorded anyway"
            );
        }
        let request = self.request(invocation, pids);
        if self.raw_file()?.is_none() {
            self.results.check()?;
        }
        match self.record_with(&request, stop)? {
            Some(exit) => Ok(exit),
            None => self.record_builtin(&request, stop),
        }
    }
}

/// Recording on systems without the built-in sampler.
#[cfg(not(target_os = "linux"))]
impl RecordArgs {
    fn record_builtin(&self, _: &Request, _: &Stop) -> anyhow::Result<Exit> {
        anyhow::bail!("the built-in sampler needs Linux; --with names another profiler")
    }
}
