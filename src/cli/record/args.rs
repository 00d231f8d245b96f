//! The options of a recording: its method, and its results.

use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Args;

use super::alloc::AllocArgs;
use super::events::EventArgs;
use super::foreign::ForeignArgs;
use super::parts::PartArgs;
use super::processes::Running;
use super::results::{ResultArgs, Use};
use super::runs::RunsArgs;
use super::runtimes::RuntimeArgs;
use super::values::{Processors, bundle_size, count, delay, duration, hertz, processors, seconds, size};
use super::with::WithArgs;
use crate::cli::debuginfod::DebuginfodArgs;
use crate::cli::progress;
use crate::collapse::{CollapseOptions, ValueSelection};
use crate::limits::Limits;
use crate::record::request::{CallGraph, Control, Delay, Invocation, Pauses, Rate, Request, Target, Time};
use crate::record::sys::processes;

/// All options of a recording but its target.
#[derive(Args, Debug)]
pub struct RecordArgs {
    /// The method of recording.
    #[command(flatten)]
    pub sampling: SamplingArgs,

    /// The options of other recorders.
    #[command(flatten)]
    pub foreign: ForeignArgs,

    /// The files and formats of the results.
    #[command(flatten)]
    pub results: ResultArgs,

    /// Results before the end of the recording.
    #[command(flatten)]
    pub parts: PartArgs,

    /// The number of runs, and the comparison.
    #[command(flatten)]
    pub runs: RunsArgs,
}

/// The method of recording; with `--root` another process is given these options.
#[derive(Args, Debug)]
#[command(next_help_heading = "Sampling")]
pub struct SamplingArgs {
    /// Record the whole machine, until COMMAND exits if one is given
    #[arg(short, long)]
    pub all: bool,

    /// With -a, record only a control group: its folder, or its path as /proc/PID/cgroup has it
    #[arg(long, value_name = "PATH", requires = "all")]
    pub cgroup: Option<PathBuf>,

    /// Record for SECONDS; COMMAND is then ended by SIGTERM
    #[arg(short, long, value_name = "SECONDS", value_parser = seconds)]
    pub duration: Option<Duration>,

    /// Samples per second of processor time [default: 997, or 100 with py-spy]
    #[arg(short = 'F', long, aliases = ["frequency", "rate"], value_name = "HZ", value_parser = hertz)]
    pub freq: Option<u64>,

    /// Sample after each EVENTS of the event, instead of so many times a second; nanoseconds of
    /// processor time by default, bytes with --alloc
    #[arg(short_alias = 'c', long, alias = "count", value_name = "EVENTS", value_parser = count, conflicts_with_all = ["freq", "off_cpu", "wall"])]
    pub interval: Option<u64>,

    /// The events.
    #[command(flatten)]
    pub events: EventArgs,

    /// Record where threads wait, and for how long, instead of where they compute
    #[arg(long, conflicts_with_all = ["event", "freq"], group = "waits")]
    pub off_cpu: bool,

    /// Record all of the time that passes, on and off the processor, of each thread: where it
    /// computes and where it waits. Threads that wait all the time are woken once to tell their
    /// stack, unless the whole machine is recorded
    #[arg(long, conflicts_with_all = ["event", "interval"], group = "waits")]
    pub wall: bool,

    /// Allocations.
    #[command(flatten)]
    pub alloc: AllocArgs,

    /// Leave out waits shorter than TIME: 1ms
    #[arg(long, value_name = "TIME", value_parser = duration, requires = "waits", conflicts_with = "raw")]
    pub min: Option<Duration>,

    /// Find stacks by frame pointers (fp), from a copy of the stack (dwarf, or dwarf,BYTES), or
    /// not at all (none) [default: dwarf, with up to 65520 bytes, or 32768 with --raw, as
    /// far as memory and rate allow]
    #[arg(long, value_name = "HOW", value_parser = CallGraph::parse)]
    pub call_graph: Option<CallGraph>,

    /// The profiler.
    #[command(flatten)]
    pub with: WithArgs,

    /// Leave out the processes that the recorded ones start
    #[arg(long, alias = "no-inherit")]
    pub no_children: bool,

    /// The names of compiled code.
    #[command(flatten)]
    pub runtimes: RuntimeArgs,

    /// With --pid, record the processes as well that those have started before, and so on
    #[arg(long, conflicts_with_all = ["all", "no_children"])]
    pub tree: bool,

    /// Record only on these processors: 0,2-3
    #[arg(short = 'C', long, value_name = "LIST", value_parser = processors)]
    pub cpu: Option<Processors>,

    /// Begin to sample after SECONDS; -1: when --control says so
    #[arg(long, value_name = "SECONDS", value_parser = delay, allow_negative_numbers = true)]
    pub delay: Option<Delay>,

    /// Pause and go on when told to: signals (SIGUSR1 pauses, SIGUSR2 goes on), or fifo:PATH for the
    /// lines disable, enable and stop
    #[arg(long, value_name = "HOW", value_parser = Control::parse)]
    pub control: Option<Control>,

    /// Write the recording itself to the file of -o: perf.data, or what the profiler named by
    /// --with writes
    #[arg(long, requires = "output", conflicts_with_all = ["svg", "html", "open"])]
    pub raw: bool,

