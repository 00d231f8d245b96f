//! The options of a collapser, and one reading by them.

use std::fmt;
use std::ops::Deref;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

#[cfg(feature = "perf-data")]
use crate::collapse::Report;
use crate::collapse::ValueSelection;
use crate::limits::Limits;
#[cfg(feature = "perf-data")]
use crate::symbolize::{Answered, Debuginfod, Search};

/// The options of a collapser.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CollapseOptions {
    /// Append the process to the thread's frame: `comm-PID`.
    pub pid: bool,
    /// Append process and thread to the thread's frame: `comm-PID/TID`.
    pub tid: bool,
    /// Mark kernel frames `_[k]`.
    pub kernel: bool,
    /// Mark frames of just-in-time compiled code `_[j]`.
    pub jit: bool,
    /// Mark inlined frames `_[i]`.
    pub inline: bool,
    /// Show the address of frames without a name: `[libc.so.6 <7f01>]`.
    pub addrs: bool,
    /// Append the source line to a frame, where the input has it: `main (orders.c:12)`.
    pub srcline: bool,
    /// Leave out the functions that a compiler has put into others, where debug information has
    /// them.
    pub no_inline: bool,
    /// The folder of the recorded system's files, if they are not in `/`.
    pub symfs: Option<PathBuf>,
    /// The servers that are asked for programs and debug information which are not there.
    #[cfg(feature = "perf-data")]
    pub debuginfod: Option<Debuginfod>,
    /// Drop the frames rootward of these.
    pub skip_after: Vec<Vec<u8>>,
    /// The values of the recording to keep: perf's events, pprof's sample types.
    pub values: ValueSelection,
    /// With [`ValueSelection::All`], an input of one value has it as a root frame too: it is one of several inputs, whose
    /// units may differ.
    pub always_rooted: bool,
    /// Name the thread in a root frame; `None` does as the producer's own tools do.
    pub threads_as_frames: Option<bool>,
    /// Count samples, whatever they weigh.
    pub count: bool,
    /// Leave out waits that are shorter, of time off the processor.
    pub min_wait: Duration,
    /// True if this program has just made the recording: the recorded processes may still run, and
    /// notes advise how to record again, not how to read with other options.
    pub just_recorded: bool,
    /// The number of threads to use; 0 is the number of processors.
    pub threads: usize,
    /// The limits of the reading.
    pub limits: Limits,
    /// The listener that is told of the progress of a long run.
    pub progress: Option<Listener>,
}

impl CollapseOptions {
    /// Drops the frames rootward of these.
    ///
    /// ```
    /// use fg_tools::collapse::CollapseOptions;
    ///
    /// let options = CollapseOptions::default().skip_after(["main"]).values(["cycles"]).threads(1);
    /// assert_eq!(options.skip_after, [b"main"]);
    /// ```
    pub fn skip_after<N: Into<Vec<u8>>>(mut self, names: impl IntoIterator<Item = N>) -> Self {
        self.skip_after = names.into_iter().map(Into::into).collect();
        self
    }

    /// Keeps the values of these names: perf's events, pprof's sample types.
    pub fn values<N: Into<Vec<u8>>>(mut self, names: impl IntoIterator<Item = N>) -> Self {
        self.values = ValueSelection::Named(names.into_iter().map(Into::into).collect());
        self
    }

    /// Uses `threads` threads; 0 means one for each processor.
    pub fn threads(mut self, threads: usize) -> Self {
        self.threads = threads;
        self
    }

    /// Looks for the files of the recorded system below a folder.
    pub fn symfs(mut self, folder: impl Into<PathBuf>) -> Self {
        self.symfs = Some(folder.into());
        self
    }

    /// Tells a listener of the progress of a long run.
    pub fn progress(mut self, listener: Listener) -> Self {
        self.progress = Some(listener);
        self
    }

    /// The limits of the reading.
    pub fn limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }
}

#[cfg(feature = "perf-data")]
impl CollapseOptions {
    /// The places to look for the files of a recording.
    pub(crate) fn search(&self) -> Search {
        Search { debuginfod: self.debuginfod.clone(), ..Search::of_system(self.symfs.clone()) }
    }

    /// Reports what the servers had, once.
    pub(crate) fn report_servers(&self, report: &mut Report) {
        let Some(answered) = self.debuginfod.as_ref().and_then(Debuginfod::take_result) else { return };
        let Answered { asked, found, gave_up } = answered;
        if let Some(why) = gave_up {
            report.note(format!("debuginfod was not asked for all names: {why}"));
        } else if found == 0 && asked > 0 {
            report.note(format!(
                "the servers of debuginfod have none of {asked} files that they were asked for"
            ));
        }
        report.details.push(format!("debuginfod: {found} of {asked} files"));
    }
}

/// One reading of one input: the options, and what the inputs before it have settled.
///
/// ```
/// use fg_tools::collapse::{CollapseOptions, Reading};
///
/// let options = CollapseOptions { count: true, ..CollapseOptions::default() };
/// let reading = Reading::alone(&options);
/// assert!(reading.count && reading.first_value.is_none());
/// ```
#[derive(Clone, Debug)]
pub struct Reading<'a> {
    /// The options, which a reading can be used as.
    pub options: &'a CollapseOptions,
    /// The value that [`ValueSelection::Default`] has settled on in an earlier input of the same profile.
    pub first_value: Option<Vec<u8>>,
    /// The input is read together with others, to which another value than theirs must not be added.
    pub is_one_of_several: bool,
}

impl<'a> Reading<'a> {
    /// The reading of an input that is a profile by itself.
    pub fn alone(options: &'a CollapseOptions) -> Reading<'a> {
        Reading { options, first_value: None, is_one_of_several: false }
    }
}

impl Deref for Reading<'_> {
    type Target = CollapseOptions;

    fn deref(&self) -> &CollapseOptions {
        self.options
    }
}

/// A listener to the progress of a long run: a function or a closure.
///
/// ```
/// use std::sync::atomic::{AtomicU64, Ordering};
/// use std::sync::Arc;
///
/// use fg_tools::collapse::{Listener, Progress};
///
/// let bytes = Arc::new(AtomicU64::new(0));
/// let seen = bytes.clone();
/// let listener = Listener::new(move |progress| {
///     if let Progress::Bytes(done, _) = progress {
///         seen.store(done, Ordering::Relaxed);
///     }
/// });
/// listener.tell(Progress::Bytes(7, None));
/// assert_eq!(bytes.load(Ordering::Relaxed), 7);
/// ```
#[derive(Clone)]
pub struct Listener(Arc<dyn Fn(Progress) + Send + Sync>);

impl Listener {
    /// A listener that calls a function, on whichever thread has made the progress.
    pub fn new(listen: impl Fn(Progress) + Send + Sync + 'static) -> Listener {
        Listener(Arc::new(listen))
    }

    /// Tells of progress.
    pub fn tell(&self, progress: Progress) {
        (self.0)(progress);
    }
}

impl fmt::Debug for Listener {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Listener")
    }
}

/// A listener is equal to its clones.
impl PartialEq for Listener {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for Listener {}

/// The progress of a long run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Progress {
    /// The bytes that have been read, and the bytes of the whole input if that is known.
    Bytes(u64, Option<u64>),
    /// The places in code that have been named, and all that there are.
    Symbols(u64, u64),
    /// The recordings of a folder that have been read, and all that there are.
    Files(u64, u64),
}
