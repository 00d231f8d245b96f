//! The options of reading a recording, shared by every tool that reads one.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;

#[cfg(feature = "perf-data")]
use super::debuginfod::DebuginfodArgs;
use super::{memory, progress};
use crate::collapse::{Listener, Options, Progress, ValueSelection};
use crate::limits::Limits;
use crate::reading::ReadOptions;

/// The options of reading a recording, and of naming its frames: [`Options`] on the command line.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Samples and frames")]
pub struct ReadingArgs {
    /// Name the thread in a root frame, and its process: `comm-PID`
    #[arg(long)]
    pub pid: bool,

    /// Name the thread in a root frame, and its numbers: `comm-PID/TID`
    #[arg(long)]
    pub tid: bool,

    /// Mark kernel frames with `_[k]`, where perf tells them
    #[arg(long)]
    pub kernel: bool,

    /// Mark frames of just-in-time compiled code with `_[j]`, where perf or V8's ticks tell them
    #[arg(long)]
    pub jit: bool,

    /// Mark inlined frames with `_[i]`, where perf, pprof or Firefox's JSON tell them
    #[arg(long)]
    pub inline: bool,

    /// All marks: --kernel --jit --inline
    #[arg(long)]
    pub all: bool,

    /// Show the address of frames without a name
    #[arg(long)]
    pub addrs: bool,

    /// Append the source line, where the recording has it: `main (orders.c:12)`
    #[arg(long)]
    pub srcline: bool,

    /// Leave out inlined functions, which debug information adds to recordings of addresses:
    /// perf.data, jemalloc, tcmalloc, gperftools
    #[arg(long)]
    pub no_inline: bool,

    /// Look for the programs and libraries of a recording of addresses below DIR, not /
    #[arg(long, value_name = "DIR")]
    pub symfs: Option<PathBuf>,

    /// Servers.
    #[cfg(feature = "perf-data")]
    #[command(flatten)]
    pub debuginfod: DebuginfodArgs,

    /// Keep this value: perf's event, with or without modifiers, pprof's sample type; repeatable.
    /// Default: the producer's own default, or the one that comes first
    #[arg(long, value_name = "NAME", visible_alias = "event-filter")]
    pub value: Vec<String>,

    /// Keep all values, each under a root frame of its name
    #[arg(long, visible_alias = "all-events", conflicts_with = "value")]
    pub all_values: bool,

    /// Name the thread in a root frame, also where the format's own tools do not
    #[arg(long)]
    pub threads_as_frames: bool,

    /// Name no threads, also where the format's own tools do
    #[arg(long, conflicts_with_all = ["threads_as_frames", "pid", "tid"])]
    pub no_threads_as_frames: bool,

    /// Drop what is rootward of perf's frame NAME; repeatable. For other formats: fg-filter --root
    #[arg(long, value_name = "NAME")]
    pub skip_after: Vec<String>,

    /// Count samples instead of adding up their weights (perf's periods, austin's microseconds)
    #[arg(long)]
    pub count: bool,

    /// Give up when more than SIZE of memory is needed (`500M`, `4G`): for files from strangers, which
    /// may be small and hold much
    #[arg(long, value_name = "SIZE", value_parser = super::size)]
    pub max_memory: Option<usize>,

    /// Threads to use; 0 is as many as there are processors
    #[arg(long, alias = "nthreads", value_name = "N", default_value_t = 0)]
    pub threads: usize,
}

impl From<ReadingArgs> for Options {
    fn from(args: ReadingArgs) -> Options {
        let bytes = |names: Vec<String>| names.into_iter().map(String::into_bytes).collect::<Vec<_>>();
        let values = match (args.all_values, args.value.is_empty()) {
            (true, _) => ValueSelection::All,
            (false, true) => ValueSelection::Default,
            (false, false) => ValueSelection::Named(bytes(args.value)),
        };
        Options {
            always_rooted: false,
            pid: args.pid,
            tid: args.tid,
            kernel: args.kernel || args.all,
            jit: args.jit || args.all,
            inline: args.inline || args.all,
            addrs: args.addrs,
            srcline: args.srcline,
            no_inline: args.no_inline,
            symfs: args.symfs,
            #[cfg(feature = "perf-data")]
            debuginfod: args.debuginfod.debuginfod,
            min_wait: Duration::ZERO,
            just_recorded: false,
            skip_after: bytes(args.skip_after),
            values,
            threads_as_frames: match (args.threads_as_frames, args.no_threads_as_frames) {
                (true, _) => Some(true),
                (_, true) => Some(false),
                _ => None,
            },
            count: args.count,
            threads: args.threads,
            // Whoever runs a program ends it; --max-memory is there for the rest.
            limits: Limits::NONE.memory(args.max_memory.map(|most| most as u64)),
            progress: None,
        }
    }
}

impl ReadingArgs {
    /// The options of [`profile::open`](crate::reading), with progress on a terminal unless
    /// `quiet`.
    pub fn read_options(&self, quiet: bool) -> ReadOptions {
        let mut options = Options::from(self.clone());
        if let Some(most) = self.max_memory {
            memory::limit(most);
        }
        if !quiet && progress::is_wanted() {
            options.progress = Some(Listener::new(show_progress));
        }
        ReadOptions::default().collapse(options)
    }
}

/// Shows the progress of a long run.
fn show_progress(progress: Progress) {
    match progress {
        Progress::Bytes(done, Some(of)) => {
            progress::show(format_args!("read {} of {} MB", done / 1_000_000, of / 1_000_000));
        }
        Progress::Bytes(done, None) => progress::show(format_args!("read {} MB", done / 1_000_000)),
        Progress::Files(done, of) => progress::show(format_args!("read {done} of {of} files")),
        Progress::Symbols(done, of) => progress::show(format_args!("named {done} of {of} places in code")),
    }
}