    /// Write an archive to the file of -o, app.tar.gz: the recording, and the programs, libraries, debug
    /// information, kernel symbols and maps of generated code that name its stacks; up to SIZE of these [default:
    /// 1G]. Every program reads it, on another machine too
    #[arg(
        long, value_name = "SIZE", num_args = 0..=1, require_equals = true, default_missing_value = "1G",
        value_parser = bundle_size, requires = "output",
        conflicts_with_all = ["raw", "svg", "html", "open", "with", "root", "every", "last", "runs", "against", "min", "print_command"]
    )]
    pub bundle: Option<u64>,

    /// End the recording when the file of --raw is this large: 500M, 2G
    #[arg(long, value_name = "SIZE", value_parser = size, requires = "raw")]
    pub max_size: Option<u64>,

    /// Compress the file of --raw, with zstd: fg-collapse reads it as it is, and perf if it was built with
    /// zstd
    #[arg(long, requires = "raw", conflicts_with = "with")]
    pub compress: bool,

    /// Record with root's rights, through sudo; COMMAND and the files stay yours
    #[arg(long)]
    pub root: bool,

    /// Add a root frame for each process: `comm-PID`
    #[arg(long)]
    pub per_process: bool,

    /// Add a root frame for each thread: `comm-PID/TID`
    #[arg(long)]
    pub per_thread: bool,

    /// Leave out inlined functions
    #[arg(long)]
    pub no_inline: bool,

    /// Servers.
    #[command(flatten)]
    pub debuginfod: DebuginfodArgs,

    /// Drop the frames rootward of NAME; it becomes the root; repeatable
    #[arg(long, value_name = "NAME", hide = true)]
    pub skip_after: Vec<String>,

    /// Print more: the event, the number of samples, the duration
    #[arg(short, long, conflicts_with = "quiet", help_heading = "Messages")]
    pub verbose: bool,

    /// Print errors only
    #[arg(short, long, help_heading = "Messages")]
    pub quiet: bool,
}

impl RecordArgs {
    /// The request for the recorder.
    pub(super) fn request(&self, invocation: Option<Invocation>, which: Running, profile: Use) -> Request {
        let stdout_is_taken = profile == Use::Compare || self.results.use_stdout();
        let invocation = invocation.map(|invocation| Invocation { stdout_is_taken, ..invocation });
        let sampling = &self.sampling;
        let target = match invocation {
            invocation if sampling.all => Target::Machine(invocation),
            Some(invocation) => Target::Command(invocation),
            None if !which.tids.is_empty() => Target::Threads(which.tids),
            None if sampling.tree => Target::Processes(with_descendants(which.pids)),
            None => Target::Processes(which.pids),
        };
        Request {
            target,
            rate: match sampling.interval {
                Some(events) => Rate::EveryEvents(events),
                None => Rate::PerSecond(sampling.freq.unwrap_or(Rate::USUAL)),
            },
            duration: sampling.duration,
            events: sampling.events.events.clone(),
            processors: sampling.cpu.as_ref().map(|list| list.0.clone()),
            pauses: Pauses { delay: sampling.delay.unwrap_or_default(), control: sampling.control.clone() },
            max_size: sampling.max_size,
            cgroup: sampling.cgroup.clone(),
            parts: self.parts.length(),
            triggers: self.parts.triggers(),
            call_graph: sampling.call_graph.unwrap_or(CallGraph::Dwarf(
                match sampling.raw || sampling.bundle.is_some() || sampling.root {
                    // Nothing is kept of what is folded at once.
                    false => CallGraph::LIVE_DUMP,
                    true => CallGraph::DUMP,
                },
            )),
            children: !sampling.no_children,
            time: match (sampling.off_cpu, sampling.wall) {
                (true, _) => Time::OffCpu,
                (_, true) => Time::Wall,
                _ => Time::OnCpu,
            },
            allocations: sampling.alloc.rate(sampling.interval),
            asks_for_names: false,
            names_interpreters: true,
        }
    }

    /// The file of `--raw`.
    ///
    /// # Errors
    /// Without a file that can be completed at its beginning.
    pub(super) fn raw_file(&self) -> anyhow::Result<Option<&Path>> {
        if !self.sampling.raw {
            return Ok(None);
        }
        let is_file = |path: &Path| path != Path::new("-") && path.metadata().map_or(true, |it| it.is_file());
        match &self.results.output[..] {
            [path] if is_file(path) => Ok(Some(path)),
            [_] => anyhow::bail!(
                "--raw needs a file, since a recording is completed at its beginning; name one with -o"
            ),
            _ => anyhow::bail!("--raw writes one file; record again, or draw from that file with fg-render"),
        }
    }
}

impl SamplingArgs {
    /// Returns true if progress is shown: to a user on a terminal, unless a program that is recorded
    /// uses that terminal too.
    pub(super) fn shows_progress(&self, runs_program: bool) -> bool {
        progress::is_wanted() && !self.quiet && !runs_program
    }

    /// The options for collapsing the recording.
    pub(super) fn options(&self) -> CollapseOptions {
        CollapseOptions {
            pid: self.per_process,
            tid: self.per_thread,
            no_inline: self.no_inline,
            debuginfod: self.debuginfod.debuginfod.clone(),
            min_wait: self.min.unwrap_or_default(),
            just_recorded: true,
            values: match (self.alloc.values(), self.events.events.len()) {
                (Some(values), _) => values,
                (None, 0 | 1) => ValueSelection::Default,
                (None, _) => ValueSelection::All,
            },
            skip_after: self.skip_after.iter().map(|name| name.clone().into_bytes()).collect(),
            limits: Limits::NONE,
            ..CollapseOptions::default()
        }
    }
}

/// Processes, and all that they have started and these.
fn with_descendants(pids: Vec<u32>) -> Vec<u32> {
    let mut all = pids.clone();
    for pid in pids.into_iter().flat_map(processes::descendants) {
        if !all.contains(&pid) {
            all.push(pid);
        }
    }
    all
}
