//! The options of a recording: its method, and its results.

use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Args;

use super::alloc::AllocArgs;
use super::events::EventArgs;
use super::foreign::ForeignArgs;
use super::parts::PartArgs;
use super::results::ResultArgs;
use super::runs::RunsArgs;
use super::with::WithArgs;
use crate::cli::debuginfod::DebuginfodArgs;
use crate::cli::progress;
use crate::collapse::{Options, ValueSelection};
use crate::record::request::{CallGraph, Control, Delay, Invocation, Pauses, Rate, Request, Target, Time};
use crate::record::sys::processes;
use crate::symbolize::bundle::LARGEST;

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
    #[arg(short = 'c', long, value_name = "EVENTS", value_parser = count, conflicts_with_all = ["freq", "off_cpu", "wall"])]
    pub count: Option<u64>,

    /// The events.
    #[command(flatten)]
    pub events: EventArgs,

    /// Record where threads wait, and for how long, instead of where they compute
    #[arg(long, conflicts_with_all = ["event", "freq"], group = "waits")]
    pub off_cpu: bool,

    /// Record all of the time that passes, on and off the processor, of each thread: where it
    /// computes and where it waits. Threads that wait all the time are woken once to tell their
    /// stack, unless the whole machine is recorded
    #[arg(long, conflicts_with_all = ["event", "count"], group = "waits")]
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

    /// Drop the frames rootward of NAME, which becomes the root; repeatable
    #[arg(long, value_name = "NAME")]
    pub skip_after: Vec<String>,

    /// Print more: the event, the number of samples, the duration
    #[arg(short, long, conflicts_with = "quiet", help_heading = "Messages")]
    pub verbose: bool,

    /// Print nothing but errors
    #[arg(short, long, help_heading = "Messages")]
    pub quiet: bool,
}

impl RecordArgs {
    /// The request for the recorder.
    pub(super) fn request(&self, invocation: Option<Invocation>, which: Running) -> Request {
        let stdout_is_taken = self.results.use_stdout();
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
            rate: match sampling.count {
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
            allocations: sampling.alloc.rate(sampling.count),
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
    pub(super) fn options(&self) -> Options {
        Options {
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
            ..Options::default()
        }
    }
}

/// The running processes or threads that are recorded.
#[derive(Clone, Debug, Default)]
pub struct Running {
    /// Processes.
    pub pids: Vec<u32>,
    /// Threads.
    pub tids: Vec<u32>,
}

/// The processors of `-C`.
#[derive(Clone, Debug)]
pub struct Processors(pub Vec<u32>);

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

fn hertz(text: &str) -> Result<u64, String> {
    let rate = text.parse().ok().filter(|rate| (1..=1_000_000).contains(rate));
    rate.ok_or_else(|| "samples per second are a whole number from 1 to 1000000".to_owned())
}

fn count(text: &str) -> Result<u64, String> {
    text.parse().ok().filter(|events| *events > 0).ok_or_else(|| {
        "expected a number of events; options for perf go behind --with perf --backend-args 'ARGS', a palette is \
         --colors"
            .to_owned()
    })
}

fn size(text: &str) -> Result<u64, String> {
    let size = crate::quantity::bytes(text).filter(|size| *size > 0);
    size.ok_or_else(|| "expected a number of bytes: 500M, 2G".to_owned())
}

pub(super) fn bundle_size(text: &str) -> Result<u64, String> {
    match size(text)? {
        size @ ..=LARGEST => Ok(size),
        _ => Err("expected at most 4G".to_owned()),
    }
}

fn processors(text: &str) -> Result<Processors, String> {
    let wrong = || "expected numbers of processors and ranges: 0,2-3".to_owned();
    let mut all = Vec::new();
    for range in text.split(',') {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        match (first.trim().parse::<u32>(), last.trim().parse::<u32>()) {
            // More than any kernel has.
            (Ok(first), Ok(last @ 0..=65_535)) if first <= last => all.extend(first..=last),
            _ => return Err(wrong()),
        }
    }
    all.sort_unstable();
    all.dedup();
    Ok(Processors(all))
}

fn delay(text: &str) -> Result<Delay, String> {
    match text {
        "-1" => Ok(Delay::UntilTold),
        "0" => Ok(Delay::None),
        text => seconds(text).map(Delay::For),
    }
}

pub(super) fn seconds(text: &str) -> Result<Duration, String> {
    let seconds = text.parse::<f64>().ok().filter(|seconds| *seconds > 0.0);
    let duration = seconds.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
    duration.ok_or_else(|| "expected a number of seconds above zero".to_owned())
}

fn duration(text: &str) -> Result<Duration, String> {
    humantime::parse_duration(text).map_err(|_| "expected a time: 1ms, 0.5s is 500ms".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_processors_and_delays() {
        assert_eq!([size("512"), size("4k"), size("2G")], [Ok(512), Ok(4096), Ok(2 << 30)]);
        for wrong in ["", "0", "2GX", "M", "-1", "99999999999T"] {
            assert!(size(wrong).is_err(), "{wrong}");
        }
        assert_eq!([bundle_size("1G"), bundle_size("4G")], [Ok(1 << 30), Ok(4 << 30)]);
        assert!(bundle_size("5G").is_err() && bundle_size("x").is_err());
        assert_eq!(processors("3,0-1,1").unwrap().0, [0, 1, 3]);
        for wrong in ["", "a", "1-", "2-1", "0-99999999"] {
            assert!(processors(wrong).is_err(), "{wrong}");
        }
        assert_eq!(delay("-1"), Ok(Delay::UntilTold));
        assert_eq!(delay("0.5"), Ok(Delay::For(Duration::from_millis(500))));
        assert!(delay("-2").is_err() && delay("x").is_err());
        assert!(count("0").is_err() && count("7") == Ok(7));
    }
}
