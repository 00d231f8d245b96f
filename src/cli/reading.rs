//! The options of reading a recording, shared by every tool that reads one.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueEnum};

#[cfg(feature = "perf-data")]
use super::debuginfod::DebuginfodArgs;
use super::{memory, progress};
use crate::collapse::{CollapseOptions, Listener, Progress, ValueSelection};
use crate::limits::Limits;
use crate::reading::ReadOptions;

/// The options of reading a recording, and of naming its frames: [`CollapseOptions`] on the command line.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Samples and frames")]
pub struct ReadingArgs {
    /// Add a root frame for each process: `comm-PID`
    #[arg(long, alias = "pid")]
    pub per_process: bool,

    /// Add a root frame for each thread: `comm-PID/TID`
    #[arg(long, alias = "tid")]
    pub per_thread: bool,

    /// Mark frames: those of the kernel with `_[k]`, of just-in-time compiled code with `_[j]`, inlined ones with
    /// `_[i]`, where the recording tells them; repeatable, or with commas
    #[arg(long, value_name = "KIND", value_delimiter = ',')]
    pub mark: Vec<Mark>,

    /// stackcollapse-perf's name of --mark kernel
    #[arg(long, hide = true)]
    pub kernel: bool,

    /// stackcollapse-perf's name of --mark jit
    #[arg(long, hide = true)]
    pub jit: bool,

    /// stackcollapse-perf's name of --mark inline
    #[arg(long, hide = true)]
    pub inline: bool,

    /// stackcollapse-perf's name of --mark all
    #[arg(long, hide = true)]
    pub all: bool,

    /// Show the address of frames without a name
    #[arg(long)]
    pub addrs: bool,

    /// Append the source line, where the recording has it: `main (orders.c:12)`
    #[arg(long)]
    pub srcline: bool,

    /// Leave out inlined functions: those that debug information adds to recordings of addresses,
    /// perf.data, jemalloc, tcmalloc, gperftools
    #[arg(long)]
    pub no_inline: bool,

    /// Look for the programs and libraries below DIR, not /; for recordings of addresses
    #[arg(long, value_name = "DIR")]
    pub symfs: Option<PathBuf>,

    /// Servers.
    #[cfg(feature = "perf-data")]
    #[command(flatten)]
    pub debuginfod: DebuginfodArgs,

    /// Keep this value: perf's event, with or without modifiers, pprof's sample type; repeatable. `all`
    /// keeps all, each under a root frame of its name. Default: the producer's own default, or the one that comes first
    #[arg(long, value_name = "NAME", alias = "event-filter")]
    pub value: Vec<String>,

    /// The old name of --value all
    #[arg(long, alias = "all-events", hide = true, conflicts_with = "value")]
    pub all_values: bool,

    /// Name threads in root frames, or name none: whatever the format's own tools do
    #[arg(
        long, value_name = "yes|no", num_args = 0..=1, require_equals = true, default_missing_value = "yes",
        value_parser = ["yes", "no"]
    )]
    pub threads_as_frames: Option<String>,

    /// The old name of --threads-as-frames=no
    #[arg(long, hide = true, conflicts_with_all = ["threads_as_frames", "per_process", "per_thread"])]
    pub no_threads_as_frames: bool,

    /// inferno-collapse-perf's name of what fg-filter --show-from does, for recordings of perf
    #[arg(long, value_name = "NAME", hide = true)]
    pub skip_after: Vec<String>,

    /// Count samples instead of adding up their weights (perf's periods, austin's microseconds)
    #[arg(long, alias = "count")]
    pub count_samples: bool,

    /// Give up when more than SIZE of memory is needed (`500M`, `4G`): for files from strangers, which
    /// may be small and hold much
    #[arg(long, value_name = "SIZE", value_parser = super::size)]
    pub max_memory: Option<usize>,

    /// Threads to use; 0 is as many as there are processors
    #[arg(long, alias = "nthreads", value_name = "N", default_value_t = 0)]
    pub threads: usize,
}

/// The kinds of frames that can be marked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
#[allow(missing_docs)]
pub enum Mark {
    Kernel,
    Jit,
    Inline,
    All,
}

impl From<ReadingArgs> for CollapseOptions {
    fn from(args: ReadingArgs) -> CollapseOptions {
        let marks = |kind: Mark| args.all || args.mark.iter().any(|mark| [kind, Mark::All].contains(mark));
        let (kernel, jit, inline) = (marks(Mark::Kernel), marks(Mark::Jit), marks(Mark::Inline));
        let bytes = |names: Vec<String>| names.into_iter().map(String::into_bytes).collect::<Vec<_>>();
        let all = args.all_values || args.value.iter().any(|name| name == "all");
        let values = match (all, args.value.is_empty()) {
            (true, _) => ValueSelection::All,
            (false, true) => ValueSelection::Default,
            (false, false) => ValueSelection::Named(bytes(args.value)),
        };
        CollapseOptions {
            always_rooted: false,
            pid: args.per_process,
            tid: args.per_thread,
            kernel: args.kernel || kernel,
            jit: args.jit || jit,
            inline: args.inline || inline,
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
            threads_as_frames: match args.threads_as_frames.as_deref() {
                _ if args.no_threads_as_frames => Some(false),
                chosen => chosen.map(|chosen| chosen == "yes"),
            },
            count: args.count_samples,
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
        let mut options = CollapseOptions::from(self.clone());
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
